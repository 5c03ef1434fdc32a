"""Where minorants touch f: near the relaxed steps of all chains that could be good.

A step that leaves level k costs at least weight·f(x̄) and its jump (`step_pairs`), with x̄ relaxed and M's diagonal split off
(`diagonal_shift`). Of the minorant that touches f at t, the tangent at t itself bounds that in closed form; it is
closest where t is the relaxed minimum, which Newton's steps find, all steps of the chain at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.diagonal_shift import largest_shift
from coordpath_governance.paths.chains.relaxation import descend, least_slopes
from coordpath_governance.paths.chains.step_pairs import pair_steps
from coordpath_governance.paths.row_orders.evaluated_sets import slopes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation, FloatArray
    from coordpath_governance.paths.row_orders.evaluated_task import Inquiry

__all__ = ["StepTangents", "touching_points"]

_NEWTON = 3
_ROUNDS = 300
_DIGITS = 1e4
"""Shares are cut after four digits: less to write down, and no sum exceeds its level."""


class StepTangents:
    """Bounds on the steps of a chain, each by a tangent of f."""

    def __init__(self, curvature: FloatArray, alphas: FloatArray) -> None:
        size = len(curvature)
        self.pairs = pair_steps(alphas, whole=len(alphas) == size - 1)
        self.sums = self.pairs.sums(size)
        self.shift = largest_shift(curvature / 2.0, np.ones(size))
        self.charge = self.pairs.charge_share[:, None] * (np.diag(curvature) / 2.0 - self.shift)

    def closest(self, cuts: Sequence[Evaluation]) -> NDArray[np.int64]:
        """For every step the number of the cut that bounds it best."""
        points = np.stack([cut.at for cut in cuts])
        slopes = slopes_of(cuts) + self.shift * (1.0 - 2.0 * points)
        values = np.array([cut.value for cut in cuts]) + (points - points * points) @ self.shift
        values -= np.sum(slopes * points, axis=1)
        bounds = [
            values + least_slopes(slopes + charge, np.full(len(cuts), total))[0]
            for charge, total in zip(self.charge, self.sums, strict=True)
        ]
        chosen: NDArray[np.int64] = np.argmax(bounds, axis=1)
        return chosen

    def newton(self, points: FloatArray, slopes: FloatArray, hessian: FloatArray) -> FloatArray:
        """About the relaxed minima of all steps, from expansions of f at ``points``."""
        linear = slopes - points @ hessian + self.shift + self.charge
        return descend(points, linear, hessian / 2.0 - np.diag(self.shift), self.sums, _ROUNDS)


def touching_points(inquiry: Inquiry, order: Sequence[int]) -> FloatArray:
    """A point for every step, found from the middle of the steps of a good chain."""
    task = inquiry.task
    tangents = StepTangents(inquiry.curvature(), task.alphas)
    share, weight = tangents.pairs.share[:, None], tangents.pairs.weight
    sets = np.concatenate([np.zeros((1, task.sets.size)), task.chain(order), np.ones((1, task.sets.size))])
    points = (1.0 - share) * sets[:-1] + share * sets[1:]
    for _ in range(_NEWTON):
        if inquiry.over():
            break
        points = tangents.newton(points, inquiry.slopes(points), inquiry.hessian(weight @ points / weight.sum()))
    touching: FloatArray = np.floor(points * _DIGITS) / _DIGITS
    return touching
