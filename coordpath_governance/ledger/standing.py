"""What stood under an alias, one version after the other, as promotions and adoptions say. Pure: gate and audit use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Emergency, Promotion

__all__ = ["Stood", "stood_before", "what_stood"]


@dataclass(frozen=True)
class Stood:
    """A version with its files' digest, since entry ``seq``; no version where an adoption said that nothing stands there."""

    version: str | None
    digest: str | None
    seq: int


def what_stood(chain: Iterable[Entry], alias: str) -> tuple[Stood, ...]:
    """What stands under an alias, last, and what it replaced, one after the other; empty if nothing ever stood there.

    An emergency rollback takes back the version that it leaves, which is therefore not among them any more. The same version
    with the same files, promoted or adopted again, is there once.
    """
    stood: list[Stood] = []
    emergencies = set()
    for entry in chain:
        facts = entry.facts
        if isinstance(facts, Emergency):
            emergencies.add(entry.hash)
        if isinstance(facts, Promotion) and facts.alias == alias:
            now = Stood(facts.to_version, facts.to_digest, entry.seq)
        elif isinstance(facts, Adoption) and facts.alias == alias:
            now = Stood(facts.version, facts.digest, entry.seq)
        else:
            continue
        taken_back = isinstance(facts, Promotion) and facts.intent in emergencies
        if stood and (taken_back or (stood[-1].version, stood[-1].digest) == (now.version, now.digest)):
            stood.pop()
        if taken_back and stood and (stood[-1].version, stood[-1].digest) == (now.version, now.digest):
            stood.pop()
        stood.append(now)
    return tuple(stood)


def stood_before(chain: Iterable[Entry], alias: str) -> Stood | None:
    """The version that what stands under an alias replaced; None if there was none."""
    stood = what_stood(chain, alias)
    return stood[-2] if len(stood) > 1 and stood[-2].version is not None else None
