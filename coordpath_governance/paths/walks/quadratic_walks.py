"""Walks under a quadratic cost: sums of Σα(c − min c), and what rounding may do to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.quadratic_orders import QuadraticOrders
from coordpath_governance.paths.outcome import Outcome, excess_of_stops, measure_stops, nothing_at_all
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.solvers.table import expect_walk_solver
from coordpath_governance.paths.walks.floors import find_floors, least_excess
from coordpath_governance.paths.walks.geometry import prepare_walks
from coordpath_governance.paths.walks.lengths import Length, solve_lengths
from coordpath_governance.paths.walks.starts import place, stagewise, visited

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.outcome import Stop
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import Answer

__all__ = ["QuadraticWalks", "least_quadratic_costs", "solve_quadratic_walk"]


def solve_quadratic_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms that the named solver finds, with its bound."""
    expect_walk_solver(solver, WalkTask.offers)
    return solve_lengths(problem, _QuadraticWalks(problem, patience), solver, patience)


def least_quadratic_costs(problem: PathProblem, most: int, patience: Patience) -> NDArray[np.float64]:
    """For k = 1 … most: no model that differs from the start in at most k units costs less."""
    walks = prepare_walks(problem)
    costs: NDArray[np.float64] = problem.cost.minimum() + np.ldexp(
        least_excess(walks, problem.start, most, patience.expired)[1:], walks.exponent
    )
    return costs


@dataclass(frozen=True)
class _ExcessSums:
    """Sums Σα(c − min c) made comparable: what a length weighs more than ``base`` costs ``minimum`` at least."""

    base: float
    minimum: float

    def objective(self, length: Length) -> float:
        """Of the best path known of a length."""
        return length.value + self._more(length)

    def bound(self, length: Length) -> float:
        """Of all paths of a length."""
        return length.bound + self._more(length)

    def excess(self, best: Length, bound: float) -> tuple[float, float]:
        """As of the best path's own length."""
        return best.value, best.value - (self.objective(best) - bound)

    def _more(self, length: Length) -> float:
        weight = length.weight - self.base
        return weight * self.minimum if weight else 0.0


class QuadraticWalks:
    """One problem at different numbers of terms, in units of 2^exponent a unit of cost, however the models are chosen."""

    def __init__(self, problem: PathProblem, patience: Patience) -> None:
        self._problem, self._walks = problem, prepare_walks(problem)
        self._floors = find_floors(self._walks, problem.most_terms, patience.expired)
        with np.errstate(over="ignore"):
            self._minimum = float(np.ldexp(problem.cost.minimum(), -self._walks.exponent)) + self._walks.level

    def floor(self, alphas: NDArray[np.float64]) -> float:
        """Σαₖ·(floor of term k)."""
        return float(alphas @ self._floors.of_terms(len(alphas)))

    def solve_order(self, problem: PathProblem, solver: str, patience: Patience) -> Outcome:
        """The best order, of a problem in which every changed unit moves once."""
        return QuadraticOrders(problem).solve(solver, patience)

    def sums(self, base: float) -> _ExcessSums:
        """Σα·min c is added, which is where objectives of different lengths differ most."""
        return _ExcessSums(base, self._minimum)

    def length_of(
        self, alphas: NDArray[np.float64], stops: tuple[Stop, ...], bound: float, solver: str, others: tuple[Stop, ...] = ()
    ) -> Length:
        """Models that are known, with their exact costs; the search went through them and ``others``."""
        walks, weight = self._walks, float(alphas.sum())
        along = measure_stops(self._problem, stops)
        excess = excess_of_stops(along, stops, alphas, walks.exponent) - walks.level * weight
        return Length(
            terms=len(alphas),
            weight=weight,
            bound=bound,
            value=excess,
            rounding=walks.rounding(excess, weight, (*stops, *others)),
            stops=stops,
            solver=solver,
            along=along,
        )

    def order_length(self, alphas: NDArray[np.float64], order: Outcome, exponent: int) -> Length:
        """The order's sums in the units of walks."""
        weight = float(alphas.sum())
        scale = float(np.ldexp(1.0, sum(order.exponents) - self._walks.exponent - exponent))
        excess = order.excess * scale - self._walks.level * weight
        return Length(
            terms=len(alphas),
            weight=weight,
            bound=excess - order.difference * scale,
            value=excess,
            rounding=order.rounding * scale,
            stops=order.stops,
            solver=order.solver,
            along=order.along,
        )

    def conclude(self, lengths: list[Length], exponent: int) -> Outcome:
        """What the other lengths leave open is counted with the weight of the heaviest."""
        problem, walks, minimum = self._problem, self._walks, self._minimum
        best = min(lengths, key=_ExcessSums(lengths[0].weight, minimum).objective)
        bound = min(map(_ExcessSums(best.weight, minimum).bound, lengths))
        stops = best.stops or ()
        along = measure_stops(problem, stops) if best.along is None else best.along
        above = best.value + walks.level * best.weight
        excess = above if above > 0 else best.value
        heaviest = max(length.weight for length in lengths)
        most = max(above, 0.0) + walks.below_minimum(stops) * heaviest
        if best.value >= 0:
            most = min(most, best.value + walks.unseen(stops) * heaviest)
        most += max((best.weight - length.weight) * (minimum - walks.level) for length in lengths)
        return Outcome(
            stops=stops,
            terms=best.terms,
            excess=excess,
            difference=best.value - bound,
            rounding=max(length.rounding for length in lengths),
            nothing=nothing_at_all(problem, along, walks.exponent) * best.weight,
            weight=best.weight,
            exponents=(walks.exponent, exponent),
            solver=best.solver,
            along=along,
            floor=max(most - excess, 0.0),
        )


class _QuadraticWalks(QuadraticWalks):
    """Walks with their best values."""

    def task(
        self,
        alphas: NDArray[np.float64],
        _floor: float,
        _share: float,
        best_order: Callable[[], Outcome],
        patience: Patience,
    ) -> WalkTask:
        """With its own work for every length."""
        return WalkTask(
            walks=self._walks,
            alphas=alphas,
            floors=self._floors,
            first=self._first(alphas, best_order),
            seed=self._problem.seed,
            patience=patience,
        )

    def _first(self, alphas: NDArray[np.float64], best_order: Callable[[], Outcome]) -> tuple[int, ...]:
        """A walk to begin with: with a free end the stagewise one, otherwise the best order with rests between."""
        if self._problem.target is None:
            return stagewise(self._walks, len(alphas))
        stops = best_order().stops
        along = [self._walks.excess(self._problem.start)] + [self._walks.excess(stop.beta) for stop in stops]
        return place(np.array(along), alphas, visited(self._problem, stops))

    def length(self, task: WalkTask, answer: Answer) -> Length:
        """The models that the walk passes through, with their exact costs."""
        walks, alphas = self._walks, task.alphas
        if answer.increments is None:
            _, stops = walks.value(answer.order, alphas)
        else:
            _, stops = walks.follow(answer.order, answer.increments, alphas)
        return self.length_of(alphas, stops, max(answer.bound, task.floor), answer.solver)
