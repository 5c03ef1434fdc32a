"""From a report back to what it was made of: models, moments, data facts, row evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.costs.families import kind_of
from coordpath_governance.errors import CoordpathError, ReportFormatError
from coordpath_governance.models.coefficients_json import from_document
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.paths import PathProblem, parse_problem
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reference.moments import Moments
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.glm import check_thresholds, decides_for_a_class, family_of_models, is_glm, thresholds
from coordpath_governance.reports.transformed_target import predicted_function

__all__ = ["Evidence", "evidence_of"]

Array = NDArray[np.float64]

_INDICATOR_TOLERANCE = 1e-9
_AGREEMENT = 1e-9
"""The part of its size by which two statements of one number may differ."""
_SHARES = 1e-14
"""The rounding of shares of classes: they add up to one, so the smallest have fewer digits."""


@dataclass(frozen=True)
class Evidence:
    """What the figures of a report follow from, in the form that `compose` takes."""

    champion: LinearModel | None
    candidate: LinearModel
    moments: Moments
    problem: PathProblem


def evidence_of(document: ChangeReportDocument) -> Evidence:
    """The evidence in a report.

    Raises `ReportFormatError` if it cannot be read, or if parts of it contradict each other.
    """
    try:
        champion = document.models.get("champion")
        old = None if champion is None else from_document(champion)
        new = from_document(document.models.get("candidate") or {})
        problem = parse_problem(document.problem)
        pair = ModelPair(old, new)
        check_thresholds(pair, document.settings)
        moments = _moments(document, problem, pair)
        pair = pair.weighted(moments)
    except (CoordpathError, OverflowError) as error:
        raise ReportFormatError(f"the evidence in the report cannot be read: {error}") from error
    if not problem.moves_once:
        raise ReportFormatError("the problem in the report is not one in which every coefficient moves once")
    if document.rows is not None and len(document.rows.step_se) != problem.most_terms:
        raise ReportFormatError(
            f"the report has {len(document.rows.step_se)} standard errors for {problem.most_terms} steps"
        )
    if is_glm(pair) != (document.glm is not None) or not _is_cost_of(pair, problem):
        raise ReportFormatError(f"what the report says of its cost does not fit models of the family '{new.family}'")
    _check_target(document)
    if document.data.predicted != predicted_function(new, document.data.target):
        raise ReportFormatError("data.predicted: is not the function of the target that the models predict")
    if document.rows is not None:
        segments = {segment.segment for segment in document.rows.segments}
        if not _decides_as_asked(document, pair) or segments - set(document.settings.segments):
            raise ReportFormatError("the row evidence is not for the thresholds and segments that settings and models name")
    return Evidence(old, new, moments, problem)


def _is_cost_of(pair: ModelPair, problem: PathProblem) -> bool:
    """Whether the cost is that of the models' family, recorded for the sets that the problem asks about."""
    cost = problem.cost
    if not is_glm(pair) or not isinstance(cost, RecordedCost):
        return is_glm(pair) == isinstance(cost, RecordedCost)
    return cost.kind == kind_of(family_of_models(pair)) and cost.depth == problem.sets.depth


def _check_target(document: ChangeReportDocument) -> None:
    """Raises `ReportFormatError` if the target's mean, or the standard deviation of classes, is stated in two ways.

    With an exposure the observed mean is a rate, and the target's mean is not, so the two are not compared.
    """
    rows, data = document.rows, document.data
    sides = [] if rows is None else [side for side in (rows.champion_metrics, rows.candidate_metrics) if side is not None]
    for side in sides:
        if data.exposure is not None and not side.classes:
            continue
        mean, variance, rounding = side.observed, data.target_sd**2, 0.0
        if side.classes:
            shares = np.array([balance.observed for balance in side.classes])
            positions = np.arange(len(shares))
            mean = float(positions @ shares)
            variance, rounding = float((positions - mean) ** 2 @ shares), _SHARES * len(shares) ** 2
        spread = abs(variance - data.target_sd**2) > 2.0 * _AGREEMENT * variance + rounding
        if mean is None or abs(mean - data.target_mean) > _AGREEMENT * mean or spread:
            raise ReportFormatError("mean and standard deviation of the target are not those of what was observed")


def _decides_as_asked(document: ChangeReportDocument, pair: ModelPair) -> bool:
    """Whether the flips are for the thresholds that settings and models name."""
    settings, flips = document.settings, None if document.rows is None else document.rows.flips
    if decides_for_a_class(pair):
        return flips is not None and flips.threshold is None and flips.champion_threshold is None
    champion, candidate = thresholds(pair, settings) if is_glm(pair) else (settings.threshold, settings.threshold)
    if champion is None or candidate is None:
        return flips is None
    return flips is not None and (flips.threshold, flips.champion_threshold, flips.threshold_class) == (
        candidate,
        None if champion == candidate else champion,
        settings.threshold_class,
    )


def _second_moments(document: ChangeReportDocument, problem: PathProblem) -> tuple[Array, Array]:
    """E[zzᵀ] and E[zy] of the exercised coordinates of one score; what a loss that needs rows does not use of E[zy] is 0."""
    if document.glm is None:
        return np.array(problem.quadratic.gram), np.array(problem.quadratic.linear)
    gram = np.array(document.glm.gram)
    width = len(problem.features) // _scores(document)
    if gram.shape != (width, width):
        raise ReportFormatError(f"glm.gram: has shape {gram.shape}, but there are {width} exercised coordinates a score")
    spread = np.sqrt(np.abs(np.diag(gram)))
    if (np.abs(gram - gram.T) > _AGREEMENT * np.outer(spread, spread)).any():
        raise ReportFormatError("glm.gram: is not symmetric")
    return gram, np.zeros(width)


def _scores(document: ChangeReportDocument) -> int:
    """The number of coordinates of a column: one per class where there are several, else one."""
    return len(document.glm.classes) if document.glm is not None and document.glm.link == "softmax" else 1


def _moments(document: ChangeReportDocument, problem: PathProblem, pair: ModelPair) -> Moments:
    """Undo `align`: covariances from the Gram matrix, means and counts from the coordinates, one for every column.

    Variances beside a mean that is not taken off drown in its square: they are as the coordinates tell them.
    """
    centred = pair.has_intercept
    coordinates = [c for c in document.coordinates[:: _scores(document)] if c.kind != "baseline"]
    at = {label: i for i, label in enumerate(problem.features[:: _scores(document)])}
    if [c.label for c in document.coordinates if c.exercised] != list(problem.features):
        raise ReportFormatError("the problem's features are not the exercised coordinates of the report")
    _check_indicators(document)
    size = len(coordinates)
    mean = np.array([*(c.mean for c in coordinates), document.data.target_mean])
    covariance = np.diag(np.array([*(c.sd for c in coordinates), document.data.target_sd]) ** 2)
    places = [i for i, c in enumerate(coordinates) if c.exercised]
    if any(coordinates[i].label not in at for i in places):
        raise ReportFormatError("the coordinates of the report do not stand class by class")
    chosen = [at[coordinates[i].label] for i in places]
    gram, linear = (part[chosen] for part in _second_moments(document, problem))
    gram = gram[:, chosen]
    if not centred:
        spread = np.diag(covariance)[places]
        gram = gram - np.outer(mean[places], mean[places])
        np.fill_diagonal(gram, spread)
        linear = linear - mean[places] * mean[-1]
    covariance[np.ix_(places, places)] = gram
    covariance[places, size] = covariance[size, places] = linear
    return Moments(
        columns=tuple(DesignColumn(c.kind, c.column or "", c.level, c.merged) for c in coordinates if c.kind != "baseline"),
        rows=document.data.rows,
        weight_sum=document.data.weight_sum,
        weight_square_sum=document.data.weight_square_sum,
        mean=mean,
        covariance=covariance,
        counts=tuple(c.rows for c in coordinates),
    )


def _check_indicators(document: ChangeReportDocument) -> None:
    """A column of zeros and ones has variance mean·(1 − mean), and without weights its mean is a count over the rows."""
    data = document.data
    if data.weight is None and not data.weight_sum == data.weight_square_sum == data.rows:
        raise ReportFormatError("the weights of the data do not add up to the number of rows, but there is no weight column")
    for c in document.coordinates:
        if c.rows is None:
            continue
        by_count = data.weight is not None or abs(c.mean - c.rows / data.rows) <= _INDICATOR_TOLERANCE
        if not by_count or abs(c.sd * c.sd - c.mean * (1.0 - c.mean)) > _INDICATOR_TOLERANCE:
            raise ReportFormatError(
                f"coordinate '{c.label}': mean, standard deviation and number of rows contradict each other"
            )
