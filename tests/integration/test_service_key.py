"""The service key is rotated: what the old one signed counts, what it signs from then on is refused and found."""

import pytest

from coordpath_governance.errors import LedgerError, SignatureError
from coordpath_governance.ledger.entries import Entry, sign_entry
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, PolicyAdopted, Refusal
from coordpath_governance.ledger.export import make_anchor, read_anchor
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.ledger.tables import _index
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.keys import PrivateKey, new_key

REFUSAL = Refusal(operation="delete alias", alias="champion", version="1", actor="eve", reason="no")


@pytest.fixture
def running(place, tmp_path, monkeypatch):
    """A ledger with a policy-admin, found by the environment; the file of that person's key."""
    monkeypatch.setenv("COORDPATH_LEDGER", place.url)
    monkeypatch.setenv("COORDPATH_SERVICE_KEY", str(place.key))
    ledger, ann = place.open(), new_key()
    facts = KeyFacts(id=ann.public.id, public=ann.public.text, owner="Ann", roles=("policy-admin",))
    ledger.append("key added", KeyAdded(key=facts), ann)
    ledger.record("refusal", REFUSAL, model="fraud")
    ann.save(tmp_path / "ann.pem")
    return ledger


def rotate(coordpath, tmp_path, *options):
    return coordpath("key", "rotate-service", "--out", tmp_path / "new.key", "--key", tmp_path / "ann.pem", *options)


def checked(ledger, *anchors):
    entries, damaged = ledger.stored()
    return audit(entries, ledger.blobs, anchors, damaged)


def test_the_new_key_records_and_the_old_one_no_longer(coordpath, place, running, tmp_path, monkeypatch):
    old = PrivateKey.load(place.key)
    anchor = tmp_path / "before.json"
    assert coordpath("audit", "anchor", "-o", anchor).code == 0
    done = rotate(coordpath, tmp_path)
    assert done.code == 0, done.plain
    assert f"The old one, {old.public.id[:12]}, is revoked by entry 6" in done.plain
    assert f"Start the registry again with COORDPATH_SERVICE_KEY={tmp_path / 'new.key'}" in done.plain
    for ledger in (running, place.open()):
        with pytest.raises(LedgerError, match="entry 6 revoked it: set COORDPATH_SERVICE_KEY to the file of the new one"):
            ledger.record("refusal", REFUSAL, model="fraud")
        assert len(ledger.entries()) == 6
    stopped = coordpath("audit", "anchor", "-o", tmp_path / "after.json")
    assert (stopped.code, "entry 6 revoked it" in stopped.plain) == (4, True)
    monkeypatch.setenv("COORDPATH_SERVICE_KEY", str(tmp_path / "new.key"))
    assert place.open(service_key=tmp_path / "new.key").record("refusal", REFUSAL, model="fraud").seq == 7
    assert coordpath("audit", "anchor", "-o", tmp_path / "after.json").code == 0
    done = coordpath("audit", "verify", "--anchor", anchor, "--anchor", tmp_path / "after.json")
    assert (done.code, done.out.splitlines()[-1]) == (0, "intact, and anchored at entry 7")


def test_what_the_old_key_signs_later_is_found_and_stops_every_reader(coordpath, place, running, tmp_path):
    assert rotate(coordpath, tmp_path).code == 0
    old, head = PrivateKey.load(place.key), running.entries()[-1]
    anchor = read_anchor(make_anchor(running.id, head, running.now(), old), "a.json")
    assert checked(running, anchor).intact
    body = REFUSAL.model_dump(mode="json")
    forged = sign_entry(Entry(head.seq + 1, running.now(), "refusal", None, None, head.hash, None, body, old.public.id), old)
    values = {**_index(forged), "payload": forged.payload, "signature": forged.signature}
    columns = ", ".join(values)
    place.tamper(f"INSERT INTO coordpath_ledger ({columns}) VALUES ({', '.join(f':{each}' for each in values)})", **values)
    assert "of coordpath service was revoked by entry 5" in checked(running).conclusion
    with pytest.raises(LedgerError, match=r"entry 6 of the ledger is not sound: .* was revoked by entry 5"):
        Ledger.open(place.url, with_service_key=False).entries()
    later = read_anchor(make_anchor(running.id, forged, running.now(), old), "later.json")
    with pytest.raises(SignatureError, match="it is about entry 6, when its key"):
        later.opened(KeyRing.of(running.stored()[0][:5]))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_where_two_admins_are_asked_for_another_seconds_the_new_key(coordpath, place, running, tmp_path):
    sue, ann = new_key(), PrivateKey.load(tmp_path / "ann.pem")
    sue.save(tmp_path / "sue.pem")
    facts = KeyFacts(id=sue.public.id, public=sue.public.text, owner="Sue", roles=("policy-admin",))
    running.append("key added", KeyAdded(key=facts), ann)
    digest = "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df"
    running.append("policy adopted", PolicyAdopted(policy=digest, name="p", models=("x",), admins=2), ann, blob=b"ok")
    done = rotate(coordpath, tmp_path)
    assert (done.code, "Proposed as entry 6." in done.plain) == (3, True)
    old = PrivateKey.load(place.key).public.id[:12]
    assert f"Then: coordpath key revoke {old} --reason rotated --key FILE" in done.plain
    assert place.open().record("refusal", REFUSAL).seq == 7
    assert coordpath("second", "6", "--key", tmp_path / "sue.pem").code == 0
    assert coordpath("key", "revoke", old, "--reason", "rotated", "--key", tmp_path / "ann.pem").code == 0
    assert place.open(service_key=tmp_path / "new.key").record("refusal", REFUSAL).seq == 10


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_which_of_several_keys_goes_is_said(coordpath, place, running, tmp_path):
    other = new_key()
    facts = KeyFacts(id=other.public.id, public=other.public.text, owner="second host", roles=("service",))
    running.append("key added", KeyAdded(key=facts), PrivateKey.load(tmp_path / "ann.pem"))
    asked = rotate(coordpath, tmp_path)
    assert (asked.code, "there are 2 service keys in use" in asked.plain) == (2, True)
    wrong = rotate(coordpath, tmp_path, "--old", "0" * 64)
    assert (wrong.code, "0 service keys in use begin so" in wrong.plain) == (2, True)
    assert not (tmp_path / "new.key").exists()
    assert rotate(coordpath, tmp_path, "--old", other.public.id[:10].upper()).code == 0
    assert running.record("refusal", REFUSAL).seq == 7


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_stolen_key_is_revoked_at_once_and_replaced_later(coordpath, place, running, tmp_path):
    old = PrivateKey.load(place.key).public.id
    done = coordpath("key", "revoke", old, "--reason", "stolen", "--key", tmp_path / "ann.pem")
    assert (done.code, "No service key is left: the registry records nothing until" in done.plain) == (0, True)
    assert rotate(coordpath, tmp_path).code == 0
    assert place.open(service_key=tmp_path / "new.key").record("refusal", REFUSAL).seq == 6


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_only_a_policy_admin_rotates_and_nothing_is_left_behind(coordpath, place, running, tmp_path):
    new_key().save(tmp_path / "eve.pem")
    done = coordpath("key", "rotate-service", "--out", tmp_path / "new.key", "--key", tmp_path / "eve.pem")
    assert (done.code, "is not known to this ledger" in done.plain) == (2, True)
    assert not (tmp_path / "new.key").exists()
    (tmp_path / "new.key").write_text("there")
    assert rotate(coordpath, tmp_path).code == 2
    assert len(running.entries()) == 3


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("reason", "why"), [("\udcff", "is not valid UTF-8"), ("x" * 4001, "has 4001 characters")])
def test_a_reason_that_the_ledger_cannot_hold_adds_no_key(coordpath, place, running, tmp_path, reason, why):
    done = rotate(coordpath, tmp_path, "--reason", reason)
    assert (done.code, why in done.plain) == (2, True), done.plain
    assert len(running.entries()) == 3
    assert not (tmp_path / "new.key").exists()
