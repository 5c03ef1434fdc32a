"""An anchor is believed only when a service key of the ledger signed it."""

import json

import pytest

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import LedgerError, SignatureError
from coordpath_governance.ledger.entries import ENTRY_TYPE
from coordpath_governance.ledger.export import ANCHOR_TYPE, make_anchor, read_anchor
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.signing.envelope import seal

AT = "2026-02-01T00:00:00.000000Z"


def sealed(book, payload, kind=ANCHOR_TYPE):
    return read_anchor(canonical_bytes(seal(payload, kind, book.service)), "a.json")


def test_it_reads_back(story):
    head = story.entries[-1]
    anchor = read_anchor(make_anchor("ab" * 16, head, AT, story.service), "a.json")
    assert anchor.opened(KeyRing.of(story.entries)) == ("ab" * 16, head.seq, head.hash)


def test_the_same_head_gives_the_same_bytes(story):
    made = [make_anchor("ab" * 16, story.entries[-1], AT, story.service) for _ in range(2)]
    assert made[0] == made[1]


def test_every_changed_part_is_found(story):
    content = json.loads(make_anchor("ab" * 16, story.entries[-1], AT, story.service))
    for field in ("payload", "payloadType"):
        text = content[field]
        changed = {**content, field: text[:4] + ("B" if text[4] == "A" else "A") + text[5:]}
        with pytest.raises(SignatureError):
            read_anchor(canonical_bytes(changed), "a.json").opened(KeyRing.of(story.entries))


def test_a_signed_payload_of_another_schema_is_no_anchor(book):
    with pytest.raises(SignatureError, match=r"is not of schema coordpath\.anchor/1"):
        sealed(book, b"{}").opened(KeyRing.of(book.entries))
    with pytest.raises(SignatureError, match="is not JSON"):
        sealed(book, b"no").opened(KeyRing.of(book.entries))


def test_a_signed_entry_is_no_anchor(book):
    with pytest.raises(SignatureError, match="the envelope holds"):
        sealed(book, book.entries[0].payload, ENTRY_TYPE).opened(KeyRing.of(book.entries))


@pytest.mark.parametrize("content", [b"", b"no", b"[1" * 40000])
def test_what_is_not_json_is_told(content):
    with pytest.raises(LedgerError, match=r"^a\.json: "):
        read_anchor(content, "a.json")
