"""Four eyes, roles, expiry, once: who counts and who does not."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordpath_governance.errors import RefusedError, ReviewNeededError, SigningKeyError, UsageError
from coordpath_governance.ledger.events import Approval, Intent, KeyRevoked
from coordpath_governance.ledger.quorum import Place, fill
from coordpath_governance.ledger.times import moment
from coordpath_governance.ledger.verify import audit
from coordpath_governance.review.decisions import adopt_standing
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.signing.keys import new_key

NAME = "credit"


def two_validators(world):
    world.adopt_policy(materiality=[{"class": "major", "approvals": [{"role": "validator", "count": 2}]}])
    world.report("2", "1")


def test_n_of_m_and_one_person_with_two_keys_is_one(champion_world):
    world = champion_world
    two_validators(world)
    world.approve("2")
    world.person("bob ", "validator")
    world.approve("2", world.keys["bob "])
    with pytest.raises(ReviewNeededError):
        world.promote("2")
    world.person("Cleo", "validator")
    world.approve("2", world.keys["Cleo"])
    world.promote("2")


def test_by_role_and_no_person_fills_two_places(champion_world):
    world = champion_world
    needs = [{"role": "validator", "count": 1}, {"role": "risk", "count": 1}]
    world.adopt_policy(materiality=[{"class": "major", "approvals": needs}])
    world.report("2", "1")
    both = world.person("Vera", "validator", "risk")
    world.approve("2", both)
    assert world.ask("2").readiness.missing in (("1 approval by risk",), ("1 approval by validator",))
    world.approve("2", world.bob)
    assert world.ask("2").verdict == "pass"


def test_an_author_does_not_approve(champion_world):
    world = champion_world
    world.register("2", author="bob")
    with pytest.raises(RefusedError, match="Bob registered this version; somebody else"):
        world.approve("2")
    readiness = world.ask("2").readiness
    body = Approval(binding=readiness.binding, comment="", nonce="0" * 32, expires=later(world, 1))
    world.ledger.append("approval", body, world.bob, model=NAME)
    assert world.ask("2").verdict == "review"
    assert "Bob registered the version and cannot approve it" in world.ask("2").reason


def test_an_author_nobody_vouches_for_costs_one_more(champion_world):
    world = champion_world
    world.register("2", author=None)
    world.approve("2")
    assert world.ask("2").verdict == "review"
    world.person("Cleo", "validator")
    world.approve("2", world.keys["Cleo"])
    assert world.ask("2").verdict == "pass"


def test_an_approval_is_used_once(champion_world):
    world = champion_world
    world.approve("2")
    world.promote("2")
    world.report("1", "2")
    world.approve("1")
    world.promote("1")
    with pytest.raises(ReviewNeededError, match="was used by an earlier promotion"):
        world.promote("2")


def later(world, days):
    return (moment(world.ledger.now()) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize(("days", "why"), [(-1, "expired"), (0, "expired"), (11, "runs longer than the 10 days")])
def test_expiry(champion_world, days, why):
    world = champion_world
    body = Approval(binding=world.ask("2").readiness.binding, comment="", nonce="0" * 32, expires=later(world, days))
    world.ledger.append("approval", body, world.bob, model=NAME)
    answer = world.ask("2")
    assert answer.verdict == "review"
    assert why in answer.reason


def test_a_revoked_key_takes_its_approvals_with_it(champion_world):
    world = champion_world
    world.approve("2")
    world.ledger.append("key revoked", KeyRevoked(key=world.bob.public.id, reason="left"), world.admin)
    assert "the key of Bob was revoked" in world.ask("2").reason
    with pytest.raises(SigningKeyError, match="was revoked"):
        world.approve("2")


def test_a_rejection_stands_even_if_its_key_is_revoked(champion_world):
    world = champion_world
    world.reject("2")
    world.ledger.append("key revoked", KeyRevoked(key=world.bob.public.id, reason="left"), world.admin)
    assert world.ask("2").verdict == "fail"


def test_a_surplus_approval_is_on_record_and_does_not_outlive_the_promotion(champion_world):
    """Two approved where one was needed: both are named, and after a rollback neither is a permission."""
    world = champion_world
    world.person("Cleo", "validator")
    for owner in ("Bob", "Cleo"):
        world.approve("2", world.keys[owner])
    answer = world.ask("2")
    assert answer.reason == "Every rule is met. Approved by 2 people."
    assert len(answer.readiness.tally.counted) == 1
    world.promote("2")
    [intent] = [facts for _, facts in ModelHistory(world.ledger.entries(NAME)).of(Intent) if facts.binding.to_version == "2"]
    used = [entry for entry in world.ledger.entries(NAME) if entry.hash in intent.approvals]
    assert {world.ledger.keyring().keys[entry.key].facts.owner for entry in used} == {"Bob", "Cleo"}
    entries, damaged = world.ledger.stored()
    result = audit(entries, world.ledger.blobs, (), damaged)
    assert result.intact, result.problems
    world.report("1", "2")
    world.approve("1")
    world.promote("1")
    with pytest.raises(ReviewNeededError, match="was used by an earlier promotion"):
        world.promote("2")


def test_one_person_in_two_spellings(champion_world):
    world = champion_world
    two_validators(world)
    for owner in ("Jos\u00e9", "Jose\u0301"):
        world.approve("2", world.person(owner, "validator"))
    assert world.ask("2").verdict == "review"


def test_who_waives_does_not_approve(champion_world):
    world = champion_world
    world.register("2", author=None)
    world.adopt_policy(rules={"final_cost_increase": {"absolute": -1.0}})
    world.report("2", "1")
    both = world.person("Rita", "risk", "validator")
    world.waive("2", "final_cost_increase", both)
    world.approve("2", both)
    world.approve("2")
    answer = world.ask("2")
    assert answer.verdict == "review"
    assert "Rita waived a rule of it and cannot approve it" in answer.reason


def test_a_policy_without_approvers_and_an_author_nobody_knows(world):
    world.adopt_policy(materiality=[{"class": "any"}], rules={"steps": {"most": 100}})
    world.register("1", author=None)
    world.report("1")
    answer = world.ask("1")
    assert answer.verdict == "fail"
    assert "nobody that the policy names" in answer.reason


def test_checks_of_the_report_itself_cannot_be_waived(champion_world):
    with pytest.raises(UsageError, match="which nobody can waive"):
        champion_world.waive("2", "reference data", champion_world.person("Rita", "risk"))


def test_a_report_made_again_is_young_again(champion_world, monkeypatch):
    from coordpath_governance.review import gate

    world = champion_world
    before = world.events().count("report")
    world.report("2", "1")
    assert world.events().count("report") == before
    monkeypatch.setattr(gate, "_FRESH", timedelta(0))
    world.report("2", "1")
    assert world.events().count("report") == before + 1


@pytest.mark.parametrize(
    "change",
    [
        {"alias": "shadow"},
        {"to_version": "3"},
        {"from_version": None},
        {"registry": "0" * 32},
        {"name": "credit2"},
        {"to_digest": "a" * 64},
        {"from_digest": "a" * 64},
        {"report": "a" * 64},
        {"policy": "a" * 64},
    ],
)
def test_an_approval_of_anything_else_is_none(champion_world, change):
    """Replayed for another alias, version, registry …"""
    world = champion_world
    binding = world.ask("2").readiness.binding.model_copy(update=change)
    body = Approval(binding=binding, comment="", nonce="0" * 32, expires=later(world, 1))
    world.ledger.append("approval", body, world.bob, model=NAME)
    assert world.ask("2").verdict == "review"


def test_a_new_policy_voids_approvals(champion_world):
    world = champion_world
    world.approve("2")
    world.adopt_policy(rules={"final_cost_increase": {"absolute": 0.06}})
    assert world.ask("2").verdict == "review"


def test_who_may_sign(champion_world):
    world = champion_world
    with pytest.raises(SigningKeyError, match="is not in this ledger"):
        world.approve("2", new_key())
    with pytest.raises(SigningKeyError, match="role"):
        world.approve("2", world.admin)
    with pytest.raises(SigningKeyError, match="lets only risk waive rules"):
        world.waive("2", "final_cost_increase", world.bob)
    with pytest.raises(SigningKeyError):
        world.approve("2", world.ledger.service)


def test_words_that_are_missing_or_wrong(champion_world):
    world = champion_world
    risk = world.person("Rita", "risk")
    with pytest.raises(UsageError, match="needs a --comment"):
        world.reject("2", comment="  ")
    with pytest.raises(UsageError, match="needs a --reason"):
        world.waive("2", "final_cost_increase", risk, reason=" ")
    with pytest.raises(UsageError, match="no unmet rule 'final_cost_increase' here; unmet rules: none"):
        world.waive("2", "final_cost_increase", risk)
    for days in (0, 11):
        with pytest.raises(UsageError, match="the policy allows at most 10"):
            world.approve("2", days=days)


def test_a_waiver_counts_only_from_those_who_may(champion_world):
    world = champion_world
    risk = world.person("Rita", "risk")
    world.adopt_policy(rules={"final_cost_increase": {"absolute": -1.0}})
    world.report("2", "1")
    world.waive("2", "final_cost_increase", risk)
    world.approve("2")
    assert world.ask("2").verdict == "pass"
    world.register("2", author="Rita")
    assert world.ask("2").verdict == "fail"
    world.register("2", author="Eve")
    world.ledger.append("key revoked", KeyRevoked(key=risk.public.id, reason="left"), world.admin)
    assert world.ask("2").verdict == "fail"


def test_changes_add_up_since_the_last_full_validation(world):
    validators = [{"role": "validator", "count": 1}]
    world.adopt_policy(materiality=[{"class": "full", "approvals": validators, "full_validation": True}])
    world.first_champion()
    world.adopt_policy(rules={"change_since_validation": {"changes": 1}})
    world.ready("2", "1")
    world.approve("2")
    world.promote("2")
    world.ready("3", "2")
    answer = world.ask("3")
    assert answer.verdict == "fail"
    assert answer.readiness.judgement.results[-1].observed == "number of changes: 2"
    world.adopt_policy(
        rules={"change_since_validation": {"changes": 1}},
        materiality=[{"class": "full", "approvals": validators, "full_validation": True}],
    )
    world.approve("3")
    world.promote("3")
    world.adopt_policy(rules={"change_since_validation": {"changes": 1}})
    world.ready("4", "3")
    assert world.ask("4").verdict == "review"


def test_what_was_adopted_unmeasured_is_not_validated(world):
    """A jump outside the gate, adopted, does not hide from what has added up."""
    validators = [{"role": "validator", "count": 1}]
    world.adopt_policy(materiality=[{"class": "full", "approvals": validators, "full_validation": True}])
    world.first_champion()
    world.adopt_policy(rules={"change_since_validation": {"changes": 5}})
    world.registry.set[NAME]["champion"] = "8"
    assert world.ask("2").verdict == "fail"
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="looked into")
    world.ready("9", "8")
    assert world.ask("9").readiness.judgement.results[-1].observed == "never fully validated"


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=5),
    st.lists(st.sampled_from("abc"), max_size=5),
)
def test_as_many_places_as_can_be_filled(people, wanted):
    """Against all ways to seat people."""
    from itertools import permutations

    seats = [Place((role,)) for role in wanted]
    named = {str(i): frozenset(roles) for i, roles in enumerate(people)}
    filled = fill(seats, named)
    assert all(set(named[person]) & set(seats[at].roles) for at, person in filled.items())
    assert len(set(filled.values())) == len(filled)
    everybody = [*named, *[None] * len(seats)]
    best = max(
        sum(p is not None and bool(named[p] & set(seat.roles)) for p, seat in zip(order, seats, strict=True))
        for order in permutations(everybody, len(seats))
    )
    assert len(filled) == best
