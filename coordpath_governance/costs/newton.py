"""The least mean loss: damped Newton steps, after quasi-Newton steps where there are many coordinates.

A Newton step solves H·step = −gradient in coordinates scaled to a unit diagonal. Eigenvalues below 10⁻¹² of the largest
are raised to it: along dependent columns the gradient is zero but for rounding, so nothing moves there, and where a flat
region only looks like dependence there is still a step. Its decrement gᵀH⁻¹g is twice what a parabola would gain, and
all that an exponential tail would: a coefficient that runs away because its level has one class only leaves no more.

With more than `MANY` coordinates a matrix of second derivatives costs as much as dozens of gradients. There L-BFGS runs
first, in coordinates that make the matrix at the start about the unit matrix (a Kronecker product of one factor for the
columns and one for the classes), and Newton's method finishes. With more than `TOO_MANY` it does not finish: the decrement
is then judged by the matrix at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from coordpath_governance.costs.accumulate import overflow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.costs.mean_loss import MeanLoss

    FloatArray = NDArray[np.float64]

__all__ = ["MANY", "TOO_MANY", "Lowest", "Search"]

MANY = 300
TOO_MANY = 2000
_FLOOR = 1e-12
_ROUNDS = 100
_QUASI_ROUNDS = 500
_ROUNDING = 1e-15
_FAR = 1e4
"""No step moves a score further: beyond, nothing changes but overflow."""
_LENGTHS = 0.5 ** np.arange(-5.0, 45.0)
"""Parts and multiples of a step that are tried at once, where the whole step does not do."""
_SLOW = 0.25
"""A step that leaves more of the decrement than this was short of where it should have gone, or went too far."""


@dataclass(frozen=True, eq=False)
class Lowest:
    """Where a search ended: no β has a cost below ``value`` − ``decrement``, as far as the curvature tells."""

    beta: FloatArray
    value: float
    decrement: float


@dataclass(frozen=True, eq=False)
class Search:
    """A search for the least mean loss.

    ``reach`` bounds how far a step moves any score; it ends when the decrement is at most ``tolerance`` of the value;
    ``watch`` sees every point reached, with its value, and may raise.
    """

    loss: MeanLoss
    reach: Callable[[FloatArray], float]
    tolerance: Callable[[float], float]
    watch: Callable[[FloatArray, float], None]

    def run(self, start: FloatArray) -> Lowest:
        """From a point where nothing overflows; else a `ProblemError`."""
        if self.loss.size <= MANY:
            return self._newton(start)
        near = self._quasi_newton(start)
        return near if self.loss.size > TOO_MANY else self._newton(near.beta)

    def _newton(self, start: FloatArray) -> Lowest:
        beta, (value, slope, curvature) = start, self.loss.expansion(start)
        before = np.inf
        self._expect_finite(curvature, beta)
        for _ in range(_ROUNDS):
            step, decrement = _newton_step(slope, curvature)
            if decrement <= self.tolerance(value):
                break
            whole = self.loss.expansion(beta + step) if decrement <= _SLOW * before and self.reach(step) <= _FAR else None
            if whole is None or not whole[0] <= value * (1.0 + _ROUNDING):
                length = self._length(beta, step, value)
                if length == 0.0:
                    break
                step *= length
                whole = self.loss.expansion(beta + step)
            before = decrement
            beta, (value, slope, curvature) = beta + step, whole
            self.watch(beta, value)
        return Lowest(beta, value, decrement)

    def _expect_finite(self, matrix: FloatArray, beta: FloatArray) -> None:
        if not np.isfinite(matrix).all():
            raise overflow(self.loss.lost(beta[None]))

    def _length(self, beta: FloatArray, step: FloatArray, value: float) -> float:
        """The part or multiple of a step that lowers the cost most; 0 if none does."""
        lengths = _LENGTHS * min(1.0, _FAR / self.reach(step))
        values = self.loss.values(beta + lengths[:, None] * step)
        values[np.isnan(values)] = np.inf
        best = int(np.argmin(values))
        return float(lengths[best]) if values[best] < value else 0.0

    def _quasi_newton(self, start: FloatArray) -> Lowest:
        """L-BFGS on Γ with β = start + AΓBᵀ, where A and B make unit matrices of the factors at the start."""
        factors = self.loss.about(start)
        self._expect_finite(factors[0], start)
        columns, classes = (_whitening(factor) for factor in factors)
        shape = columns.shape[1], classes.shape[1]

        def at(point: FloatArray) -> FloatArray:
            moved: FloatArray = columns @ point.reshape(shape) @ classes.T
            return start + moved.ravel()

        def cost(point: FloatArray) -> tuple[float, FloatArray]:
            beta = at(point)
            value, slope = self.loss.slope(beta)
            if not np.isfinite(value):
                return np.inf, np.zeros(len(point))
            self.watch(beta, value)
            return value, (columns.T @ slope.reshape(len(columns), -1) @ classes).ravel()

        value, slope = cost(np.zeros(shape[0] * shape[1]))
        least = np.sqrt(self.tolerance(value) / len(slope))
        found = optimize.minimize(
            cost,
            np.zeros(len(slope)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _QUASI_ROUNDS, "maxcor": 20, "ftol": 0.0, "gtol": least},
        )
        return Lowest(at(found.x), float(found.fun), float(found.jac @ found.jac))


def _newton_step(slope: FloatArray, curvature: FloatArray) -> tuple[FloatArray, float]:
    """−H⁻¹g and gᵀH⁻¹g."""
    spread = np.sqrt(np.diag(curvature))
    spread[spread == 0.0] = 1.0
    values, vectors = np.linalg.eigh(curvature / spread[:, None] / spread)
    values = np.maximum(values, _FLOOR * max(float(values[-1]), _FLOOR))
    along = vectors.T @ (slope / spread)
    step: FloatArray = -(vectors @ (along / values)) / spread
    return step, float(along @ (along / values))


def _whitening(matrix: FloatArray) -> FloatArray:
    """A with AᵀMA the unit matrix on the directions in which M is not zero but for rounding."""
    spread = np.sqrt(np.diag(matrix))
    spread[spread == 0.0] = 1.0
    values, vectors = np.linalg.eigh(matrix / spread[:, None] / spread)
    kept = values > _FLOOR * values[-1]
    whitening: FloatArray = vectors[:, kept] / np.sqrt(values[kept]) / spread[:, None]
    return whitening
