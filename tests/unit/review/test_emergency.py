"""Emergency rollback: one person, the previous champion only, signed, and red until others have reviewed it."""

from datetime import datetime, timedelta, timezone

import pytest
from helpers.governed_world import newest_decision

from coordpath_governance.errors import RefusedError, RegistryError, SignatureError, SigningKeyError, UsageError, UsedError
from coordpath_governance.governance.decision_files import record_decisions
from coordpath_governance.ledger.emergencies import emergencies, past_standings, reviewers, standing_before
from coordpath_governance.ledger.events import Emergency, EmergencyReview, KeyRevoked, Move, VersionRetired
from coordpath_governance.ledger.promotion_requests import open_request
from coordpath_governance.ledger.quorum import Place
from coordpath_governance.ledger.verify import audit
from coordpath_governance.ledger.words import entry_line
from coordpath_governance.policy.terms import Retention
from coordpath_governance.review.decisions import adopt_standing, retire
from coordpath_governance.review.emergency import emergency_words, review_emergency, under_review
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.ports import Actor
from coordpath_governance.review.requests import asks_for_emergency, sign_request
from coordpath_governance.review.status import version_status
from coordpath_governance.signing.keys import new_key

NAME = "credit"
TERMS = {"roles": ["operations"], "days": 3}


def problems(world):
    return [str(each) for each in audit(world.ledger.entries(), world.ledger.blobs).problems]


def champion(world):
    return world.registry.set[NAME]["champion"]


def words(world):
    return emergency_words(world.ledger, NAME, "champion")


def state(world):
    return emergencies(world.ledger.entries(NAME), world.ledger.blobs, world.ledger.keyring())[-1]


def review(world, key, decision="approve", comment="it was right"):
    return review_emergency(world.ledger, state(world), key, decision, comment)


@pytest.fixture
def two(champion_world):
    """Version 2 replaced version 1; Olga may roll back in an emergency."""
    world = champion_world
    world.adopt_policy(emergency=TERMS)
    world.person("Olga", "operations")
    world.approve("2")
    world.promote("2")
    return world


@pytest.fixture
def rolled(two):
    two.roll_back("1", "2")
    return two


def test_one_person_puts_the_previous_champion_back_and_it_is_recorded(rolled):
    assert champion(rolled) == "1"
    assert rolled.events()[-2:] == ["emergency", "promotion"]
    entry = rolled.ledger.entries(NAME)[-2]
    facts = entry.facts
    assert (facts.actor, facts.reason) == ("Olga", "it fails in production")
    binding = facts.binding
    assert (binding.from_version, binding.to_version) == ("2", "1")
    assert (binding.from_digest, binding.to_digest) == (f"{2:064x}", f"{1:064x}")
    assert problems(rolled) == []
    assert "rollback version 2 → 1 as 'champion' by Olga, to be reviewed by" in entry_line(entry, rolled.ledger.keyring())
    history = ModelHistory(rolled.ledger.entries(NAME))
    assert history.standing("champion").version == "1"
    assert history.open_intent("champion") is None


def test_where_the_version_stands_already_nothing_is_rolled_back(two):
    """It is refused and recorded, so that nobody can use the signed request when another version stands there."""
    with pytest.raises(RefusedError, match="version 2 of 'credit' is 'champion' already; there is nothing to roll back"):
        two.roll_back("2", "2")
    refusal = two.ledger.entries(NAME)[-1].facts
    assert (refusal.operation, refusal.actor, refusal.request is None) == ("set alias", "Olga", False)
    assert champion(two) == "2"
    assert problems(two) == []


def test_the_same_person_may_ask_again_and_another_is_told(rolled):
    before = rolled.events()
    rolled.roll_back("1", "1")
    assert rolled.events() == before
    with pytest.raises(RefusedError, match="is 'champion' already"):
        rolled.roll_back("1", "1", rolled.person("Otto", "operations"))


def test_it_is_red_until_others_have_reviewed_it(rolled):
    answer = rolled.ask("1")
    assert answer.verdict == "fail"
    date = rolled.ledger.now()[:10]
    assert f"emergency rollback of {date} by Olga (version 2 → 1 as 'champion'), to be reviewed by" in answer.reason
    entry = review(rolled, rolled.bob)
    assert "approve of the rollback" in entry_line(entry, rolled.ledger.keyring())
    assert rolled.ask("1").verdict == "pass"
    assert words(rolled) == ()
    assert state(rolled).sentence(rolled.ledger.now()).endswith("reviewed and approved")
    assert under_review(rolled.ledger, NAME, "champion", "1") is None
    assert problems(rolled) == []


def test_after_the_days_it_is_overdue(rolled):
    later = (datetime.now(timezone.utc) + timedelta(days=4)).isoformat()
    assert state(rolled).sentence(later).endswith(", overdue; still needed: 1 approval by validator")
    assert "overdue" not in state(rolled).sentence(rolled.ledger.now())


def test_a_rejected_rollback_is_red_until_another_version_is_promoted(rolled):
    with pytest.raises(UsageError, match="needs a --comment"):
        review(rolled, rolled.bob, "reject", " ")
    review(rolled, rolled.bob, "reject", "version 2 was fine")
    assert "rejected by Bob: version 2 was fine; promote another version through the gate" in rolled.ask("1").reason
    rolled.report("2", "1")
    rolled.approve("2")
    rolled.promote("2")
    assert champion(rolled) == "2"
    assert words(rolled) == ()
    with pytest.raises(RefusedError, match="was rejected since it stood there, by Bob: version 2 was fine"):
        rolled.roll_back("1", "2")


def test_a_reviewer_may_think_again(rolled):
    review(rolled, rolled.bob, "reject", "why?")
    review(rolled, rolled.bob)
    assert words(rolled) == ()


def test_who_did_it_does_not_review_it(rolled):
    second = rolled.person("OLGA", "validator")
    for key in (rolled.keys["Olga"], second):
        with pytest.raises(RefusedError, match="somebody else has to review it"):
            review(rolled, key)
    forged = EmergencyReview(emergency=state(rolled).entry.hash, decision="approve", comment="")
    rolled.ledger.append("emergency review", forged, second, model=NAME)
    assert state(rolled).status == "to be reviewed"


def test_only_those_whom_the_most_severe_class_asks_review_it(rolled):
    rita = rolled.person("Rita", "risk")
    with pytest.raises(SigningKeyError, match="none of the roles that review this: validator"):
        review(rolled, rita)
    with pytest.raises(SigningKeyError, match="is not in this ledger"):
        review(rolled, new_key())
    forged = EmergencyReview(emergency=state(rolled).entry.hash, decision="reject", comment="no")
    rolled.ledger.append("emergency review", forged, rita, model=NAME)
    assert state(rolled).status == "to be reviewed"


def test_as_many_as_the_most_severe_class_asks(two):
    severe = {"class": "major", "when": {"features_added": 1}, "approvals": [{"role": "validator", "count": 2}]}
    two.adopt_policy(emergency=TERMS, materiality=[severe, {"class": "ordinary"}])
    two.roll_back("1", "2")
    review(two, two.bob)
    assert state(two).missing == (Place(("validator",)),)
    cleo = two.person("Cleo", "validator")
    review(two, cleo)
    assert state(two).status == "approved"
    two.ledger.append("key revoked", KeyRevoked(key=cleo.public.id, reason="left"), two.admin)
    assert state(two).status == "approved", "what was reviewed stays reviewed"


def test_a_key_revoked_before_the_review_was_complete_does_not_count(two):
    severe = {"class": "major", "when": {"features_added": 1}, "approvals": [{"role": "validator", "count": 2}]}
    two.adopt_policy(emergency=TERMS, materiality=[severe, {"class": "ordinary"}])
    two.roll_back("1", "2")
    review(two, two.bob)
    two.ledger.append("key revoked", KeyRevoked(key=two.bob.public.id, reason="stolen"), two.admin)
    review(two, two.person("Cleo", "validator"))
    assert state(two).status == "to be reviewed"


def test_at_least_one_person_reviews_it_whatever_the_policy_asks(two):
    assert reviewers(two.adopt_policy(emergency=TERMS, materiality=[{"class": "any"}])) == (Place(("operations",)),)
    mild = [{"class": "any", "approvals": [{"role": "validator"}]}]
    assert reviewers(two.adopt_policy(materiality=mild)) == (Place(("validator",)),)


def test_without_the_key_in_the_policy_nobody_rolls_back_alone(two):
    two.adopt_policy()
    with pytest.raises(RefusedError, match=r"add emergency: \{roles: \[ROLE\], days: N\} to it and adopt it again"):
        two.roll_back("1", "2")
    assert two.events()[-1] == "refusal"
    assert champion(two) == "2"


def test_a_person_without_the_role(two):
    with pytest.raises(RefusedError, match=r"lets only operations roll back .* the key of Bob has the roles validator"):
        two.roll_back("1", "2", two.bob)
    assert champion(two) == "2"


def test_a_revoked_a_strange_and_the_services_key(two):
    olga = two.keys["Olga"]
    two.ledger.append("key revoked", KeyRevoked(key=olga.public.id, reason="left"), two.admin)
    for key in (olga, new_key(), two.ledger.service):
        with pytest.raises(RefusedError, match="is not a request that counts"):
            two.roll_back("1", "2", key)
    assert champion(two) == "2"
    assert not asks_for_emergency(two.ledger, "nonsense")


@pytest.mark.parametrize(
    "changes", [{"registry": "0" * 32}, {"name": "other"}, {"alias": "shadow"}], ids=["registry", "name", "alias"]
)
def test_a_foreign_request(two, changes):
    now = datetime.now(timezone.utc)
    asked = {"registry": two.ledger.id, "name": NAME, "version": "1", "alias": "champion", **changes}
    text = sign_request(**asked, key=two.keys["Olga"], now=now, emergency=("2", "why not"))
    with pytest.raises(RefusedError, match="asks for another promotion"):
        two.roll_back("1", "2", text=text)
    assert champion(two) == "2"


def test_a_replayed_request(rolled):
    text = rolled.ledger.entries(NAME)[-2].facts.envelope
    review(rolled, rolled.bob)
    rolled.report("2", "1")
    rolled.approve("2")
    rolled.promote("2")
    with pytest.raises(RefusedError, match="has used it already"):
        rolled.roll_back("1", "2", text=text)


def test_an_altered_request(two):
    now = datetime.now(timezone.utc)
    plain = sign_request(registry=two.ledger.id, name=NAME, version="1", alias="champion", key=two.keys["Olga"], now=now)
    with pytest.raises(RefusedError, match=r"no report in the ledger|explains the change from"):
        two.roll_back("1", "2", text=plain)
    text = sign_request(
        registry=two.ledger.id,
        name=NAME,
        version="1",
        alias="champion",
        key=two.keys["Olga"],
        now=now,
        emergency=("2", "because"),
    )
    with pytest.raises(RefusedError, match="is not a request that counts"):
        two.roll_back("1", "2", text=text.replace('"payload":"', '"payload":"AAAA'))
    with pytest.raises(UsageError, match="needs a --reason"):
        sign_request(
            registry=two.ledger.id,
            name=NAME,
            version="1",
            alias="champion",
            key=two.keys["Olga"],
            now=now,
            emergency=("2", " "),
        )


def test_the_persons_signature_counts_whoever_is_logged_in(two):
    now = datetime.now(timezone.utc)
    text = sign_request(
        registry=two.ledger.id,
        name=NAME,
        version="1",
        alias="champion",
        key=two.keys["Olga"],
        now=now,
        emergency=("2", "because"),
    )
    two.guard.set_alias(two.registry, NAME, "champion", "1", Actor("somebody", "server"), lambda: text)
    assert two.ledger.entries(NAME)[-2].facts.actor == "Olga"


def test_only_the_version_that_stood_there_before(two):
    two.ready("3", "2")
    two.approve("3")
    two.promote("3")
    with pytest.raises(RefusedError, match="and that is version 2; promote version 1 through the gate"):
        two.roll_back("1", "3")
    two.register("4")
    with pytest.raises(RefusedError, match="and that is version 2"):
        two.roll_back("4", "3")
    with pytest.raises(RefusedError, match="the request is to leave version 2, but version 3 is 'champion' now"):
        two.roll_back("2", "2")
    two.roll_back("2", "3")
    assert champion(two) == "2"


def test_a_first_champion_has_none_before_it(champion_world):
    champion_world.adopt_policy(emergency=TERMS)
    champion_world.person("Olga", "operations")
    with pytest.raises(RefusedError, match="and there was none"):
        champion_world.roll_back("2", "1")


def test_changed_and_deleted_files(two):
    two.registry.digests[NAME, "1"] = "f" * 64
    with pytest.raises(RefusedError, match="are not those that stood there before"):
        two.roll_back("1", "2")
    two.registry.gone.add((NAME, "1"))
    with pytest.raises(RefusedError, match="cannot be served"):
        two.roll_back("1", "2")
    assert champion(two) == "2"


def test_the_files_of_the_version_that_is_left_do_not_matter(two):
    two.registry.gone.add((NAME, "2"))
    two.roll_back("1", "2")
    assert champion(two) == "1"
    assert problems(two) == []


def test_a_retired_version(two):
    two.ledger.append("version retired", VersionRetired(version="1", reason="wrong data"), two.admin, model=NAME)
    with pytest.raises(RefusedError, match="was retired"):
        two.roll_back("1", "2")


def test_a_version_that_somebody_rejected_since(two):
    two.report("1", "2")
    two.reject("1", comment="leaks")
    with pytest.raises(RefusedError, match="was rejected since it stood there, by Bob in entry"):
        two.roll_back("1", "2")
    two.approve("1")
    two.roll_back("1", "2")
    assert champion(two) == "1"


def test_a_second_one_waits_until_the_first_was_reviewed(two):
    two.ready("3", "2")
    two.approve("3")
    two.promote("3")
    two.roll_back("2", "3")
    with pytest.raises(RefusedError, match="comes first: one person acts alone once"):
        two.roll_back("1", "2")
    review(two, two.bob)
    with pytest.raises(RefusedError, match="and that is version 1; promote version 3"):
        two.roll_back("3", "2")
    two.roll_back("1", "2")
    assert champion(two) == "1"
    stood = past_standings(two.ledger.entries(NAME), "champion")
    assert [each.version for each in stood] == ["1"]
    assert problems(two) == []


def test_another_promotion_is_faster(two, monkeypatch):
    """Whoever comes second looks again, and the request is about a champion that is no more."""
    two.ready("3", "2")
    two.approve("3")
    record, raced = two.ledger.record, []

    def slow(event, body, **options):
        if event == "emergency" and not raced:
            raced.append(event)
            two.promote("3")
        return record(event, body, **options)

    monkeypatch.setattr(two.ledger, "record", slow)
    with pytest.raises(RefusedError, match="to leave version 2, but version 3 is 'champion' now"):
        two.roll_back("1", "2")
    assert champion(two) == "3"
    assert "emergency" not in two.events()


def test_after_a_crash_it_is_finished_as_any_promotion(two):
    two.registry.broken["set_alias"] = RegistryError("gone away")
    with pytest.raises(RegistryError):
        two.roll_back("1", "2")
    assert champion(two) == "2"
    two.roll_back("1", "2")
    assert champion(two) == "1"
    assert two.events()[-2:] == ["emergency", "promotion"]
    assert two.ledger.entries(NAME)[-1].facts.completed == "after a crash"
    assert words(two) != ()


def test_what_added_up_is_taken_back_with_the_version_that_is_left(rolled):
    entries = rolled.ledger.entries(NAME)
    history = ModelHistory(entries)
    first = ModelHistory(entries[: rolled.events().index("promotion") + 1]).since_validation("champion")
    reports, validated = history.since_validation("champion")
    assert (len(reports), validated) == (1, None)
    assert history.since_validation("champion") == first


def test_a_model_goes_on_after_an_emergency(rolled):
    review(rolled, rolled.bob)
    rolled.ready("3", "1")
    rolled.approve("3")
    rolled.promote("3")
    assert champion(rolled) == "3"
    assert problems(rolled) == []
    before = standing_before(rolled.ledger.entries(NAME), "champion")
    assert before is not None
    assert before.version == "1"


def left_unfinished(world, stands):
    """A rollback to version 1 that never set the alias; then ``stands`` is taken under guard."""
    world.registry.broken["set_alias"] = RegistryError("gone away")
    with pytest.raises(RegistryError):
        world.roll_back("1", "2")
    world.registry.gone.add((NAME, "1"))
    assert world.ask("2").verdict == "fail"
    world.registry.gone.clear()
    world.registry.set[NAME]["champion"] = stands
    adopt_standing(world.ledger, world.registry, NAME, "champion", world.admin, reason="looked into")


def test_one_that_never_happened_waits_for_nobody(two):
    left_unfinished(two, "2")
    assert state(two).status == "not carried out"
    assert state(two).sentence(two.ledger.now()).endswith("as 'champion'), not carried out")
    assert (words(two), two.ask("2").verdict) == ((), "pass")
    review(two, two.bob, "reject", "it never happened")
    assert words(two) == ()
    two.roll_back("1", "2")
    assert champion(two) == "1"
    assert problems(two) == []


def test_one_that_was_taken_under_guard_is_still_to_be_reviewed(two):
    left_unfinished(two, "1")
    assert state(two).status == "to be reviewed"
    assert two.ask("1").verdict == "fail"


def test_one_before_another_promotion_was_not_carried_out(two):
    two.roll_back("1", "2")
    chain = two.ledger.entries(NAME)
    without = [*chain[:-1], chain[two.events().index("promotion")]]
    assert emergencies(without, two.ledger.blobs, two.ledger.keyring())[-1].status == "not carried out"


def test_after_a_return_through_the_gate_nobody_alone_puts_back_what_was_left(two):
    two.report("1", "2")
    two.approve("1")
    two.promote("1")
    assert [each.version for each in past_standings(two.ledger.entries(NAME), "champion")] == ["1"]
    with pytest.raises(RefusedError, match="and there was none; promote version 2 through the gate"):
        two.roll_back("2", "1")
    assert champion(two) == "1"


def test_what_was_promoted_since_is_not_red_but_names_the_open_review(rolled):
    rolled.ready("3", "1")
    rolled.approve("3")
    rolled.promote("3")
    answer = rolled.ask("3")
    assert answer.verdict == "pass"
    assert "Still open: emergency rollback of " in answer.reason
    assert version_status(rolled.ledger, NAME, "1").verdict == "fail"
    assert words(rolled) != ()
    review(rolled, rolled.bob)
    assert "Still open" not in rolled.ask("3").reason


def test_its_version_is_not_retired_before_others_have_reviewed_it(rolled):
    rolled.report("2", "1")
    rolled.approve("2")
    rolled.promote("2")
    with pytest.raises(
        RefusedError, match=r"version 1 of 'credit' cannot be retired: the emergency rollback of .* comes first"
    ):
        retire(rolled.ledger, rolled.registry, NAME, "1", rolled.admin, "clean up")
    review(rolled, rolled.bob)
    assert retire(rolled.ledger, rolled.registry, NAME, "1", rolled.admin, "clean up").event == "version retired"


def test_the_audit_finds_one_to_a_version_that_was_rejected_since(two):
    two.report("1", "2")
    two.reject("1", comment="leaks")
    assert any("version 1 was rejected since it stood there, by Bob in entry" in each for each in forged(two))


def test_the_audit_finds_one_that_repeats_a_rejected_one(rolled):
    review(rolled, rolled.bob, "reject", "version 2 was fine")
    rolled.report("2", "1")
    rolled.approve("2")
    rolled.promote("2")
    assert any("version 1 was rejected since it stood there, by Bob: version 2" in each for each in forged(rolled))


def forged(world, **changes):
    """What somebody with the service key writes, with a request of Olga's that says the same unless changed."""
    policy = world.adopted.sha256
    move = {
        "registry": world.ledger.id,
        "name": NAME,
        "alias": "champion",
        "from_version": "2",
        "to_version": "1",
        "from_digest": f"{2:064x}",
        "to_digest": f"{1:064x}",
        "policy": policy,
    }
    move |= {key: changes.pop(key) for key in list(changes) if key in move}
    key, now = changes.pop("key", world.keys["Olga"]), changes.pop("now", datetime.now(timezone.utc))
    signed = sign_request(
        registry=world.ledger.id,
        name=NAME,
        version="1",
        alias="champion",
        key=key,
        now=now,
        emergency=changes.pop("wish", ("2", "because")),
    )
    nonce = changes.pop("request", None) or _nonce(world, signed)
    until = (datetime.now(timezone.utc) + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    body = {"actor": "Olga", "reason": "because", "envelope": signed, "review_by": until, "request": nonce, **changes}
    world.ledger.record("emergency", Emergency(binding=Move(**move), **body), model=NAME)
    return problems(world)


def _nonce(world, text):
    keys = {known.facts.id: known.public for known in world.ledger.keyring().keys.values()}
    try:
        return open_request(text, "the request", keys)[0].nonce
    except SignatureError:
        return "0" * 32


def test_what_the_audit_takes(two):
    assert forged(two) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"envelope": "{}"}, "no person signed it"),
        ({"key": "service"}, "no person signed it"),
        ({"key": "nobody"}, "no person signed it"),
        ({"key": "Bob", "actor": "Bob"}, "does not let Bob roll back"),
        ({"key": "Bob"}, "it names Olga, but Bob signed it"),
        ({"reason": "another"}, "signed no request for this emergency rollback"),
        ({"wish": None}, "signed no request for this emergency rollback"),
        ({"wish": ("7", "because")}, "signed no request for this emergency rollback"),
        ({"request": "1" * 32}, "signed a request for something else"),
        ({"now": datetime.now(timezone.utc) - timedelta(hours=2)}, "did not hold then"),
        ({"now": datetime.now(timezone.utc) + timedelta(hours=2)}, "did not hold then"),
        ({"from_version": "1", "from_digest": f"{1:064x}"}, "version 1 was not what stood there"),
        ({"to_version": "3", "to_digest": f"{3:064x}"}, "version 3 is not what stood there before"),
        ({"to_digest": "e" * 64}, "version 1 is not what stood there before"),
        ({"review_by": "2999-01-01T00:00:00.000000Z"}, "put off beyond the 3 days"),
        ({"policy": "d" * 64}, "was not in force"),
        ({"retention": Retention.model_validate({"class": "short", "years": 1})}, "another retention than its policy"),
        ({"alias": "shadow"}, "is not for this alias of this model"),
    ],
)
def test_the_audit_finds_what_a_service_key_alone_would_write(two, changes, told):
    who = changes.get("key")
    keys = {"service": two.ledger.service, "nobody": new_key(), "Bob": two.bob}
    if who is not None:
        changes = {**changes, "key": keys[who]}
    assert any(told in each for each in forged(two, **changes))


def test_the_audit_finds_one_that_the_policy_did_not_allow(two):
    two.adopt_policy()
    assert any("allows no emergency rollbacks" in each for each in forged(two))


def test_the_audit_finds_one_to_a_retired_version_and_a_second_one(two):
    two.ledger.append("version retired", VersionRetired(version="1", reason="wrong data"), two.admin, model=NAME)
    assert any("version 1 was retired" in each for each in forged(two))
    assert any("an earlier emergency rollback of this model was not reviewed" in each for each in forged(two))


def test_the_audit_finds_a_request_that_was_used_twice(rolled, monkeypatch):
    """Whoever has the service key need not write with our program, which refuses it."""
    entry = rolled.ledger.entries(NAME)[-2]
    with pytest.raises(UsedError, match="has used already"):
        rolled.ledger.record("emergency", entry.facts, model=NAME)
    monkeypatch.setattr("coordpath_governance.ledger.store._check_used", lambda *_: None)
    rolled.ledger.record("emergency", entry.facts, model=NAME)
    assert any("has used already" in each for each in problems(rolled))


def test_the_audit_finds_a_review_of_nothing(two):
    body = EmergencyReview(emergency="a" * 64, decision="approve", comment="")
    two.ledger.append("emergency review", body, two.bob, model=NAME)
    assert any("reviews no earlier emergency" in each for each in problems(two))


def test_the_service_reviews_nothing(rolled):
    body = EmergencyReview(emergency=state(rolled).entry.hash, decision="approve", comment="")
    with pytest.raises(SigningKeyError, match="is a person's to sign"):
        rolled.ledger.record("emergency review", body, model=NAME)


def test_a_policy_that_was_lost_leaves_it_to_be_reviewed(rolled):
    chain, keys = rolled.ledger.entries(NAME), rolled.ledger.keyring()
    review(rolled, rolled.bob)
    for blobs in ({}, dict.fromkeys(rolled.ledger.blobs, b"{}")):
        assert emergencies(chain, blobs, keys)[-1].status == "to be reviewed"


def test_its_status_is_red_until_others_have_approved_it(rolled):
    status = version_status(rolled.ledger, NAME, "1")
    assert (status.verdict, status.decision) == ("fail", "emergency")
    assert status.word.startswith("Put back as champion in an emergency on ")
    assert "by Olga" in status.text
    assert "to be reviewed by" in status.text
    assert "Reason: it fails in production." in status.text
    review(rolled, rolled.bob)
    status = version_status(rolled.ledger, NAME, "1")
    assert (status.verdict, status.decision) == ("pass", "emergency")
    assert "reviewed and approved" in status.text
    assert version_status(rolled.ledger, NAME, "2").text.endswith(
        f"Version 1 has been in its place since {status.word[-10:]}."
    )


def test_its_record_says_that_one_person_did_it_alone(rolled):
    record_decisions(rolled.ledger, NAME)
    document, files = newest_decision(rolled.ledger, NAME, "1")
    assert document.actor == "Olga"
    assert document.emergency.reason == "it fails in production"
    assert (document.verdict, document.approvals, document.digests.report) == (None, (), None)
    page, text = files["decision.html"].decode(), files["decision.md"].decode()
    for said in (page, text):
        assert "Put back as" in said
        assert "without asking the gate" in said
        assert "Nobody approved this beforehand." in said
        assert "change_report" not in said
    assert problems(rolled) == []
    count = len(rolled.events())
    record_decisions(rolled.ledger, NAME)
    assert len(rolled.events()) == count
