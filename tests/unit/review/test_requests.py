"""A signed request says who asks for a promotion: for exactly this one, once, and for a short time."""

import json
from datetime import datetime, timedelta, timezone

import pytest

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import RefusedError, RegistryError
from coordpath_governance.ledger.consistency import contradictions
from coordpath_governance.ledger.events import KeyRevoked
from coordpath_governance.ledger.verify import audit
from coordpath_governance.review import guard
from coordpath_governance.review.decisions import adopt_standing
from coordpath_governance.review.ports import Actor
from coordpath_governance.review.requests import REQUEST_TYPE, sign_request
from coordpath_governance.signing.envelope import seal
from coordpath_governance.signing.keys import new_key

NAME = "credit"


def signed(world, key=None, now=None, **changes):
    """A request for version 2 as champion, or what is left of it after ``changes`` to what is signed."""
    asked = {"registry": world.ledger.id, "name": NAME, "version": "2", "alias": "champion", **changes}
    now = now or datetime.now(timezone.utc)
    return sign_request(
        registry=asked["registry"],
        name=asked["name"],
        version=asked["version"],
        alias=asked["alias"],
        key=key or world.bob,
        now=now,
    )


def promote(world, text, actor=None, version="2"):
    world.guard.set_alias(world.registry, NAME, "champion", version, actor or Actor(), lambda: text)


@pytest.fixture
def approved(champion_world):
    champion_world.approve("2")
    return champion_world


def test_who_signed_is_the_actor_and_the_request_is_recorded(approved):
    promote(approved, signed(approved))
    intent = approved.ledger.entries(NAME)[-2].facts
    assert (intent.actor, intent.authenticated_by) == ("Bob", "key")
    assert intent.request is not None
    assert approved.registry.set[NAME]["champion"] == "2"
    entries, damaged = approved.ledger.stored()
    assert audit(entries, approved.ledger.blobs, (), damaged).intact


def test_a_user_whom_the_server_knows_goes_before_a_request(approved):
    promote(approved, signed(approved), Actor("eve", "server"))
    intent = approved.ledger.entries(NAME)[-2].facts
    assert (intent.actor, intent.authenticated_by, intent.request) == ("eve", "server", None)


def test_without_a_request_nobody_vouches_for_who_asks(approved):
    promote(approved, None)
    intent = approved.ledger.entries(NAME)[-2].facts
    assert (intent.actor, intent.authenticated_by, intent.request) == (None, None, None)


@pytest.mark.parametrize(
    "changes",
    [{"registry": "0" * 32}, {"name": "other"}, {"version": "3"}, {"alias": "shadow"}],
)
def test_a_request_for_something_else_is_refused_and_nothing_moves(approved, changes):
    with pytest.raises(RefusedError, match="another promotion than this one"):
        promote(approved, signed(approved, **changes))
    assert approved.registry.set[NAME]["champion"] == "1"
    assert approved.events()[-1] == "refusal"


def test_a_request_for_an_alias_that_is_not_guarded_is_taken_away(champion_world):
    world, taken = champion_world, []
    world.guard.set_alias(world.registry, NAME, "shadow", "2", Actor(), lambda: taken.append("it"))
    assert (taken, world.registry.set[NAME]["shadow"]) == (["it"], "2")


@pytest.mark.parametrize("hours", [-1, 2])
def test_a_request_that_has_expired_or_runs_too_long_is_refused(approved, hours):
    now = datetime.now(timezone.utc) + timedelta(hours=hours)
    with pytest.raises(RefusedError, match="it expires at"):
        promote(approved, signed(approved, now=now))
    assert approved.registry.set[NAME]["champion"] == "1"


def test_a_key_that_the_ledger_does_not_know_has_revoked_or_keeps_for_machines(approved):
    for key in (new_key(), approved.ledger.service):
        with pytest.raises(RefusedError, match="is not known here"):
            promote(approved, signed(approved, key))
    carl = approved.person("Carl", "validator")
    approved.ledger.append("key revoked", KeyRevoked(key=carl.public.id, reason="left"), approved.admin)
    with pytest.raises(RefusedError, match="is not known here"):
        promote(approved, signed(approved, carl))


def test_what_is_not_a_request_is_refused(approved):
    envelope = json.loads(signed(approved))
    forged = {**envelope, "signatures": [{**envelope["signatures"][0], "sig": "AAAA"}]}
    other = seal(canonical_bytes({"schema": "coordpath.promotion_request/1"}), REQUEST_TYPE, approved.bob)
    for text in (
        "",
        "{}",
        "[" * 5000,
        json.dumps(forged),
        json.dumps({**envelope, "payloadType": "text"}),
        json.dumps(other),
    ):
        with pytest.raises(RefusedError, match="is not a request that counts"):
            promote(approved, text)
    assert approved.registry.set[NAME]["champion"] == "1"


def test_a_request_is_used_once_whatever_the_answer_was(champion_world):
    world = champion_world
    text = signed(world)
    with pytest.raises(RefusedError, match="may not become 'champion' yet"):
        promote(world, text)
    assert world.ledger.entries(NAME)[-1].facts.actor == "Bob"
    world.approve("2")
    with pytest.raises(RefusedError, match=r"entry \d+ has used it already"):
        promote(world, text)
    promote(world, signed(world))
    assert world.registry.set[NAME]["champion"] == "2"


def test_an_audit_finds_a_request_that_was_used_twice(approved):
    promote(approved, signed(approved))
    entries = approved.ledger.entries()
    twice = [*entries, entries[-2]]
    assert any("has used already" in what for _, what in contradictions(twice))


def test_a_request_that_met_a_fault_is_used_too(approved):
    """Whoever saw the tag cannot put it back when the registry answers again."""
    text = signed(approved)
    approved.registry.broken["digest"] = RegistryError("down")
    with pytest.raises(RegistryError, match="down"):
        promote(approved, text)
    refusal = approved.ledger.entries(NAME)[-1].facts
    assert (refusal.actor, refusal.reason) == ("Bob", "it cannot be told whether this is allowed: down")
    with pytest.raises(RefusedError, match=r"entry \d+ has used it already"):
        promote(approved, text)
    assert approved.registry.set[NAME]["champion"] == "1"


def test_a_promotion_that_a_fault_stopped_halfway_uses_its_request_once(approved):
    """The intent has used it; whoever comes next finishes that."""
    approved.registry.broken["set_alias"] = RegistryError("down")
    with pytest.raises(RegistryError, match="down"):
        promote(approved, signed(approved))
    assert approved.events()[-1] == "intent"
    promote(approved, signed(approved))
    assert intact(approved)


def test_a_promotion_that_was_overtaken_uses_its_request_once(approved):
    """Its intent has used the request: the refusal that follows does not name it again, and the ledger stays intact."""
    plain = approved.registry.set_alias

    def slow(name, alias, version):
        approved.registry.set_alias = plain
        adopt_standing(approved.ledger, approved.registry, NAME, "champion", approved.admin, reason="as it is")
        plain(name, alias, version)

    approved.registry.set_alias = slow
    with pytest.raises(RefusedError, match="was overtaken"):
        promote(approved, signed(approved))
    refusal = approved.ledger.entries(NAME)[-1].facts
    assert (refusal.operation, refusal.actor, refusal.request) == ("set alias", "Bob", None)
    assert intact(approved)


@pytest.mark.parametrize("ready", [False, True])
def test_two_workers_with_the_same_request_use_it_once(champion_world, monkeypatch, ready):
    """Both have taken the tag and found the request unused; the other is faster, and was refused."""
    world = champion_world
    text = signed(world)
    check = guard.requested_by

    def slow(*arguments, **names):
        asked = check(*arguments, **names)
        monkeypatch.setattr(guard, "requested_by", check)
        with pytest.raises(RefusedError, match="may not become 'champion' yet"):
            promote(world, text)
        if ready:
            world.approve("2")
        else:
            with pytest.raises(RefusedError):
                world.guard.forbid(world.registry, "rename model", NAME, Actor(), new_name="away")
        return asked

    monkeypatch.setattr(guard, "requested_by", slow)
    with pytest.raises(RefusedError, match="has used already" if ready else "may not become 'champion' yet"):
        promote(world, text)
    assert world.registry.set[NAME]["champion"] == "1"
    assert intact(world)


def intact(world):
    entries, damaged = world.ledger.stored()
    return audit(entries, world.ledger.blobs, (), damaged).intact
