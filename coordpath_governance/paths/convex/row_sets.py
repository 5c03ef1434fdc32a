"""Sets of moved units, evaluated on the rows of a cost: many at once in each pass.

With zᵢ the coordinates of row i, its score after moving x is  sᵢ + Σᵤ xᵤ tᵢᵤ,  s = offset + zᵀstart,  tᵢᵤ = zᵀΔᵤ, so

    f(x) = Σ wᵢ ℓ(yᵢ, sᵢ + tᵢᵀx)/Σw,   ∇f(x) = Σ wᵢ ℓ'(·) tᵢ/Σw,   M = Σ wᵢ hᵢ tᵢtᵢᵀ/Σw,

with hᵢ the least ℓ'' of row i over the scores it can have in the cube.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs import evaluate_rows
from coordpath_governance.paths.convex.set_costs import Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordpath_governance.costs import GlmCost, RowChunk
    from coordpath_governance.paths.convex.set_costs import FloatArray
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["RowSets"]


class RowSets:
    """f over the changed units of a problem, from the rows of its cost."""

    def __init__(self, problem: PathProblem, cost: GlmCost) -> None:
        self._cost = cost
        width, scores = cost.rows.width, cost.family.scores
        target = problem.start if problem.target is None else problem.target
        change = np.zeros((len(problem.changed), cost.size))
        for moves, unit in zip(change, problem.changed, strict=True):
            members = list(unit.members)
            moves[members] = target[members] - problem.start[members]
        self._start = problem.start.reshape(width, scores)
        self._change = change.reshape(-1, width, scores).transpose(1, 2, 0).reshape(width, -1)

    @property
    def size(self) -> int:
        """D."""
        return self._change.shape[1] // self._cost.family.scores

    @property
    def rows(self) -> int:
        """Rows of one pass."""
        return self._cost.rows_counted

    def evaluate(self, points: FloatArray, *, slopes: bool) -> list[Evaluation]:
        """All points in one pass over the rows."""
        values, gradients = np.zeros(len(points)), np.zeros(points.shape)
        for chunk, base, shifts in self._scored():
            losses, derivatives = evaluate_rows(
                self._cost.family, base, shifts, points, chunk.target, chunk.weight, slopes=slopes
            )
            values += losses
            if derivatives is not None:
                gradients += derivatives
        values, gradients = values / self._cost.weight, gradients / self._cost.weight
        return [
            Evaluation(point, float(value), gradient if slopes else None)
            for point, value, gradient in zip(points, values, gradients, strict=True)
        ]

    def curvature(self, depth: int) -> FloatArray:
        """M, in one pass over the rows: the scores that a row can have are those after up to ``depth`` moves."""
        total = np.zeros((self.size, self.size))
        scores = range(self._cost.family.scores)
        for chunk, base, shifts in self._scored():
            low, high = base - _furthest(-shifts, depth), base + _furthest(shifts, depth)
            least = self._cost.family.least_curvature(chunk.target, low, high) * chunk.weight[:, None, None]
            for one in scores:
                for other in scores:
                    total += shifts[:, one].T @ (least[:, one, other, None] * shifts[:, other])
        total /= self._cost.weight
        return (total + total.T) / 2

    def _scored(self) -> Iterator[tuple[RowChunk, FloatArray, FloatArray]]:
        """Every chunk with the start's scores (n × C) and what each unit adds to them (n × C × D)."""
        for chunk in self._cost.rows:
            base = chunk.columns @ self._start + chunk.offset[:, None]
            shifts = (chunk.columns @ self._change).reshape(len(base), self._cost.family.scores, -1)
            yield chunk, base, shifts


def _furthest(shifts: FloatArray, depth: int) -> FloatArray:
    """The sum of the ``depth`` largest shifts above zero."""
    size = shifts.shape[2]
    if depth < size:
        shifts = np.partition(shifts, size - depth, axis=2)[:, :, size - depth :]
    furthest: FloatArray = np.maximum(shifts, 0.0).sum(axis=2)
    return furthest
