"""Surrogates: quadratics below f, solved with all that is known of quadratics, for more units than a table holds.

All minorants share ½xᵀMx, so one of them is put into the form ‖r + Σp‖² of a `SetFunction` and *lifted* by the others. No
chain costs less than the best one of the lifted function E, which is exact where f was evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.set_function import Lifts
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.row_orders.chain_proposals import set_function
from coordpath_governance.paths.row_orders.minorants import linear_parts, rounding_of
from coordpath_governance.paths.row_orders.touching_points import StepTangents
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.proof import bound_chain
from coordpath_governance.paths.solvers.protocol import ChainTask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation, FloatArray
    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask

__all__ = ["Proved", "Surrogate"]

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

    def prove(self, order: tuple[int, ...], work: int, aim: float, tell: Callable[[float], None] = lambda _: None) -> Proved:
        """The best chain of E if it is below ``order``, the best one known; or else that none is.

        It looks for one below a number that rises, beginning with ``aim`` if that is finite, and ends early where a search
        takes more than ``work``. ``tell`` is called with every bound on the way.
        """
        chain, slack = replace(self._chain, first=order), self._chain.rounding
        end, part, spent = chain.evaluate(order) + self._add - slack, _PART, 0
        proved = self.first_bound() if aim == -np.inf or not work else -np.inf
        tell(proved)
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
            tell(proved)
        return Proved(proved, spent, closed=proved >= end)
