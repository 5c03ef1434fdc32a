"""A fixed end with more terms than changed units: the path may rest, and units may be visited again.

What is returned is the best path known: the best order, placed in time, with extra visits where they help. The bound
holds for ALL coordinate paths: the model at term k differs from the start in at most k units and from the target in at
most K − k, so its excess is at least that of the best such model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.once import solve_once
from coordpath_governance.paths.outcome import Outcome, Stop, data_scale, normalise
from coordpath_governance.paths.refit import Refit, least_excess, refitter
from coordpath_governance.paths.weights import ExplicitWeights, GeometricWeights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["Candidate", "best_length", "place", "solve_revisits"]

_EXTRA_WORK = 200
_EXTRA_VISITS = 3


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best path known with so many terms, and a bound on all paths of that length."""

    terms: int
    excess: float
    bound: float
    rounding: float
    stops: tuple[Stop, ...]
    solver: str


def solve_revisits(
    problem: PathProblem,
    solver: str,
    expired: Callable[[], bool],
    progress: Callable[[str, float, float], None] | None,
) -> Outcome:
    """The best path over the allowed numbers of terms."""
    once = solve_once(_once_problem(problem), solver, expired, progress)
    refit = refitter(problem)
    order = _visited(problem, once.stops)
    along = np.array([refit.excess(problem.start)] + [refit.excess(stop.beta) for stop in once.stops])
    target = problem.start if problem.target is None else problem.target
    from_start = least_excess(refit, problem.start, problem.most_terms)
    from_target = least_excess(refit, target, problem.most_terms)
    _, exponent = normalise(problem.alphas(problem.most_terms))
    plain = solver in ("greedy", "direct")
    scale = float(np.ldexp(1.0, sum(once.exponents) - refit.exponent - exponent))

    def candidate(terms: int, alphas: NDArray[np.float64]) -> Candidate:
        if terms == len(order):
            values = once.excess * scale, once.bound * scale, once.rounding * scale
            return Candidate(terms, *values, once.stops, once.solver)
        slots = place(along, alphas, order)
        value, stops = refit.value(slots, alphas)
        if order and not plain and terms * len(problem.units) <= _EXTRA_WORK:
            value, stops = _visit_again(refit, slots, alphas, value, stops, expired)
        floors = np.maximum(from_start[1 : terms + 1], from_target[:terms][::-1])
        return Candidate(terms, value, float(alphas @ floors), 0.0, stops, solver if plain else "local")

    return best_length(problem, refit, exponent, candidate)


def _once_problem(problem: PathProblem) -> PathProblem:
    """Every unit once, under the same weights if that length is allowed, otherwise under the first of them."""
    size = len(problem.changed)
    if problem.least_terms == size:
        return replace(problem, steps=None)
    first = problem.alphas(problem.most_terms)[:size]
    weights = ExplicitWeights(tuple(first.tolist())) if first.sum() > 0 else GeometricWeights()
    return replace(problem, steps=None, weights=weights)


def _visited(problem: PathProblem, stops: tuple[Stop, ...]) -> list[int]:
    """The unit that moved at each stop, as an index into ``problem.units``."""
    owner = {i: u for u, unit in enumerate(problem.units) for i in unit.members}
    before = problem.start
    visited: list[int] = []
    for stop in stops:
        visited.append(owner[int(np.flatnonzero(stop.beta != before)[0])])
        before = stop.beta
    return visited


def best_length(
    problem: PathProblem,
    refit: Refit,
    exponent: int,
    candidate: Callable[[int, NDArray[np.float64]], Candidate],
) -> Outcome:
    """The candidate with the least objective over all allowed K; the bound is the least over them.

    Objectives of different lengths are compared with Σα·min c added, which is where they differ most.
    """
    with np.errstate(over="ignore"):
        minimum = float(np.ldexp(problem.cost.minimum(), -refit.exponent))
    found: list[tuple[Candidate, float]] = []
    for terms in range(problem.least_terms, problem.most_terms + 1):
        alphas = np.ldexp(problem.alphas(terms), -exponent)
        found.append((candidate(terms, alphas), float(alphas.sum())))
    base = found[0][1]
    best, weight = min(found, key=lambda pair: pair[0].excess + _times(pair[1] - base, minimum))
    bound = min(other.bound + _times(total - weight, minimum) for other, total in found)
    own = refit.rounding(max(refit.excess(problem.start), best.excess / weight)) * weight
    rounding = max(own, *(other.rounding for other, _ in found))
    scale = data_scale(problem, refit.exponent) * weight
    return Outcome(
        best.stops, best.terms, best.excess, bound, rounding, scale, weight, (refit.exponent, exponent), best.solver
    )


def _times(weight: float, minimum: float) -> float:
    return weight * minimum if weight else 0.0


def place(along: NDArray[np.float64], alphas: NDArray[np.float64], order: list[int]) -> list[int | None]:
    """When to make each step of an order so that the weighted sum with rests is least; among equals, early.

    ``along[j]`` is the excess after j steps. D(k, j) = αₖ·along[j] + min(D(k−1, j), D(k−1, j−1)).
    """
    terms, steps = len(alphas), len(order)
    table = np.full((terms + 1, steps + 1), np.inf)
    table[0, 0] = 0.0
    for k in range(1, terms + 1):
        stepped = np.concatenate([[np.inf], table[k - 1, :-1]])
        table[k] = alphas[k - 1] * along + np.minimum(table[k - 1], stepped)
    slots: list[int | None] = [None] * terms
    j = steps
    for k in range(terms, 0, -1):
        if j and table[k - 1, j] > table[k - 1, j - 1]:
            j -= 1
            slots[k - 1] = order[j]
    return slots


def _visit_again(
    refit: Refit,
    slots: list[int | None],
    alphas: NDArray[np.float64],
    value: float,
    stops: tuple[Stop, ...],
    expired: Callable[[], bool],
) -> tuple[float, tuple[Stop, ...]]:
    """Turn rests into further visits, each the best of all units and moments, while that lowers the sum."""
    current = list(slots)
    for _ in range(_EXTRA_VISITS):
        rests = [j for j, u in enumerate(current) if u is None][:_EXTRA_VISITS]
        better = None
        for rest in rests:
            kept = current[:rest] + current[rest + 1 :]
            for unit in range(len(refit.blocks)):
                for moment in range(len(current)):
                    trial = [*kept[:moment], unit, *kept[moment:]]
                    total, path = refit.value(trial, alphas)
                    if total < value * (1.0 - 1e-12) and not expired():
                        better, value, stops = trial, total, path
        if better is None:
            break
        current = better
    return value, stops
