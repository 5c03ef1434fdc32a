"""The dumbbell: each standardised coefficient, old and new, on one axis with zero marked."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import fixed, pair
from coordpath_governance.rendering import svg
from coordpath_governance.rendering.svg import Picture, Scale, decimals_of, padded_domain, round_ticks
from coordpath_governance.text import fit

__all__ = ["Dumbbell", "DumbbellRow", "dumbbell"]

SIZE = 13.5


@dataclass(frozen=True)
class DumbbellRow:
    """One coefficient; None where that model has no value for it."""

    label: str
    old: float | None
    new: float | None
    flips: bool


@dataclass(frozen=True)
class Dumbbell:
    """What the chart shows."""

    rows: tuple[DumbbellRow, ...]
    old_label: str
    new_label: str
    description: str

    def domain(self) -> tuple[float, float]:
        """All values and zero, so that a change of sign is seen as a crossing."""
        values = [value for row in self.rows for value in (row.old, row.new) if value is not None]
        low, high = padded_domain([*values, 0.0], 0.0)
        pad = (high - low) * 0.05
        return low - pad, high + pad


@dataclass(frozen=True)
class Layout:
    """Where things go."""

    name: str
    width: float
    label: float
    left: float
    right: float
    row: float
    ticks: int
    stacked: bool


WIDE = Layout("wide", 960, 262, 292, 770, 30, 6, stacked=False)
NARROW = Layout("narrow", 340, 190, 14, 326, 44, 3, stacked=True)
TOP = 30


def dumbbell(chart: Dumbbell) -> Picture:
    """The chart as SVG text."""
    return Picture(_draw(chart, WIDE), _draw(chart, NARROW))


def _draw(chart: Dumbbell, layout: Layout) -> str:
    scale = Scale(*chart.domain(), layout.left, layout.right)
    bottom = TOP + len(chart.rows) * layout.row
    parts = [_axis(layout, scale, bottom)]
    parts += [_row(row, layout, scale, TOP + index * layout.row) for index, row in enumerate(chart.rows)]
    title = "Standardised coefficients, old and new"
    size = (layout.width, bottom + 12)
    return svg.document(f"dumbbell-{layout.name}", f"chart {layout.name}", size, title, chart.description, *parts)


def _axis(layout: Layout, scale: Scale, bottom: float) -> str:
    ticks = round_ticks(scale.low, scale.high, layout.ticks)
    decimals = decimals_of(ticks)
    parts: list[str] = []
    for tick in ticks:
        x = scale(tick)
        parts.append(svg.line(x, TOP - 6, x, bottom, "zero" if tick == 0 else "grid"))
        parts.append(svg.text(x, TOP - 12, fixed(tick, decimals), "tick", "middle"))
    return svg.group("axis", *parts)


def _row(row: DumbbellRow, layout: Layout, scale: Scale, top: float) -> str:
    y_text, y = (top + 16, top + 30) if layout.stacked else (top + layout.row / 2 + 4.5, top + layout.row / 2)
    label = fit(row.label, SIZE, layout.label - (0 if layout.stacked else 8))
    parts = [svg.text(0, y_text, label, "label")]
    if row.old is not None and row.new is not None:
        parts.append(svg.line(scale(row.old), y, scale(row.new), y, "flip" if row.flips else "link"))
        old, new = pair(row.old, row.new, 3)
        amount = f"{old} → {new}"
    else:
        amount = _one_sided(row)
    if row.old is not None:
        parts.append(svg.circle(scale(row.old), y, 5, "mark-old"))
    if row.new is not None:
        parts.append(svg.diamond(scale(row.new), y, 6, "mark-new"))
    mark = "⇄ " if row.flips else ""
    parts.append(svg.text(layout.width - (0 if layout.stacked else 2), y_text, mark + amount, "value", "end"))
    return svg.group("step", *parts)


def _one_sided(row: DumbbellRow) -> str:
    """Words for a coefficient that only one model has."""
    value = row.new if row.old is None else row.old
    text = pair(value, value, 3)[0] if value is not None else "none"
    return f"new only: {text}" if row.old is None else f"old only: {text}"
