"""Which records have been kept for as long as their policy asked. Nothing is deleted by us; this only says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Promotion

__all__ = ["PastRetention", "past_retention"]


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
        kept = facts.retention
        if _calendar(entry.at, kept.years) <= _calendar(now):
            over.setdefault((entry.model, kept.class_, kept.years), []).append(entry.at)
    return tuple(
        PastRetention(model, class_, years, len(times), min(times)) for (model, class_, years), times in sorted(over.items())
    )


def _calendar(time: str, years: int = 0) -> tuple[int, str]:
    """A time so many years later, as something that sorts; a 29th of February comes after the 28th in any year."""
    return int(time[:4]) + years, time[4:]
