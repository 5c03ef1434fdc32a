"""The calibration chart: what each version expects of rows with like predictions, against what was observed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordpath_governance.numbers import CostColumn, fixed
from coordpath_governance.rendering import svg
from coordpath_governance.rendering.svg import Scale, decimals_of, padded_domain, round_ticks

__all__ = ["Calibration", "CalibrationPoint", "draw_calibration"]

NEAR_ZERO = 0.4
"""The axes start at zero if the lowest value is below this part of the highest."""


@dataclass(frozen=True)
class CalibrationPoint:
    """Rows with like predictions: mean prediction and mean target."""

    expected: float
    observed: float


@dataclass(frozen=True)
class Calibration:
    """What the chart shows; ``column`` is the number format, which both axes share."""

    old: tuple[CalibrationPoint, ...]
    new: tuple[CalibrationPoint, ...]
    column: CostColumn
    description: str

    def domain(self) -> tuple[float, float]:
        """One range for both axes, so that the diagonal is where expected and observed agree."""
        values = [value for p in (*self.old, *self.new) for value in (p.expected, p.observed)]
        from_zero = 0.0 <= min(values) < NEAR_ZERO * max(values)
        return padded_domain([*values, 0.0] if from_zero else values)


@dataclass(frozen=True)
class Layout:
    """Where things go: the square of the plot and its margins."""

    name: str
    left: float
    side: float
    ticks: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the picture."""
        return self.left + self.side + RIGHT, TOP + self.side + BOTTOM


WIDE = Layout("wide", 74, 400, 5)
NARROW = Layout("narrow", 58, 268, 4)
TOP, RIGHT, BOTTOM = 26, 14, 46


def draw_calibration(chart: Calibration, *, narrow: bool = False) -> str:
    """The chart as SVG text, in the wide or in the narrow layout."""
    layout = NARROW if narrow else WIDE
    low, high = chart.domain()
    across = Scale(low, high, layout.left, layout.left + layout.side)
    up = Scale(low, high, TOP + layout.side, TOP)
    parts = [
        _axes(chart, layout, across, up),
        svg.line(across(low), up(low), across(high), up(high), "diagonal"),
        _track(chart.old, across, up, "track-old"),
        _track(chart.new, across, up, "track-new"),
        *(svg.circle(across(p.expected), up(p.observed), 5, "mark-old") for p in chart.old),
        *(svg.diamond(across(p.expected), up(p.observed), 6, "mark-new") for p in chart.new),
    ]
    title = "Expected against observed, by tenths of the rows"
    return svg.document(f"calibration-{layout.name}", f"chart {layout.name}", layout.size, title, chart.description, *parts)


def _axes(chart: Calibration, layout: Layout, across: Scale, up: Scale) -> str:
    unit = 10.0**chart.column.exponent
    ticks = round_ticks(chart.column.scaled(across.low), chart.column.scaled(across.high), layout.ticks)
    decimals = decimals_of(ticks)
    bottom, right = TOP + layout.side, layout.left + layout.side
    parts: list[str] = []
    for tick in ticks:
        x, y = across(tick * unit), up(tick * unit)
        parts += [svg.line(x, TOP, x, bottom, "grid"), svg.line(layout.left, y, right, y, "grid")]
        parts.append(svg.text(x, bottom + 18, fixed(tick, decimals), "tick", "middle"))
        parts.append(svg.text(layout.left - 8, y + 4, fixed(tick, decimals), "tick", "end"))
    suffix = f" ({chart.column.suffix})" if chart.column.suffix else ""
    parts.append(svg.text(right, bottom + 38, f"expected{suffix} →", "tick", "end"))
    parts.append(svg.text(layout.left, TOP - 12, f"↑ observed{suffix}", "tick", "start"))
    return svg.group("axis", *parts)


def _track(points: Sequence[CalibrationPoint], across: Scale, up: Scale, class_: str) -> str:
    """A line from tenth to tenth."""
    places = [f"{svg.number(across(p.expected))} {svg.number(up(p.observed))}" for p in points]
    return svg.path("M" + "L".join(places), class_) if places else ""
