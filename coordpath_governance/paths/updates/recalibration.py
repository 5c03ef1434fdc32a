"""Recalibration: the start with another intercept, or with another intercept and slope of its score, as fits best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.costs.newton import newton_step
from coordpath_governance.paths.problem import BASELINE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

    FloatArray = NDArray[np.float64]

__all__ = ["RecalibrationName", "recalibrated"]

RecalibrationName = Literal["intercept", "intercept and slope", "slope"]

_ROUNDS = 60
_EXACT = 1e-13
"""Newton steps end at a decrement of this part of the cost."""

_SHORTEST = 2.0**-30


def recalibrated(problem: PathProblem) -> list[tuple[RecalibrationName, FloatArray]]:
    """The models by name. Without an intercept among the coordinates only the slope is fitted; a zero score has none."""
    baseline = np.array([name == BASELINE or name.startswith(f"{BASELINE} [") for name in problem.features])
    intercepts = np.eye(len(baseline))[baseline]
    score = np.where(baseline, 0.0, problem.start)
    found: list[tuple[RecalibrationName, FloatArray]] = []
    if len(intercepts):
        found.append(("intercept", _best_along(problem, intercepts)))
    if score.any():
        name: RecalibrationName = "intercept and slope" if len(intercepts) else "slope"
        found.append((name, _best_along(problem, np.vstack([intercepts, score]))))
    return found


def _best_along(problem: PathProblem, directions: FloatArray) -> FloatArray:
    """The model start + Σ xᵢ·directionᵢ that costs least."""
    cost, start = problem.cost, problem.start
    if not isinstance(cost, GlmCost):
        columns = problem.quadratic.direction(directions).T
        lengths = np.linalg.norm(columns, axis=0)
        lengths[lengths == 0] = 1.0
        found = np.linalg.lstsq(columns / lengths, -problem.quadratic.residual(start), rcond=None)[0]
        best: FloatArray = start + (found / lengths) @ directions
        return best
    beta = start
    for _ in range(_ROUNDS):
        value, slope, curvature = cost.gradient(beta)
        step, decrement, _ = newton_step(directions @ slope, directions @ curvature @ directions.T)
        if decrement <= _EXACT * value:
            break
        length = 1.0
        while length > _SHORTEST and not cost.values(beta + length * (step @ directions))[0] < value:
            length /= 2.0
        if length <= _SHORTEST:
            break
        beta = beta + length * (step @ directions)
    return beta
