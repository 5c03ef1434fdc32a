"""Orders that keep to constraints: the same programmes, in which forbidden sets are dropped.

What bounds all chains bounds those that are allowed, too. An answer with an infinite bound says that none is allowed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.chain_rules import NO_RULES
from coordpath_governance.paths.orders.chained_bounds import Refinement
from coordpath_governance.paths.orders.set_function import order_chain
from coordpath_governance.paths.row_orders.evaluated_sets import corners
from coordpath_governance.paths.solvers.chain_states import beam_order, search_chains
from coordpath_governance.paths.solvers.cut_search import CutSearch
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.protocol import RULED_EVALUATED_SETS, RULED_SETS, Answer
from coordpath_governance.paths.solvers.set_programme import SetProgramme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["RuledCuts", "RuledFirst", "RuledLattice", "RuledLevels", "RuledRowFirst", "RuledSetProgramme"]

_CAPACITY = 2_000_000
_BEAMS = (100, 1600)
"""States of a level of the searches for a first order."""


class RuledLattice(Lattice):
    """Exact: the table of all sets."""

    needs = RULED_SETS


class RuledLevels:
    """Level by level, by the bounds that there are without constraints: exact where the states that are left are few."""

    name = "levels"
    needs = RULED_SETS

    def __init__(self, work: int) -> None:
        self._work = work

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Answer:
        """The best order found; none (an empty one) where the states that there was work for all lead nowhere."""
        if task.depth == 0:
            return Answer(tuple(range(task.function.size)), 0.0, self.name)
        bounds = Refinement(task.function, task.alphas, target=np.inf, capacity=_CAPACITY, expired=task.expired).bounds()
        orders = [RuledFirst("greedy").solve(task).order]
        orders += [beam_order(task, bounds, width) or () for width in _BEAMS if bounds is not None]
        best, order = min((task.evaluate(each) if each else np.inf, each) for each in orders)
        bound = 0.0
        if self._work and bounds is not None and not task.expired():
            searched = search_chains(task, [bounds], best, self._work)
            if searched.order is not None:
                order = order_chain(searched.order, task.function.size)
                best = task.evaluate(order)
            bound = min(searched.bound, best)
            task.report("orders that keep to the constraints", best, bound)
        return Answer(order, bound, self.name)


class RuledFirst:
    """Greedy: always the allowed unit that leaves the least excess. Direct: the listed order, where it is allowed."""

    needs = RULED_SETS

    def __init__(self, name: str) -> None:
        self.name = name

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Answer:
        """That order; none where it would have to break a constraint."""
        function = task.function
        order = list(range(task.depth))
        if self.name == "greedy":
            order = _greedy(task, function.size, lambda sets: [function.excess(each) for each in sets])
        elif not task.rules.allows(order, function.prefix_excess(order).tolist()):
            return Answer((), 0.0, self.name)
        return Answer(order_chain(order, function.size) if len(order) == task.depth else (), 0.0, self.name)


class RuledSetProgramme(SetProgramme):
    """Exact up to as many units as without constraints."""

    needs = RULED_EVALUATED_SETS


class RuledCuts:
    """More units: the bound of all orders, and the best of them if it is allowed, or else the greedy one that is."""

    name = "cuts"
    needs = RULED_EVALUATED_SETS

    def __init__(self, solver: CutSearch) -> None:
        self._solver = solver

    def lacks(self, _task: EvaluatedTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: EvaluatedTask) -> Answer:
        """An order that is allowed, with that bound."""
        free = self._solver.solve(replace(task, rules=NO_RULES))
        if task.rules.allows(free.order[: task.depth], _values(task, free.order)):
            return free
        return replace(RuledRowFirst("greedy").solve(task), bound=free.bound, solver=self.name)


class RuledRowFirst:
    """The same as `RuledFirst` under a cost on rows."""

    needs = RULED_EVALUATED_SETS

    def __init__(self, name: str) -> None:
        self.name = name

    def lacks(self, _task: EvaluatedTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: EvaluatedTask) -> Answer:
        """That order; none where it would have to break a constraint."""
        size, order = task.sets.size, list(range(task.depth))

        def costs(sets: list[list[int]]) -> list[float]:
            return [each.value for each in task.sets.ask(corners(size, sets), slopes=False)]

        if self.name == "greedy":
            order = _greedy(task, size, costs)
        elif not task.rules.allows(order, _values(task, order)):
            return Answer((), 0.0, self.name)
        return Answer(order_chain(order, size) if len(order) == task.depth else (), 0.0, self.name)


def _greedy(task: ChainTask | EvaluatedTask, size: int, costs: Callable[[list[list[int]]], list[float]]) -> list[int]:
    """Always the allowed unit with the least cost, until none is allowed or n have moved."""
    order: list[int] = []
    for _ in range(task.depth):
        ready = task.rules.following(order, size)
        values = np.array(costs([[*order, u] for u in ready]))
        if not (values <= task.rules.ceiling).any():
            break
        order.append(ready[int(np.argmin(values))])
    return order


def _values(task: EvaluatedTask, order: Sequence[int]) -> list[float]:
    return [each.value for each in task.sets.ask(task.chain(order), slopes=False)]
