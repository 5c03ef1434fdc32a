"""Walks under a convex cost: units may move again, rest, or end anywhere, and the loss may choose the number of terms.

For a sequence of units the values in between are a convex problem, which Newton's method solves on the rows; so for few
sequences the best one is proved by a search over all of them. For more, quadratics that touch the cost propose
sequences, their neighbours are tried, and floors of the single terms bound what was not. Every allowed number of terms is a
problem of its own; those whose floors exceed the best objective known are not searched.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs import GlmCost
from coordpath_governance.costs.quadratic import Measured
from coordpath_governance.errors import ProblemError, SolverUnavailableError
from coordpath_governance.paths.convex.minorants import EPS
from coordpath_governance.paths.convex.once import solve_convex_once
from coordpath_governance.paths.convex.walk_floors import WalkFloors
from coordpath_governance.paths.convex.walk_ground import RowWalks
from coordpath_governance.paths.convex.walk_rows import ModelCosts
from coordpath_governance.paths.convex.walk_search import search_length
from coordpath_governance.paths.convex.walk_starts import listed, stagewise
from coordpath_governance.paths.convex.walk_state_costs import StateCosts
from coordpath_governance.paths.how_far import NO_BOUND
from coordpath_governance.paths.longer import once_problem, visited
from coordpath_governance.paths.outcome import KnownLength, Outcome, normalise
from coordpath_governance.paths.walks.starts import place

if TYPE_CHECKING:
    from coordpath_governance.paths.convex.walk_ground import Walk
    from coordpath_governance.paths.convex.walk_rows import FloatArray
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["least_costs_from_start", "solve_convex_walk"]

_AUTO_WORK, _EXACT_WORK = 8e8, 8e9
"""Rows times models or so, for all lengths together: about ten seconds, and a hundred."""


def solve_convex_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms that the named solver finds, with its bound."""
    if solver == "gurobi":
        raise SolverUnavailableError("solver gurobi: takes quadratic costs only; use auto")
    if isinstance(problem.cost, GlmCost) and problem.target is None:
        problem.cost.expect_best_model()
    return _Lengths(problem, solver, patience).solve()


def least_costs_from_start(problem: PathProblem, most: int, patience: Patience) -> FloatArray:
    """For k = 1 … most: no model that differs from the start in at most k units costs less."""
    walks = _row_walks(problem, _AUTO_WORK, patience)
    least = WalkFloors(walks, StateCosts(walks)).from_start[1 : most + 1]
    return np.concatenate([least, np.full(most - len(least), problem.cost.minimum())])


def _row_walks(problem: PathProblem, work: float, patience: Patience) -> RowWalks:
    if not isinstance(problem.cost, GlmCost):
        raise ProblemError("cost.kind: values in between are chosen on rows, and this cost has none; give cost.rows")
    return RowWalks(problem, ModelCosts(problem.cost), _EXACT_WORK if patience.timed else work, patience)


class _Lengths:
    """One problem at different numbers of terms, known by their sums Σα·c.

    Weights are divided by the power of two that the longest asks for.
    """

    def __init__(self, problem: PathProblem, solver: str, patience: Patience) -> None:
        self.problem, self.solver, self.patience = problem, solver, patience
        self.walks = _row_walks(problem, _EXACT_WORK if solver == "exact" else _AUTO_WORK, patience)
        self.states = StateCosts(self.walks)
        _, self.exponent = normalise(problem.alphas(problem.most_terms))
        self.minimum = problem.cost.minimum()
        floors = WalkFloors(self.walks, self.states)
        lengths = range(problem.least_terms, problem.most_terms + 1)
        self.alphas = [np.ldexp(problem.alphas(terms), -self.exponent) for terms in lengths]
        self.known = [KnownLength(len(a), float(a.sum()), float(a @ floors.of_terms(len(a)))) for a in self.alphas]

    def solve(self) -> Outcome:
        """All lengths, the shortest first."""
        for at in range(len(self.known)):
            best = min(each.value for each in self.known)
            if at and (self.known[at].bound >= best or self.patience.expired()):
                continue
            self.known[at] = self._solve(at)
        return self._outcome()

    def _solve(self, at: int) -> KnownLength:
        before, alphas = self.known[at], self.alphas[at]
        if before.terms == len(self.problem.changed):
            return self._every_unit_once(at)
        walks = self.walks.within(1.0 / (len(self.known) - at))
        if self.solver in ("greedy", "direct"):
            walk = stagewise(walks, alphas) if self.solver == "greedy" else listed(walks, alphas)
            return replace(before, value=walk.value, stops=walks.stops(walk), solver=self.solver)
        states = None if self.solver == "local" else self.states
        first = self._first(walks, alphas)
        walk, bound, name = search_length(walks, alphas, first, before.bound, states, partial(self._tell, at))
        return replace(before, value=walk.value, bound=bound, stops=walks.stops(walk), solver=name)

    def _every_unit_once(self, at: int) -> KnownLength:
        """So few terms that only the order is open."""
        once, weight = self._once, self.known[at].weight
        scale = float(np.ldexp(1.0, once.exponents[1] - self.exponent))
        value = weight * self.minimum + scale * once.excess
        bound = value - scale * once.difference
        return KnownLength(once.terms, weight, bound, value, scale * once.rounding, once.stops, once.solver)

    @cached_property
    def _once(self) -> Outcome:
        """Every changed unit once: an answer if so few terms are allowed, otherwise a good order to begin with."""
        allowed = self.problem.least_terms == len(self.problem.changed)
        told = self.patience.telling(lambda _stage, best, _bound: ("a first order", best, NO_BOUND))
        return solve_convex_once(once_problem(self.problem), self.solver if allowed else "local", told)

    def _first(self, walks: RowWalks, alphas: FloatArray) -> Walk:
        """A walk to begin with: the best order with rests where they cost least, or, with a free end, the stagewise one."""
        if walks.target is None:
            return min(listed(walks, alphas), stagewise(walks, alphas), key=lambda walk: walk.value)
        if len(walks.changed) < 2:
            return listed(walks, alphas)
        once = self._once
        sequence = place(np.array(once.along.excesses), alphas, visited(self.problem, once.stops))
        models = walks.models(sequence, walks.closed(sequence), np.zeros(0))
        return walks.follow(sequence, models, alphas)

    def _tell(self, at: int, stage: str, value: float, bound: float) -> None:
        """What is known of one length, said of all: the best path known of any, and the least bound of any."""
        if self.patience.progress is None:
            return
        known = [*self.known[:at], replace(self.known[at], value=value, bound=bound), *self.known[at + 1 :]]
        best = min(known, key=lambda each: each.value)
        stage = f"paths of {self.known[at].terms} steps, {stage}" if len(known) > 1 else stage
        floor = best.weight * self.minimum
        self.patience.progress(stage, best.value - floor, min(each.bound for each in known) - floor)

    def _outcome(self) -> Outcome:
        """The path with the least objective; the bound is the least over all lengths.

        Rounding of the mean over rows counts as nothing, also where the path explains nothing beside it.
        """
        best = min(self.known, key=lambda each: each.value)
        stops, floor = best.stops or (), best.weight * self.minimum
        costs = self.walks.costs.cost.values(np.stack([self.problem.start, *(stop.beta for stop in stops)]))
        rounding = max(64.0 * EPS * float(costs.max()) * best.weight, *(each.rounding for each in self.known))
        return Outcome(
            stops,
            best.terms,
            best.value - floor,
            best.value - min(each.bound for each in self.known),
            rounding,
            2.0 * rounding,
            best.weight,
            (0, self.exponent),
            best.solver,
            Measured(tuple(costs.tolist()), tuple((costs - self.minimum).tolist())),
        )
