"""What is said of a version now: the gate's word until something is decided, and then the decision."""

from dataclasses import replace

from coordpath_governance.ledger.events import OutsideMove
from coordpath_governance.review.decisions import adopt_standing
from coordpath_governance.review.guard import Guard
from coordpath_governance.review.ports import Actor
from coordpath_governance.review.status import version_status

NAME = "credit"


def status(world, version):
    return version_status(world.ledger, NAME, version, lambda: world.ask(version))


def short(world, version):
    found = status(world, version)
    return found.verdict, found.decision, found.word


def day(world):
    return world.ledger.now()[:10]


def test_nothing_is_said_of_what_nobody_reported_or_decided(world):
    world.register("1")
    assert status(world, "1") is None
    world.report("1")
    assert version_status(world.ledger, NAME, "1") is None


def test_the_report_of_an_unverified_author_says_review_where_its_class_asks_for_nobody(champion_world):
    """The gate, the report and what is shown agree, although the class alone asks for no approval."""
    world = champion_world
    large = {"class": "large", "when": {"coefficients_changed": 1000}, "approvals": [{"role": "validator", "count": 1}]}
    world.adopt_policy(materiality=[large, {"class": "minor"}])
    world.register("3", author=None)
    report = world.report("3", "1")
    assert report.document.assessment.verdict == world.ask("3").verdict == "review"
    assert "need no approval" not in report.document.assessment.reason
    assert short(world, "3") == ("review", None, "Needs review")
    assert status(world, "3").text.startswith("Still needed: 1 approval by validator.")
    world.register("4")
    assert world.report("4", "1").document.assessment.verdict == world.ask("4").verdict == "pass"


def test_approvals_are_counted_and_named(champion_world):
    world = champion_world
    world.adopt_policy(materiality=[{"class": "any", "approvals": [{"role": "validator", "count": 2}]}])
    world.report("2", "1")
    world.approve("2")
    found = status(world, "2")
    assert found.text == "Approved by 1 of 2: Bob (validator). Still needed: 1 approval by validator."
    world.approve("2", world.person("Cleo", "validator"))
    assert short(world, "2") == ("pass", None, "Pass")
    assert status(world, "2").text == "Every rule is met. Approved by 2 people. Not promoted yet."


def test_a_rejection_is_a_decision_until_there_is_a_new_report(champion_world):
    world = champion_world
    world.reject("2", comment="the data are old")
    assert short(world, "2") == ("fail", "rejected", "Fail")
    assert status(world, "2").text == "Rejected by Bob: the data are old."
    world.adopt_policy(name="credit models", waivers={"roles": ["risk"], "longest_days": 4})
    world.report("2", "1")
    assert short(world, "2") == ("review", None, "Needs review")


def test_a_promotion_says_who_approved_what_was_waived_and_why(champion_world):
    world = champion_world
    world.adopt_policy(rules={"steps": {"most": 1}})
    world.report("2", "1")
    assert short(world, "2")[0] == "fail"
    rita = world.person("Rita", "risk")
    for each in [r.rule for r in world.ask("2").readiness.judgement.results if r.result == "fail"]:
        world.waive("2", each, rita, reason="agreed with finance")
    world.approve("2")
    world.promote("2", actor=Actor("Olga", "key"))
    found = status(world, "2")
    assert (found.verdict, found.decision) == ("pass", "promoted")
    assert found.word == f"Promoted to champion on {day(world)}"
    assert found.text.startswith("By Olga; approved by Bob (validator); waived: ")
    assert "(Rita: agreed with finance)" in found.text
    assert found.report.champion == "1"
    assert status(world, "1").text.endswith(f" Version 2 has been in its place since {day(world)}.")
    assert short(world, "1")[:2] == ("pass", "promoted")


def test_a_promotion_that_needed_nobody_by_somebody_unknown(champion_world):
    world = champion_world
    world.adopt_policy(materiality=[{"class": "any"}])
    world.report("2", "1")
    world.promote("2")
    assert status(world, "2").text == "By somebody whom nobody vouches for; no approval was needed."


def test_a_replaced_version_is_judged_anew_from_its_next_report_on(champion_world):
    world = champion_world
    world.approve("2")
    world.promote("2")
    assert short(world, "1")[1] == "promoted"
    world.report("1", "2")
    assert short(world, "1") == ("review", None, "Needs review")
    world.approve("1")
    world.promote("1")
    assert short(world, "1")[1] == "promoted"
    assert status(world, "1").report.champion == "2"


def test_a_move_outside_the_gate_is_said_and_an_adoption_names_who_and_why(champion_world):
    world = champion_world
    move = OutsideMove(alias="champion", expected="1", found="2", reason="seen")
    world.ledger.record("outside move", move, model=NAME)
    assert status(world, "1").text.endswith(" The alias champion was moved outside the gate since.")
    assert (short(world, "1")[:2], world.ask("1").verdict) == (("fail", "promoted"), "fail")
    world.registry.set[NAME]["champion"] = "2"
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="looked into")
    found = status(world, "2")
    assert (found.verdict, found.decision, found.word) == (None, "adopted", f"Taken under guard as champion on {day(world)}")
    assert found.text == "By Ann; no rule was checked. Reason: looked into."
    assert status(world, "1").text.endswith(f" Version 2 has been in its place since {day(world)}.")
    del world.registry.set[NAME]["champion"]
    world.ledger.record("outside move", move.model_copy(update={"found": None}), model=NAME)
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="")
    assert status(world, "2").text.endswith(f" Nothing has been in its place since {day(world)}.")


def test_what_stands_is_red_where_the_gate_is(champion_world):
    world = champion_world
    world.approve("2")
    world.promote("2")
    assert short(world, "2")[:2] == ("pass", "promoted")
    world.registry.files[NAME, "1", "2"]["change_report.html"] += b" "
    found = status(world, "2")
    assert (found.verdict, found.word) == ("fail", f"Promoted to champion on {day(world)}")
    assert found.text.endswith(f" The gate says now: {world.ask('2').reason}")
    elsewhere = replace(world.ask("2"), alias="shadow")
    assert version_status(world.ledger, NAME, "2", lambda: elsewhere).verdict == "pass"
    assert version_status(world.ledger, NAME, "2").verdict == "pass"


def test_the_guard_tells_of_both_versions_and_whatever_that_raises_the_promotion_holds(champion_world, caplog):
    world, seen = champion_world, []
    world.approve("2")

    def after(registry, name, version):
        seen.append((registry, name, version))
        raise RuntimeError("the registry shows nothing")

    Guard(world.ledger, after=after).set_alias(world.registry, NAME, "champion", "2", Actor())
    assert seen == [(world.registry, NAME, "2"), (world.registry, NAME, "1")]
    assert world.registry.set[NAME]["champion"] == "2"
    assert "promotion" in world.events()
    assert "what is shown of version 2 of 'credit' is out of date" in caplog.text
