"""Every key that a ledger knows or knew: whose, for what, and who brought it in and took it out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked, LedgerCreated

__all__ = ["KeyRecord", "key_records"]


@dataclass(frozen=True)
class KeyRecord:
    """A key, the entry that added it and the one that revoked it; ``…_by`` is the owner of the key that signed it."""

    facts: KeyFacts
    added: Entry
    added_by: str
    revoked: Entry | None = None
    revoked_by: str | None = None
    reason: str | None = None


def key_records(entries: Iterable[Entry]) -> tuple[KeyRecord, ...]:
    """The keys in the order in which they came. The entries have to be sound (`Audit.sound`, or those of an open ledger)."""
    records: dict[str, KeyRecord] = {}
    for entry in entries:
        facts = entry.facts
        if isinstance(facts, LedgerCreated | KeyAdded):
            signer = facts.key if entry.key == facts.key.id else records[entry.key].facts
            records[facts.key.id] = KeyRecord(facts.key, entry, signer.owner)
        elif isinstance(facts, KeyRevoked):
            by = records[entry.key].facts.owner
            records[facts.key] = replace(records[facts.key], revoked=entry, revoked_by=by, reason=facts.reason)
    return tuple(records.values())
