"""Sets of moved units, evaluated on the rows of a cost: many at once in each pass.

With zᵢ the coordinates of row i, its score after moving x is  sᵢ + Σᵤ xᵤ tᵢᵤ,  s = offset + zᵀstart,  tᵢᵤ = zᵀΔᵤ, so

    f(x) = Σ wᵢ ℓ(yᵢ, sᵢ + tᵢᵀx)/Σw,   ∇f(x) = Σ wᵢ ℓ'(·) tᵢ/Σw,   ∇²f(x) = Σ wᵢ ℓ''(·) tᵢtᵢᵀ/Σw.

Where scores are very large, the old and the new part of every unit are kept apart, s = Σᵤ (1 − xᵤ)oldᵢᵤ + xᵤnewᵢᵤ: what has
moved away leaves no rounding behind.

From a point t, where a minorant touches f, to a set x, f is more than its tangent by

    ∫₀¹ (1 − v)(x − t)ᵀ∇²f(t + v(x − t))(x − t) dv.

So M has, in place of ℓ'', hᵢ = ∫ 2(1 − v) least(v) dv, with least(v) the least ℓ'' over the scores that row i can have after
the part v of the way. It falls as v grows: the integral is no less than a sum over equal parts, each with v at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs import evaluate_rows
from coordpath_governance.costs.factor import EPS
from coordpath_governance.costs.rows import by_column
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordpath_governance.costs import GlmCost, RowChunk
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.row_orders.evaluated_sets import FloatArray

__all__ = ["SetsOnRows"]

_ROWS = 1 << 13
"""Rows whose shifts are in memory at once."""

_LARGE = 1e5
"""Scores beyond this lose digits that count where they are taken off again."""

_SCORE = 16.0 * EPS
"""Of the largest score: what rounding may do to any."""

_PARTS = 16
_ENDS = 1.0 - np.sqrt(1.0 - np.arange(1, _PARTS + 1) / _PARTS)
"""Where ∫₀ᵛ 2(1 − v) dv is 1/16, 2/16, … 1."""


class SetsOnRows:
    """f over the changed units of a problem, from the rows of its cost."""

    def __init__(self, problem: PathProblem, cost: GlmCost) -> None:
        self._cost = cost
        width, scores = cost.rows.width, cost.family.scores
        target = problem.start if problem.target is None else problem.target
        of_unit = np.zeros((len(problem.changed), cost.size), dtype=bool)
        for belongs, unit in zip(of_unit, problem.changed, strict=True):
            belongs[list(unit.members)] = True
        self._start = problem.start.reshape(width, scores)
        self._change = by_column(np.where(of_unit, target - problem.start, 0.0), scores)
        self._still = np.where(of_unit.any(axis=0), 0.0, problem.start).reshape(width, scores)
        old, new = (by_column(np.where(of_unit, beta, 0.0), scores) for beta in (problem.start, target))
        self._ends = np.concatenate([end.reshape(width, scores, -1) for end in (old, new)], axis=2).reshape(width, -1)
        self._reach = cost.reach(np.abs(problem.start) + np.abs(target))

    @property
    def size(self) -> int:
        """D."""
        return int(self._change.shape[1]) // self._cost.family.scores

    @property
    def rows(self) -> int:
        """Rows of one pass."""
        return self._cost.rows_counted

    def evaluate(self, points: FloatArray, *, slopes: bool) -> list[Evaluation]:
        """All points in one pass over the rows."""
        values, gradients = np.zeros(len(points)), np.zeros(points.shape)
        try:
            apart = self._reach > _LARGE
            at = np.concatenate([1.0 - points, points], axis=1) if apart else points
            start, change = (self._still, self._ends) if apart else (self._start, self._change)
            for chunk, base, shifts in self._scored(start, change):
                losses, derivatives = evaluate_rows(
                    self._cost.family,
                    base=base,
                    shifts=shifts,
                    at=at,
                    target=chunk.target,
                    weight=chunk.weight,
                    slopes=slopes,
                )
                values += losses
                if derivatives is not None:
                    gradients += derivatives[:, self.size :] - derivatives[:, : self.size] if apart else derivatives
        except ProblemError:
            self._count_overflowing(points)
            raise
        values, gradients = values / self._cost.weight, gradients / self._cost.weight
        self._cost.has_reached(float(values.min()))
        return [
            Evaluation(point, float(value), gradient if slopes else None)
            for point, value, gradient in zip(points, values, gradients, strict=True)
        ]

    def _count_overflowing(self, points: FloatArray) -> None:
        """Raise the same for all rows, not just those up to the first that overflow."""
        by_unit = self._change.reshape(self._start.size, self.size)
        self._cost.values(self._start + (points @ by_unit.T).reshape(-1, *self._start.shape))

    def hessian(self, point: FloatArray) -> FloatArray:
        """∇²f, in one pass over the rows."""
        total = np.zeros((self.size, self.size))
        for chunk, base, shifts in self._scored(self._start, self._change):
            total += self._squares(chunk, shifts, self._cost.family.curvature(chunk.target, base + shifts @ point))
        return self._mean(total)

    def curvature(self, depth: int, cuts: FloatArray | None) -> FloatArray:
        """M, in one pass over the rows: the scores that a row can have are those after up to ``depth`` moves."""
        total = np.zeros((self.size, self.size))
        rounding = _SCORE * self._reach
        for chunk, base, shifts in self._scored(self._start, self._change):
            low, high = base - _furthest(-shifts, depth) - rounding, base + _furthest(shifts, depth) + rounding
            if cuts is None:
                least = self._cost.family.least_curvature(chunk.target, low, high)
            else:
                moved = shifts @ cuts.T
                first, last = base + moved.min(axis=2) - rounding, base + moved.max(axis=2) + rounding
                least = np.zeros((len(base), base.shape[1], base.shape[1]))
                for v in _ENDS:
                    ends = (1.0 - v) * first + v * low, (1.0 - v) * last + v * high
                    least += self._cost.family.least_curvature(chunk.target, *ends) / _PARTS
            total += self._squares(chunk, shifts, least)
        return self._mean(total)

    def _squares(self, chunk: RowChunk, shifts: FloatArray, bends: FloatArray) -> FloatArray:
        """Σ w·tᵀht over some rows."""
        scores = range(self._cost.family.scores)
        weighted = bends * chunk.weight[:, None, None]
        total = np.zeros((self.size, self.size))
        for first in scores:
            for second in scores:
                total += shifts[:, first].T @ (weighted[:, first, second, None] * shifts[:, second])
        return total

    def _mean(self, total: FloatArray) -> FloatArray:
        mean: FloatArray = (total + total.T) / (2.0 * self._cost.weight)
        return mean

    def _scored(self, start: FloatArray, change: FloatArray) -> Iterator[tuple[RowChunk, FloatArray, FloatArray]]:
        """Some rows at a time with the scores of ``start`` (n × C) and what each column of ``change`` adds (n × C × D)."""
        for chunk in self._cost.rows:
            for begin in range(0, len(chunk), _ROWS):
                part = chunk.part(slice(begin, begin + _ROWS))
                part = part if part.weight.all() else part.part(part.weight > 0.0)
                base = part.columns @ start + part.offset[:, None]
                shifts = (part.columns @ change).reshape(len(base), self._cost.family.scores, -1)
                yield part, base, shifts


def _furthest(shifts: FloatArray, depth: int) -> FloatArray:
    """The sum of the ``depth`` largest shifts above zero."""
    size = shifts.shape[2]
    if depth < size:
        shifts = np.partition(shifts, size - depth, axis=2)[:, :, size - depth :]
    furthest: FloatArray = np.maximum(shifts, 0.0).sum(axis=2)
    return furthest
