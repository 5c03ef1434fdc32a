"""Entries and kept documents for people to read: of an open ledger, or of an export that is audited first.

Also which promotions have been kept for as long as their policy asked. Nothing is deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.chain import named_blobs
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import DecisionRecorded, Declaration, PolicyAdopted, Promotion, ReportMade
from coordpath_governance.ledger.export import AnchorFile, read_export
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.verify import Audit, audit

__all__ = ["KeptDocument", "PastRetention", "Records", "past_retention", "read_records"]

_FILES = {
    ReportMade: "change_report.json",
    DecisionRecorded: "decision.json",
    PolicyAdopted: "policy.json",
    Declaration: "coefficients.json",
}
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class KeptDocument:
    """The bytes that an entry names: what they are, and how many there are; None if they are missing or changed."""

    name: str
    sha256: str
    size: int | None


@dataclass(frozen=True)
class Records:
    """What people look at. ``audit`` is what an audit found; None for an open ledger, which checks its chain itself."""

    where: str
    ledger: str
    entries: tuple[Entry, ...]
    keys: KeyRing
    blobs: Mapping[str, bytes] = field(repr=False)
    audit: Audit | None = None

    @property
    def intact(self) -> bool:
        """False if an audit found something wrong."""
        return self.audit is None or self.audit.intact

    def is_sound(self, entry: Entry) -> bool:
        """Whether an entry is well formed, in its place and signed by a key that may sign it."""
        return self._sound is None or entry.hash in self._sound

    def problems(self, entry: Entry) -> tuple[str, ...]:
        """What the audit found wrong with an entry."""
        return tuple(self._problems.get(entry.seq, ()))

    def document(self, entry: Entry) -> KeptDocument | None:
        """The document that is kept with an entry, without the pages laid out from it.

        None for an entry that names none, or is not to be believed.
        """
        digests = named_blobs(entry.facts) if self.is_sound(entry) else ()
        if not digests:
            return None
        digest = digests[0]
        content = self.blobs.get(digest)
        whole = content is not None and sha256_hex(content) == digest
        return KeptDocument(
            _FILES.get(type(entry.facts), "document"), digest, len(content) if content is not None and whole else None
        )

    def content(self, document: KeptDocument) -> bytes:
        """The bytes of a kept document. Raises `LedgerError` if they are missing or have another digest."""
        content = self.blobs.get(document.sha256)
        if content is None or sha256_hex(content) != document.sha256:
            state = "are missing" if content is None else "have another digest"
            raise LedgerError(f"{self.where}: the bytes kept under SHA-256 {document.sha256} {state}; nothing was written")
        return content

    def origin(self, digest: str) -> Entry | None:
        """The first entry that a digest stands for: the entry itself, what keeps the document, or what added the key."""
        return self._origins.get(digest)

    def naming(self, entry: Entry) -> tuple[Entry, ...]:
        """Other entries that name an entry, or the document kept with it."""
        document = self.document(entry)
        targets = {entry.hash} | ({document.sha256} if document is not None else set())
        return tuple(each for each in self.entries if each.hash != entry.hash and targets & set(digests_in(each.body)))

    @cached_property
    def _problems(self) -> dict[int | None, list[str]]:
        problems: dict[int | None, list[str]] = {}
        for each in () if self.audit is None else self.audit.problems:
            problems.setdefault(each.seq, []).append(each.what)
        return problems

    @cached_property
    def _sound(self) -> frozenset[str] | None:
        return None if self.audit is None else frozenset(entry.hash for entry in self.audit.sound)

    @cached_property
    def _origins(self) -> dict[str, Entry]:
        origins: dict[str, Entry] = {}
        for entry in self.entries:
            if self.is_sound(entry):
                origins.setdefault(entry.hash, entry)
                for digest in named_blobs(entry.facts):
                    origins.setdefault(digest, entry)
        by_seq = {entry.seq: entry for entry in reversed(self.entries)}
        for key, known_key in self.keys.keys.items():
            if known_key.added in by_seq:
                origins.setdefault(key, by_seq[known_key.added])
        return origins


def read_records(path: Path, anchors: Sequence[AnchorFile] = ()) -> Records:
    """An export, audited before anything of it is shown. Raises `LedgerError` if the file is not an export."""
    exported = read_export(path)
    result = audit(exported.entries, exported.blobs, anchors, exported.damaged)
    return Records(str(path), result.ledger, exported.entries, KeyRing.of(result.sound), exported.blobs, result)


def digests_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Every SHA-256 in a body."""
    if isinstance(value, str):
        if _DIGEST.fullmatch(value):
            yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from digests_in(each)


@dataclass(frozen=True)
class PastRetention:
    """Promotions of one model, with one retention, that are past it; ``oldest`` is the time of the first of them."""

    model: str
    class_: str
    years: int
    promotions: int
    oldest: str

    def __str__(self) -> str:
        records = "1 promotion" if self.promotions == 1 else f"{self.promotions} promotions"
        years = "1 year" if self.years == 1 else f"{self.years} years"
        verb = "is past its" if self.promotions == 1 else "are past their"
        return (
            f"{records} of '{self.model}' {verb} retention of {years} (class '{self.class_}'), "
            f"the oldest of {self.oldest[:10]}; nothing is deleted by us"
        )


def past_retention(entries: Iterable[Entry], now: str) -> tuple[PastRetention, ...]:
    """By model and retention the promotions whose years were over by ``now`` (a time of the ledger's form)."""
    over: dict[tuple[str, str, int], list[str]] = {}
    for entry in entries:
        facts = entry.facts
        if not isinstance(facts, Promotion) or facts.retention is None or entry.model is None:
            continue
        retention = facts.retention
        if _calendar(entry.at, retention.years) <= _calendar(now):
            over.setdefault((entry.model, retention.class_, retention.years), []).append(entry.at)
    return tuple(
        PastRetention(model, class_, years, len(times), min(times)) for (model, class_, years), times in sorted(over.items())
    )


def _calendar(time: str, years: int = 0) -> tuple[int, str]:
    """A time so many years later, as something that sorts; a 29th of February comes after the 28th in any year."""
    return int(time[:4]) + years, time[4:]
