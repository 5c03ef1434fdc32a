"""Promotions that the service signed although nobody was entitled to them, each found by those who read the ledger."""

import unicodedata

import pytest

from coordpath_governance import explain_change
from coordpath_governance.canonical import sha256_hex
from coordpath_governance.ledger.entitlement import unentitled
from coordpath_governance.ledger.events import KeyRevoked, OutsideMove, PolicyRetired
from coordpath_governance.ledger.verify import audit
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.policy.terms import Retention
from coordpath_governance.signing.keys import new_key

NOBODY = {"class": "minor"}
TWO = [{"class": "minor", "approvals": [{"role": "risk", "count": 2}]}]
CLASSES = [
    {"class": "major", "when": {"features_added": 1}, "approvals": [{"role": "risk", "count": 2}]},
    {"class": "minor", "approvals": [{"role": "risk", "count": 1}]},
]


@pytest.fixture
def ready(book):
    """Everything a promotion needs but the approvals."""
    book.add_people()
    book.adopt()
    book.register()
    book.make_report()
    return book


def said(book):
    found = audit(book.entries, book.blobs)
    told = [what for _, what in unentitled(book.entries, book.blobs)]
    assert found.intact is (not told)
    return told


def another(book, owner, *roles):
    key = new_key()
    book.add_key(key, owner, *roles)
    return key


def test_an_entitled_promotion(ready):
    ready.intend([ready.approve()], [ready.waive(another(ready, "Lea", "risk"))])
    assert said(ready) == []


def test_who_waived_a_rule_does_not_approve_it_too(ready):
    ready.intend([ready.approve()], [ready.waive()])
    assert said(ready) == [
        "the approval of entry 7 did not count: Rob waived a rule of it",
        "it lacks approvals: its policy asks for 1, and 0 counted",
    ]


def test_the_newest_verdict_failed_it(ready):
    ready.tell("fail", gap="fail")
    ready.intend([ready.approve()])
    assert said(ready) == ["the gate had said in entry 7 that 'gap' fails, and it uses no waiver of that"]


def test_a_failed_verdict_is_lifted_by_a_waiver_or_a_newer_verdict(ready):
    other = another(ready, "Lea", "risk")
    ready.tell("fail", gap="fail")
    ready.intend([ready.approve()], [ready.waive(other)])
    assert said(ready) == []
    ready.tell("review", gap="waived")
    ready.intend([ready.approve()])
    assert said(ready) == ["the gate had said in entry 12 that 'gap' is met by a waiver only, and it uses no waiver of that"]
    ready.tell("pass", gap="pass")
    ready.intend([ready.approve()])
    assert len(said(ready)) == 1


def test_a_verdict_on_another_change_says_nothing(ready):
    ready.tell("fail", {"report": "9" * 64}, gap="fail")
    ready.intend([ready.approve()])
    assert said(ready) == []


@pytest.mark.parametrize("again", ["make_report", "move"])
@pytest.mark.parametrize("rule", ["gap", "report_age"])
def test_what_only_the_gate_looks_at_may_be_met_later(ready, again, rule):
    ready.adopt(rules={"gap": {"most": 0.1}, "report_age": {"days": 3}})
    ready.tell("fail", **{rule: "fail"})
    if again == "make_report":
        ready.make_report()
    else:
        ready.add("outside move", OutsideMove(alias="champion", expected="1", found="7", reason="odd"), model="fraud")
    ready.intend([ready.approve()])
    assert bool(said(ready)) is (rule == "gap")


@pytest.mark.parametrize("result", ["review", "unknown"])
def test_what_the_gate_had_left_to_people(book, result, report_on_a_new_feature):
    book.add_people()
    book.report = report_on_a_new_feature
    book.adopt(materiality=[{"class": "major", "when": {"features_added": 2}, "approvals": [{"role": "risk"}]}, NOBODY])
    book.register()
    book.make_report()
    book.tell("review", gap=result)
    book.intend()
    assert said(book) == ["it lacks approvals: its policy asks for 1, and 0 counted"]
    book.intend([book.approve()])
    assert len(said(book)) == 1


def test_what_the_gate_had_left_to_people_where_nobody_may_approve(book):
    book.add_people()
    book.adopt(materiality=[NOBODY])
    book.register()
    book.make_report()
    book.tell("fail", gap="unknown")
    book.intend()
    assert said(book) == ["the gate had left a rule of it to people, and nobody could approve"]


def test_nobody_approved(ready):
    ready.intend()
    assert said(ready) == ["it lacks approvals: its policy asks for 1, and 0 counted"]
    assert audit(ready.entries, ready.blobs).conclusion.startswith("NOT intact: entry 7: it lacks approvals")


def test_the_retention_is_that_of_the_policy(ready):
    seven = {"class": "model change", "years": 7}
    ready.adopt(retention=seven)
    ready.intend([ready.approve()], retention=Retention(**seven))
    assert said(ready) == []


@pytest.mark.parametrize("recorded", [None, {"class": "model change", "years": 1}, {"class": "other", "years": 7}])
def test_a_shorter_retention_than_the_policy_asks_for(ready, recorded):
    ready.adopt(retention={"class": "model change", "years": 7})
    ready.intend([ready.approve()], retention=Retention(**recorded) if recorded else None)
    (problem,) = said(ready)
    assert problem.endswith("but its policy asks for a retention of 7 years as 'model change'")


def test_a_retention_that_no_policy_asks_for(ready):
    ready.intend([ready.approve()], retention=Retention(**{"class": "x", "years": 1}))
    assert said(ready) == ["it records a retention of 1 year as 'x', but its policy asks for no retention"]


def test_an_approval_of_something_else_does_not_count(ready):
    ready.intend([ready.approve(alias="shadow"), ready.entries[0]])
    assert said(ready) == ["it lacks approvals: its policy asks for 1, and 0 counted"]


def test_an_author_whom_nobody_vouches_for_takes_one_more(ready):
    ready.register("eve", None)
    ready.intend([ready.approve()])
    assert said(ready) == ["it lacks approvals: its policy asks for 2, and 1 counted"]


def test_the_newest_registration_names_the_author(ready):
    ready.register("ｒｏｂ ", "key")
    ready.intend([ready.approve()])
    ready.intend(waivers=[ready.waive()])
    assert [each for each in said(ready) if "lacks" not in each] == [
        "the approval of entry 8 did not count: Rob registered the version",
        "the waiver of entry 10 did not count: Rob registered the version",
    ]


def test_one_person_with_two_keys_is_one(book):
    book.add_people()
    first, second = (unicodedata.normalize(form, "José  Ruiz") for form in ("NFC", "NFD"))
    keys = [another(book, first, "risk"), another(book, second.upper(), "risk")]
    book.adopt(materiality=TWO)
    book.register()
    book.make_report()
    book.intend([book.approve(key) for key in keys])
    told = said(book)
    assert told[0].endswith("is counted twice")
    assert told[1] == "it lacks approvals: its policy asks for 2, and 1 counted"
    book.intend([book.approve(keys[0]), book.approve()])
    assert len(said(book)) == 2


def test_places_are_filled_by_role_as_well_as_they_can_be(book):
    book.add_people()
    both = another(book, "Bea", "risk", "legal")
    book.adopt(materiality=[{"class": "minor", "approvals": [{"role": "risk"}, {"role": "legal"}]}])
    book.register()
    book.make_report()
    book.intend([book.approve(both), book.approve()])
    assert said(book) == []
    book.intend([book.approve(another(book, "Ron", "risk")), book.approve()])
    assert said(book) == ["it lacks approvals: its policy asks for 2, and 1 counted"]


def test_a_key_that_was_revoked_by_then(ready):
    approval = ready.approve()
    ready.add("key revoked", KeyRevoked(key=ready.reviewer.public.id, reason="stolen"), ready.admin)
    ready.intend([approval])
    assert said(ready)[0] == "the approval of entry 7 did not count: the key of Rob was revoked by entry 8"


def test_a_key_revoked_later_changes_nothing(ready):
    ready.intend([ready.approve()])
    ready.add("key revoked", KeyRevoked(key=ready.reviewer.public.id, reason="left"), ready.admin)
    assert said(ready) == []


@pytest.mark.parametrize(("at", "counts"), [("00:14:59", True), ("00:15:00", False)])
def test_an_approval_and_a_waiver_expire_after_a_little_patience(ready, at, counts):
    expires = "2026-01-01T00:10:00.000000Z"
    waived = ready.waive(another(ready, "Lea", "risk"), expires=expires)
    ready.intend([ready.approve(expires=expires)], [waived], at=f"2026-01-01T{at}.000000Z")
    told = said(ready)
    assert (told == []) is counts
    if not counts:
        assert [what.partition("count: ")[2] for what in told[:2]] == [f"it had expired at {expires}"] * 2


def test_an_approval_that_runs_longer_than_the_policy_allows(ready):
    ready.intend([ready.approve(expires="2026-02-01T00:00:00.000000Z")])
    assert said(ready)[0].endswith("it ran longer than the 30 days that the policy allows")


def test_an_approval_from_before_the_alias_last_moved(ready):
    approval = ready.approve()
    move = OutsideMove(alias="champion", expected="1", found="3", reason="somebody else")
    moved = ready.add("outside move", move, model="fraud")
    ready.intend([approval])
    assert f"did not count: it was given before entry {moved.seq} moved the alias" in said(ready)[0]


def test_a_waiver_by_somebody_who_may_not(ready):
    legal = another(ready, "Lea", "legal")
    ready.intend([ready.approve()], [ready.waive(legal)])
    assert said(ready) == ["the waiver of entry 9 did not count: the policy does not let Lea waive rules"]


def test_a_rejection_stands_until_the_same_person_says_otherwise(ready):
    lea = another(ready, "Lea", "risk")
    approval = ready.approve()
    ready.reject(lea)
    ready.intend([approval])
    assert said(ready) == ["Lea had rejected it in entry 9"]
    ready.intend([ready.approve(lea)])
    assert len(said(ready)) == 1


def test_a_policy_that_was_replaced_or_never_adopted(ready):
    old = ready.binding().policy
    approval = ready.approve()
    ready.adopt(waivers={"roles": []})
    ready.intend([approval], policy=old)
    assert said(ready) == [f"its policy {old[:12]} was not in force"]
    ready.intend([ready.approve(policy="9" * 64)], policy="9" * 64)
    assert said(ready)[1:] == [f"its policy {'9' * 12} was not in force"]


def test_a_policy_for_other_models_or_that_is_none(ready):
    ready.adopt(models=["churn*"])
    ready.intend([ready.approve()])
    assert said(ready) == ["its policy 'retail' is not for this model"]
    ready.adopt(schema="other/1")
    ready.intend([ready.approve()])
    assert "schema: is 'other/1'" in said(ready)[1]


def test_a_policy_whose_bytes_are_lost_is_told_once(ready):
    ready.intend([ready.approve()])
    ready.blobs[ready.binding().policy] = b"other"
    assert list(unentitled(ready.entries, ready.blobs)) == []
    assert len(audit(ready.entries, ready.blobs).problems) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"version": "3"},
        {"champion": None},
        {"candidate_digest": "9" * 64},
        {"champion_digest": "9" * 64},
    ],
)
def test_a_report_on_something_else(book, changed):
    book.add_people()
    book.adopt()
    book.register()
    book.make_report(**changed)
    book.intend([book.approve()])
    assert said(book) == [f"there is no earlier report {book.binding().report[:12]} on this change"]


def test_a_class_that_the_policy_has_not(ready):
    ready.intend([ready.approve()], materiality="tiny")
    assert said(ready) == ["its policy has no class 'tiny'"]


def test_a_validation_that_was_none(ready):
    ready.intend([ready.approve()], full_validation=True)
    assert said(ready) == ["it is counted as a full validation, against its class"]


@pytest.fixture(scope="module")
def report_on_a_new_feature(tmp_path_factory):
    rows = tmp_path_factory.mktemp("rows") / "rows.csv"
    rows.write_text("a,b,y\n" + "".join(f"{at % 7},{at % 5},{at % 3}\n" for at in range(60)))
    before = LinearModel(1.0, (NumericTerm("a", 1.0),), ())
    after = LinearModel(1.0, (NumericTerm("a", 1.0), NumericTerm("b", 0.5)), ())
    return explain_change(before, after, data=rows, target="y", name="fraud").to_bytes()


def test_a_change_counted_as_milder_than_its_report_tells(book, report_on_a_new_feature):
    book.add_people()
    book.report = report_on_a_new_feature
    book.adopt(materiality=CLASSES)
    book.register()
    book.make_report()
    book.intend([book.approve()])
    assert said(book) == ["it is counted as 'minor', but by its report it is of class 'major'"]
    book.intend([book.approve(), book.approve(another(book, "Lea", "risk"))], materiality="major")
    assert len(said(book)) == 1


def test_a_report_that_is_none(book):
    book.add_people()
    book.adopt(materiality=CLASSES)
    book.register()
    book.make_report()
    book.intend([book.approve()])
    (told,) = said(book)
    assert told.startswith(f"its report {book.binding().report[:12]} cannot be read: ")


def test_a_retired_policy_was_not_in_force(ready):
    approval = ready.approve()
    body = PolicyRetired(policy=sha256_hex(ready.policy), name="retail", reason="superseded")
    ready.add("policy retired", body, ready.admin)
    ready.intend([approval])
    assert said(ready) == [f"its policy {sha256_hex(ready.policy)[:12]} was not in force"]


def test_a_policy_adopted_again_is_in_force(ready):
    body = PolicyRetired(policy=sha256_hex(ready.policy), name="retail", reason="superseded")
    ready.add("policy retired", body, ready.admin)
    ready.adopt()
    ready.intend([ready.approve()])
    assert said(ready) == []
