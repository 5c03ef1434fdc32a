"""A version that was promoted once is deleted only after a policy-admin said why, on record."""

import pytest

from coordpath_governance.errors import RefusedError, RegistryError, SigningKeyError, UsageError
from coordpath_governance.ledger.verify import audit
from coordpath_governance.review.decisions import retire
from coordpath_governance.review.ports import Actor

NAME = "credit"


@pytest.fixture
def second(champion_world):
    """Version 2 followed version 1 as champion."""
    champion_world.approve("2")
    champion_world.promote("2")
    return champion_world


def let_go(world, version, key=None, reason="its data were withdrawn"):
    return retire(world.ledger, world.registry, NAME, version, key or world.admin, reason)


def delete(world, version, tag=None):
    operation, what = ("delete tag", {"tag": tag}) if tag else ("delete version", {})
    world.guard.forbid(world.registry, operation, NAME, Actor("Mallory", "server"), version=version, **what)


def test_what_was_promoted_is_deleted_only_after_it_was_retired(second):
    with pytest.raises(
        RefusedError, match=r"was promoted or adopted \(entry \d+ of the ledger\); `coordpath retire credit 1"
    ):
        delete(second, "1")
    with pytest.raises(RefusedError, match="coordpath retire credit 1"):
        delete(second, "1", "coordpath.report_sha256")
    entry = let_go(second, "1")
    assert (entry.event, entry.facts.version, entry.facts.reason) == ("version retired", "1", "its data were withdrawn")
    delete(second, "1")
    delete(second, "1", "coordpath.report_sha256")
    assert audit(second.ledger.entries(), second.ledger.blobs).intact


def test_promoted_again_it_is_kept_again(second):
    let_go(second, "1")
    second.report("1", "2")
    second.approve("1")
    second.promote("1")
    second.report("2", "1")
    second.approve("2")
    second.promote("2")
    with pytest.raises(RefusedError, match="was promoted or adopted"):
        delete(second, "1")


def test_a_candidates_tags_can_be_let_go_too(champion_world):
    with pytest.raises(RefusedError, match="coordpath retire credit 2"):
        delete(champion_world, "2", "coordpath.verdict")
    let_go(champion_world, "2")
    delete(champion_world, "2", "coordpath.verdict")


def test_the_champion_is_not_retired(second):
    with pytest.raises(RefusedError, match="version 2 of 'credit' is 'champion' now; promote another version first"):
        let_go(second, "2")


def test_what_the_alias_was_moved_to_round_the_guard_is_not_retired(second):
    second.registry.set[NAME]["champion"] = "1"
    with pytest.raises(RefusedError, match="version 1 of 'credit' is 'champion' now"):
        let_go(second, "1")


def test_a_version_whose_promotion_is_under_way_is_not_retired(champion_world):
    champion_world.approve("2")
    champion_world.registry.broken["set_alias"] = RegistryError("down")
    with pytest.raises(RegistryError):
        champion_world.promote("2")
    with pytest.raises(RefusedError, match="version 2 of 'credit' is 'champion' now"):
        let_go(champion_world, "2")


@pytest.mark.parametrize(
    ("version", "reason", "why"), [("1", " ", "needs a --reason"), ("7", "old", "never promoted or reported on")]
)
def test_wrong_use(second, version, reason, why):
    with pytest.raises(UsageError, match=why):
        let_go(second, version, reason=reason)


def test_once_is_enough(second):
    let_go(second, "1")
    with pytest.raises(UsageError, match="is retired already"):
        let_go(second, "1")


def test_only_a_policy_admin_retires(second):
    before = second.events()
    with pytest.raises(SigningKeyError, match="policy-admin"):
        let_go(second, "1", second.bob)
    assert second.events() == before
