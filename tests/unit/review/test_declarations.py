"""Declared coefficients at the gate: not known until somebody whom the policy names vouches for exactly them."""

import pytest

from coordpath_governance.errors import RefusedError, ReviewNeededError, SigningKeyError
from coordpath_governance.ledger.events import KeyRevoked
from coordpath_governance.ledger.verify import audit
from coordpath_governance.models.formats import DECLARED, vouched_source
from coordpath_governance.signing.keys import new_key
from coordpath_governance.verification.verify import verify_report

FREE = [
    {"class": "major", "when": {"features_added": 1}, "approvals": [{"role": "validator", "count": 1}]},
    {"class": "minor"},
]
NEW = ("read from the model's files", DECLARED)


def check(world, version="2"):
    results = world.ask(version).readiness.judgement.results
    return next(each for each in results if each.rule == "declared coefficients")


@pytest.fixture
def declared(world):
    """Version 1 is champion; version 2 cannot be read, and its author declares its coefficients."""
    world.adopt_policy(declarations={"roles": ["validator"]})
    world.first_champion()
    world.adopt_policy(declarations={"roles": ["validator"]}, materiality=FREE)
    world.register("2")
    world.report("2", "1", sources=NEW)
    return world


def test_nothing_but_a_voucher_makes_it_pass(declared):
    assert check(declared).result == "unknown"
    assert declared.ask("2").verdict == "review"
    with pytest.raises(ReviewNeededError):
        declared.promote("2")
    entry, new = declared.declare("2")
    assert new
    found = check(declared)
    assert (found.result, found.reason) == ("pass", "")
    assert found.observed == f"declared, of the candidate, vouched for by Bob (entry {entry.seq})"
    assert declared.ask("2").verdict == "pass"
    declared.promote("2")
    assert declared.registry.set["credit"]["champion"] == "2"
    assert audit(declared.ledger.entries(), declared.ledger.blobs).intact


def test_an_approval_by_the_people_of_the_class_is_the_other_way(declared):
    declared.approve("2")
    assert check(declared).result == "unknown"
    declared.promote("2")
    assert audit(declared.ledger.entries(), declared.ledger.blobs).intact


def test_without_roles_in_the_policy_nobody_vouches(world):
    world.first_champion()
    world.register("2")
    world.report("2", "1", sources=NEW)
    with pytest.raises(
        SigningKeyError, match=r"lets nobody vouch for coefficients; add declarations: \{roles: \[ROLE\]\} to it"
    ):
        world.declare("2")
    assert check(world).result == "unknown"


@pytest.mark.parametrize("forged", [{"stated": "3"}, {"files": "f" * 64}], ids=["other coefficients", "other files"])
def test_a_declaration_of_something_else_changes_nothing(declared, forged):
    declared.declare("2", **forged)
    assert check(declared).result == "unknown"


def test_a_declaration_of_another_version_changes_nothing(declared):
    declared.declare("3", stated="2", files=f"{2:064x}")
    assert check(declared).result == "unknown"


def test_a_newer_declaration_of_other_coefficients_takes_the_first_back(declared):
    declared.declare("2")
    declared.declare("2", stated="3")
    assert check(declared).result == "unknown"


def test_the_same_again_is_not_recorded_twice(declared):
    first, _ = declared.declare("2")
    again, new = declared.declare("2")
    assert (again, new) == (first, False)
    cleo = declared.person("Cleo", "validator")
    second, new = declared.declare("2", cleo)
    assert new
    assert declared.declare("2") == (first, False), "Bob's word stands beside Cleo's"
    assert check(declared).observed.endswith(f"vouched for by Bob (entry {first.seq}) and Cleo (entry {second.seq})")


def test_one_person_is_not_enough_where_nobody_vouches_for_who_registered_it(declared):
    declared.register("2", author=None)
    first, _ = declared.declare("2")
    found = check(declared)
    assert found.result == "unknown"
    assert "one more person has to vouch for them, since nobody vouches for who registered it" in found.reason
    assert found.observed == f"declared, of the candidate, vouched for by Bob (entry {first.seq}) alone"
    second, _ = declared.declare("2", declared.person("Abe", "validator"))
    found = check(declared)
    assert (found.result, found.reason) == ("pass", "")
    assert found.observed.endswith(f"vouched for by Abe (entry {second.seq}) and Bob (entry {first.seq})")


def test_who_may_not_vouch(declared):
    rita = declared.person("Rita", "risk")
    with pytest.raises(SigningKeyError, match="lets only validator vouch"):
        declared.declare("2", rita)
    with pytest.raises(SigningKeyError, match="is not in this ledger"):
        declared.declare("2", new_key())
    eve = declared.person("Eve", "validator")
    with pytest.raises(RefusedError, match="Eve registered this version; somebody else has to vouch for it"):
        declared.declare("2", eve)
    gone = declared.person("Gus", "validator")
    declared.ledger.append("key revoked", KeyRevoked(key=gone.public.id, reason="left"), declared.admin)
    with pytest.raises(SigningKeyError, match="was revoked"):
        declared.declare("2", gone)
    assert "declaration" not in declared.events()


def test_a_key_that_is_revoked_later_vouches_no_longer(declared):
    declared.declare("2")
    assert check(declared).result == "pass"
    declared.ledger.append("key revoked", KeyRevoked(key=declared.bob.public.id, reason="left"), declared.admin)
    assert check(declared).result == "unknown"


def test_a_policy_that_no_longer_lets_the_role_vouch_ends_it(declared):
    declared.declare("2")
    declared.adopt_policy(declarations={"roles": ["risk"]}, materiality=FREE)
    declared.report("2", "1", sources=NEW)
    assert check(declared).result == "unknown"


def test_files_that_change_void_it(declared):
    declared.declare("2")
    declared.registry.digests[("credit", "2")] = "e" * 64
    assert declared.ask("2").verdict == "fail"


def test_both_versions_need_a_voucher(world):
    world.adopt_policy(declarations={"roles": ["validator"]})
    world.first_champion()
    world.register("2")
    world.report("2", "1", sources=(DECLARED, DECLARED))
    world.declare("2")
    assert (check(world).result, check(world).observed) == ("unknown", "declared, of the champion")
    world.declare("1")
    found = check(world)
    assert found.result == "pass"
    assert "of the champion, vouched for by Bob" in found.observed
    assert "of the candidate, vouched for by Bob" in found.observed


def test_a_report_that_says_who_vouches_is_not_believed_but_the_ledger_is(declared):
    """The words of a report are no declaration; and they do not change its own assessment, which anybody can recheck."""
    forged = declared.report("2", "1", sources=(NEW[0], vouched_source("Bob")))
    found = check(declared)
    assert found.result == "unknown"
    assert "somebody whom the policy lets vouches for exactly them in the ledger" in found.reason
    assert verify_report(forged).passed
    assert any("declared, vouched for by Bob; they were not read" in each for each in forged.document.limits)
    declared.declare("2")
    assert check(declared).result == "pass"


def test_races_are_settled_by_the_chain(declared):
    """A declaration that is taken back while a promotion is judged is seen by it."""
    declared.declare("2")
    look, others = declared.registry.digest, [lambda: declared.declare("2", stated="3")]

    def meanwhile(name, version):
        if others:
            others.pop()()
        return look(name, version)

    declared.registry.digest = meanwhile
    with pytest.raises(ReviewNeededError):
        declared.promote("2")
    assert not others
