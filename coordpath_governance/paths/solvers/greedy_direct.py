"""Paths for comparison, as they are: the solvers `greedy` and `direct`, of orders and of walks, for every kind of cost.

Greedy always makes the move that lowers the cost most. Direct moves the features in the order in which they are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.paths.orders.set_function import forward_order, order_chain
from coordpath_governance.paths.row_orders.evaluated_sets import greedy_units
from coordpath_governance.paths.row_orders.evaluated_task import Inquiry
from coordpath_governance.paths.row_orders.surrogates import Surrogate
from coordpath_governance.paths.row_walks.row_walk_task import listed, stagewise
from coordpath_governance.paths.solvers.improvement import bound_chain
from coordpath_governance.paths.solvers.protocol import (
    EVALUATED_SETS,
    LEAST_SQUARES,
    ROW_WALKS,
    SET_FUNCTION,
    Answer,
    ChainTask,
)
from coordpath_governance.paths.walks.starts import stagewise_increments

if TYPE_CHECKING:
    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask
    from coordpath_governance.paths.row_walks.row_walk_task import RowWalkTask
    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["Direct", "FirstOrder", "FirstRowWalk", "FirstWalk", "Greedy"]


class Greedy:
    """At each step the unit whose move to its target lowers the cost most."""

    name = "greedy"
    needs = SET_FUNCTION

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Answer:
        """The greedy order with a bound on all orders."""
        order = forward_order(task.function)[: task.depth]
        return Answer(order_chain(order, task.function.size), bound_chain(task), self.name)


class Direct:
    """The order in which the features are listed."""

    name = "direct"
    needs = SET_FUNCTION

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Answer:
        """The listed order with a bound on all orders."""
        return Answer(tuple(range(task.function.size)), bound_chain(task), self.name)


class FirstWalk:
    """Greedy: the stagewise walk of a free end, or the greedy order. Direct: the listed order. Rests where they are best."""

    needs = LEAST_SQUARES

    def __init__(self, name: str) -> None:
        self.name = name

    def lacks(self, _task: WalkTask) -> str | None:
        """Nothing: that a direct one has somewhere to go is checked with the problem."""
        return None

    def solve(self, task: WalkTask) -> Answer:
        """The first walk with the floors as its bound; the values of the stagewise one are its own."""
        increments = stagewise_increments(task.walks, task.first) if task.walks.changes is None else None
        return Answer(task.first, task.floor, self.name, increments)


class FirstRowWalk:
    """Greedy: the stagewise walk, whatever the end. Direct: the listed order and then rests."""

    needs = ROW_WALKS

    def __init__(self, name: str) -> None:
        self.name = name

    def lacks(self, _task: RowWalkTask) -> str | None:
        """Nothing: that a direct one has somewhere to go is checked with the problem."""
        return None

    def solve(self, task: RowWalkTask) -> Answer:
        """That walk, with the floors as its bound."""
        walk = stagewise(task.walks, task.alphas) if self.name == "greedy" else listed(task.walks, task.alphas)
        return Answer(walk.sequence, task.floor, self.name, row_walk=walk)


class FirstOrder:
    """Greedy: at each step the unit whose move lowers the cost most. Direct: the order in which the features are listed."""

    needs = EVALUATED_SETS

    def __init__(self, name: str) -> None:
        self.name = name

    def lacks(self, _task: EvaluatedTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: EvaluatedTask) -> Answer:
        """That order with a bound on all orders."""
        listed = tuple(range(task.sets.size))
        order = greedy_units(task.sets, task.depth) if self.name == "greedy" else listed
        return Answer(order, _quick_bound(task), self.name)


def _quick_bound(task: EvaluatedTask) -> float:
    """A bound on all chains for orders that were not found by proving anything."""
    if not task.alphas.any():
        return 0.0
    inquiry = Inquiry(task)
    inquiry.ask(task.first_points)
    return Surrogate(task, inquiry.curvature(), inquiry.cuts).first_bound()
