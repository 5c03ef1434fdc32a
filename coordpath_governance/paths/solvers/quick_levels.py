"""For somebody who waits: a good order, and what one search by the first bounds proves of it.

Nothing is refined and nothing is tried twice, so that 30 units take a part of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.chained_bounds import Refinement
from coordpath_governance.paths.orders.set_function import forward_order, order_chain
from coordpath_governance.paths.solvers.chain_states import beam_order, search_chains
from coordpath_governance.paths.solvers.improvement import polish
from coordpath_governance.paths.solvers.protocol import SET_FUNCTION, Answer

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["QuickLevels"]

_CAPACITY = 2_000_000
_BEAM = 400
"""States of a level of the search for a first order."""

_WIDE_UP_TO = 64
"""Units beyond which that search is left out, and a greedy order is the first."""


class QuickLevels:
    """Exact where the states that are left are few; ``work`` is states times units."""

    name = "levels"
    needs = SET_FUNCTION

    def __init__(self, work: int) -> None:
        self._work = work

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Answer:
        """The best order found, and a bound on all."""
        if task.depth == 0:
            return Answer(tuple(range(task.function.size)), 0.0, self.name)
        bounds = Refinement(task.function, task.alphas, target=np.inf, capacity=_CAPACITY, expired=task.expired).bounds()
        order, best = polish(task, tuple(forward_order(task.function)))
        if bounds is None:
            return Answer(order, 0.0, self.name)
        beam = beam_order(task, bounds, _BEAM) if task.function.size <= _WIDE_UP_TO else None
        if beam is not None:
            order, best = min((order, best), polish(task, beam), key=lambda found: found[1])
        searched = search_chains(task, [bounds], best, self._work)
        if searched.order is not None:
            order = order_chain(searched.order, task.function.size)
            best = task.evaluate(order)
        bound = min(max(bounds.root, searched.bound), best)
        task.report("a quick search", best, bound)
        return Answer(order, bound, self.name)
