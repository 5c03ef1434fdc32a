"""Functions of columns, and interactions, old and new: a curve where there is one number to draw it over, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordpath_governance.numbers import fixed, pair, signed, significant
from coordpath_governance.rendering import svg
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.svg import Scale, decimals_of, padded_domain, round_ticks
from coordpath_governance.reports.document import ChangeReportDocument, FunctionFacts, FunctionPoint

__all__ = ["CurveChart", "FunctionRow", "FunctionView", "draw_curve", "functions_view"]

WIDTH, HEIGHT = 340, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 330, 10, 144

NONE = "–"


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
    points = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
    commands = [f"{'L' if i else 'M'}{svg.number(across(x))} {svg.number(up(y))}" for i, (x, y) in enumerate(points)]
    return svg.path("".join(commands), class_) if len(points) > 1 else ""


@dataclass(frozen=True)
class FunctionRow:
    """One place, and what the function adds to the score there."""

    at: str
    old: str
    new: str
    change: str


@dataclass(frozen=True)
class FunctionView:
    """One function; ``remark`` tells if it is unchanged, new or gone."""

    name: str
    kind: str
    places: str
    remark: str
    rows: Shown[FunctionRow]
    picture: str | None


def functions_view(document: ChangeReportDocument, caps: Caps) -> Shown[FunctionView]:
    """Changed functions first, as many as there is room for."""
    numbered = sorted(enumerate(document.functions), key=lambda pair: not pair[1].changed)
    return Shown.first(numbered, caps.entries, lambda pair: _view(pair[1], pair[0], caps))


def _view(facts: FunctionFacts, number: int, caps: Caps) -> FunctionView:
    name = facts.unit if facts.label is None else f"{facts.unit} [{facts.label}]"
    return FunctionView(
        name=caps.label(name),
        kind="function" if facts.kind == "function" else "interaction",
        places=caps.label(", ".join(facts.columns)),
        remark=_remark(facts),
        rows=Shown.first(facts.points, caps.rows, lambda point: _row(point, caps)),
        picture=_picture(facts, number, caps) if caps.chart_rows else None,
    )


def _remark(facts: FunctionFacts) -> str:
    if not facts.in_champion:
        return "only in the candidate"
    if not facts.in_candidate:
        return "only in the champion"
    return "changed" if facts.changed else "unchanged"


def _row(point: FunctionPoint, caps: Caps) -> FunctionRow:
    at = ", ".join(significant(place, 4) if isinstance(place, float) else caps.label(place) for place in point.at)
    if point.old is None or point.new is None:
        old = NONE if point.old is None else significant(point.old)
        return FunctionRow(at, old, NONE if point.new is None else significant(point.new), NONE)
    old, new = pair(point.old, point.new)
    return FunctionRow(at, old, new, signed(significant(point.new - point.old, 3)))


def _picture(facts: FunctionFacts, number: int, caps: Caps) -> str | None:
    """Two lines, where the function is one of a single number and at least two places are known."""
    places = tuple(point.at[0] for point in facts.points if len(point.at) == 1 and isinstance(point.at[0], float))
    values = [value for point in facts.points for value in (point.old, point.new) if value is not None]
    if len(places) != len(facts.points) or len(places) < 2 or not values:
        return None
    words = "; ".join(f"{row.at}: {row.old} to {row.new}" for row in (_row(point, caps) for point in facts.points))
    return draw_curve(
        CurveChart(
            identifier=f"curve-{number}",
            title=f"What {caps.label(facts.unit)} adds to the score, old and new",
            places=tuple(float(place) for place in places),
            old=tuple(point.old for point in facts.points),
            new=tuple(point.new for point in facts.points),
            description=f"Places and values, old to new. {words}.",
        )
    )
