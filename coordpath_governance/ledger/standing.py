"""What stood under an alias, one version after the other, as promotions and adoptions say. Pure: gate and audit use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Promotion

__all__ = ["Stood", "what_stood"]


@dataclass(frozen=True)
class Stood:
    """A version with its files' digest, since entry ``seq``; no version where an adoption said that nothing stands there."""

    version: str | None
    digest: str | None
    seq: int


def what_stood(chain: Iterable[Entry], alias: str) -> tuple[Stood, ...]:
    """Everything that stood under an alias, oldest first; the last one stands now. Empty if nothing ever did."""
    stood = []
    for entry in chain:
        facts = entry.facts
        if isinstance(facts, Promotion) and facts.alias == alias:
            stood.append(Stood(facts.to_version, facts.to_digest, entry.seq))
        elif isinstance(facts, Adoption) and facts.alias == alias:
            stood.append(Stood(facts.version, facts.digest, entry.seq))
    return tuple(stood)
