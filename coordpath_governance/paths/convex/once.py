"""Every changed unit moves once under a convex cost: the best order, a given one, the greedy one, and shares without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.quadratic import Measured
from coordpath_governance.errors import ProblemError, SolverUnavailableError
from coordpath_governance.paths.convex.many_units import quick_bound, solve_many
from coordpath_governance.paths.convex.minorants import EPS
from coordpath_governance.paths.convex.programme import LARGEST, solve_programme
from coordpath_governance.paths.convex.set_costs import corners, slopes_of
from coordpath_governance.paths.convex.task import ConvexTask, diagonal
from coordpath_governance.paths.once import order_stops
from coordpath_governance.paths.outcome import Outcome, normalise
from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.solvers.protocol import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["convex_greedy_order", "convex_shares", "measure_convex_order", "solve_convex_once"]

_SUMMED = 1e-12
"""Of a cost: what the order of adding may change; costs that differ by less are equal."""

_AUTO_WORK, _EXACT_WORK = 3e8, 3e9
"""Rows times sets: about ten seconds, and a hundred."""


def solve_convex_once(problem: PathProblem, solver: str, patience: Patience = FOREVER) -> Outcome:
    """The best order that the named solver finds, with its bound."""
    if not problem.changed:
        return _outcome(problem, Found((), 0.0, "cuts"), bounded=True)
    alphas, _ = normalise(problem.alphas(problem.most_terms))
    (end,) = problem.sets.ask(corners(problem.sets.size, [range(problem.sets.size)]), slopes=False)
    constant = float(alphas[-1]) * end.value - float(alphas.sum()) * problem.cost.minimum()
    told = patience.telling(lambda stage, best, bound: (stage, best + constant, bound + constant))
    work = _EXACT_WORK if solver == "exact" or patience.timed else _AUTO_WORK
    task = ConvexTask(problem.sets, alphas[:-1], np.inf if patience.timed else work, problem.seed, told)
    return _outcome(problem, _solve(problem, task, solver), bounded=True)


def _solve(problem: PathProblem, task: ConvexTask, solver: str) -> Found:
    if solver == "gurobi":
        raise SolverUnavailableError("solver gurobi: takes quadratic costs only; use auto")
    listed = tuple(range(task.known.size))
    if solver in ("greedy", "direct"):
        return Found(convex_greedy_order(problem) if solver == "greedy" else listed, quick_bound(task), solver)
    if not task.alphas.any():
        return Found(listed, 0.0, task.name)
    if solver == "local" or task.known.size > LARGEST:
        return solve_many(task, solver)
    return solve_programme(task)


def measure_convex_order(problem: PathProblem, order: Sequence[int]) -> Outcome:
    """A given order of the changed units, with no bound but min c."""
    size = len(problem.changed)
    if sorted(order) != list(range(size)):
        raise ProblemError(f"order: {list(order)} is not an arrangement of the {size} changed units 0 … {size - 1}")
    return _outcome(problem, Found(tuple(order), 0.0, "given"), bounded=False)


def convex_greedy_order(problem: PathProblem) -> tuple[int, ...]:
    """At each of the single steps the unit that lowers the cost most, the first listed among equals; then the others."""
    known = problem.sets
    order: list[int] = []
    for _ in range(problem.singles):
        left = [u for u in range(known.size) if u not in order]
        found = known.ask(corners(known.size, [[*order, u] for u in left]), slopes=False)
        values = np.array([each.value for each in found])
        order.append(left[int(np.argmax(values <= values.min() * (1.0 + _SUMMED)))])
    return (*order, *(u for u in range(known.size) if u not in order))


def convex_shares(problem: PathProblem) -> tuple[float, ...]:
    """Aumann–Shapley value ∫₀¹ ∂f/∂xᵤ(t·1) dt of every changed unit: its part when all move together in small equal steps.

    They add up to c(target) − c(start); where the cost is quadratic they are the Shapley values. What the integral from few
    points lacks of the sum is split as the shares are.
    """
    if not problem.changed:
        return ()
    known = problem.sets
    points, weights = diagonal(known.size)
    shares = weights @ slopes_of(known.ask(points))
    start, end = known.ask(corners(known.size, [(), range(known.size)]), slopes=False)
    sizes = np.abs(shares)
    if sizes.any():
        shares = shares + (end.value - start.value - shares.sum()) * sizes / sizes.sum()
    return tuple(float(share) + 0.0 for share in shares)


def _outcome(problem: PathProblem, found: Found, *, bounded: bool) -> Outcome:
    """The found order with its costs; ``bounded``: the bound is one of Σ over all terms but the last, not just min c.

    Rounding of the mean over rows counts as nothing, also where the order explains nothing beside it.
    """
    known, minimum = problem.sets, problem.cost.minimum()
    alphas, exponent = normalise(problem.alphas(problem.most_terms))
    stops = order_stops(problem, found.order)
    sets = [found.order[:k] for k in range(problem.singles + 1)]
    sets += [found.order] * (len(stops) - problem.singles)
    costs = np.array([each.value for each in known.ask(corners(known.size, sets), slopes=False)]) if sets else np.zeros(1)
    excess = costs - minimum
    weight = float(alphas.sum())
    last = float(alphas[-1] * excess[-1]) if len(alphas) else 0.0
    rounding = 64.0 * EPS * float(np.abs(costs[1:]).max(initial=0.0)) if bounded else 0.0
    value = float(alphas @ excess[1:])
    return Outcome(
        stops,
        problem.most_terms,
        value,
        value - (max(found.bound - float(alphas[:-1].sum()) * minimum + last, 0.0) if bounded else 0.0),
        rounding * weight,
        2.0 * rounding * weight,
        weight or 1.0,
        (0, exponent),
        found.solver,
        Measured(tuple(costs.tolist()), tuple(excess.tolist())),
    )
