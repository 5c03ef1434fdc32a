"""What the change does to predictions, and the other orders in which it can be told.

A figure of accuracy is called better or worse only where the standard error allows that.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import CostColumn, cost_column, count, pair, percent, signed, significant, with_error
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.rendering import wording
from coordpath_governance.rendering.calibration_view import CalibrationView, calibration_view
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.family import family_words
from coordpath_governance.rendering.flips_view import FlipsView, flips_view
from coordpath_governance.rendering.path_view import path_column
from coordpath_governance.rendering.wording import by_weight, rate_unit
from coordpath_governance.reports.document import ChangeReportDocument, ComparedOrder
from coordpath_governance.reports.impact_parts import GlmMetrics, Impact, ModelMetrics, ScoreShift, SegmentImpact

__all__ = [
    "NEEDS_ROWS",
    "ImpactView",
    "MetricRow",
    "OrderCell",
    "OrderColumn",
    "OrdersView",
    "SegmentRow",
    "cost_direction",
    "impact_view",
    "metric_rows",
    "orders_view",
]

TWO_ERRORS = 2.0
NEEDS_ROWS = "needs rows"
NOT_DEFINED = "not defined"
RIGHT_CLASS = "Accuracy (share of the rows whose most probable class is the observed one)"
BEST_GINI = "Gini, relative to the best possible order"

ROUNDING = 1e-12
SQUARED_ERROR = "Mean squared error"

NO_SEGMENTS = "No segments were named."
NO_ROWS = "There are no segments: only moments were at hand, not rows."


@dataclass(frozen=True)
class MetricRow:
    """One figure of accuracy for both versions."""

    name: str
    old: str
    new: str
    difference: str
    direction: str


def metric_rows(impact: Impact, loss: str, per: str = "", predicted: str = "") -> tuple[MetricRow, ...]:
    """The table of accuracy; ``loss`` is the name of the cost, ``per`` the exposure that rates are per unit of.

    ``predicted`` is the function of the target that errors are of, "" for the target itself.
    """
    old, new = impact.champion, impact.candidate
    direction = cost_direction(impact.delta, impact.delta_se)
    rows = [_metric(loss, old.cost, new.cost, direction, impact.delta_se)]
    if isinstance(old, ModelMetrics) and isinstance(new, ModelMetrics):
        rows += _of_squared_errors(old, new, direction, predicted)
    if isinstance(old, GlmMetrics) and isinstance(new, GlmMetrics):
        rows += _of_predictions(old, new, direction, per)
    return tuple(rows)


def _of_squared_errors(old: ModelMetrics, new: ModelMetrics, direction: str, predicted: str) -> list[MetricRow]:
    """The figures of errors; those without a standard error are only called smaller or larger."""
    of = f" of {predicted}" if predicted else ""
    bias = _size(abs(old.bias), abs(new.bias)) + " in size"
    return [
        _metric(f"Root mean squared error{of}", old.rmse, new.rmse, direction),
        _metric(f"R²{of}", old.r2, new.r2, direction),
        _metric(f"Mean absolute error{of}", old.mae, new.mae, _size(old.mae, new.mae), absent=NEEDS_ROWS),
        _metric(f"Bias (average {predicted or 'target'} minus average score)", old.bias, new.bias, bias),
    ]


def _of_predictions(old: GlmMetrics, new: GlmMetrics, direction: str, per: str) -> list[MetricRow]:
    """The figures besides the cost; one that neither version has is left out.

    So is the mean absolute error of a classifier: it measures something else than what log loss and AUC do.
    """
    mean, target = (f"rate per unit of {per}",) * 2 if per else ("mean prediction", "mean target")
    balance = _balance(old), _balance(new)
    figures = (
        (RIGHT_CLASS, old.accuracy, new.accuracy),
        ("AUC", old.auc, new.auc),
        ("Gini" if old.classes or new.classes else BEST_GINI, old.gini, new.gini),
        *(() if old.classes or new.classes else (("Mean absolute error", old.mae, new.mae),)),
        (f"Expected: {mean}", old.expected, new.expected),
        (f"Observed: {target}", old.observed, new.observed),
    )
    rows = [_metric("Share of deviance explained", old.explained, new.explained, direction)]
    rows += [_metric(name, a, b, _size(a, b)) for name, a, b in figures if (a, b) != (None, None)]
    return rows if balance == (None, None) else [*rows, _metric("Expected ÷ observed", *balance, _nearer(*balance))]


def _metric(
    name: str,
    old: float | None,
    new: float | None,
    direction: str,
    error: float | None = None,
    absent: str = NOT_DEFINED,
) -> MetricRow:
    if old is None or new is None:
        texts = (absent if old is None else significant(old)), (absent if new is None else significant(new))
        return MetricRow(name, *texts, "–", "not known")
    return MetricRow(name, *pair(old, new), with_error(new - old, error), direction)


def cost_direction(delta: float, error: float | None) -> str:
    """What a difference of costs says about the candidate, given its standard error."""
    if not delta:
        return "the same"
    if error is None:
        return "not known"
    if abs(delta) <= TWO_ERRORS * error:
        return "no difference shown"
    return "better" if delta < 0 else "worse"


def _size(old: float | None, new: float | None) -> str:
    """Whether the new figure is smaller or larger; that alone is neither better nor worse."""
    before, after = old or 0.0, new or 0.0
    return "smaller" if after < before else "larger" if after > before else "the same"


def _balance(metrics: GlmMetrics) -> float | None:
    """Expected ÷ observed; None where that is not defined."""
    if metrics.expected is None or not metrics.observed:
        return None
    return metrics.expected / metrics.observed


def _nearer(old: float | None, new: float | None) -> str:
    """Whether a ratio comes nearer to 1."""
    before, after = abs((old or 0.0) - 1.0), abs((new or 0.0) - 1.0)
    return "nearer to 1" if after < before else "farther from 1" if after > before else "the same"


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
    """The view of the section "impact"; ``weighted`` names the weights of shares and means, "" if every row counts once."""

    metrics: tuple[MetricRow, ...]
    weighted: str
    calibration: CalibrationView | None
    score: str
    shift: tuple[tuple[str, str], ...]
    flips: FlipsView
    segments: Shown[SegmentRow]
    no_segments: str
    cost_title: str
    error: str
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
    """The view of the section "orders"."""

    columns: tuple[OrderColumn, ...]
    places: tuple[int, ...]
    left_out: int
    suffix: str


def impact_view(document: ChangeReportDocument, caps: Caps) -> ImpactView:
    """The section "impact": accuracy, calibration, shift of scores, flips and segments."""
    impact = document.impact
    words = family_words(document, caps)
    predicted = wording.predicted(document)
    of = f" of {predicted}" if predicted else ""
    title = f"{SQUARED_ERROR}{of}" if words is None else wording.sentence_start(wording.cost_name(document))
    column = _segment_column(impact.segments)
    return ImpactView(
        metrics=metric_rows(impact, title, rate_unit(document, caps), predicted),
        weighted=by_weight(document, caps),
        calibration=calibration_view(document, caps),
        score=predicted if words is None else words.own_score,
        shift=_shift(impact.shift, moments=document.glm is None or document.glm.link != "softmax"),
        flips=flips_view(document, caps),
        segments=Shown.first(impact.segments, caps.entries, lambda segment: _segment(segment, column, caps)),
        no_segments=NO_SEGMENTS if document.rows is not None or document.settings.segments == () else NO_ROWS,
        cost_title=title,
        error="error" if words is None else words.loss,
        suffix=column.suffix,
    )


def _shift(shift: ScoreShift, *, moments: bool) -> tuple[tuple[str, str], ...]:
    """Quantiles, and moments where they are known: they are of one score a row, not of several classes."""
    spread = (("Average shift", shift.mean), ("Standard deviation of the shift", shift.sd)) if moments else ()
    figures = (
        *spread,
        ("5th percentile", shift.p05),
        ("Median", shift.p50),
        ("95th percentile", shift.p95),
        ("Largest shift of a single row", shift.largest),
    )
    return tuple((name, _shift_text(name, value)) for name, value in figures)


def _shift_text(name: str, value: float | None) -> str:
    if value is None:
        return NEEDS_ROWS
    return significant(value, 3) if name.startswith("Standard") else signed(significant(value, 3))


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
        direction=cost_direction(s.delta, s.delta_se),
        shift=signed(significant(s.mean_shift, 3)),
        flips="–" if s.flips is None else percent(s.flips, 2),
    )


def orders_view(document: ChangeReportDocument, caps: Caps) -> OrdersView:
    """The section "orders": the orders side by side, place by place."""
    column = path_column(document)
    orders = document.comparison
    names = {BASELINE: wording.coefficient_name(BASELINE)}
    names |= {step.feature: wording.step_name(step) for step in document.path.steps}
    longest = max((len(order.order) for order in orders), default=0)
    places = range(min(longest, caps.steps))
    return OrdersView(
        columns=tuple(
            OrderColumn(
                name=order.name,
                title=caps.label(order.title),
                verdict=_order_verdict(order.name, order.worse_per_step, document.path.start_cost, column),
                cells=tuple(_cell(order, names, place, caps, column) for place in places),
            )
            for order in orders
        ),
        places=tuple(places),
        left_out=longest - len(places),
        suffix=column.suffix,
    )


def _cell(order: ComparedOrder, names: dict[str, str], place: int, caps: Caps, column: CostColumn) -> OrderCell | None:
    """What moves at one place; ``names`` are words for labels that are names of ours."""
    if place >= len(order.order):
        return None
    label, offset = order.order[place], len(order.costs) - len(order.order)
    cost = column.cost(order.costs[place + offset]) if place + offset >= 0 else "–"
    return OrderCell(caps.label(names.get(label, label)), cost)


def _order_verdict(name: str, worse: float, scale: float, column: CostColumn) -> str:
    if name == "ours":
        return "the order of this report"
    amount = significant(abs(column.scaled(worse)), 2) + column.suffix
    if abs(worse) <= ROUNDING * abs(scale):
        return "as good as ours"
    return f"{amount} {'worse' if worse > 0 else 'better'} per step on average"
