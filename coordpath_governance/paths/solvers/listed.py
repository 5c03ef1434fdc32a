"""Orders for comparison: the greedy one and the order in which the features are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.set_function import order_chain
from coordpath_governance.paths.solvers.proof import bound_chain
from coordpath_governance.paths.solvers.protocol import SET_FUNCTION, Answer, ChainTask

if TYPE_CHECKING:
    from coordpath_governance.paths.chains.set_function import SetFunction

__all__ = ["Direct", "Greedy", "backward_order", "forward_order"]


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


def forward_order(function: SetFunction) -> list[int]:
    """From the empty set, always the unit that leaves the least excess; the first listed among equals."""
    residual = function.base.copy()
    lengths = np.sum(function.columns * function.columns, axis=0)
    left = np.ones(function.size, dtype=bool)
    order: list[int] = []
    for _ in range(function.size):
        change = np.where(left, 2.0 * (function.columns.T @ residual) + lengths, np.inf)
        chosen = int(np.argmin(change))
        order.append(chosen)
        left[chosen] = False
        residual += function.columns[:, chosen]
    return order


def backward_order(function: SetFunction) -> list[int]:
    """From the full set, always take out the unit whose absence leaves the least excess; read backwards."""
    whole = function.base + function.columns.sum(axis=1)
    reverse = type(function)(whole, -function.columns[:, ::-1])
    return [function.size - 1 - u for u in reversed(forward_order(reverse))]
