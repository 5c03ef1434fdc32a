"""The table of kinds of cost: who builds the tasks for their orders and walks, and what models near the start cost at least.

A kind of cost says here which tasks it can build. The table of solvers says which solver takes a task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from coordpath_governance.costs import GlmCost, QuadraticCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.orders.quadratic_orders import QuadraticOrders
from coordpath_governance.paths.row_orders.evaluated_orders import EvaluatedOrders
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost
from coordpath_governance.paths.row_walks.row_walk_costs import least_row_costs, solve_row_walk
from coordpath_governance.paths.ruled_walks.ruled_walk_costs import solve_ruled_walk
from coordpath_governance.paths.step_types import GridSteps
from coordpath_governance.paths.walks.quadratic_walks import least_quadratic_costs, solve_quadratic_walk
from coordpath_governance.paths.whole_steps.row_whole_walks import solve_whole_row_walk
from coordpath_governance.paths.whole_steps.whole_walks import solve_whole_walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["BY_COST", "CostAnswers", "Orders", "answers_for", "orders_of"]


class Orders(Protocol):
    """What a kind of cost answers about the orders of one problem."""

    def solve(self, solver: str, patience: Patience) -> Outcome:
        """The best order that the named solver finds, with its bound."""
        ...

    def measure(self, order: Sequence[int]) -> Outcome:
        """A given order (indices into ``problem.changed``), with no bound but min c."""
        ...

    def greedy(self) -> tuple[int, ...]:
        """The order that always moves the unit that lowers the cost most."""
        ...

    def shares(self) -> tuple[float, ...]:
        """What every changed unit contributes, whatever the order; they add up to c(target) − c(start)."""
        ...


@dataclass(frozen=True)
class CostAnswers:
    """A line of `BY_COST`: ``least_costs`` gives, for k = 1 … most, what models that differ in k units cost at least."""

    orders: Callable[[PathProblem], Orders]
    solve_walk: Callable[[PathProblem, str, Patience], Outcome]
    least_costs: Callable[[PathProblem, int, Patience], NDArray[np.float64]]


def _solve_quadratic_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """By whole steps, under constraints, or free of both."""
    if isinstance(problem.step_type, GridSteps):
        return solve_whole_walk(problem, solver, patience)
    if problem.constraints:
        return solve_ruled_walk(problem, solver, patience)
    return solve_quadratic_walk(problem, solver, patience)


def _solve_row_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """By whole steps, or free of them and of constraints."""
    if isinstance(problem.step_type, GridSteps):
        return solve_whole_row_walk(problem, solver, patience)
    if problem.constraints:
        raise ProblemError(
            "constraints: under a cost on rows they bind orders and whole steps; values in between are chosen without any. "
            "Give steps null, or step_type 'integer' or 'unit'"
        )
    return solve_row_walk(problem, solver, patience)


_ON_ROWS = CostAnswers(EvaluatedOrders, _solve_row_walk, least_row_costs)

BY_COST: dict[type, CostAnswers] = {
    QuadraticCost: CostAnswers(QuadraticOrders, _solve_quadratic_walk, least_quadratic_costs),
    GlmCost: _ON_ROWS,
    RecordedCost: _ON_ROWS,
}


def answers_for(problem: PathProblem) -> CostAnswers:
    """The line of `BY_COST` for the problem's cost."""
    return BY_COST[type(problem.cost)]


def orders_of(problem: PathProblem) -> Orders:
    """The orders of a problem in which every changed unit moves once."""
    return answers_for(problem).orders(problem)
