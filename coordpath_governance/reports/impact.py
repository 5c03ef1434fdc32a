"""The impact section: accuracy of both versions and the shift of scores, from moments and, where there are any, rows.

With residual moments known, MSE = c(β), bias = ȳ − E[score], and for d = new − old coefficients
mean shift = E[dᵀz] and variance of the shift = dᵀ Cov(z) d.
"""

from __future__ import annotations

import math

import numpy as np

from coordpath_governance.alignment.change import Change
from coordpath_governance.paths import PathProblem
from coordpath_governance.reports.document import DataFacts, Flips, Impact, ModelMetrics, RowEvidence, ScoreShift

__all__ = ["impact_facts", "shift_moments"]

_ROUNDING = 1e-12
"""A bias below this part of the target's size is a zero that rounding has touched."""


def shift_moments(change: Change, problem: PathProblem) -> tuple[float, float]:
    """Mean and standard deviation of candidate's minus champion's score over the reference population."""
    if problem.target is None or not len(change.exercised):
        return 0.0, 0.0
    difference = np.asarray(problem.target) - np.asarray(problem.start)
    means = _coordinate_means(change)
    mean = float(difference @ means)
    variance = float(difference @ (problem.cost.gram - np.outer(means, means)) @ difference)
    return mean, math.sqrt(max(variance, 0.0))


def _coordinate_means(change: Change) -> np.ndarray:
    """E[z] of the exercised coordinates: 1 for the baseline, 0 for what is centred."""
    return np.array([1.0 if c.source is None else (0.0 if change.centred else c.mean) for c in change.exercised])


def impact_facts(
    change: Change, problem: PathProblem, data: DataFacts, costs: tuple[float, float], rows: RowEvidence | None
) -> Impact:
    """Figures of both versions; ``costs`` are c(champion) and c(candidate)."""
    means = _coordinate_means(change)
    mean_shift, sd_shift = shift_moments(change, problem)
    champion_bias = data.target_mean - float(means @ np.asarray(problem.start))
    maes = (None, None) if rows is None else (rows.champion_mae, rows.candidate_mae)
    champion, candidate = (
        _metrics(cost, bias, data.target_mean, data.target_sd, mae)
        for cost, bias, mae in zip(costs, (champion_bias, champion_bias - mean_shift), maes, strict=True)
    )
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
        flips=None if rows is None or rows.flips is None else Flips(**rows.flips.model_dump()),
        segments=() if rows is None else rows.segments,
    )


def _metrics(cost: float, bias: float, target_mean: float, target_sd: float, mae: float | None) -> ModelMetrics:
    return ModelMetrics(
        mse=cost,
        rmse=math.sqrt(max(cost, 0.0)),
        r2=None if target_sd == 0 else 1.0 - cost / target_sd**2,
        bias=bias if abs(bias) > _ROUNDING * (abs(target_mean) + target_sd) else 0.0,
        mae=mae,
    )
