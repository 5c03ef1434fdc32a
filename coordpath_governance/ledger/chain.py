"""What makes entries a chain: each follows the one before it, in time and in its model, and has a signer who may sign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from coordpath_governance.errors import LedgerError, SignatureError, SigningKeyError
from coordpath_governance.ledger.entries import NOTHING_BEFORE, Entry
from coordpath_governance.ledger.events import (
    EVENTS,
    Body,
    DecisionRecorded,
    Declaration,
    KeyAdded,
    LedgerCreated,
    PolicyAdopted,
    Proposal,
    ReportMade,
)
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.signing.keys import PublicKey

__all__ = ["Chain", "faults", "named_blobs"]


@dataclass(frozen=True)
class Chain:
    """Entries that were checked, the keys known after them, and the newest entry of each model."""

    entries: tuple[Entry, ...] = ()
    keys: KeyRing = field(default_factory=KeyRing)
    heads: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def head(self) -> Entry | None:
        """The newest entry."""
        return self.entries[-1] if self.entries else None

    def extended(self, more: Iterable[Entry]) -> Chain:
        """The chain with more entries; `LedgerError` at the first that does not follow."""
        entries, keys, heads = list(self.entries), self.keys, dict(self.heads)
        for entry in more:
            before = entries[-1] if entries else None
            model_before = None if entry.model is None else heads.get(entry.model)
            for fault in faults(entry, before, model_before, keys):
                raise LedgerError(f"entry {entry.seq} of the ledger is not sound: {fault}; see `coordpath audit verify`")
            entries.append(entry)
            keys = keys.after(entry)
            if entry.model is not None:
                heads[entry.model] = entry
        return Chain(tuple(entries), keys, heads)


def faults(entry: Entry, before: Entry | None, model_before: Entry | None, keys: KeyRing) -> Iterator[str]:
    """Everything that is wrong with an entry after ``before``, with ``keys`` known by then; nothing if it is sound."""
    yield from _place(entry, before, model_before)
    if entry.event not in EVENTS:
        yield f"'{entry.event[:80]}' is not an event that a ledger has"
        return
    try:
        entry.facts  # noqa: B018 - whatever it is, it must be of its kind
        objection = keys.objection(entry)
        signer = _signer(entry, keys)
    except ValidationError as error:
        first = error.errors()[0]
        yield f"its body is not that of a '{entry.event}': {'.'.join(map(str, first['loc']))}: {first['msg']}"
        return
    except SigningKeyError as error:
        yield str(error)
        return
    if objection is not None:
        yield objection
    if signer is None:
        return
    try:
        entry.check(signer)
    except SignatureError as error:
        yield str(error)


def _place(entry: Entry, before: Entry | None, model_before: Entry | None) -> Iterator[str]:
    """What is wrong with an entry's place in the chains."""
    if before is None and entry.event != "ledger created":
        yield "a ledger begins with its creation"
    seq = before.seq + 1 if before else 1
    if entry.seq != seq:
        yield f"it has the number {entry.seq} where {seq} was expected: entries are missing, doubled or out of order"
    if entry.previous != (before.hash if before else NOTHING_BEFORE):
        yield "it does not follow from the entry before it"
    if before is not None and entry.at < before.at:
        yield f"time runs backwards: {entry.at} after {before.at}"
    if entry.model is None:
        if entry.model_seq is not None or entry.model_previous is not None:
            yield "it belongs to no model but has a place in a model's chain"
        return
    model_seq = (model_before.model_seq or 0) + 1 if model_before else 1
    if entry.model_seq != model_seq:
        yield f"it has the number {entry.model_seq} in its model's chain where {model_seq} was expected"
    if entry.model_previous != (model_before.hash if model_before else NOTHING_BEFORE):
        yield "it does not follow from the entry before it in its model's chain"


def _signer(entry: Entry, keys: KeyRing) -> PublicKey | None:
    """The key that must have signed: one of the ring, or the one that an entry brings in for itself."""
    signer = keys.keys.get(entry.key)
    if signer is not None:
        return signer.public
    facts = entry.facts
    if isinstance(facts, LedgerCreated | KeyAdded) and facts.key.id == entry.key:
        return PublicKey.from_text(facts.key.public)
    return None


def named_blobs(body: Body) -> tuple[str, ...]:
    """The digests of the documents that an event says are kept with it."""
    if isinstance(body, Proposal):
        return named_blobs(body.proposed)
    if isinstance(body, PolicyAdopted):
        return (body.policy,)
    if isinstance(body, Declaration):
        return (body.coefficients,)
    if isinstance(body, DecisionRecorded):
        return (body.decision, *body.pages.values(), body.attestation)
    return (body.report, *(body.pages or {}).values()) if isinstance(body, ReportMade) else ()
