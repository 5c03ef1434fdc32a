"""Functions of columns, and interactions, old and new: a curve where there is one number to draw it over, and a table."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import pair, signed, significant
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.curve import CurveChart, draw_curve
from coordpath_governance.reports.document import ChangeReportDocument, FunctionFacts, FunctionPoint

__all__ = ["FunctionRow", "FunctionView", "functions_view"]

NONE = "–"


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
    ordered = sorted(enumerate(document.functions), key=lambda each: not each[1].changed)
    views = [_view(facts, number, caps) for number, facts in ordered[: caps.entries]]
    return Shown(tuple(views), len(ordered) - len(views))


def _view(facts: FunctionFacts, number: int, caps: Caps) -> FunctionView:
    name = facts.unit if facts.label is None else f"{facts.unit} [{facts.label}]"
    return FunctionView(
        name=caps.label(name),
        kind="function" if facts.kind == "function" else "interaction",
        places=caps.label(", ".join(facts.columns)),
        remark=_remark(facts),
        rows=Shown.first([_row(point, caps) for point in facts.points[: caps.rows]], caps.rows),
        picture=_picture(facts, number, caps) if caps.chart_rows else None,
    )


def _remark(facts: FunctionFacts) -> str:
    if not facts.in_champion:
        return "only in the candidate"
    if not facts.in_candidate:
        return "only in the champion"
    return "changed" if facts.changed else "unchanged"


def _row(point: FunctionPoint, caps: Caps) -> FunctionRow:
    at = ", ".join(significant(each, 4) if isinstance(each, float) else caps.label(each) for each in point.at)
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
