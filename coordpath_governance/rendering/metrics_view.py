"""Accuracy of both versions, figure by figure: better or worse only where the standard error allows it."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import pair, significant, with_error
from coordpath_governance.reports.impact_parts import GlmMetrics, Impact, ModelMetrics

__all__ = ["NEEDS_ROWS", "MetricRow", "judge", "metric_rows"]

TWO_ERRORS = 2.0
NEEDS_ROWS = "needs rows"
NOT_DEFINED = "not defined"
RIGHT_CLASS = "Accuracy (share of the rows whose most probable class is the observed one)"
BEST_GINI = "Gini, relative to the best possible order"


@dataclass(frozen=True)
class MetricRow:
    """One figure of accuracy for both versions."""

    name: str
    old: str
    new: str
    difference: str
    direction: str


def metric_rows(impact: Impact, loss: str, per: str = "", predicted: str = "") -> tuple[MetricRow, ...]:
    """The table of section 7; ``loss`` is what the cost is called, ``per`` what predictions are told for one unit of.

    ``predicted`` is the function of the target that errors are of, "" for the target itself.
    """
    old, new = impact.champion, impact.candidate
    judged = judge(impact.delta, impact.delta_se)
    rows = [_metric(loss, old.cost, new.cost, judged, impact.delta_se)]
    if isinstance(old, ModelMetrics) and isinstance(new, ModelMetrics):
        rows += _of_squared_errors(old, new, judged, predicted)
    if isinstance(old, GlmMetrics) and isinstance(new, GlmMetrics):
        rows += _of_predictions(old, new, judged, per)
    return tuple(rows)


def _of_squared_errors(old: ModelMetrics, new: ModelMetrics, judged: str, predicted: str) -> list[MetricRow]:
    """Figures without a standard error are just smaller or larger."""
    of = f" of {predicted}" if predicted else ""
    bias = _size(abs(old.bias), abs(new.bias)) + " in size"
    return [
        _metric(f"Root mean squared error{of}", old.rmse, new.rmse, judged),
        _metric(f"R²{of}", old.r2, new.r2, judged),
        _metric(f"Mean absolute error{of}", old.mae, new.mae, _size(old.mae, new.mae), absent=NEEDS_ROWS),
        _metric(f"Bias (average {predicted or 'target'} minus average score)", old.bias, new.bias, bias),
    ]


def _of_predictions(old: GlmMetrics, new: GlmMetrics, judged: str, per: str) -> list[MetricRow]:
    """What there is besides the cost; a figure that neither version has is left out.

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
    rows = [_metric("Share of deviance explained", old.explained, new.explained, judged)]
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
        shown = (absent if old is None else significant(old)), (absent if new is None else significant(new))
        return MetricRow(name, *shown, "–", "not known")
    return MetricRow(name, *pair(old, new), with_error(new - old, error), direction)


def judge(delta: float, error: float | None) -> str:
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
    before, after = old or 0.0, new or 0.0
    return "smaller" if after < before else "larger" if after > before else "the same"


def _balance(metrics: GlmMetrics) -> float | None:
    """What is expected for one that is observed."""
    if metrics.expected is None or not metrics.observed:
        return None
    return metrics.expected / metrics.observed


def _nearer(old: float | None, new: float | None) -> str:
    """Whether a ratio comes nearer to 1."""
    before, after = abs((old or 0.0) - 1.0), abs((new or 0.0) - 1.0)
    return "nearer to 1" if after < before else "farther from 1" if after > before else "the same"
