"""What the change does to predictions, and how other orders would have told it."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import (
    CostColumn,
    cost_column,
    count,
    pair,
    percent,
    signed,
    significant,
    with_error,
)
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.reports.document import ChangeReportDocument, Flips, Impact, ScoreShift, SegmentImpact

__all__ = ["ImpactView", "MetricRow", "OrderCell", "OrderColumn", "OrdersView", "SegmentRow", "impact_view", "orders_view"]

TWO_ERRORS = 2.0
ROUNDING = 1e-12
NEEDS_ROWS = "needs rows"
NOT_DEFINED = "not defined"


@dataclass(frozen=True)
class MetricRow:
    """One figure of accuracy for both versions."""

    name: str
    old: str
    new: str
    difference: str
    direction: str


@dataclass(frozen=True)
class SegmentRow:
    """The figures of one segment."""

    segment: str
    value: str
    rows: str
    old: str
    new: str
    difference: str
    direction: str
    shift: str
    flips: str


@dataclass(frozen=True)
class ImpactView:
    """Section 7."""

    metrics: tuple[MetricRow, ...]
    shift: tuple[tuple[str, str], ...]
    shift_known: bool
    flips: tuple[str, ...]
    has_flips: bool
    segments: Shown[SegmentRow]
    suffix: str


@dataclass(frozen=True)
class OrderCell:
    """What an order moves at one place, and the cost after it."""

    label: str
    cost: str


@dataclass(frozen=True)
class OrderColumn:
    """One order from top to bottom."""

    name: str
    title: str
    verdict: str
    cells: tuple[OrderCell | None, ...]


@dataclass(frozen=True)
class OrdersView:
    """Section 6."""

    columns: tuple[OrderColumn, ...]
    places: tuple[int, ...]
    left_out: int
    suffix: str


def impact_view(document: ChangeReportDocument, caps: Caps) -> ImpactView:
    """Section 7 of the report."""
    impact = document.impact
    column = _segment_column(impact.segments)
    known = impact.segments[: caps.entries]
    return ImpactView(
        metrics=_metrics(impact),
        shift=_shift(impact.shift),
        shift_known=impact.shift.p50 is not None,
        flips=_flips(impact.flips),
        has_flips=impact.flips is not None,
        segments=Shown(tuple(_segment(s, column, caps) for s in known), len(impact.segments) - len(known)),
        suffix=column.suffix,
    )


def _metrics(impact: Impact) -> tuple[MetricRow, ...]:
    """Better or worse only where the standard error allows it; figures without one are just smaller or larger."""
    old, new = impact.champion, impact.candidate
    judged = _judge(impact.delta, impact.delta_se)
    return (
        _metric("Mean squared error", old.mse, new.mse, judged, impact.delta_se),
        _metric("Root mean squared error", old.rmse, new.rmse, judged),
        _metric("R²", old.r2, new.r2, judged),
        _metric("Mean absolute error", old.mae, new.mae, _size(old.mae, new.mae), absent=NEEDS_ROWS),
        _metric("Bias (average target minus average score)", old.bias, new.bias, _size(old.bias, new.bias) + " in size"),
    )


def _metric(
    name: str,
    old: float | None,
    new: float | None,
    direction: str,
    error: float | None = None,
    absent: str = NOT_DEFINED,
) -> MetricRow:
    if old is None or new is None:
        shown = (absent if old is None else significant(old)), (absent if new is None else significant(new))
        return MetricRow(name, *shown, "–", "not known")
    return MetricRow(name, *pair(old, new), with_error(new - old, error), direction)


def _judge(delta: float, error: float | None) -> str:
    """What a difference of costs says about the candidate, given its standard error."""
    if not delta:
        return "the same"
    if error is None:
        return "not known"
    if abs(delta) <= TWO_ERRORS * error:
        return "no difference shown"
    return "better" if delta < 0 else "worse"


def _size(old: float | None, new: float | None) -> str:
    """Smaller or larger, which is arithmetic and no judgement."""
    before, after = abs(old or 0.0), abs(new or 0.0)
    return "smaller" if after < before else "larger" if after > before else "the same"


def _shift(shift: ScoreShift) -> tuple[tuple[str, str], ...]:
    figures = (
        ("Average shift", shift.mean),
        ("Standard deviation of the shift", shift.sd),
        ("5th percentile", shift.p05),
        ("Median", shift.p50),
        ("95th percentile", shift.p95),
        ("Largest shift of a single row", shift.largest),
    )
    return tuple(
        (name, NEEDS_ROWS if value is None else signed(significant(value, 3)) if index != 1 else significant(value, 3))
        for index, (name, value) in enumerate(figures)
    )


def _flips(flips: Flips | None) -> tuple[str, ...]:
    if flips is None:
        return ("No threshold was given, so decisions that flip were not counted.",)
    threshold = significant(flips.threshold)
    return (
        f"{percent(flips.up, 2)} of the rows go from below the threshold {threshold} to at or above it.",
        f"{percent(flips.down, 2)} of the rows go from at or above the threshold to below it.",
    )


def _segment_column(segments: tuple[SegmentImpact, ...]) -> CostColumn:
    costs = [cost for s in segments for cost in (s.champion_cost, s.candidate_cost)]
    return cost_column(costs, [s.delta for s in segments])


def _segment(s: SegmentImpact, column: CostColumn, caps: Caps) -> SegmentRow:
    return SegmentRow(
        segment=caps.label(s.segment),
        value=caps.label(s.value),
        rows=count(s.rows),
        old=column.cost(s.champion_cost),
        new=column.cost(s.candidate_cost),
        difference=column.delta_with_error(s.delta, s.delta_se),
        direction=_judge(s.delta, s.delta_se),
        shift=signed(significant(s.mean_shift, 3)),
        flips="–" if s.flips is None else percent(s.flips, 2),
    )


def orders_view(document: ChangeReportDocument, caps: Caps, column: CostColumn) -> OrdersView:
    """Section 6 of the report: the orders side by side, place by place."""
    orders = document.comparison
    longest = max((len(order.order) for order in orders), default=0)
    places = range(min(longest, caps.steps))
    return OrdersView(
        columns=tuple(
            OrderColumn(
                name=order.name,
                title=caps.label(order.title),
                verdict=_order_verdict(order.name, order.worse_per_step, document.path.start_cost, column),
                cells=tuple(_cell(order.order, order.costs, place, caps, column) for place in places),
            )
            for order in orders
        ),
        places=tuple(places),
        left_out=longest - len(places),
        suffix=column.suffix,
    )


def _cell(order: tuple[str, ...], costs: tuple[float, ...], place: int, caps: Caps, column: CostColumn) -> OrderCell | None:
    if place >= len(order):
        return None
    offset = len(costs) - len(order)
    return OrderCell(caps.label(order[place]), column.cost(costs[place + offset]) if place + offset >= 0 else "–")


def _order_verdict(name: str, worse: float, scale: float, column: CostColumn) -> str:
    if name == "ours":
        return "the order of this report"
    amount = significant(abs(column.scaled(worse)), 2) + column.suffix
    if abs(worse) <= ROUNDING * abs(scale):
        return "as good as ours"
    return f"{amount} {'worse' if worse > 0 else 'better'} per step on average"
