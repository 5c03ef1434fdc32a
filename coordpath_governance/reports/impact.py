"""The impact section: accuracy of both versions and the shift of scores, from moments and, where there are any, rows.

With residual moments known, MSE = c(β), bias = ȳ − E[score], and for d = new − old coefficients
mean shift = E[dᵀz] and variance of the shift = dᵀ Cov(z) d. Of a generalised linear model the share of the deviance
explained is 1 − c(β)/c(best constant); the rest of its accuracy only rows can tell.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change
from coordpath_governance.errors import ReportFormatError
from coordpath_governance.paths import PathProblem
from coordpath_governance.reports.document import DataFacts
from coordpath_governance.reports.impact_parts import GlmFacts, GlmMetrics, Impact, ModelMetrics, RowEvidence, ScoreShift

__all__ = ["impact_facts", "shift_moments"]

_ROUNDING = 1e-12
"""A bias below this part of the target's size is a zero that rounding has touched."""

Array = NDArray[np.float64]
Sides = tuple[ModelMetrics, ModelMetrics] | tuple[GlmMetrics, GlmMetrics]


def shift_moments(change: Change, problem: PathProblem, gram: Array | None = None) -> tuple[float, float]:
    """Mean and standard deviation of candidate's minus champion's score over the reference population.

    ``gram`` is E[zzᵀ] of the exercised coordinates; None: that of a quadratic cost.
    """
    if problem.target is None or not len(change.exercised):
        return 0.0, 0.0
    difference = np.asarray(problem.target) - np.asarray(problem.start)
    means = _coordinate_means(change)
    mean = float(difference @ means)
    second = problem.quadratic.gram if gram is None else gram
    variance = float(difference @ (second - np.outer(means, means)) @ difference)
    return mean, math.sqrt(max(variance, 0.0))


def _coordinate_means(change: Change) -> Array:
    """E[z] of the exercised coordinates: 1 for the baseline, 0 for what is centred."""
    return np.array([1.0 if c.source is None else (0.0 if change.centred else c.mean) for c in change.exercised])


def impact_facts(
    change: Change,
    problem: PathProblem,
    data: DataFacts,
    costs: tuple[float, float],
    rows: RowEvidence | None,
    glm: GlmFacts | None = None,
) -> Impact:
    """Figures of both versions; ``costs`` are c(champion) and c(candidate).

    Several classes have several scores: of their shift only what the rows tell is known, and mean and spread stand at 0.
    """
    if glm is None:
        mean_shift, sd_shift = shift_moments(change, problem)
        sides: Sides = _squared_error_sides(change, problem, data, costs, rows, mean_shift)
    else:
        one_score = glm.link != "softmax"
        mean_shift, sd_shift = shift_moments(change, problem, np.array(glm.gram)) if one_score else (0.0, 0.0)
        sides = _glm_sides(costs, glm, rows)
    champion, candidate = sides
    return Impact(
        champion=champion,
        candidate=candidate,
        delta=costs[1] - costs[0],
        delta_se=None if rows is None else rows.total_se,
        shift=ScoreShift(
            mean=mean_shift,
            sd=sd_shift,
            p05=None if rows is None else rows.shift_p05,
            p50=None if rows is None else rows.shift_p50,
            p95=None if rows is None else rows.shift_p95,
            largest=None if rows is None else rows.shift_largest,
        ),
        flips=None if rows is None else rows.flips,
        segments=() if rows is None else rows.segments,
    )


def _squared_error_sides(
    change: Change,
    problem: PathProblem,
    data: DataFacts,
    costs: tuple[float, float],
    rows: RowEvidence | None,
    mean_shift: float,
) -> tuple[ModelMetrics, ModelMetrics]:
    bias = data.target_mean - float(_coordinate_means(change) @ np.asarray(problem.start))
    maes = (None, None) if rows is None else (rows.champion_mae, rows.candidate_mae)
    champion, candidate = (
        _metrics(cost, own_bias, data.target_mean, data.target_sd, mae)
        for cost, own_bias, mae in zip(costs, (bias, bias - mean_shift), maes, strict=True)
    )
    return champion, candidate


def _metrics(cost: float, bias: float, target_mean: float, target_sd: float, mae: float | None) -> ModelMetrics:
    return ModelMetrics(
        mse=cost,
        rmse=math.sqrt(max(cost, 0.0)),
        r2=None if target_sd == 0 else 1.0 - cost / target_sd**2,
        bias=bias if abs(bias) > _ROUNDING * (abs(target_mean) + target_sd) else 0.0,
        mae=mae,
    )


def _glm_sides(costs: tuple[float, float], glm: GlmFacts, rows: RowEvidence | None) -> tuple[GlmMetrics, GlmMetrics]:
    """The figures of each version on the rows, and the share of the deviance that it explains."""
    if rows is None or rows.champion_metrics is None or rows.candidate_metrics is None:
        raise ReportFormatError("the report says nothing of the rows, which the accuracy of such models is measured on")
    measured = (rows.champion_metrics, rows.candidate_metrics)
    champion, candidate = (
        GlmMetrics(
            **dict(metrics),
            cost=cost,
            explained=1.0 - cost / glm.constant_cost if glm.constant_cost else None,
            mae=mae,
        )
        for cost, metrics, mae in zip(costs, measured, (rows.champion_mae, rows.candidate_mae), strict=True)
    )
    return champion, candidate
