"""Only the signed bytes are an entry, not what merely means the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.entries import read_entry


def test_every_entry_reads_back(story):
    for entry in story.entries:
        assert read_entry(entry.payload, entry.signature, "it") == entry


def test_white_space_another_order_and_escapes_are_not_canonical(story):
    document = json.loads(story.entries[0].payload)
    for content in (
        json.dumps(document),
        json.dumps(document, sort_keys=True) + "\n",
        story.entries[0].payload[:-1].decode(),
    ):
        with pytest.raises(LedgerError, match="it: is not written in canonical JSON"):
            read_entry(content.encode(), "", "it")


def test_lone_surrogates_are_refused(book):
    document = {**json.loads(book.refuse("fraud").payload), "model": "\ud800"}
    content = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    with pytest.raises(LedgerError, match=r"^it: has half of a character"):
        read_entry(content, "", "it")
    document = {**json.loads(book.entries[-1].payload), "body": {"reason": "\ud800"}}
    with pytest.raises(LedgerError, match=r"^it: has half of a character"):
        read_entry(json.dumps(document, sort_keys=True, separators=(",", ":")).encode(), "", "it")


@pytest.mark.parametrize(
    "changed",
    [{"schema": "coordpath.ledger_entry/2"}, {"seq": 0}, {"seq": "1"}, {"more": 1}, {"at": "now"}, {"previous": "x"}],
)
def test_another_schema_is_told(book, changed):
    content = canonical_bytes({**json.loads(book.entries[0].payload), **changed})
    with pytest.raises(LedgerError, match="it: is not an entry of schema"):
        read_entry(content, "", "it")


@pytest.mark.parametrize("content", [b"", b"1", b"[]", b"\xff", b'{"a":1,"a":2}', b"[" * 100000])
def test_what_is_no_document_is_told(content):
    with pytest.raises(LedgerError, match=r"^it: "):
        read_entry(content, "", "it")


@given(content=st.binary(max_size=300))
def test_any_bytes_are_an_error_of_ours(content):
    with pytest.raises(LedgerError):
        read_entry(content, "", "it")
