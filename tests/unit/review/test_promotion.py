"""A promotion from registration to done, and everything that must stop one."""

from datetime import timedelta
from threading import Thread

import pytest

from coordpath_governance.errors import LedgerError, NotFoundError, RefusedError, RegistryError, ReviewNeededError
from coordpath_governance.ledger.events import KeyRevoked
from coordpath_governance.ledger.verify import audit
from coordpath_governance.review.decisions import adopt_standing
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.ports import Actor

NAME = "credit"


def test_the_whole_way(champion_world):
    world = champion_world
    assert world.ask("2").verdict == "review"
    world.approve("2")
    assert world.ask("2").verdict == "pass"
    world.promote("2", actor=Actor("Zoe", "server"))
    assert world.registry.set[NAME]["champion"] == "2"
    assert world.events()[-2:] == ["intent", "promotion"]
    intent = world.ledger.entries(NAME)[-2].facts
    assert (intent.actor, intent.binding.from_version, intent.binding.to_version) == ("Zoe", "1", "2")
    standing = ModelHistory(world.ledger.entries(NAME)).standing("champion")
    assert (standing.version, standing.digest, standing.doubt) == ("2", f"{2:064x}", None)


def test_without_an_approval_nothing_moves(champion_world):
    with pytest.raises(ReviewNeededError, match=r"1 approval by validator.*coordpath review credit 2 --approve"):
        champion_world.promote("2")
    assert champion_world.registry.set[NAME]["champion"] == "1"
    assert champion_world.events()[-1] == "refusal"


def test_a_rule_that_fails_stops_it_and_a_waiver_lets_it_through(champion_world):
    world = champion_world
    risk = world.person("Rita", "risk")
    world.adopt_policy(rules={"final_cost_increase": {"absolute": -1.0}})
    world.report("2", "1")
    answer = world.ask("2")
    assert answer.verdict == "fail"
    assert [r.rule for r in answer.readiness.judgement.results if r.result == "fail"] == ["final_cost_increase"]
    world.approve("2")
    with pytest.raises(RefusedError, match="final_cost_increase"):
        world.promote("2")
    world.waive("2", "final_cost_increase", risk)
    assert world.ask("2").verdict == "pass"
    world.promote("2")
    assert len(world.ledger.entries(NAME)[-2].facts.waivers) == 1


def test_a_rejection_stands_until_its_author_thinks_again(champion_world):
    world = champion_world
    world.person("Cleo", "validator")
    world.approve("2")
    world.reject("2", world.keys["Cleo"], "the sign of income")
    assert world.ask("2").verdict == "fail"
    with pytest.raises(RefusedError, match="Rejected by Cleo: the sign of income"):
        world.promote("2")
    world.approve("2", world.keys["Cleo"])
    world.promote("2")


def test_a_champion_that_moved_since_the_report(champion_world):
    world = champion_world
    world.ready("3", "1")
    world.approve("2")
    world.approve("3")
    world.promote("2")
    with pytest.raises(RefusedError, match="explains the change from version 1, but version 2 has the alias"):
        world.promote("3")
    assert world.registry.set[NAME]["champion"] == "2"


def test_rollback_is_a_promotion_like_any_other(champion_world):
    world = champion_world
    world.approve("2")
    world.promote("2")
    with pytest.raises(RefusedError, match="explains the change from nothing, but version 2 has the alias"):
        world.promote("1")
    world.report("1", "2")
    world.approve("1")
    world.promote("1")
    assert world.registry.set[NAME]["champion"] == "1"


def test_the_same_again_changes_nothing(champion_world):
    before = champion_world.events()
    champion_world.promote("1")
    assert champion_world.events() == before


def test_no_report_no_promotion(champion_world):
    champion_world.register("9")
    with pytest.raises(RefusedError, match="has no report in the ledger; make it with"):
        champion_world.promote("9")


@pytest.mark.parametrize("version", ["1", "2"])
def test_files_that_changed_under_the_registry(champion_world, version):
    champion_world.approve("2")
    champion_world.registry.digests[NAME, version] = "f" * 64
    with pytest.raises(RefusedError, match=f"files of version {version} of 'credit' have changed"):
        champion_world.promote("2")


def test_a_move_outside_is_found_recorded_once_and_adopted(champion_world):
    world = champion_world
    world.approve("2")
    world.registry.set[NAME]["champion"] = "7"
    for _ in range(2):
        with pytest.raises(RefusedError, match=r"outside the gate: the ledger knows version 1.*coordpath adopt credit"):
            world.promote("2")
    assert world.events().count("outside move") == 1
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="looked into")
    world.report("2", "7")
    world.approve("2")
    world.promote("2")
    assert world.registry.set[NAME]["champion"] == "2"


def test_a_model_no_policy_matches(world):
    with pytest.raises(RefusedError, match="no policy matches the model 'other'"):
        world.promote("1", name="other")
    world.guard.set_alias(world.registry, "other", "shadow", "1", Actor())
    assert world.registry.set["other"] == {"shadow": "1"}


def test_two_policies_that_match(world):
    world.adopt_policy(name="another", models=["*"])
    with pytest.raises(RefusedError, match="2 policies match the model 'credit'"):
        world.promote("1")


@pytest.mark.parametrize("where", ["set_alias", "aliases"])
def test_a_registry_that_fails_leaves_an_intent_that_the_next_call_finishes(champion_world, where):
    world = champion_world
    world.approve("2")
    if where == "set_alias":
        world.registry.broken["set_alias"] = RegistryError("down")
    else:
        world.registry.break_after_setting = RegistryError("down")
    with pytest.raises(RegistryError):
        world.promote("2")
    assert world.events()[-1] == "intent"
    world.promote("2")
    assert world.registry.set[NAME]["champion"] == "2"
    assert world.events().count("intent") == world.events().count("promotion") == 2
    assert world.ledger.entries(NAME)[-1].facts.completed == "after a crash"


def test_a_promotion_names_who_asked_and_who_finished_it(champion_world):
    world = champion_world
    world.approve("2")
    world.registry.broken["set_alias"] = RegistryError("down")
    with pytest.raises(RegistryError):
        world.promote("2", actor=Actor("rob", "server"))
    world.promote("2", actor=Actor("eve", "key"))
    done = world.ledger.entries(NAME)[-1].facts
    assert (done.actor, done.authenticated_by, done.completed_by) == ("rob", "server", "eve")
    world.ready("3", "2")
    world.approve("3")
    world.promote("3", actor=Actor("eve", "key"))
    done = world.ledger.entries(NAME)[-1].facts
    assert (done.actor, done.authenticated_by, done.completed_by) == ("eve", "key", None)
    entries, _ = world.ledger.stored()
    assert audit(entries, world.ledger.blobs).intact


def test_the_retention_of_the_policy_is_recorded(world):
    world.first_champion()
    assert world.ledger.entries(NAME)[-1].body["retention"] is None
    world.adopt_policy(retention={"class": "model change", "years": 7})
    world.ready()
    world.approve("2")
    world.promote("2")
    intent, done = world.ledger.entries(NAME)[-2:]
    assert intent.body["retention"] == done.body["retention"] == {"class": "model change", "years": 7}
    entries, _ = world.ledger.stored()
    assert audit(entries, world.ledger.blobs).intact


def test_an_unfinished_promotion_whose_alias_went_elsewhere(champion_world):
    world = champion_world
    world.approve("2")
    world.registry.broken["set_alias"] = RegistryError("down")
    with pytest.raises(RegistryError):
        world.promote("2")
    world.registry.set[NAME]["champion"] = "5"
    with pytest.raises(RefusedError, match="a promotion to version 2 was left unfinished"):
        world.promote("2")


def test_an_unfinished_promotion_whose_files_were_changed(champion_world):
    world = champion_world
    world.approve("2")
    world.registry.broken["set_alias"] = RegistryError("down")
    with pytest.raises(RegistryError):
        world.promote("2")
    world.registry.digests[NAME, "2"] = "f" * 64
    with pytest.raises(RefusedError, match="left unfinished and cannot be finished"):
        world.promote("2")
    assert world.registry.set[NAME]["champion"] == "1"


def test_an_alias_that_does_not_read_back(champion_world):
    world = champion_world
    world.approve("2")
    world.registry.set_alias = lambda *_: None
    with pytest.raises(RegistryError, match="did not read back as version 2"):
        world.promote("2")


def test_two_at_once_one_wins_and_the_other_is_told(champion_world):
    """The second one acts between the first one's check and its intent."""
    world = champion_world
    world.ready("3", "1")
    world.approve("2")
    world.approve("3")
    record = world.ledger.record
    raced = []

    def racing(event, body, **more):
        if event == "intent" and not raced:
            raced.append(True)
            world.promote("3")
        return record(event, body, **more)

    world.ledger.record = racing
    with pytest.raises(RefusedError, match="version 3 has the alias 'champion' now"):
        world.promote("2")
    assert world.registry.set[NAME]["champion"] == "3"
    assert world.events().count("promotion") == 2


def test_somebody_else_finishes_it_and_goes_on(champion_world):
    """Slow to set the alias: meanwhile another call finished this promotion and made the next one."""
    world = champion_world
    world.approve("2")
    plain = world.registry.set_alias
    world.registry.set_alias = lambda *a: slow(*a)

    def slow(name, alias, version):
        world.registry.set_alias = plain
        world.guard.set_alias(world.registry, NAME, "champion", "2", Actor())
        world.ready("3", "2")
        world.approve("3")
        world.promote("3")
        plain(name, alias, version)

    world.promote("2")
    assert world.registry.set[NAME]["champion"] == "3"
    assert ModelHistory(world.ledger.entries(NAME)).standing("champion").version == "3"
    assert world.events().count("promotion") == 3


def test_the_gate_says_that_it_stands_there_already(champion_world):
    answer = champion_world.ask("1")
    assert (answer.verdict, answer.exit_code) == ("pass", 0)
    assert answer.reason == "Version 1 is 'champion' already; there is nothing to do."
    champion_world.registry.digests[NAME, "1"] = "f" * 64
    answer = champion_world.ask("1")
    assert answer.verdict == "fail"
    assert "the files of version 1 are not those that were promoted" in answer.reason


def begun(world):
    """A promotion of version 2 that has recorded its intent and failed to set the alias."""
    world.approve("2")
    world.registry.broken["set_alias"] = RegistryError("down")
    with pytest.raises(RegistryError):
        world.promote("2")


def test_who_only_asks_moves_nothing(champion_world):
    world = champion_world
    begun(world)
    answer = world.ask("2")
    assert answer.verdict == "fail"
    assert "was begun and not finished; finish it with `coordpath promote credit 2 --alias champion`" in answer.reason
    assert world.registry.set[NAME]["champion"] == "1"
    world.promote("2")
    assert world.registry.set[NAME]["champion"] == "2"


def test_without_the_service_key_nothing_is_finished(champion_world):
    world = champion_world
    begun(world)
    world.ledger.service = None
    with pytest.raises(LedgerError, match="the service key is needed"):
        world.promote("2")
    assert world.registry.set[NAME]["champion"] == "1"
    world.registry.set[NAME]["champion"] = "7"
    answer = world.ask("2")
    assert "moved outside the gate" in answer.reason
    assert world.events()[-1] != "outside move"


def test_a_version_that_is_gone_cannot_be_finished(champion_world):
    world = champion_world
    begun(world)

    def gone(*_):
        raise NotFoundError("no such version")

    world.registry.digest = gone
    with pytest.raises(RefusedError, match="left unfinished and cannot be finished"):
        world.promote("2")


@pytest.mark.parametrize("what", ["policy", "key"])
def test_a_policy_or_a_key_that_changes_in_between(champion_world, what):
    """Between the last look at the approvals and the intent."""
    world = champion_world
    world.approve("2")
    record = world.ledger.record
    changed = []

    def changing(event, body, **more):
        if event == "intent" and not changed:
            changed.append(True)
            if what == "policy":
                world.adopt_policy(rules={"final_cost_increase": {"absolute": -1.0}})
            else:
                world.ledger.append("key revoked", KeyRevoked(key=world.bob.public.id, reason="left"), world.admin)
        return record(event, body, **more)

    world.ledger.record = changing
    with pytest.raises(RefusedError):
        world.promote("2")
    assert world.registry.set[NAME]["champion"] == "1"
    assert world.events().count("intent") == 1


def test_refusals_of_others_do_not_stop_a_promotion(champion_world):
    world = champion_world
    world.approve("2")
    record = world.ledger.record

    def noisy(event, body, **more):
        if event == "intent":
            with pytest.raises(RefusedError):
                world.guard.forbid(world.registry, "rename model", NAME, Actor(), new_name="away")
        return record(event, body, **more)

    world.ledger.record = noisy
    world.promote("2")
    assert world.registry.set[NAME]["champion"] == "2"


def test_an_alias_deleted_outside_is_adopted_as_nothing(champion_world):
    world = champion_world
    del world.registry.set[NAME]["champion"]
    assert "the registry had nothing" in world.ask("2").reason
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="it was deleted")
    world.report("2")
    world.approve("2")
    world.promote("2")
    assert world.registry.set[NAME]["champion"] == "2"


def test_nothing_that_could_be_adopted(world):
    with pytest.raises(RefusedError, match="has no alias 'champion' that could be taken under guard"):
        adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="")


def test_adopting_while_a_promotion_goes_on(champion_world):
    world = champion_world
    world.approve("2")
    digest = world.registry.digest

    def slow(name, version):
        world.registry.digest = digest
        world.promote("2")
        return digest(name, version)

    world.registry.digest = slow
    with pytest.raises(RefusedError, match="something else was recorded"):
        adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="")


def test_a_promotion_overtaken_by_an_adoption(champion_world):
    """The intent is there, the alias not yet set, and a policy-admin takes things as they stand."""
    world = champion_world
    world.approve("2")
    plain = world.registry.set_alias

    def slow(name, alias, version):
        world.registry.set_alias = plain
        adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="as it is")
        plain(name, alias, version)

    world.registry.set_alias = slow
    with pytest.raises(RefusedError, match="was overtaken"):
        world.promote("2")
    assert world.registry.set[NAME]["champion"] == "1"
    assert world.ask("1").verdict == "pass"


def test_a_promotion_that_another_worker_is_finishing_is_not_taken_for_one_of_a_crash(champion_world, monkeypatch):
    """A second worker comes between intent and done of the first: it waits, and the first says "at once"."""
    world = champion_world
    world.approve("2")
    monkeypatch.setattr("coordpath_governance.review.promotion._GRACE", timedelta(seconds=60))
    second = Thread(target=world.promote, args=("2",))
    set_alias = world.registry.set_alias

    def slowly(name, alias, version):
        second.start()
        second.join(0.5)
        assert second.is_alive(), "the second worker does not wait"
        set_alias(name, alias, version)

    monkeypatch.setattr(world.registry, "set_alias", slowly)
    world.promote("2")
    second.join(30)
    promotions = [entry.facts for entry in world.ledger.entries(NAME) if entry.event == "promotion"]
    assert [each.completed for each in promotions] == ["at once", "at once"]
    assert world.registry.set[NAME]["champion"] == "2"
