"""A chain takes what follows, and stops at the first entry that does not."""

from dataclasses import replace

import pytest

from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.chain import Chain, named_blobs


def test_an_empty_chain_has_no_head():
    assert Chain().head is None


def test_it_knows_its_entries_keys_and_heads(story):
    chain = Chain().extended(story.entries)
    assert chain.entries == tuple(story.entries)
    assert chain.head is story.entries[-1]
    assert set(chain.heads) == {"fraud", "churn"}
    assert chain.heads["churn"].event == "registration"
    assert len(chain.keys.keys) == 3


def test_extending_in_parts_is_extending_at_once(story):
    assert Chain().extended(story.entries[:7]).extended(story.entries[7:]) == Chain().extended(story.entries)


def test_it_stops_at_the_first_entry_that_does_not_follow(story):
    entries = [*story.entries[:4], replace(story.entries[4], at="2019-01-01T00:00:00.000000Z")]
    with pytest.raises(LedgerError, match="entry 5 of the ledger is not sound: time runs backwards"):
        Chain().extended(entries)


def test_a_model_without_a_name_has_a_chain_too(book):
    book.refuse("")
    book.refuse("")
    assert Chain().extended(book.entries).heads[""].model_seq == 2


def test_which_events_name_kept_documents(story):
    named = {entry.event: named_blobs(entry.facts) for entry in story.entries}
    assert {event for event, digest in named.items() if digest} == {
        "policy adopted",
        "report",
        "declaration",
        "decision record",
    }
