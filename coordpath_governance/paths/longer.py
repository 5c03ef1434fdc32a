"""Paths of a number of terms that is given or chosen by the loss: units may rest, move again, or end anywhere.

Every allowed number of terms is a problem of its own. Lengths whose floors already exceed the best objective known are
not searched: the paper's model loss is a minimum over K, and beyond some K the terms alone cost more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.how_far import NO_BOUND
from coordpath_governance.paths.once import solve_once
from coordpath_governance.paths.outcome import (
    KnownLength,
    Outcome,
    Stop,
    excess_of_stops,
    measure_stops,
    normalise,
    nothing_at_all,
)
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.solvers.table import choose_walk_solver
from coordpath_governance.paths.walks.floors import Floors, find_floors
from coordpath_governance.paths.walks.geometry import Walks, prepare_walks
from coordpath_governance.paths.walks.starts import place, stagewise
from coordpath_governance.paths.weights import ExplicitWeights, GeometricWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["once_problem", "solve_longer", "visited"]


def solve_longer(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms."""
    walks = prepare_walks(problem)
    floors = find_floors(walks, problem.most_terms, patience.expired)
    _, exponent = normalise(problem.alphas(problem.most_terms))
    with np.errstate(over="ignore"):
        minimum = float(np.ldexp(problem.cost.minimum(), -walks.exponent)) + walks.level
    lengths = _Lengths(problem, walks, floors, solver, exponent, patience)
    ahead = [np.ldexp(problem.alphas(terms), -exponent) for terms in range(problem.least_terms, problem.most_terms + 1)]
    known = [KnownLength(len(a), float(a.sum()), float(a @ floors.of_terms(len(a)))) for a in ahead]
    totals = _Totals(known[0].weight, minimum)
    best = np.inf
    for at, alphas in enumerate(ahead):
        if at and (totals.bound(known[at]) >= best or patience.expired()):
            continue
        known[at] = lengths.solve(alphas, patience.telling(_AboutAll(known, at, totals)))
        best = min(best, totals.objective(known[at]))
    return _choose(problem, walks, exponent, totals, known)


def _choose(problem: PathProblem, walks: Walks, exponent: int, totals: _Totals, found: list[KnownLength]) -> Outcome:
    """The candidate with the least objective; the bound is the least over all lengths.

    Objectives of different lengths are compared with Σα·min c added, which is where they differ most.
    """
    best = min(found, key=totals.objective)
    bound = min(map(_Totals(best.weight, totals.minimum).bound, found))
    stops = best.stops or ()
    along = measure_stops(problem, stops) if best.along is None else best.along
    above = best.value + walks.level * best.weight
    excess = above if above > 0 else best.value
    heaviest = max(each.weight for each in found)
    most = max(above, 0.0) + walks.below_minimum(stops) * heaviest
    if best.value >= 0:
        most = min(most, best.value + walks.unseen(stops) * heaviest)
    most += max((best.weight - each.weight) * (totals.minimum - walks.level) for each in found)
    return Outcome(
        stops,
        best.terms,
        excess,
        best.value - bound,
        max(each.rounding for each in found),
        nothing_at_all(problem, along, walks.exponent) * best.weight,
        best.weight,
        (walks.exponent, exponent),
        best.solver,
        along,
        floor=max(most - excess, 0.0),
    )


@dataclass(frozen=True)
class _Totals:
    """Sums of different lengths made comparable: what a length weighs more than ``base`` costs ``minimum`` at least."""

    base: float
    minimum: float

    def objective(self, each: KnownLength) -> float:
        """Of the best path known of a length."""
        return each.value + self.more(each)

    def bound(self, each: KnownLength) -> float:
        """Of all paths of a length."""
        return each.bound + self.more(each)

    def more(self, each: KnownLength) -> float:
        """What makes the difference."""
        weight = each.weight - self.base
        return weight * self.minimum if weight else 0.0


class _AboutAll:
    """What is told of one length, said of all: the best path known of any, and the least bound of any."""

    def __init__(self, known: list[KnownLength], at: int, totals: _Totals) -> None:
        self._known, self._at, self._totals = known, at, totals

    def __call__(self, stage: str, value: float, bound: float) -> tuple[str, float, float]:
        """The stage and its length, the excess of the best path, and what it cannot be less than."""
        totals, now = self._totals, replace(self._known[self._at], value=value, bound=bound)
        others = [each for at, each in enumerate(self._known) if at != self._at]
        best = min([now, *others], key=totals.objective)
        apart = totals.objective(best) - min(map(totals.bound, [now, *others]))
        return f"paths of {now.terms} steps, {stage}" if others else stage, best.value, best.value - apart


class _Lengths:
    """One problem at different numbers of terms, known by their sums Σα·(c − min c)."""

    def __init__(
        self,
        problem: PathProblem,
        walks: Walks,
        floors: Floors,
        solver: str,
        exponent: int,
        patience: Patience,
    ) -> None:
        self.problem, self.walks, self.floors = problem, walks, floors
        self.solver, self.exponent, self.patience = solver, exponent, patience
        self.once = None if problem.target is None else self._every_unit_once()

    def _every_unit_once(self) -> Outcome:
        """An answer if so few terms are allowed; otherwise only a walk to begin with, for which a good order is enough."""
        allowed = self.problem.least_terms == len(self.problem.changed)
        solver = self.solver if allowed or self.solver in ("greedy", "direct") else "local"
        told = self.patience.telling(lambda _stage, best, _bound: ("a first order", best, NO_BOUND))
        return solve_once(once_problem(self.problem), solver, told)

    def solve(self, alphas: NDArray[np.float64], patience: Patience) -> KnownLength:
        """The best path with these weights that the solver finds."""
        once = self.once
        terms, weight = len(alphas), float(alphas.sum())
        if once is not None and terms == len(once.stops):
            scale = float(np.ldexp(1.0, sum(once.exponents) - self.walks.exponent - self.exponent))
            excess, rounding = once.excess * scale - self.walks.level * weight, once.rounding * scale
            return KnownLength(
                terms, weight, excess - once.difference * scale, excess, rounding, once.stops, once.solver, once.along
            )
        task = WalkTask(self.walks, alphas, self.floors, self._first(alphas), self.problem.seed, patience)
        found = choose_walk_solver(self.solver, task).solve(task)
        if found.increments is None:
            _, stops = self.walks.value(found.order, alphas)
        else:
            _, stops = self.walks.follow(found.order, found.increments, alphas)
        along = measure_stops(self.problem, stops)
        excess = excess_of_stops(along, stops, alphas, self.walks.exponent) - self.walks.level * weight
        rounding = self.walks.rounding(excess, weight, stops)
        return KnownLength(terms, weight, max(found.bound, task.floor), excess, rounding, stops, found.solver, along)

    def _first(self, alphas: NDArray[np.float64]) -> tuple[int, ...]:
        """A walk to begin with: with a free end the stagewise one, otherwise the best order with rests between."""
        if self.once is None:
            return stagewise(self.walks, len(alphas))
        along = [self.walks.excess(self.problem.start)] + [self.walks.excess(stop.beta) for stop in self.once.stops]
        return place(np.array(along), alphas, visited(self.problem, self.once.stops))


def once_problem(problem: PathProblem) -> PathProblem:
    """Every unit once, under the same weights if that length is allowed, otherwise under the first of them."""
    size = len(problem.changed)
    if problem.least_terms == size:
        return replace(problem, steps=None)
    first = problem.alphas(problem.most_terms)[:size]
    weights = ExplicitWeights(tuple(first.tolist())) if first.sum() > 0 else GeometricWeights()
    return replace(problem, steps=None, weights=weights)


def visited(problem: PathProblem, stops: tuple[Stop, ...]) -> list[int]:
    """The unit that moved at each stop, as an index into ``problem.units``."""
    owner = {i: u for u, unit in enumerate(problem.units) for i in unit.members}
    before = problem.start
    visited: list[int] = []
    for stop in stops:
        visited.append(owner[int(np.flatnonzero(stop.beta != before)[0])])
        before = stop.beta
    return visited
