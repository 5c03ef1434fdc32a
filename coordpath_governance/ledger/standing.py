"""What stood under an alias, one version after the other, as promotions and adoptions say. Pure: gate and audit use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Promotion

__all__ = ["Stood", "stood_before", "what_stood"]


@dataclass(frozen=True)
class Stood:
    """A version with its files' digest, since entry ``seq``; no version where an adoption said that nothing stands there."""

    version: str | None
    digest: str | None
    seq: int


def what_stood(chain: Iterable[Entry], alias: str) -> tuple[Stood, ...]:
    """What stands under an alias, last, and what it replaced, one after the other; empty if nothing ever stood there.

    Whoever goes back to a version with the same files, through the gate, in an emergency or by an adoption, takes back all
    that came after it: those versions are not among them any more, and no emergency rollback leads to them.
    """
    stood: list[Stood] = []
    for entry in chain:
        facts = entry.facts
        if isinstance(facts, Promotion) and facts.alias == alias:
            now = Stood(facts.to_version, facts.to_digest, entry.seq)
        elif isinstance(facts, Adoption) and facts.alias == alias:
            now = Stood(facts.version, facts.digest, entry.seq)
        else:
            continue
        again = [at for at, each in enumerate(stood) if (each.version, each.digest) == (now.version, now.digest)]
        stood = [*(stood[: again[0]] if again else stood), now]
    return tuple(stood)


def stood_before(chain: Iterable[Entry], alias: str) -> Stood | None:
    """The version that what stands under an alias replaced; None if there was none."""
    stood = what_stood(chain, alias)
    return stood[-2] if len(stood) > 1 and stood[-2].version is not None else None
