"""Entries that are signed and chained, and still contradict each other."""

import pytest

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.ledger.consistency import contradictions, ledger_name
from coordpath_governance.ledger.events import Adoption, Anchor, OutsideMove, PolicyRetired, Waiver
from coordpath_governance.policy.terms import Retention

SEVEN = Retention(**{"class": "model change", "years": 7})


@pytest.fixture
def people(book):
    book.add_people()
    return book


def said(book):
    return " | ".join(f"{seq}: {what}" for seq, what in contradictions(book.entries))


def test_an_honest_story_has_none(story):
    assert said(story) == ""


def test_a_ledger_is_named_by_its_first_entry(story):
    assert ledger_name(story.entries) == "ab" * 16
    assert ledger_name(story.entries[1:]) == ""
    assert ledger_name([]) == ""


def test_a_decision_about_another_registry_or_model(people):
    people.approve(registry="ef" * 16)
    people.approve(name="churn")
    assert said(people) == (
        f"4: it is about the registry of ledger {'ef' * 16}, not of this one | "
        "5: it is about another model than the one it is recorded for"
    )


def test_an_approval_used_twice(people):
    approval = people.approve()
    people.intend([approval])
    people.intend([approval])
    assert said(people) == f"6: it uses {approval.hash[:12]}, which entry 5 has used already"


def test_an_approval_counted_twice_in_one_intent(people):
    approval = people.approve()
    people.intend([approval, approval])
    assert said(people) == "5: it counts the same approval twice"


@pytest.mark.parametrize("changed", [{"alias": "shadow"}, {"to_version": "3"}, {"report": "9" * 64}, {"policy": "9" * 64}])
def test_an_approval_of_something_else(people, changed):
    people.intend([people.approve()], **changed)
    assert said(people) == "5: it counts the approval of entry 4, which is about something else"


def test_an_approval_that_is_none(people):
    waiver = Waiver(
        binding=people.binding(), rule="gap", reason="known", nonce="cd" * 16, expires="2030-01-01T00:00:00.000000Z"
    )
    waived = people.add("waiver", waiver, people.reviewer, "fraud")
    people.intend([waived])
    assert said(people) == f"5: it counts {waived.hash[:12]}, which is no earlier approval"


def test_a_waiver_used_twice(people):
    waiver = Waiver(
        binding=people.binding(), rule="gap", reason="known", nonce="cd" * 16, expires="2030-01-01T00:00:00.000000Z"
    )
    waived = people.add("waiver", waiver, people.reviewer, "fraud")
    people.intend(waivers=[waived])
    people.intend(waivers=[waived])
    assert "which entry 5 has used already" in said(people)


def test_a_promotion_without_an_intent(people):
    people.promote(people.approve())
    assert said(people) == "5: it names no earlier intent"


@pytest.mark.parametrize(
    "changed",
    [{"alias": "shadow"}, {"from_version": None}, {"to_version": "3"}, {"to_digest": "9" * 64}, {"model": "churn"}],
)
def test_a_promotion_to_something_else_than_intended(people, changed):
    people.promote(people.intend(), **changed)
    assert said(people) == "5: it is not what entry 4 intended"


@pytest.mark.parametrize("changed", [{"actor": "eve"}, {"actor": None}, {"authenticated_by": "key"}])
def test_a_promotion_in_the_name_of_somebody_else(people, changed):
    people.promote(people.intend(), **changed)
    assert said(people) == "5: it names another actor than entry 4, which it completes"


def test_a_promotion_from_before_promotions_named_their_actor(people):
    intent = people.intend()
    body = people.promote(intent).body
    old = {name: body[name] for name in ("intent", "alias", "from_version", "to_version", "to_digest", "completed")}
    people.entries.pop()
    people.add("promotion", old, model="fraud")
    assert said(people) == ""


def test_who_finished_a_promotion_that_no_crash_interrupted(people):
    people.promote(people.intend(), completed_by="eve")
    assert said(people) == "5: it was completed at once, and yet names somebody who finished it after a crash"


@pytest.mark.parametrize(
    ("asked", "recorded"), [(SEVEN, None), (None, SEVEN), (SEVEN, Retention(**{"class": "x", "years": 1}))]
)
def test_a_promotion_with_another_retention_than_intended(people, asked, recorded):
    people.promote(people.intend(retention=asked), retention=recorded)
    assert said(people) == "5: it has another retention than entry 4, which it completes"


def test_an_intent_promoted_twice(people):
    intent = people.intend()
    people.promote(intent)
    people.promote(intent)
    assert said(people) == f"6: it uses {intent.hash[:12]}, which entry 5 has used already"


@pytest.mark.parametrize("how", ["outside move", "adoption", "promotion"])
def test_a_promotion_of_an_intent_that_was_overtaken(people, how):
    early = people.intend()
    if how == "outside move":
        people.add(how, OutsideMove(alias="champion", expected="1", found="7", reason="odd"), model="fraud")
    elif how == "adoption":
        people.add(how, Adoption(alias="champion", version="1", digest="1" * 64, reason="it stays"), people.admin, "fraud")
    else:
        people.promote(people.intend())
    overtook = people.entries[-1].seq
    people.promote(early)
    assert said(people) == f"{overtook + 1}: entry {overtook} had overtaken the intent of entry 4"


def test_what_happens_to_another_alias_or_model_overtakes_nothing(people):
    intent = people.intend()
    people.add("outside move", OutsideMove(alias="shadow", expected="1", found="7", reason="odd"), model="fraud")
    people.add("outside move", OutsideMove(alias="champion", expected="1", found="7", reason="odd"), model="churn")
    people.promote(intent)
    assert said(people) == ""


@pytest.mark.parametrize(("seq", "digest"), [(2, "0" * 64), (77, "0" * 64)])
def test_an_anchor_of_what_never_was(people, seq, digest):
    people.add("anchor", Anchor(seq=seq, hash=digest))
    assert said(people) == f"4: it says that entry {seq} was anchored with a hash that this entry does not have"


def retire(book, name="retail", policy=None):
    body = PolicyRetired(policy=policy or sha256_hex(book.policy), name=name, reason="superseded")
    return book.add("policy retired", body, book.admin)


def test_a_policy_is_retired_once_and_can_be_adopted_again(people):
    people.adopt()
    retire(people)
    people.adopt()
    retire(people)
    assert said(people) == ""


def test_a_policy_that_is_not_in_force_is_not_retired(people):
    retire(people)
    people.adopt()
    retire(people, name="other")
    retire(people, policy="9" * 64)
    adopted = sha256_hex(people.policy)[:12]
    assert said(people) == (
        f"4: it retires policy 'retail' {adopted}, which was not in force | "
        f"6: it retires policy 'other' {adopted}, which was not in force | "
        "7: it retires policy 'retail' 999999999999, which was not in force"
    )
