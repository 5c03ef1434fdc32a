"""The least mean loss: damped Newton steps, after quasi-Newton steps where there are many coordinates.

A Newton step solves H·step = −gradient in coordinates scaled to a unit diagonal. Eigenvalues below 10⁻¹² of the largest
are raised to it: along dependent columns the gradient is zero but for rounding, so nothing moves there, and where a flat
region only looks like dependence there is still a step. If the whole step does not lower the cost, parts and multiples of
it are tried in one pass, and of two shorter ones, closer to the gradient, in another. The decrement gᵀH⁻¹g is twice what
a parabola would gain, and all that an exponential tail would: a coefficient that runs away because its level has one
class only leaves no more.

With more than `MANY` coordinates a matrix of second derivatives costs as much as dozens of gradients. There L-BFGS runs
first, in coordinates that make the matrix at the start about the unit matrix (a Kronecker product of one factor for the
columns and one for the classes), and Newton's method finishes. With more than `TOO_MANY` it does not finish: the decrement
is then judged by the matrix at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
_LENGTHS = 2.0 ** np.array([*range(5, -5, -1), *range(-5, -31, -2)])
"""Parts and multiples of a step that are tried at once, where the whole step does not do."""
_POOR = 0.05
"""A step is not to be trusted if it gains less than this part of the decrement, of which a parabola would gain half."""
_DAMPING = (1e-6, 1e-2)
"""So much of the largest second derivative is then added to all of them."""
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

    ``largest`` is the largest size in every column; it ends when the decrement is at most ``tolerance`` of the value;
    ``watch`` sees every point reached, with its value, and may raise.
    """

    loss: MeanLoss
    largest: FloatArray
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
        self._expect_finite(curvature, beta)
        before = np.inf
        for _ in range(_ROUNDS):
            step, decrement = self._step(slope, curvature, 0.0)
            if decrement <= self.tolerance(value):
                break
            whole = self.loss.expansion(beta + step) if decrement <= _SLOW * before and self._reach(step) <= _FAR else None
            if whole is None or not whole[0] <= value * (1.0 + _ROUNDING):
                step, reached = self._best_part(beta, [step])
                if not reached < value - _POOR * decrement:
                    shorter = [self._step(slope, curvature, damping)[0] for damping in _DAMPING]
                    step, reached = min((step, reached), self._best_part(beta, shorter), key=lambda found: found[1])
                if not reached < value * (1.0 - _ROUNDING):
                    break
                whole = self.loss.expansion(beta + step)
            before = decrement
            beta, (value, slope, curvature) = beta + step, whole
            self.watch(beta, value)
        return Lowest(beta, value, decrement)

    def _step(self, slope: FloatArray, curvature: FloatArray, damping: float) -> tuple[FloatArray, float]:
        """−H⁻¹g and gᵀH⁻¹g, after adding a part of the largest second derivative to all of them."""
        sizes = np.repeat(np.where(self.largest > 0.0, self.largest, 1.0), self.loss.family.scores)
        scaled = curvature / sizes[:, None] / sizes
        diagonal = np.diag(scaled) + damping * np.diag(scaled).max()
        np.fill_diagonal(scaled, diagonal)
        spread = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        values, vectors = np.linalg.eigh(scaled / spread[:, None] / spread)
        values = np.maximum(values, _FLOOR * max(float(values[-1]), _FLOOR))
        spread *= sizes
        along = vectors.T @ (slope / spread)
        step: FloatArray = -(vectors @ (along / values)) / spread
        return step, float(along @ (along / values))

    def _best_part(self, beta: FloatArray, steps: Sequence[FloatArray]) -> tuple[FloatArray, float]:
        """The part or multiple of one of the steps that leads to the lowest cost, and that cost."""
        tried = np.concatenate([_LENGTHS[:, None] * min(1.0, _FAR / self._reach(step)) * step for step in steps])
        values = self.loss.values(beta + tried)
        values[np.isnan(values)] = np.inf
        best = int(np.argmin(values))
        return tried[best], float(values[best])

    def _reach(self, step: FloatArray) -> float:
        """A bound on how far a step moves any score."""
        return float(np.max(self.largest @ np.abs(step).reshape(len(self.largest), -1)))

    def _expect_finite(self, matrix: FloatArray, beta: FloatArray) -> None:
        if not np.isfinite(matrix).all():
            raise overflow(self.loss.lost(beta[None]))

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
            return value / scale, (columns.T @ slope.reshape(len(columns), -1) @ classes).ravel() / scale

        scale = self.loss.slope(start)[0]
        origin = np.zeros(shape[0] * shape[1])
        found = optimize.minimize(
            cost,
            origin,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": _QUASI_ROUNDS,
                "maxfun": 2 * _QUASI_ROUNDS,
                "maxcor": 20,
                "ftol": _ROUNDING,
                "gtol": np.sqrt(self.tolerance(scale) / len(origin)) / scale,
            },
        )
        return Lowest(at(found.x), scale * float(found.fun), scale**2 * float(found.jac @ found.jac))


def _whitening(matrix: FloatArray) -> FloatArray:
    """A with AᵀMA the unit matrix on the directions in which M is not zero but for rounding."""
    spread = np.sqrt(np.diag(matrix))
    spread[spread == 0.0] = 1.0
    values, vectors = np.linalg.eigh(matrix / spread[:, None] / spread)
    kept = values > _FLOOR * values[-1]
    whitening: FloatArray = vectors[:, kept] / np.sqrt(values[kept]) / spread[:, None]
    return whitening
