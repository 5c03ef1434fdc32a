"""A proof shows that whoever made a key has it, under a name and for a ledger; the ledger keeps it, the audit checks it."""

import json
from datetime import datetime, timezone

import pytest

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.events import KeyAdded, KeyFacts
from coordpath_governance.ledger.keyring import PROOF_TYPE, make_proof, read_proof
from coordpath_governance.ledger.verify import audit
from coordpath_governance.signing.envelope import seal
from coordpath_governance.signing.keys import new_key

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)
LEDGER = "ab" * 16


def read(content, key, owner="Bob", ledger=LEDGER):
    return read_proof(content, "bob.proof", key.public, owner=owner, ledger=ledger)


def facts(key, owner="Bob"):
    return KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=("risk",))


def test_what_the_ledger_keeps_is_checked_by_the_audit(book):
    book.add_people()
    key = new_key()
    proof = read(make_proof(key, owner="Bob", ledger=LEDGER, now=NOW), key)
    assert (proof.owner, proof.ledger, proof.at) == ("Bob", LEDGER, "2026-03-04T05:06:07.000000Z")
    book.add("key added", KeyAdded(key=facts(key), proof=proof), book.admin)
    assert audit(book.entries, book.blobs).problems == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"at": "2027-03-04T05:06:07.000000Z"}, "the proof of the key is not signed with it"),
        ({"owner": None}, "the proof of the key is not signed with it"),
        ({"owner": "Eve"}, "the proof of the key is for 'Eve', not for 'Bob'"),
        ({"ledger": "cd" * 16}, "the proof of the key is for the ledger cdcd"),
        ({"signature": "no"}, "the proof of the key is not signed with it"),
    ],
)
def test_a_proof_that_was_made_up_is_found(book, changes, said):
    book.add_people()
    key = new_key()
    proof = read(make_proof(key, owner="Bob", ledger=LEDGER, now=NOW), key).model_copy(update=changes)
    book.add("key added", KeyAdded(key=facts(key), proof=proof), book.admin)
    assert said in str(audit(book.entries, book.blobs).problems[0])


def test_a_proof_of_another_key_is_found(book):
    book.add_people()
    key, other = new_key(), new_key()
    proof = read(make_proof(other, owner="Bob", ledger=LEDGER, now=NOW), other)
    book.add("key added", KeyAdded(key=facts(key), proof=proof), book.admin)
    assert "is not signed with it" in str(audit(book.entries, book.blobs).problems[0])


def test_names_are_compared_as_people_write_them_and_may_be_left_out():
    key = new_key()
    assert read(make_proof(key, owner="bob", ledger=None, now=NOW), key, "BOB ").owner == "bob"
    assert read(make_proof(key, owner=None, ledger=None, now=NOW), key).owner is None


@pytest.mark.parametrize(
    ("owner", "ledger", "said"), [("Eve", None, "is for 'Eve'"), (None, "cd" * 16, "for the ledger cdcd")]
)
def test_a_proof_for_somebody_or_something_else_is_refused(owner, ledger, said):
    key = new_key()
    with pytest.raises(SignatureError, match=rf"^bob.proof: .*{said}.*coordpath key make"):
        read(make_proof(key, owner=owner, ledger=ledger, now=NOW), key)


def test_a_proof_of_another_key_is_refused():
    with pytest.raises(SignatureError, match=r"does not prove that Bob has this key: signed with the key .* not known"):
        read(make_proof(new_key(), owner="Bob", ledger=None, now=NOW), new_key())


def test_a_damaged_proof_is_refused():
    key = new_key()
    content = json.loads(make_proof(key, owner="Bob", ledger=None, now=NOW))
    for field in ("payload", "payloadType"):
        text = content[field]
        changed = {**content, field: text[:4] + ("B" if text[4] == "A" else "A") + text[5:]}
        with pytest.raises(SignatureError, match=r"^bob.proof does not prove"):
            read(canonical_bytes(changed), key)
    for damaged in (b"", b"no", b"[]", b"{" * 20000):
        with pytest.raises(SignatureError, match=r"^bob.proof does not prove"):
            read(damaged, key)


def test_what_the_key_signed_for_another_purpose_is_no_proof():
    key = new_key()
    for payload in (b"{}", canonical_bytes({"schema": "coordpath.key_proof/2"}), b"no"):
        with pytest.raises(SignatureError, match=r"is not of schema coordpath\.key_proof/1|is not JSON"):
            read(canonical_bytes(seal(payload, PROOF_TYPE, key)), key)
    with pytest.raises(SignatureError, match="the envelope holds"):
        read(canonical_bytes(seal(b"{}", "application/vnd.coordpath.anchor+json", key)), key)
