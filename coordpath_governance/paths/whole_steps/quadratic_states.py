"""What whole steps cost under a quadratic cost: squares of lengths of residuals.

At a state z the residual is r = r₀ + Σⱼ zⱼpⱼ. What i more steps can reach is bounded from below by the best values of any i
features, whole or not: ‖r‖² − max over |T| = i of ‖Q_Tᵀr‖², Q_T an orthonormal basis of what the columns of T span. Beyond a
dozen features it is ‖r‖² − Σ (i largest of (pⱼᵀr/‖pⱼ‖)²)/λ, λ the least eigenvalue of the columns' correlations. One step is
bounded exactly. Steps of at most s spacings cannot lower ‖r‖² by more than 2s·maxⱼ|pⱼᵀr| each.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import lsq_linear

from coordpath_governance.paths.whole_steps.whole_moves import FARTHEST

if TYPE_CHECKING:
    from coordpath_governance.paths.walks.geometry import Walks
    from coordpath_governance.paths.whole_steps.whole_moves import FloatArray, IntArray, WholeMoves

__all__ = ["TABLE_UP_TO", "QuadraticStates"]

TABLE_UP_TO = 12
"""Features up to which all sets of them bound what more steps can reach."""

_DEPENDENT = 1e-13
"""Singular values of columns of length 1 below which they are one direction; more directions only lower a bound."""

_CLEAR = 1e-9
"""Least eigenvalues below this say nothing."""

_ROUNDING = 1e-13
_SLIGHT = 1e-10
"""Part of the start's excess by which the least cost in a box is taken too low: what its solver leaves open."""

_NUMBERS = 1 << 22
"""Numbers of one product of states and bases."""


@dataclass(frozen=True, eq=False)
class _Around:
    """Along feature j the cost is value + 2·slope·Δ + curve·Δ²."""

    values: FloatArray
    slopes: FloatArray
    curves: FloatArray

    def interval(self, feature: int, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the parabola is below the limits, and a little more."""
        curve, slope = self.curves[feature], self.slopes[:, feature]
        root = np.sqrt(np.maximum(slope * slope - curve * (self.values - limits), 0.0)) * (1.0 + 1e-9)
        return (-slope - root) / curve, (-slope + root) / curve

    def moved(self, feature: int, rows: IntArray, spacings: IntArray) -> FloatArray:
        """The parabola's values."""
        values: FloatArray = self.values[rows] + spacings * (
            2.0 * self.slopes[rows, feature] + self.curves[feature] * spacings
        )
        return values


class QuadraticStates:
    """States of a problem's whole steps, as its walks see them; none may cost more than the ``ceiling``."""

    def __init__(self, moves: WholeMoves, walks: Walks, ceiling: float = np.inf) -> None:
        self.moves, self.ceiling = moves, ceiling
        moved = walks.problem.quadratic.direction(moves.spacing * np.eye(moves.size))[:, walks.chosen]
        self._base, self._columns = walks.base, np.ldexp(moved, -walks.shift)
        self._curves = np.sum(self._columns * self._columns, axis=1)
        self.idle = frozenset(np.flatnonzero(self._curves == 0).tolist())
        self._least = self._least_in_box()

    def values(self, states: IntArray) -> FloatArray:
        """‖r‖² of each state."""
        return self.around(states).values

    def around(self, states: IntArray) -> _Around:
        """What steps from there cost."""
        residuals = self._base + states @ self._columns
        return _Around(np.sum(residuals * residuals, axis=1), residuals @ self._columns.T, self._curves)

    def work(self, states: int, children: int) -> float:
        """Nanoseconds, about."""
        return states * self._per_state + (300.0 + 20.0 * self.moves.size) * children

    def reach(self, limit: float) -> tuple[FloatArray, FloatArray]:
        """Where ‖r‖² is no more than a limit: zⱼ is at most √(limit·(G⁺)ⱼⱼ) from the best value; endless if not clear."""
        vectors, sizes, directions = np.linalg.svd(self._columns.T, full_matrices=False)
        clear = sizes > _CLEAR * float(sizes.max(initial=0.0))
        inverse = directions[clear].T / sizes[clear]
        centre = -inverse @ (vectors[:, clear].T @ self._base)
        certain = np.sum(directions[clear] ** 2, axis=0) > 1.0 - _CLEAR
        far = np.where(certain, np.sqrt(limit * np.sum(inverse * inverse, axis=1)), np.inf)
        return centre - far, centre + far

    def _least_in_box(self) -> float:
        """No state costs less: the best values within the box, whole or not, by a tangent of ‖r‖² there."""
        low, high = (np.where(ends == sign * FARTHEST, sign * np.inf, ends) for ends, sign in self._ends())
        held = np.flatnonzero(low < high)
        if not (np.isfinite(low) | np.isfinite(high)).any() or len(held) == 0:
            return 0.0
        base = self._base + np.where(low < high, 0.0, low) @ self._columns
        values = lsq_linear(self._columns[held].T, -base, (low[held], high[held]), method="bvls").x
        residual = base + values @ self._columns[held]
        slopes = 2.0 * (self._columns[held] @ residual)
        with np.errstate(invalid="ignore"):
            drops = np.where(slopes > 0, slopes * (values - low[held]), slopes * (values - high[held]))
        slight = np.abs(slopes) <= _ROUNDING * np.sqrt(self._curves[held]) * np.linalg.norm(self._base)
        drop = np.where(np.isnan(drops) | (np.isinf(drops) & slight), 0.0, drops).sum()
        return float(max(residual @ residual - drop - _SLIGHT * (self._base @ self._base), 0.0))

    def _ends(self) -> tuple[tuple[FloatArray, int], tuple[FloatArray, int]]:
        """Where features may be, the start included."""
        still = self.moves.low > self.moves.high
        low, high = (np.where(still, 0, each).astype(np.float64) for each in (self.moves.low, self.moves.high))
        return (np.minimum(low, 0.0), -1), (np.maximum(high, 0.0), 1)

    def later(self, states: IntArray, steps: int) -> FloatArray:
        """For i = 1 … steps, what a state costs at least that i more steps lead to."""
        least = np.zeros((len(states), steps))
        at_once = max(1, int(_NUMBERS / self._per_state))
        for begin in range(0, len(states) if steps else 0, at_once):
            part = states[begin : begin + at_once]
            here = self.around(part)
            bounds = np.stack([here.values - gain for gain in self._gains(part, here, steps)], axis=1)
            bounds[:, 0] = np.maximum(bounds[:, 0], self._best_step(part, here))
            least[begin : begin + at_once] = np.maximum(bounds - _ROUNDING * here.values[:, None], self._least)
        return least

    def _best_step(self, states: IntArray, here: _Around) -> FloatArray:
        """The least cost after one step or a rest, whatever waits for what."""
        best = here.values
        for j in sorted(set(self.moves.movable.tolist()) - self.idle):
            low = np.maximum(self.moves.low[j] - states[:, j], -self.moves.down)
            high = np.minimum(self.moves.high[j] - states[:, j], self.moves.up)
            nearest = np.clip(np.rint(-here.slopes[:, j] / self._curves[j]), low, high)
            after = here.values + nearest * (2.0 * here.slopes[:, j] + self._curves[j] * nearest)
            best = np.where(low <= high, np.minimum(best, after), best)
        return best

    def _gains(self, states: IntArray, here: _Around, steps: int) -> list[FloatArray]:
        """By how much i = 1 … steps more steps lower each state's cost at most."""
        residuals = self._base + states @ self._columns
        short = max(self.moves.up, self.moves.down)
        steepest = 2.0 * short * np.max(np.abs(here.slopes), axis=1, initial=0.0)
        gains = []
        for i in range(1, steps + 1):
            gain = self._gain_of_sets(residuals, here, i)
            gains.append(np.minimum(gain, i * steepest) if short < FARTHEST else gain)
        return gains

    def _gain_of_sets(self, residuals: FloatArray, here: _Around, count: int) -> FloatArray:
        """The most that any so many features explain of each residual."""
        if self._bases is not None:
            bases, width = self._bases[min(count, len(self._bases) - 1)]
            parts = residuals @ bases
            parts *= parts
            by_set = parts.reshape(len(residuals), width, -1) if width else parts[:, None]
            gain: FloatArray = by_set.sum(axis=1).max(axis=1, initial=0.0)
            return gain
        if self._least_eigenvalue <= _CLEAR:
            return here.values
        each = here.slopes**2 / np.where(self._curves > 0, self._curves, 1.0)
        largest = np.sort(each, axis=1)[:, ::-1][:, :count].sum(axis=1)
        explained: FloatArray = np.minimum(largest / self._least_eigenvalue, here.values)
        return explained

    @cached_property
    def _moving(self) -> FloatArray:
        """Columns that matter and may move, brought to length 1."""
        some = [j for j in self.moves.movable.tolist() if j not in self.idle]
        columns: FloatArray = self._columns[some].T / np.sqrt(self._curves[some])
        return columns

    @cached_property
    def _bases(self) -> list[tuple[FloatArray, int]] | None:
        """For every number of features the bases of all sets of so many, side by side, each of that width."""
        columns = self._moving
        if columns.shape[1] > TABLE_UP_TO:
            return None
        bases = []
        for count in range(columns.shape[1] + 1):
            sets = [_basis(columns[:, list(some)]) for some in itertools.combinations(range(columns.shape[1]), count)]
            by_place = [np.stack([basis[:, place] for basis in sets], axis=1) for place in range(count)]
            bases.append((np.concatenate([np.zeros((len(columns), 0)), *by_place], axis=1), count))
        return bases

    @cached_property
    def _least_eigenvalue(self) -> float:
        return float(np.linalg.eigvalsh(self._moving.T @ self._moving)[0])

    @cached_property
    def _per_state(self) -> float:
        """Numbers that the bounds of a state take."""
        sets = 0 if self._bases is None else sum(bases.shape[1] for bases, _ in self._bases)
        return float(sets * (2.0 + len(self._base) / 8.0) + 20.0 * self.moves.size + 500.0)


def _basis(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of what columns span, filled up with zeros to their number."""
    vectors, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    basis = np.zeros(columns.shape)
    basis[:, : len(sizes)] = np.where(sizes > _DEPENDENT, vectors, 0.0)
    return basis
