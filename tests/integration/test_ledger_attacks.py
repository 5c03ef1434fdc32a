"""Somebody who can write to the ledger's tables, but has no key: whatever he changes is found."""

import sqlite3

import pytest
from sqlalchemy import event

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.entries import NOTHING_BEFORE, Entry, sign_entry
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked, PolicyAdopted, Refusal, ReportMade
from coordpath_governance.ledger.export import make_anchor, read_anchor
from coordpath_governance.ledger.tables import _index
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.keys import new_key

COLUMNS = ("model_sha256", "model_seq", "previous", "hash", "payload", "signature")
REFUSAL = Refusal(operation="delete alias", alias="champion", version="1", actor="eve", reason="not under guard ü")


@pytest.fixture
def written(place):
    """A small ledger with a policy, a report and two models."""
    ledger = place.open()
    admin = new_key()
    facts = KeyFacts(id=admin.public.id, public=admin.public.text, owner="Ada", roles=("policy-admin",))
    ledger.append("key added", KeyAdded(key=facts), admin)
    adopted = PolicyAdopted(policy=sha256_hex(b"policy"), name="p", models=("*",))
    ledger.append("policy adopted", adopted, admin, blob=b"policy")
    made = ReportMade(
        version="1", champion=None, champion_digest=None, candidate_digest="0" * 64, report=sha256_hex(b"report")
    )
    ledger.record("report", made, model="fraud", blob=b"report")
    ledger.record("refusal", REFUSAL, model="churn")
    ledger.record("refusal", REFUSAL, model="fraud")
    ledger.record("refusal", REFUSAL)
    assert checked(place).intact
    return ledger


def checked(place, *anchors):
    ledger = place.open()
    entries, damaged = ledger.stored()
    return audit(entries, ledger.blobs, anchors, damaged)


def head_anchor(ledger):
    return read_anchor(make_anchor(ledger.id, ledger.entries()[-1], ledger.now(), ledger.service), "a.json")


def insert(place, entry):
    values = {**_index(entry), "payload": entry.payload, "signature": entry.signature}
    names = ", ".join(values)
    place.tamper(f"INSERT INTO coordpath_ledger ({names}) VALUES ({', '.join(f':{name}' for name in values)})", **values)


def following(ledger, key, event_name, body):
    """The entry that would come next, signed with any key."""
    head = ledger.entries()[-1]
    entry = Entry(
        head.seq + 1, ledger.now(), event_name, None, None, head.hash, None, body.model_dump(mode="json"), key.public.id
    )
    return sign_entry(entry, key)


@pytest.mark.parametrize(("column", "seq"), [*((column, 5) for column in COLUMNS), ("previous", 3), ("signature", 3)])
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_every_byte_of_every_column_counts(place, written, column, seq):
    place.tamper()
    path = place.url.removeprefix("sqlite:///")
    with sqlite3.connect(path, isolation_level=None) as connection:
        (kept,) = connection.execute(f"SELECT {column} FROM coordpath_ledger WHERE seq = ?", (seq,)).fetchone()
        raw = kept if isinstance(kept, bytes) else str(kept).encode()
        for position in range(len(raw)):
            changed = bytearray(raw)
            changed[position] ^= 1 << position % 8
            value = "?" if column == "payload" else "CAST(? AS TEXT)"
            connection.execute(f"UPDATE coordpath_ledger SET {column} = {value} WHERE seq = ?", (bytes(changed), seq))
            entries, damaged = written.stored()
            found = audit(entries, written.blobs, (), damaged)
            assert seq in {problem.seq for problem in found.problems}, (column, position)
        connection.execute(f"UPDATE coordpath_ledger SET {column} = ? WHERE seq = ?", (kept, seq))
    connection.close()
    assert checked(place).intact


@pytest.mark.parametrize("seq", range(1, 8))
def test_an_entry_moved_elsewhere_is_found(place, written, seq):
    place.tamper("UPDATE coordpath_ledger SET seq = 99 WHERE seq = :seq", seq=seq)
    found = checked(place)
    assert 99 in {problem.seq for problem in found.problems}


def test_two_entries_that_change_places_are_found(place, written):
    place.tamper(
        "UPDATE coordpath_ledger SET seq = 99 WHERE seq = 5",
        "UPDATE coordpath_ledger SET seq = 5 WHERE seq = 6",
        "UPDATE coordpath_ledger SET seq = 6 WHERE seq = 99",
    )
    assert {5, 6} <= {problem.seq for problem in checked(place).problems}


def test_an_entry_removed_from_the_middle_is_found(place, written):
    place.tamper("DELETE FROM coordpath_ledger WHERE seq = 4")
    found = checked(place)
    assert "entry 5: it has the number 5 where 4 was expected: entries are missing" in str(found.problems[0])
    with pytest.raises(LedgerError, match="entry 5 of the ledger is not sound"):
        place.open().entries()


def test_a_cut_tail_is_found_with_an_anchor(place, written):
    anchor = head_anchor(written)
    assert checked(place, anchor).conclusion == "intact, and anchored at entry 7"
    place.tamper("DELETE FROM coordpath_ledger WHERE seq > 5")
    assert checked(place).conclusion == "intact, tail not anchored"
    found = checked(place, anchor).conclusion
    assert found == "NOT intact: entry 7: the anchor a.json vouches for it, but the ledger ends at 5: it was cut"


def test_a_tail_cut_under_a_running_process_stops_it(place, written):
    written.entries()
    place.tamper("DELETE FROM coordpath_ledger WHERE seq > 5")
    with pytest.raises(LedgerError, match="entry 7 of the ledger is not what it was before"):
        written.record("refusal", REFUSAL)
    with pytest.raises(LedgerError, match="entry 7 of the ledger is not what it was before"):
        written.entries()


def test_a_whole_models_chain_removed_and_the_rest_rehashed_is_found(place, written):
    kept = [entry for entry in written.entries() if entry.model != "fraud"]
    place.tamper("DELETE FROM coordpath_ledger")
    forged = []
    for entry in kept:
        fields = {name: getattr(entry, name) for name in Entry.__dataclass_fields__}
        place_of_it = {"seq": len(forged) + 1, "previous": forged[-1].hash if forged else NOTHING_BEFORE}
        forged.append(Entry(**{**fields, **place_of_it}))
        insert(place, forged[-1])
    found = checked(place)
    assert [problem.seq for problem in found.problems] == [4, 5]
    assert "the signature is not one of key" in found.problems[0].what


def test_a_foreign_key_brought_in_by_hand_is_not_believed(place, written):
    eve = new_key()
    facts = KeyFacts(id=eve.public.id, public=eve.public.text, owner="Ada", roles=("policy-admin",))
    insert(place, following(written, eve, "key added", KeyAdded(key=facts)))
    assert "is not known to this ledger" in checked(place).conclusion
    with pytest.raises(LedgerError, match="is not known to this ledger"):
        written.keyring()


def test_a_role_given_by_a_forged_signature_is_not_believed(place, written):
    eve = new_key()
    facts = KeyFacts(id=eve.public.id, public=eve.public.text, owner="Eve", roles=("policy-admin",))
    entry = following(written, eve, "key added", KeyAdded(key=facts))
    admin = written.entries()[1].key
    fields = {name: getattr(entry, name) for name in Entry.__dataclass_fields__}
    insert(place, sign_entry(Entry(**{**fields, "key": admin}), eve))
    with pytest.raises(LedgerError, match="the signature is not one of key"):
        written.keyring()
    assert "the signature is not one of key" in checked(place).conclusion


def test_a_revoked_keys_later_entry_is_refused_and_found(place):
    ledger = place.open()
    ada, bob = new_key(), new_key()
    for key, owner in ((ada, "Ada"), (bob, "Bob")):
        facts = KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=("policy-admin",))
        ledger.append("key added", KeyAdded(key=facts), ada)
    ledger.append("key revoked", KeyRevoked(key=bob.public.id, reason="stolen"), ada)
    adopted = PolicyAdopted(policy=sha256_hex(b"policy"), name="p", models=("*",))
    with pytest.raises(ValueError, match="of Bob was revoked by entry 4"):
        ledger.append("policy adopted", adopted, bob, blob=b"policy")
    insert(place, following(ledger, bob, "policy adopted", adopted))
    assert "of Bob was revoked by entry 4" in checked(place).conclusion
    with pytest.raises(LedgerError, match="was revoked by entry 4"):
        ledger.entries()


def test_kept_documents_removed_or_changed_are_found(place, written):
    place.tamper("DELETE FROM coordpath_blobs WHERE sha256 = :digest", digest=sha256_hex(b"policy"))
    assert "entry 3: the bytes of SHA-256" in checked(place).conclusion
    place.tamper("UPDATE coordpath_blobs SET content = :content", content=b"Report")
    assert [problem.seq for problem in checked(place).problems] == [3, 4]


def test_an_emptied_ledger_is_not_begun_anew(place, written):
    place.tamper("DELETE FROM coordpath_ledger")
    assert checked(place).conclusion == "NOT intact: there are no entries"
    ledger = place.open()
    with pytest.raises(LedgerError, match="somebody emptied it"):
        ledger.entries()
    with pytest.raises(LedgerError, match="somebody emptied it"):
        _ = ledger.id


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_sqlites_own_clock_set_back_is_refused(place, written):
    def set_back(connection, _record):
        connection.create_function("strftime", -1, lambda *args: "2001-09-09T01:46:40.000")

    event.listen(written._database._engine, "connect", set_back)
    assert written.now() == "2001-09-09T01:46:40.000000Z"
    with pytest.raises(LedgerError, match=r"says 2001-09-09T01:46:40.000000Z, which is before its newest entry's 20"):
        written.record("refusal", REFUSAL)
    assert len(place.open().entries()) == 7


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_text_where_bytes_should_be_is_read_and_judged(place, written):
    place.tamper("UPDATE coordpath_ledger SET payload = 'text' WHERE seq = 4")
    found = checked(place)
    assert {4, 5} <= {problem.seq for problem in found.problems}
