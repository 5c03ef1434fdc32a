"""Orders under a cost on rows, or the record of one: the best, a given one, the greedy one, and shares without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.costs.quadratic import Measured
from coordpath_governance.paths.conflicts import dearer_target
from coordpath_governance.paths.orders.chain_rules import chain_rules
from coordpath_governance.paths.orders.ruled_ends import solve_order
from coordpath_governance.paths.outcome import Outcome, check_order, normalise, order_stops
from coordpath_governance.paths.row_orders.evaluated_sets import corners, greedy_units, slopes_of
from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask, diagonal
from coordpath_governance.paths.solvers.protocol import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["EvaluatedOrders"]


class EvaluatedOrders:
    """The orders of a problem whose cost is known by sets of moved units."""

    def __init__(self, problem: PathProblem) -> None:
        self.problem = problem

    def solve(self, solver: str, patience: Patience) -> Outcome:
        """The best order that the named solver finds, with its bound."""
        problem = self.problem
        if not problem.changed:
            return self._outcome(Answer((), 0.0, "cuts"), bounded=True)
        alphas, _ = normalise(problem.alphas(problem.most_terms))
        begin, end = problem.sets.ask(corners(problem.sets.size, [(), range(problem.sets.size)]), slopes=False)
        constant = float(alphas[-1]) * end.value - float(alphas.sum()) * problem.cost.minimum()
        of_all = patience.telling(lambda stage, best, bound: (stage, best + constant, bound + constant))
        rules = chain_rules(problem, begin.value + 64.0 * EPS * abs(begin.value))
        if end.value > rules.ceiling:
            raise dearer_target(begin.value, end.value)
        task = EvaluatedTask(problem.sets, alphas[:-1], seed=problem.seed, patience=of_all, rules=rules)
        return self._outcome(solve_order(problem, task, solver), bounded=True)

    def measure(self, order: Sequence[int]) -> Outcome:
        """A given order of the changed units, with no bound but min c."""
        check_order(self.problem, order)
        return self._outcome(Answer(tuple(order), 0.0, "given"), bounded=False)

    def greedy(self) -> tuple[int, ...]:
        """At each of the single steps the unit that lowers the cost most, the first listed among equals; then the others."""
        return greedy_units(self.problem.sets, self.problem.singles)

    def shares(self) -> tuple[float, ...]:
        """Aumann–Shapley value ∫₀¹ ∂f/∂xᵤ(t·1) dt of every changed unit: its part when all move together in small steps.

        They add up to c(target) − c(start); where the cost is quadratic they are the Shapley values. What the integral from
        few points lacks of the sum is split as the shares are.
        """
        if not self.problem.changed:
            return ()
        sets = self.problem.sets
        points, weights = diagonal(sets.size)
        shares = weights @ slopes_of(sets.ask(points))
        start, end = sets.ask(corners(sets.size, [(), range(sets.size)]), slopes=False)
        sizes = np.abs(shares)
        if sizes.any():
            shares = shares + (end.value - start.value - shares.sum()) * sizes / sizes.sum()
        return tuple(float(share) + 0.0 for share in shares)

    def _outcome(self, answer: Answer, *, bounded: bool) -> Outcome:
        """The order with its costs; ``bounded``: the bound is one of Σ over all terms but the last, not just min c.

        Differences within the rounding of the mean over rows count as zero, even if the order explains no more than that.
        """
        problem = self.problem
        sets, minimum = problem.sets, problem.cost.minimum()
        alphas, exponent = normalise(problem.alphas(problem.most_terms))
        stops = order_stops(problem, answer.order)
        moved = [answer.order[:k] for k in range(problem.singles + 1)]
        moved += [answer.order] * (len(stops) - problem.singles)
        costs = np.array([evaluation.value for evaluation in sets.ask(corners(sets.size, moved), slopes=False)])
        excess = costs - minimum
        weight = float(alphas.sum())
        last = float(alphas[-1] * excess[-1]) if len(alphas) else 0.0
        rounding = 64.0 * EPS * float(np.abs(costs[1:]).max(initial=0.0)) if bounded else 0.0
        value = float(alphas @ excess[1:])
        return Outcome(
            stops=stops,
            terms=problem.most_terms,
            excess=value,
            difference=value - (max(answer.bound - float(alphas[:-1].sum()) * minimum + last, 0.0) if bounded else 0.0),
            rounding=rounding * weight,
            nothing=2.0 * rounding * weight,
            weight=weight or 1.0,
            exponents=(0, exponent),
            solver=answer.solver,
            along=Measured(tuple(costs.tolist()), tuple(excess.tolist())),
        )
