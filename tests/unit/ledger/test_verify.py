"""Attacks on a ledger's entries, each found; and an honest ledger, of which nothing is said."""

import random
from dataclasses import replace

import pytest

from coordpath_governance.ledger.entries import sign_entry
from coordpath_governance.ledger.events import EVENTS, KeyRevoked, Refusal
from coordpath_governance.ledger.export import make_anchor, read_anchor
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.keys import new_key

TEXT_FIELDS = ("at", "event", "model", "previous", "model_previous", "key", "signature")


def anchor_of(book, seq=None, key=None, ledger=None):
    head = book.entries[(seq or len(book.entries)) - 1]
    name = ledger or book.entries[0].body["ledger"]
    return read_anchor(make_anchor(name, head, "2026-02-01T00:00:00.000000Z", key or book.service), "anchor.json")


def whats(found):
    return " | ".join(map(str, found.problems))


def test_a_ledger_in_which_everything_has_happened_is_intact(story):
    found = audit(story.entries, story.blobs)
    assert found.problems == ()
    assert found.intact
    assert found.conclusion == "intact, tail not anchored"
    assert {entry.event for entry in story.entries} == set(EVENTS)
    assert (found.entries, found.models, found.keys, found.blobs) == (len(story.entries), 2, 3, len(story.blobs))
    assert found.ledger == "ab" * 16
    assert found.head is story.entries[-1]


def test_an_anchor_of_the_head_vouches_for_all_of_it(story):
    found = audit(story.entries, story.blobs, [anchor_of(story)])
    assert found.conclusion == f"intact, and anchored at entry {len(story.entries)}"


def test_the_entry_that_records_the_anchor_needs_no_anchor(story):
    found = audit(story.entries, story.blobs, [anchor_of(story, len(story.entries) - 1)])
    assert found.conclusion == f"intact, and anchored at entry {len(story.entries) - 1}"


def test_an_older_anchor_leaves_the_tail_open_and_the_newest_counts(story):
    found = audit(story.entries, story.blobs, [anchor_of(story, 5), anchor_of(story, 3)])
    assert found.conclusion == "intact, tail not anchored after entry 5"


@pytest.mark.thorough
@pytest.mark.no_cover
@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_every_character_of_every_text_of_every_entry_counts(story, field):
    rng = random.Random(field)
    for at, entry in enumerate(story.entries):
        text = getattr(entry, field)
        if text is None:
            continue
        for position in range(len(text)):
            other = chr(ord(text[position]) ^ (1 << rng.randrange(6)))
            forged = replace(entry, **{field: text[:position] + other + text[position + 1 :]})
            assert not audit([*story.entries[:at], forged], story.blobs).intact, (entry.seq, field, position)


@pytest.mark.parametrize(("field", "value"), [("seq", 99), ("model_seq", 99), ("model_seq", None), ("model", None)])
def test_every_number_of_every_entry_counts(story, field, value):
    for at, entry in enumerate(story.entries):
        if getattr(entry, field) == value:
            continue
        entries = [*story.entries[:at], replace(entry, **{field: value}), *story.entries[at + 1 :]]
        assert not audit(entries, story.blobs).intact, entry.seq


def test_any_two_entries_swapped_are_found(story):
    for one in range(len(story.entries)):
        for other in range(one):
            entries = list(story.entries)
            entries[one], entries[other] = entries[other], entries[one]
            assert not audit(entries, story.blobs).intact


def test_any_entry_removed_from_the_middle_or_doubled_is_found(story):
    for at in range(len(story.entries) - 1):
        assert "missing" in whats(audit([*story.entries[:at], *story.entries[at + 1 :]], story.blobs))
        assert not audit([*story.entries[:at], story.entries[at], *story.entries[at:]], story.blobs).intact


def test_a_cut_tail_is_not_seen_without_an_anchor_and_found_with_one(story):
    whole = anchor_of(story)
    for length in range(1, len(story.entries)):
        assert audit(story.entries[:length], story.blobs).conclusion == "intact, tail not anchored"
        found = audit(story.entries[:length], story.blobs, [whole])
        assert not found.intact
        assert "it was cut" in whats(found) or "not known here" in whats(found)


def test_a_whole_models_chain_removed_is_found(story):
    kept = [entry for entry in story.entries if entry.model != "churn"]
    assert "entries are missing" in whats(audit(kept, story.blobs))


def test_a_whole_models_chain_removed_and_the_rest_renumbered_and_rehashed_is_found(story):
    forged = story.without(lambda entry: entry.model != "churn")
    assert [entry.seq for entry in forged] == list(range(1, len(forged) + 1))
    found = audit(forged, story.blobs)
    assert "signature" in whats(found)


def test_a_whole_ledger_written_anew_with_other_keys_contradicts_the_anchor(book, story):
    book.refuse()
    found = audit(book.entries, book.blobs, [anchor_of(story)])
    assert "not known here" in whats(found)


def test_history_written_anew_by_the_service_key_itself_contradicts_the_anchor(book):
    book.refuse("fraud")
    anchor = anchor_of(book)
    book.entries.pop()
    book.refuse("churn")
    assert audit(book.entries, {}).intact
    assert "written anew" in whats(audit(book.entries, {}, [anchor]))


def test_an_anchor_of_another_ledger_or_by_a_persons_key_is_refused(story):
    assert "another ledger" in whats(audit(story.entries, story.blobs, [anchor_of(story, ledger="0" * 32)]))
    assert "not known here" in whats(audit(story.entries, story.blobs, [anchor_of(story, key=story.admin)]))


def test_a_ledger_without_its_creation_is_found(book):
    book.entries.clear()
    book.add_key(book.admin, "Eve", "policy-admin")
    assert "a ledger begins with its creation" in whats(audit(book.entries, {}))


def test_an_entry_by_a_foreign_key_is_found(book):
    book.refuse(key=book.stranger)
    assert "is not known to this ledger" in whats(audit(book.entries, {}))


def test_an_entry_signed_by_another_than_it_says_is_found(book):
    book.refuse()
    book.entries[-1] = sign_entry(book.entries[-1], book.stranger)
    assert "the signature is not one of key" in whats(audit(book.entries, {}))


def test_a_revoked_keys_later_entry_is_found(story):
    story.approve()
    assert "was revoked by entry" in whats(audit(story.entries, story.blobs))


def test_a_role_that_somebody_gave_himself_is_found(book):
    book.add_people()
    book.add_key(book.stranger, "Eve", "policy-admin", by=book.stranger)
    book.add("key revoked", KeyRevoked(key=book.admin.public.id, reason="mine now"), book.stranger)
    found = audit(book.entries, {})
    assert [problem.seq for problem in found.problems if "not known" in problem.what] == [4, 5]


def test_a_role_that_a_reviewer_gives_is_found(book):
    book.add_people()
    book.add_key(book.stranger, "Eve", "policy-admin", by=book.reviewer)
    assert "lacks the role 'policy-admin'" in whats(audit(book.entries, {}))


def test_roles_changed_in_place_are_found(story):
    entry = story.entries[2]
    body = {"key": {**entry.body["key"], "roles": ["policy-admin"]}}
    entries = [*story.entries[:2], replace(entry, body=body), *story.entries[3:]]
    assert not audit(entries, story.blobs).intact


def test_a_service_key_cannot_say_what_a_person_says(book):
    book.add_people()
    book.reviewer = book.service
    book.approve()
    assert "is a person's to sign" in whats(audit(book.entries, {}))


def test_time_set_back_is_found(book):
    book.refuse(at="2020-01-01T00:00:00.000000Z")
    assert "time runs backwards" in whats(audit(book.entries, {}))


def test_kept_documents_that_are_missing_or_changed_are_found(story):
    for digest in story.blobs:
        without = {each: content for each, content in story.blobs.items() if each != digest}
        assert "are missing" in whats(audit(story.entries, without))
        assert "another digest" in whats(audit(story.entries, {**story.blobs, digest: b"other"}))


def test_a_body_that_is_not_its_events_and_an_event_that_is_none_are_found(book):
    book.add("refusal", {"operation": "x"})
    book.add("party", {})
    found = whats(audit(book.entries, {}))
    assert "its body is not that of a 'refusal'" in found
    assert "'party' is not an event that a ledger has" in found


def test_a_key_that_is_no_key_is_found(book):
    facts = {"id": "0" * 64, "public": "not base64", "owner": "Ada", "roles": ["policy-admin"]}
    book.add("key added", {"key": facts}, book.admin)
    assert "is not a public key" in whats(audit(book.entries, {}))


def test_a_place_in_no_models_chain_is_found(book):
    book.add("refusal", Refusal(operation="x", alias=None, version=None, actor=None, reason=""), model_seq=1)
    assert "belongs to no model" in whats(audit(book.entries, {}))


def test_nothing_at_all_is_not_intact():
    found = audit([], {}, [], [(3, "unreadable")])
    assert found.conclusion == "NOT intact: there are no entries (and 1 more)"
    assert str(found.problems[1]) == "entry 3: unreadable"


def test_an_anchor_that_is_no_anchor_is_told(book):
    for content in (b"{}", b"[]", b"1"):
        assert "not an envelope" in whats(audit(book.entries, {}, [read_anchor(content, "a file")]))


def test_keys_after_a_faulty_entry_are_not_believed(book):
    book.add_key(book.admin, "Ada", "policy-admin", at="2020-01-01T00:00:00.000000Z")
    other = new_key()
    book.add_key(other, "Eve", "policy-admin", by=other)
    found = audit(book.entries, {})
    assert found.keys == 2
    assert [problem.seq for problem in found.problems] == [2]
