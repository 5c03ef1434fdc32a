"""The least mean loss: damped Newton steps, after quasi-Newton steps where there are many coordinates.

First the columns are replaced by as many combinations of them, uncorrelated and of size one, as double precision can tell
apart, and the scores of several classes likewise; so dependence does no harm. In these coordinates a Newton step solves
H·step = −gradient, scaled to a unit diagonal, with eigenvalues below 10⁻¹² of the largest raised to it. If the whole step
does not lower the cost, parts and multiples of it are tried in one pass, and of two shorter ones, closer to the gradient,
in another. The decrement gᵀH⁻¹g is twice what a parabola would gain, and all that an exponential tail would: a coefficient
that runs away because its level has one class only leaves about as much.

With more than `MANY` coordinates a matrix of second derivatives costs as much as dozens of gradients. There L-BFGS runs
first, and Newton's method finishes; with more than `TOO_MANY` it does not, and the decrement is judged by the mean
curvature at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.rows import overflow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.costs.mean_loss import MeanLoss

    FloatArray = NDArray[np.float64]

__all__ = ["MANY", "TOO_MANY", "Lowest", "Search", "newton_step"]

MANY = 300
TOO_MANY = 2000
_SAME = 1e-13
"""Combinations of columns of unit size that are shorter than the root of this, relative to the longest, count as nothing."""
_FLOOR = 1e-12
_ROUNDS = 100
_QUASI_ROUNDS = 500
_ROUNDING = 1e-15
_FAR = 1e4
"""No step moves the scores further on average: beyond, nothing changes but overflow."""
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
    """Where a search ended: no β has a cost much below ``value`` − ``decrement``, as far as the curvature shows."""

    beta: FloatArray
    value: float
    decrement: float


@dataclass(frozen=True, eq=False)
class Search:
    """A search for the least mean loss from a point where nothing overflows; else it raises `ProblemError`.

    It ends when the decrement is at most ``tolerance`` of the value; ``watch`` sees every point reached, with its value, and
    may raise.
    """

    loss: MeanLoss
    start: FloatArray
    tolerance: Callable[[float], float]
    watch: Callable[[FloatArray, float], None]

    def run(self) -> Lowest:
        """Search."""
        if self.loss.size <= MANY:
            return self._newton(self.start)
        near = self._quasi_newton()
        return near if self.loss.size > TOO_MANY else self._newton(near.beta)

    @cached_property
    def _bases(self) -> tuple[FloatArray, FloatArray]:
        """A and B, which make unit matrices of the columns' products (d×r) and of the mean curvature in the scores (C×s).

        The search moves a matrix Γ (r×s), and β = start + AΓBᵀ. What all scores have in common is no direction of B.
        """
        products, bends = self.loss.shape(self.start)
        self._expect_finite(products, self.start)
        self._expect_finite(bends, self.start)
        return _whitening(products), _whitening(bends)

    def _newton(self, start: FloatArray) -> Lowest:
        beta, (value, slope, curvature) = start, self._expansion(start)
        self._expect_finite(curvature, beta)
        before = np.inf
        for _ in range(_ROUNDS):
            step, decrement, _ = newton_step(slope, curvature)
            if decrement <= self.tolerance(value):
                break
            whole = (
                self._expansion(beta + self._moved(step))
                if decrement <= _SLOW * before and self._reach(step) <= _FAR
                else None
            )
            if whole is None or not whole[0] <= value * (1.0 + _ROUNDING):
                step, reached = self._best_part(beta, [step])
                if not reached < value - _POOR * decrement:
                    shorter = [newton_step(slope, curvature, damping)[0] for damping in _DAMPING]
                    step, reached = min((step, reached), self._best_part(beta, shorter), key=lambda nearest: nearest[1])
                if not reached < value * (1.0 - _ROUNDING):
                    break
                whole = self._expansion(beta + self._moved(step))
            before = decrement
            beta, (value, slope, curvature) = beta + self._moved(step), whole
            self.watch(beta, value)
        return Lowest(beta, value, decrement)

    def _expansion(self, beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Cost, gradient and second derivatives in the coordinates of the search."""
        value, slope, curvature = self.loss.expansion(beta)
        both = np.kron(*self._bases)
        with np.errstate(over="ignore", invalid="ignore"):
            return value, self._turned(slope), both.T @ curvature @ both

    def _turned(self, slope: FloatArray) -> FloatArray:
        """A gradient in the coordinates of the search."""
        columns, classes = self._bases
        turned: FloatArray = columns.T @ slope.reshape(len(columns), -1) @ classes
        return turned.ravel()

    def _moved(self, step: FloatArray) -> FloatArray:
        """A step of the search, or one step per row, in the coordinates of the cost: AΓBᵀ."""
        columns, classes = self._bases
        moved: FloatArray = columns @ step.reshape(*step.shape[:-1], columns.shape[1], -1) @ classes.T
        return moved.reshape(*step.shape[:-1], -1)

    def _best_part(self, beta: FloatArray, steps: Sequence[FloatArray]) -> tuple[FloatArray, float]:
        """The part or multiple of one of the steps that leads to the lowest cost, and that cost."""
        tried = np.concatenate([_LENGTHS[:, None] * min(1.0, _FAR / self._reach(step)) * step for step in steps])
        values = self.loss.values(beta + self._moved(tried))
        values[np.isnan(values)] = np.inf
        best = int(np.argmin(values))
        return tried[best], float(values[best])

    def _reach(self, step: FloatArray) -> float:
        """How far a step moves the scores of a class: the root of the mean square, at most."""
        columns, classes = self._bases
        return float(np.max(np.hypot.reduce(step.reshape(columns.shape[1], -1) @ classes.T, axis=0)))

    def _expect_finite(self, matrix: FloatArray, beta: FloatArray) -> None:
        if not np.isfinite(matrix).all():
            raise overflow(self.loss.lost(beta[None]))

    def _quasi_newton(self) -> Lowest:
        """L-BFGS from the start; its costs are relative to the first."""

        def cost(point: FloatArray) -> tuple[float, FloatArray]:
            beta = self.start + self._moved(point)
            value, slope = self.loss.slope(beta)
            if not np.isfinite(value):
                return np.inf, np.zeros(len(point))
            self.watch(beta, value)
            return value / scale, self._turned(slope) / scale

        origin = np.zeros(self._bases[0].shape[1] * self._bases[1].shape[1])
        scale = self.loss.slope(self.start)[0]
        if scale <= self.tolerance(scale):
            return Lowest(self.start, scale, scale)
        from scipy import optimize

        nearest = optimize.minimize(
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
        return Lowest(
            self.start + self._moved(nearest.x),
            scale * float(nearest.fun),
            scale * (scale * float(nearest.jac @ nearest.jac)),
        )


def newton_step(slope: FloatArray, curvature: FloatArray, damping: float = 0.0) -> tuple[FloatArray, float, FloatArray]:
    """−H⁻¹g and gᵀH⁻¹g, and the directions whose eigenvalues had to be raised, one per column.

    ``damping``: so much of the largest second derivative is added to all of them first.
    """
    diagonal = np.diag(curvature) + damping * np.diag(curvature).max()
    spread = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = curvature / spread[:, None] / spread
    np.fill_diagonal(scaled, diagonal / spread / spread)
    values, vectors = np.linalg.eigh(scaled)
    floor = _FLOOR * max(float(values[-1]), _FLOOR)
    raised = vectors[:, values < floor] / spread[:, None]
    values = np.maximum(values, floor)
    with np.errstate(over="ignore", invalid="ignore"):
        along = vectors.T @ (slope / spread)
        step: FloatArray = -(vectors @ (along / values)) / spread
        return step, float(along @ (along / values)), raised


def _whitening(matrix: FloatArray) -> FloatArray:
    """A with AᵀMA the unit matrix on the directions in which M is not zero but for rounding; if it is zero, A is one."""
    if not matrix.any():
        return np.eye(len(matrix))
    spread = np.sqrt(np.diag(matrix))
    spread[spread == 0.0] = 1.0
    values, vectors = np.linalg.eigh(matrix / spread[:, None] / spread)
    significant = values > _SAME * values[-1]
    whitening: FloatArray = vectors[:, significant] / np.sqrt(values[significant]) / spread[:, None]
    return whitening
