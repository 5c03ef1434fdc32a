"""A function of a number, old and new, as two lines over the range of the column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordpath_governance.numbers import fixed
from coordpath_governance.rendering import svg
from coordpath_governance.rendering.scales import Scale, decimals_of, padded_domain, round_ticks

__all__ = ["CurveChart", "draw_curve"]

WIDTH, HEIGHT = 340, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 330, 10, 144


@dataclass(frozen=True)
class CurveChart:
    """Values at places, None where a model has none; ``identifier`` tells the charts of a page apart."""

    identifier: str
    title: str
    places: tuple[float, ...]
    old: tuple[float | None, ...]
    new: tuple[float | None, ...]
    description: str


def draw_curve(chart: CurveChart) -> str:
    """The chart as SVG text: a thin broken line with circles for the old function, a full one with diamonds for the new."""
    values = [value for value in (*chart.old, *chart.new) if value is not None]
    across = Scale(*padded_domain(chart.places, 0.0), LEFT, RIGHT)
    low, high = padded_domain([*values, 0.0], 0.0)
    pad = 0.05 * (high - low)
    up = Scale(low - pad, high + pad, BOTTOM, TOP)
    parts = [_axes(across, up), _line(chart.places, chart.old, across, up, "curve-old")]
    parts.append(_line(chart.places, chart.new, across, up, "curve-new"))
    for place, old, new in zip(chart.places, chart.old, chart.new, strict=True):
        parts += [] if old is None else [svg.circle(across(place), up(old), 3.5, "mark-old")]
        parts += [] if new is None else [svg.diamond(across(place), up(new), 4, "mark-new")]
    return svg.document(chart.identifier, "chart curve", (WIDTH, HEIGHT), chart.title, chart.description, *parts)


def _axes(across: Scale, up: Scale) -> str:
    parts = []
    for tick in (ticks := round_ticks(up.low, up.high, 3)):
        parts.append(svg.line(LEFT, up(tick), RIGHT, up(tick), "zero" if tick == 0 else "grid"))
        parts.append(svg.text(LEFT - 6, up(tick) + 4, fixed(tick, decimals_of(ticks)), "tick", "end"))
    for tick in (ticks := round_ticks(across.low, across.high, 3)):
        parts.append(svg.text(across(tick), BOTTOM + 18, fixed(tick, decimals_of(ticks)), "tick", "middle"))
    return svg.group("axis", *parts)


def _line(places: Sequence[float], values: Sequence[float | None], across: Scale, up: Scale, class_: str) -> str:
    known = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
    commands = [f"{'L' if i else 'M'}{svg.number(across(x))} {svg.number(up(y))}" for i, (x, y) in enumerate(known)]
    return svg.path("".join(commands), class_) if len(known) > 1 else ""
