"""Surrogates: quadratics below f, solved with all that is known of quadratics, for more units than a table holds.

All minorants share ½xᵀMx, so one of them is put into the form ‖r + Σp‖² of a `SetFunction` and *lifted* by the others. No
chain costs less than the best one of the lifted function E, which is exact where f was evaluated.

*Touching points* say where f should be evaluated: near the relaxed steps of all chains that could be good. A step that
leaves level k costs at least weight·f(x̄) and its jump (`pair_steps`), with x̄ relaxed and M's diagonal split off
(`largest_shift`). Of the minorant that touches f at t, the tangent at t itself bounds that in closed form. It is closest
where t is the relaxed minimum, which Newton's steps find, all steps of the chain at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.relaxation import descend, largest_shift, least_slopes
from coordpath_governance.paths.orders.set_function import Lifts
from coordpath_governance.paths.orders.steps import pair_steps
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.row_orders.chain_proposals import set_function
from coordpath_governance.paths.row_orders.evaluated_sets import slopes_of
from coordpath_governance.paths.row_orders.minorants import linear_parts, rounding_of
from coordpath_governance.paths.solvers.improvement import bound_chain
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.protocol import ChainTask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation, FloatArray
    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask, Inquiry

__all__ = ["Proved", "StepTangents", "Surrogate", "touching_points"]

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
        return descend(points, slope=linear, quadratic=hessian / 2.0 - np.diag(self.shift), sums=self.sums, rounds=_ROUNDS)


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


_NEAR = 1.0
"""At sets of k units those minorants count that touch f at no more than this from Σx = k."""

_PART = 0.125
"""Of what is open: so much is looked through first, then twice as much of what is left, …"""


@dataclass(frozen=True)
class Proved:
    """No chain costs less than ``bound``, found with so much ``work``.

    ``closed``: none is better than the best one known. ``order`` is one of which more must be known.
    """

    bound: float
    work: int
    closed: bool = False
    order: tuple[int, ...] | None = None


class Surrogate:
    """E, from the cuts that are given and an M that holds for them."""

    def __init__(self, task: EvaluatedTask, curvature: FloatArray, cuts: Sequence[Evaluation]) -> None:
        of_step = StepTangents(curvature, task.alphas).closest(cuts)
        constants, slopes = linear_parts(curvature, cuts)
        constants = constants - np.array([rounding_of(curvature, [cut]) for cut in cuts])
        base = of_step[len(of_step) // 2]
        function = set_function(curvature, slopes[base])
        sums = np.array([float(cut.at.sum()) for cut in cuts])
        of_level = tuple(
            np.union1d(np.flatnonzero(np.abs(sums - k) <= _NEAR), of_step[max(k - 1, 0) : k + 1])
            for k in range(len(of_step) + 1)
        )
        lifts = Lifts(constants - constants[base], slopes - slopes[base], of_level, of_step)
        self._chain = ChainTask(replace(function, lifts=lifts), task.alphas, task.seed, Patience(task.patience.expired))
        self._add = float(task.alphas.sum()) * (float(constants[base]) - function.e0) - self._chain.rounding

    def first_bound(self) -> float:
        """A bound on all chains by relaxing their steps and levels."""
        return bound_chain(self._chain) + self._add

    def prove(
        self, order: tuple[int, ...], work: int, aim: float, report: Callable[[float], None] = lambda _: None
    ) -> Proved:
        """The best chain of E if it is below ``order``, the best one known; or else that none is.

        It looks for one below a number that rises, beginning with ``aim`` if that is finite, and ends early where a search
        takes more than ``work``. ``report`` is called with every bound on the way.
        """
        chain, slack = replace(self._chain, first=order), self._chain.rounding
        end, part, spent = chain.evaluate(order) + self._add - slack, _PART, 0
        proved = self.first_bound() if aim == -np.inf or not work else -np.inf
        report(proved)
        while work and proved < end:
            if aim <= proved:
                aim, part = proved + part * (end - proved), min(2.0 * part, 1.0)
            aim = min(aim, end)
            answer = Levels(work, aim - self._add).solve(chain)
            spent += answer.work
            bound = answer.bound + self._add
            if chain.evaluate(answer.order) + self._add < aim:
                return Proved(bound, spent, order=answer.order)
            if bound < aim - slack:
                return Proved(max(proved, bound), spent)
            proved = aim
            report(proved)
        return Proved(proved, spent, closed=proved >= end)
