"""Policies come into force and go out of it: what a retired one still guards, and who may retire it."""

import pytest

from coordpath_governance.errors import RefusedError, SigningKeyError, UsageError
from coordpath_governance.ledger.verify import audit
from coordpath_governance.review.policies import (
    adopt_policy,
    adopted_policies,
    guarding_policies,
    policy_for,
    policy_records,
    retire_policy,
)
from coordpath_governance.review.ports import Actor

POLICY = "credit models"


def states(world):
    return [(record.name, record.state) for record in policy_records(world.ledger.entries())]


def intact(world):
    return audit(world.ledger.entries(), world.ledger.blobs).intact


def test_a_replaced_and_a_retired_policy_are_not_in_force(world):
    world.adopt_policy(rules={"steps": {"most": 3}})
    world.adopt_policy(name="others", models=["fraud"])
    assert states(world) == [(POLICY, "replaced"), (POLICY, "in force"), ("others", "in force")]
    entry = retire_policy(world.ledger, POLICY, world.admin, "superseded")
    assert states(world) == [(POLICY, "replaced"), (POLICY, "retired"), ("others", "in force")]
    assert policy_records(world.ledger.entries())[1].ended == entry
    assert [each.policy.name for each in adopted_policies(world.ledger)] == ["others"]
    assert [each.policy.name for each in guarding_policies(world.ledger)] == [POLICY, "others"]
    assert intact(world)


def test_a_model_that_only_it_matched_is_refused_and_stays_guarded(champion_world):
    world = champion_world
    world.adopt_policy(aliases=["champion", "shadow"])
    retire_policy(world.ledger, POLICY, world.admin, "superseded")
    with pytest.raises(RefusedError, match="no policy matches the model 'credit'"):
        policy_for(world.ledger, "credit")
    for alias in ("champion", "shadow"):
        with pytest.raises(RefusedError, match="no policy matches"):
            world.promote("2", alias)
    with pytest.raises(RefusedError, match="another name"):
        world.guard.forbid(world.registry, "rename model", "credit", Actor(), new_name="free")
    assert world.registry.aliases("credit") == {"champion": "1"}


def test_a_name_that_was_never_promoted_stays_guarded_too(world):
    world.adopt_policy(aliases=["shadow"])
    retire_policy(world.ledger, POLICY, world.admin, "superseded")
    assert world.guard.is_guarded("credit 9")
    assert world.guard.guarded_aliases("credit 9") == {"champion", "shadow"}


def test_another_policy_of_that_name_says_anew_what_is_guarded(world):
    retire_policy(world.ledger, POLICY, world.admin, "superseded")
    world.adopt_policy(models=["fraud"])
    assert not world.guard.is_guarded("credit")


def test_the_same_policy_can_be_adopted_again(world):
    policy = world.adopted.policy
    retire_policy(world.ledger, POLICY, world.admin, "by mistake")
    again = adopt_policy(world.ledger, policy, world.admin, world.ledger.head())
    assert states(world) == [(POLICY, "retired"), (POLICY, "in force")]
    assert policy_for(world.ledger, "credit").sha256 == again.facts.policy
    world.first_champion()
    assert intact(world)


def test_what_is_not_in_force_is_not_retired(world):
    with pytest.raises(RefusedError, match=r"no policy 'credit' is in force.*in force: 'credit models'"):
        retire_policy(world.ledger, "credit", world.admin, "typed wrongly")
    retire_policy(world.ledger, POLICY, world.admin, "superseded")
    with pytest.raises(RefusedError, match="in force: none"):
        retire_policy(world.ledger, POLICY, world.admin, "again")


def test_only_a_policy_admin_retires_and_says_why(world):
    before = world.ledger.head()
    with pytest.raises(SigningKeyError, match="policy-admin"):
        retire_policy(world.ledger, POLICY, world.bob, "I do not like it")
    with pytest.raises(SigningKeyError, match="policy-admin"):
        retire_policy(world.ledger, POLICY, world.ledger.service, "a machine says so")
    with pytest.raises(UsageError, match="--reason"):
        retire_policy(world.ledger, POLICY, world.admin, "  ")
    assert world.ledger.head() == before


def test_what_was_decided_before_somebody_elses_word_is_not_recorded(world):
    seen, policy = world.ledger.head(), world.adopted.policy
    retire_policy(world.ledger, POLICY, world.admin, "superseded")
    with pytest.raises(RefusedError, match="changed meanwhile"):
        adopt_policy(world.ledger, policy, world.admin, seen)
    assert adopted_policies(world.ledger) == ()
