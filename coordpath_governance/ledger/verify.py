"""The audit of a ledger: is it complete, unchanged, and signed by keys that may sign? From bytes and keys, no database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.adoption import kept_policy
from coordpath_governance.ledger.alone import could_do_alone
from coordpath_governance.ledger.chain import faults, named_blobs
from coordpath_governance.ledger.consistency import contradictions, ledger_name
from coordpath_governance.ledger.decision_documents import misrecorded, pages_not_compared
from coordpath_governance.ledger.entitlement import unentitled
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import PolicyAdopted, PolicyRetired
from coordpath_governance.ledger.export import AnchorFile
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.policy.document import Policy

__all__ = ["Audit", "Problem", "audit"]


@dataclass(frozen=True)
class Problem:
    """What is wrong, and with which entry; ``seq`` is None if it is about the ledger as a whole."""

    seq: int | None
    what: str

    def __str__(self) -> str:
        return self.what if self.seq is None else f"entry {self.seq}: {self.what}"


@dataclass(frozen=True)
class Audit:
    """What was looked at and what was found. ``anchored`` is the newest entry that an anchor vouches for."""

    ledger: str
    entries: int
    models: int
    keys: int
    blobs: int
    head: Entry | None
    problems: tuple[Problem, ...]
    anchored: int | None
    tail: int
    """How many entries came after the anchored one, not counting those that record anchoring."""
    sound: tuple[Entry, ...] = field(default=(), repr=False)
    """The entries that follow from the one before, signed by keys that may sign them."""
    alone: tuple[str, ...] = ()
    """What one person could have done alone, one sentence each. This is information, not a problem."""
    pages_not_compared: int = 0
    """How many decision records have pages that could not be laid out again here."""

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def conclusion(self) -> str:
        """The result in a line."""
        if self.problems:
            more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
            return f"NOT intact: {self.problems[0]}{more}"
        if self.anchored is None:
            return "intact, tail not anchored"
        if self.tail:
            return f"intact, tail not anchored after entry {self.anchored}"
        return f"intact, and anchored at entry {self.anchored}"


def audit(
    entries: Sequence[Entry],
    blobs: Mapping[str, bytes],
    anchors: Sequence[AnchorFile] = (),
    damaged: Sequence[tuple[int | None, str]] = (),
) -> Audit:
    """Audit a ledger.

    ``blobs`` are the kept documents by SHA-256. ``damaged`` are the rows or lines that could not be read as entries: a
    number, if it is known, and what is wrong.
    """
    problems = [Problem(*each) for each in damaged]
    if not entries:
        problems.append(Problem(None, "there are no entries"))
    sound, keys = _sound(entries, problems)
    problems += [Problem(*each) for each in contradictions(sound)]
    problems += [Problem(*each) for each in unentitled(sound, blobs)]
    problems += [Problem(*each) for each in misrecorded(sound, blobs)]
    named = {digest: entry.seq for entry in reversed(sound) for digest in named_blobs(entry.facts)}
    problems += _lost_blobs(named, blobs)
    anchored = _anchored(entries, anchors, ledger_name(sound), keys, problems)
    later = [entry for entry in entries if anchored is not None and entry.seq > anchored and entry.event != "anchor"]
    problems.sort(key=lambda problem: problem.seq or 0)
    return Audit(
        ledger=ledger_name(sound),
        entries=len(entries),
        models=len({entry.model for entry in entries if entry.model is not None}),
        keys=len(keys.keys),
        blobs=len(named),
        head=entries[-1] if entries else None,
        problems=tuple(problems),
        anchored=anchored,
        tail=len(later),
        sound=tuple(sound),
        alone=could_do_alone(sound, keys, tuple(_policies(sound, blobs))),
        pages_not_compared=pages_not_compared(sound),
    )


def _sound(entries: Sequence[Entry], problems: list[Problem]) -> tuple[list[Entry], KeyRing]:
    """Entries that follow from the one before, by keys that may sign them; what others say is not believed."""
    sound: list[Entry] = []
    keys, heads = KeyRing(), dict[str, Entry]()
    before: Entry | None = None
    for entry in entries:
        objections = list(faults(entry, before, None if entry.model is None else heads.get(entry.model), keys))
        problems += [Problem(entry.seq, what) for what in objections]
        if not objections:
            sound.append(entry)
            keys = keys.after(entry)
        before = entry
        if entry.model is not None:
            heads[entry.model] = entry
    return sound, keys


def _policies(entries: Sequence[Entry], blobs: Mapping[str, bytes]) -> Iterator[Policy]:
    """The policies in force after the entries, as far as their bytes are there and can be read today."""
    newest: dict[str, str] = {}
    for entry in entries:
        if isinstance(facts := entry.facts, PolicyAdopted):
            newest[facts.name] = facts.policy
        elif isinstance(facts, PolicyRetired):
            newest.pop(facts.name, None)
    for digest in newest.values():
        policy = kept_policy(blobs, digest)
        if policy is not None:
            yield policy


def _lost_blobs(wanted: Mapping[str, int], blobs: Mapping[str, bytes]) -> Iterator[Problem]:
    for digest, seq in wanted.items():
        content = blobs.get(digest)
        if content is None:
            yield Problem(seq, f"the bytes of SHA-256 {digest[:12]}… that it names are missing")
        elif sha256_hex(content) != digest:
            yield Problem(seq, f"the bytes kept under SHA-256 {digest[:12]}… have another digest")


def _anchored(
    entries: Sequence[Entry], anchors: Sequence[AnchorFile], ledger: str, keys: KeyRing, problems: list[Problem]
) -> int | None:
    """The newest entry that an anchor vouches for."""
    hashes = {entry.seq: entry.hash for entry in entries}
    newest: int | None = None
    for anchor in anchors:
        try:
            name, seq, digest = anchor.opened(keys)
        except SignatureError as error:
            problems.append(Problem(None, f"the anchor {anchor.where}: {error}"))
            continue
        if name != ledger:
            problems.append(Problem(None, f"the anchor {anchor.where} is of another ledger, {name[:40]}"))
        elif seq not in hashes:
            last = max(hashes, default=0)
            problems.append(
                Problem(seq, f"the anchor {anchor.where} vouches for it, but the ledger ends at {last}: it was cut")
            )
        elif hashes[seq] != digest:
            problems.append(Problem(seq, f"the anchor {anchor.where} vouches for another hash: history was written anew"))
        else:
            newest = max(seq, newest or 0)
    return newest
