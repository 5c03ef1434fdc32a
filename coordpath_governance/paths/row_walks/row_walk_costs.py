"""Walks under a cost on rows: units may move again, rest, or end anywhere, and the loss may choose the number of terms.

For a sequence of units the values in between are a convex problem, which Newton's method solves on the rows; so for few
sequences the best one is proved by a search over all of them. For more, quadratics that touch the cost propose
sequences, their neighbours are tried, and floors of the single terms bound what was not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs import GlmCost
from coordpath_governance.costs.factor import EPS
from coordpath_governance.costs.quadratic import Measured
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.outcome import Outcome
from coordpath_governance.paths.row_orders.evaluated_orders import EvaluatedOrders
from coordpath_governance.paths.row_walks.model_costs import ModelCosts
from coordpath_governance.paths.row_walks.row_walk_task import RowWalkTask
from coordpath_governance.paths.row_walks.state_costs import StateCosts, WalkFloors
from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks
from coordpath_governance.paths.solvers.table import expect_walk_solver
from coordpath_governance.paths.walks.lengths import Length, solve_lengths

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.solvers.protocol import Answer

__all__ = ["WalksOnRows", "least_row_costs", "solve_row_walk"]

_AUTO_WORK, _EXACT_WORK = 8e8, 8e9
"""Rows times models or so, for all lengths together: about ten seconds, and a hundred."""


def solve_row_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms that the named solver finds, with its bound."""
    expect_walk_solver(solver, RowWalkTask.offers)
    if isinstance(problem.cost, GlmCost) and problem.target is None:
        problem.cost.expect_best_model()
    return solve_lengths(problem, _WalksOnRows(problem, solver, patience), solver, patience)


def least_row_costs(problem: PathProblem, most: int, patience: Patience) -> FloatArray:
    """For k = 1 … most: no model that differs from the start in at most k units costs less."""
    walks = _row_walks(problem, _AUTO_WORK, patience)
    least = WalkFloors(walks, StateCosts(walks)).from_start[1 : most + 1]
    return np.concatenate([least, np.full(most - len(least), problem.cost.minimum())])


def _row_walks(problem: PathProblem, work: float, patience: Patience) -> RowWalks:
    if not isinstance(problem.cost, GlmCost):
        raise ProblemError("cost.kind: values in between are chosen on rows, and this cost has none; give cost.rows")
    return RowWalks(problem, ModelCosts(problem.cost), _EXACT_WORK if patience.timed else work, patience)


@dataclass(frozen=True)
class _CostSums:
    """Sums Σα·c, which compare as they are."""

    minimum: float

    def objective(self, length: Length) -> float:
        """Of the best path known of a length."""
        return length.value

    def bound(self, length: Length) -> float:
        """Of all paths of a length."""
        return length.bound

    def excess(self, best: Length, bound: float) -> tuple[float, float]:
        """Both less Σα·min c of the best path's own length."""
        floor = best.weight * self.minimum
        return best.value - floor, bound - floor


class WalksOnRows:
    """One problem at different numbers of terms, however the models are chosen."""

    def __init__(self, problem: PathProblem, solver: str, patience: Patience) -> None:
        self._walks = _row_walks(problem, _EXACT_WORK if solver == "exact" else _AUTO_WORK, patience)
        self._states = StateCosts(self._walks)
        self._minimum = problem.cost.minimum()
        self._floors = WalkFloors(self._walks, self._states)

    def floor(self, alphas: FloatArray) -> float:
        """Σαₖ·(floor of term k)."""
        return float(alphas @ self._floors.of_terms(len(alphas)))

    def solve_order(self, problem: PathProblem, solver: str, patience: Patience) -> Outcome:
        """The best order, of a problem in which every changed unit moves once."""
        return EvaluatedOrders(problem).solve(solver, patience)

    def sums(self, _base: float) -> _CostSums:
        """Whatever they weigh."""
        return _CostSums(self._minimum)

    def order_length(self, alphas: FloatArray, order: Outcome, exponent: int) -> Length:
        """The order's sums with Σα·min c."""
        weight = float(alphas.sum())
        scale = float(np.ldexp(1.0, order.exponents[1] - exponent))
        value = weight * self._minimum + scale * order.excess
        return Length(
            terms=order.terms,
            weight=weight,
            bound=value - scale * order.difference,
            value=value,
            rounding=scale * order.rounding,
            stops=order.stops,
            solver=order.solver,
        )

    def conclude(self, lengths: list[Length], exponent: int) -> Outcome:
        """Differences within the rounding of the mean over rows count as zero, even if the path explains no more."""
        best = min(lengths, key=lambda length: length.value)
        stops, floor = best.stops or (), best.weight * self._minimum
        models = np.stack([self._walks.problem.start, *(stop.beta for stop in stops)])
        costs = self._walks.costs.cost.values(models)
        rounding = max(64.0 * EPS * float(costs.max()) * best.weight, *(length.rounding for length in lengths))
        return Outcome(
            stops=stops,
            terms=best.terms,
            excess=best.value - floor,
            difference=best.value - min(length.bound for length in lengths),
            rounding=rounding,
            nothing=2.0 * rounding,
            weight=best.weight,
            exponents=(0, exponent),
            solver=best.solver,
            along=Measured(tuple(costs.tolist()), tuple((costs - self._minimum).tolist())),
        )


class _WalksOnRows(WalksOnRows):
    """Walks with their best values."""

    def task(
        self, alphas: FloatArray, floor: float, share: float, best_order: Callable[[], Outcome], patience: Patience
    ) -> RowWalkTask:
        """With a share of what is left to spend of the cost's passes."""
        return RowWalkTask(
            walks=self._walks.within(share),
            alphas=alphas,
            floor=floor,
            states=self._states,
            best_order=best_order,
            patience=patience,
        )

    def length(self, task: RowWalkTask, answer: Answer) -> Length:
        """The walk with its bound."""
        walk = answer.row_walk
        if walk is None:
            (walk,) = task.walks.walks([answer.order], task.alphas, task.first.models)
        return Length(
            terms=len(task.alphas),
            weight=float(task.alphas.sum()),
            bound=answer.bound,
            value=walk.value,
            stops=task.walks.stops(walk),
            solver=answer.solver,
        )
