"""How much of everything a page shows, so that no document makes it too large.

A page is made with the largest caps first; if it is too large, with the next smaller ones. What is left out is counted on
the page, and is in change_report.json.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from coordpath_governance.text import shorten, visible, visible_lines

__all__ = ["HTML_CAPS", "MARKDOWN_CAPS", "Caps", "Shown"]

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Caps:
    """Characters of a name and of a longer text, rows of a table, steps, moves in a step, entries of a list."""

    name: int
    prose: int
    rows: int
    lead_rows: int
    steps: int
    moves: int
    entries: int
    chart_rows: int
    problem: int

    def label(self, text: str) -> str:
        """A name, visible and not too long."""
        return cut(text, self.name)

    def sentence(self, text: str) -> str:
        """A longer text on one line."""
        return cut(text, self.prose)

    def lines(self, text: str) -> tuple[str, ...]:
        """What people wrote, line by line."""
        return visible_lines(shorten(text, self.prose))[: self.entries]


def cut(text: str, limit: int) -> str:
    """``text`` made visible and at most ``limit`` long; cut roughly first, so that endless text costs nothing."""
    return shorten(visible(shorten(text, 4 * limit)), limit)


@dataclass(frozen=True)
class Shown(Generic[T]):
    """The entries a page shows and the number it leaves out."""

    entries: tuple[T, ...]
    left_out: int = 0

    @classmethod
    def first(cls, items: Sequence[S], most: int, entry: Callable[[S], T]) -> Shown[T]:
        """An ``entry`` for each of the first ``most`` of ``items``; the others are counted."""
        return cls(tuple(entry(item) for item in items[:most]), max(len(items) - most, 0))


HTML_CAPS = (
    Caps(name=120, prose=4000, rows=120, lead_rows=20, steps=40, moves=120, entries=60, chart_rows=15, problem=12_000),
    Caps(name=80, prose=1000, rows=60, lead_rows=15, steps=25, moves=40, entries=30, chart_rows=12, problem=4_000),
    Caps(name=40, prose=400, rows=20, lead_rows=10, steps=15, moves=10, entries=12, chart_rows=10, problem=0),
)

MARKDOWN_CAPS = (
    Caps(name=100, prose=2000, rows=60, lead_rows=60, steps=25, moves=40, entries=40, chart_rows=0, problem=3_000),
    Caps(name=60, prose=600, rows=30, lead_rows=30, steps=15, moves=15, entries=20, chart_rows=0, problem=1_000),
    Caps(name=32, prose=240, rows=10, lead_rows=10, steps=12, moves=6, entries=8, chart_rows=0, problem=0),
    Caps(name=16, prose=80, rows=6, lead_rows=6, steps=6, moves=4, entries=5, chart_rows=0, problem=0),
    Caps(name=12, prose=60, rows=4, lead_rows=4, steps=5, moves=3, entries=4, chart_rows=0, problem=0),
    Caps(name=8, prose=40, rows=3, lead_rows=3, steps=4, moves=2, entries=3, chart_rows=0, problem=0),
)
