"""Minorants: quadratics below f that touch it where it was evaluated.

At any point t of the cube, with ∇²f ⪰ M ⪰ 0 on average on the way from t to x (which holds for the sets x and the points t
that M was asked for, see `SetEvaluator.curvature`),

    f(x) ≥ f(t) + ∇f(t)ᵀ(x − t) + ½(x − t)ᵀM(x − t) = ½xᵀMx + (∇f(t) − Mt)ᵀx + (f(t) − ∇f(t)ᵀt + ½tᵀMt).

All of them share ½xᵀMx, so the best of them is that plus a maximum of linear functions. Rounding of the sums is taken off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.row_orders.evaluated_sets import is_set, set_number, slopes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation, FloatArray

__all__ = ["SetBounds", "best_minorant", "linear_parts", "rounding_of", "tie_of"]


def linear_parts(curvature: FloatArray, cuts: Sequence[Evaluation]) -> tuple[FloatArray, FloatArray]:
    """Constants and slopes of the linear parts of the minorants that touch f at these points."""
    points = np.stack([cut.at for cut in cuts])
    slopes = slopes_of(cuts)
    moved = points @ curvature
    constants = np.array([cut.value for cut in cuts]) - np.sum(slopes * points, axis=1) + np.sum(moved * points, axis=1) / 2
    return constants, slopes - moved


def best_minorant(curvature: FloatArray, cuts: Sequence[Evaluation], points: FloatArray) -> FloatArray:
    """The largest of the minorants at each point, each less its own rounding; −∞ without any cuts."""
    if not cuts:
        return np.full(len(points), -np.inf)
    constants, slopes = linear_parts(curvature, cuts)
    constants = constants - np.array([4.0 * rounding_of(curvature, [cut]) for cut in cuts])
    best: FloatArray = np.max(points @ slopes.T + constants, axis=1) + np.sum((points @ curvature) * points, axis=1) / 2
    return best


def rounding_of(curvature: FloatArray, cuts: Sequence[Evaluation]) -> float:
    """What floating point may do to one evaluation or to a minorant anywhere in the cube."""
    values = max((abs(cut.value) for cut in cuts), default=0.0)
    slopes = max((float(np.abs(cut.slopes).sum()) for cut in cuts if cut.slopes is not None), default=0.0)
    return 64.0 * EPS * (values + slopes + float(np.abs(curvature).sum()))


def tie_of(total: float) -> float:
    """Sums of costs closer than this are equal: no cost is negative, so that rounding is relative to the sum itself."""
    return 16.0 * EPS * abs(total)


class SetBounds:
    """A lower bound of f for each of the 2^D sets, exact where f was evaluated."""

    def __init__(self, curvature: FloatArray) -> None:
        self.size = len(curvature)
        self._curvature = curvature
        self._bent = _half_quadratic(curvature)
        self._linear = np.full(1 << self.size, -np.inf)
        self.exact = np.zeros(1 << self.size, dtype=bool)
        self.values = np.full(1 << self.size, -np.inf)

    def add(self, cuts: Sequence[Evaluation]) -> None:
        """Take in what was evaluated, and what that says of all sets, each less its own rounding."""
        for cut, constant, slopes in zip(cuts, *linear_parts(self._curvature, cuts), strict=True):
            lowered = constant - rounding_of(self._curvature, [cut])
            np.maximum(self._linear, lowered + _subset_sums(slopes), out=self._linear)
        self.values = np.where(self.exact, self.values, self._linear + self._bent)
        for cut in cuts:
            if is_set(cut):
                number = set_number(cut.at)
                self.values[number], self.exact[number] = cut.value, True


def _subset_sums(terms: FloatArray) -> FloatArray:
    """Σ_{u∈S} terms[u] for all sets S."""
    sums = np.zeros(1 << len(terms))
    for u, term in enumerate(terms.tolist()):
        np.add(sums[: 1 << u], term, out=sums[1 << u : 2 << u])
    return sums


def _half_quadratic(matrix: FloatArray) -> FloatArray:
    """½xᵀMx for all sets."""
    values = np.zeros(1 << len(matrix))
    for u, row in enumerate(matrix):
        np.add(values[: 1 << u], row[u] / 2.0 + _subset_sums(row[:u]), out=values[1 << u : 2 << u])
    return values
