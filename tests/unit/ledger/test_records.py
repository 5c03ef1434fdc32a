"""Entries in full, from an export that is audited first."""

import pytest

from coordpath_governance.ledger.events import EVENTS, Adoption, KeyRevoked
from coordpath_governance.ledger.export import export_lines
from coordpath_governance.ledger.keyring import key_records
from coordpath_governance.ledger.records import Records, read_records
from coordpath_governance.ledger.words import MEANINGS, account


@pytest.fixture
def exported(tmp_path):
    """Write a book to a file and read it as an auditor would."""

    def read(book, **blobs):
        path = tmp_path / "ledger.jsonl"
        path.write_bytes(b"".join(export_lines("ab" * 16, book.entries, {**book.blobs, **blobs})))
        return read_records(path)

    return read


def told(entry, records):
    return [(label, text) for _, label, text in account(entry, records)]


def test_every_event_is_told_in_full(story, exported):
    records = exported(story)
    assert records.intact
    seen = set()
    for entry in records.entries:
        lines = told(entry, records)
        seen.add(entry.event)
        assert lines[0] == ("Entry", f"{entry.seq}, {entry.event}")
        assert ("What", MEANINGS[entry.event]) in lines
        assert ("Hash", entry.hash) in lines
        assert ("Signature", entry.signature) in lines
    assert seen == set(EVENTS)


def test_what_an_entry_says(story, exported):
    records = exported(story)
    of = {entry.event: dict(told(entry, records)) for entry in records.entries}
    policy = next(entry for entry in records.entries if entry.event == "policy adopted")
    assert of["approval"]["policy"].endswith(f" (entry {policy.seq}, policy adopted)")
    assert of["approval"]["Signed by"].startswith("Rob (risk), key ")
    revoked = next(entry for entry in records.entries if entry.event == "key revoked")
    assert of["approval"]["Signed by"].endswith(f"added by entry 3, revoked by entry {revoked.seq}")
    assert of["waiver"]["reason"] == "known"
    assert of["intent"]["who vouches for that"] == "server login"
    assert of["intent"]["full validation"] == "no"
    assert of["intent"]["approvals"].endswith(", approval)")
    assert of["promotion"]["actor"] == "Rob"
    assert of["promotion"]["completed by"] == "not recorded"
    assert of["report"]["Kept document"].startswith("change_report.json, 6 bytes, SHA-256 ")
    assert "(rejection)" in of["report"]["Named by"]
    assert of["refusal"]["version"] == "none"


def test_an_author_whom_nobody_vouches_for_and_an_empty_list(story, exported):
    records = exported(story)
    unknown = next(entry for entry in records.entries if entry.event == "registration" and entry.model == "churn")
    lines = dict(told(unknown, records))
    assert (lines["who vouches for that"], lines["author"]) == ("nobody (unverified)", "not recorded")
    story.intend()
    assert dict(told(story.entries[-1], exported(story)))["approvals"] == "none"


def test_an_old_promotion_is_told_without_what_it_did_not_record(story, exported):
    promoted = next(entry for entry in story.entries if entry.event == "promotion")
    body = {
        name: promoted.body[name] for name in ("intent", "alias", "from_version", "to_version", "to_digest", "completed")
    }
    story.add("promotion", body, model="fraud")
    labels = [label for label, _ in told(story.entries[-1], exported(story))]
    assert "actor" not in labels
    assert "who vouches for that" not in labels


def test_what_somebody_signed_with_an_unknown_key_is_not_believed(book, exported):
    book.refuse(key=book.stranger)
    book.add_key(book.admin, "Ada", "policy-admin")
    records = exported(book)
    assert not records.intact
    refusal = records.entries[1]
    assert not records.is_sound(refusal)
    lines = told(refusal, records)
    assert lines[1] == ("NOT as it should be", f"the key {book.stranger.public.id[:12]} is not known to this ledger")
    assert ("Signed by", f"an unknown key, {book.stranger.public.id}") in lines
    assert records.document(refusal) is None
    assert [each.facts.owner for each in key_records(entry for entry in records.entries if records.is_sound(entry))] == [
        "service",
        "Ada",
    ]


def test_an_entry_that_is_well_signed_and_contradicts_another_says_so(story, exported):
    intent = next(entry for entry in story.entries if entry.event == "intent")
    again = story.promote(intent, actor="eve")
    records = exported(story)
    assert records.is_sound(again)
    problems = [text for label, text in told(again, records) if label == "NOT as it should be"]
    assert any("names another actor" in each for each in problems)
    assert any("has used already" in each for each in problems)


def test_an_event_of_a_later_version_is_shown_as_it_is_written(book, exported):
    later = book.add("coup", {"who": "eve", "what": [{"a": 1}, {"b": None}], "when": [1, 2]})
    records = exported(book)
    lines = told(later, records)
    assert ("What", "coup") in lines
    assert ("who", "eve") in lines
    assert ("b", "not recorded") in lines
    assert ("when", "2") in lines


def test_keys_revoked_by_whom(book):
    book.add_people()
    book.add("key revoked", KeyRevoked(key=book.reviewer.public.id, reason=""), book.admin)
    service, ada, rob = key_records(book.entries)
    assert (service.added_by, ada.added_by, rob.added_by) == ("service", "Ada", "Ada")
    assert (rob.revoked.seq, rob.revoked_by, rob.reason) == (4, "Ada", "")
    assert ada.revoked is None


def test_an_open_ledger_has_no_audit_and_is_taken_as_it_was_checked(story, exported):
    records = exported(story)
    opened = Records("sqlite://", records.ledger, records.entries, records.keys, records.blobs)
    assert opened.intact
    assert opened.is_sound(opened.entries[3])
    assert opened.problems(opened.entries[3]) == ()


def test_when_the_registry_created_a_model_is_told_in_words(book, exported):
    book.add_people()
    taken = Adoption(alias="champion", version="1", digest="1" * 64, reason="", model_created_at=7, version_created_at=None)
    book.add("adoption", taken, book.admin, "fraud")
    records = exported(book)
    lines = dict(told(records.entries[-1], records))
    assert lines["model created at"] == "1970-01-01 00:00:00.007 UTC (clock of the registry)"
    assert lines["version created at"] == "not recorded"
