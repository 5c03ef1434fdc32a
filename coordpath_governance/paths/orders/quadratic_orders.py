"""Every changed unit moves exactly once, or the best m do and then all the rest: only the order is open.

Units that every good chain moves first, or that none moves early, are put aside before a solver starts, so that they cost
it no digits. If Σαₖ e(S_k) ≤ B then ‖r_k‖² = e(S_k) ≤ B/αₖ, and the unit u that moves at step k has

    ‖p_u‖ = ‖r_k − r_{k−1}‖ ≤ ‖r_k‖ + ‖r_{k−1}‖.

A unit longer than that for every k is not among the first n of any chain as good as one already known. Two columns that
are almost one, with large opposite changes, are such units. Left in, they would drown all differences in their rounding.
And where α₁·e({u}) > B for all units but one, that one moves first: a start that is far off drowns the others, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.conflicts import dearer_target
from coordpath_governance.paths.orders.chain_rules import chain_rules
from coordpath_governance.paths.orders.ruled_ends import solve_order
from coordpath_governance.paths.orders.set_function import FAINTEST, build_set_function, forward_order, order_chain
from coordpath_governance.paths.outcome import (
    Outcome,
    check_order,
    excess_of_stops,
    measure_stops,
    normalise,
    nothing_at_all,
    order_stops,
)
from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.solvers.protocol import ChainTask
from coordpath_governance.paths.weights import ExplicitWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["QuadraticOrders", "first_unit", "light_units"]


class QuadraticOrders:
    """The orders of a problem whose cost is quadratic."""

    def __init__(self, problem: PathProblem) -> None:
        self.problem = problem

    def solve(self, solver: str, patience: Patience) -> Outcome:
        """The best order that the named solver finds, with its bound."""
        return _solve(self.problem, solver, patience)

    def measure(self, order: Sequence[int]) -> Outcome:
        """A given order of the changed units, with no bound but min c."""
        problem = self.problem
        check_order(problem, order)
        task, last, exponents = _task(problem, FOREVER)
        stops = order_stops(problem, order)
        along = measure_stops(problem, stops)
        excess = excess_of_stops(along, stops, np.append(task.alphas, last), exponents[0])
        weight = float(task.alphas.sum()) + last
        floor = _floor(problem, weight, exponents[0])
        return Outcome(
            stops=stops,
            terms=problem.most_terms,
            excess=excess,
            difference=excess + floor,
            rounding=0.0,
            nothing=0.0,
            weight=weight,
            exponents=exponents,
            solver="given",
            along=along,
            floor=floor,
        )

    def greedy(self) -> tuple[int, ...]:
        """The order that always moves the unit that lowers the cost most."""
        return tuple(forward_order(build_set_function(self.problem)))

    def shares(self) -> tuple[float, ...]:
        """Shapley value of every changed unit: with e(S) = ‖r₀ + Σp‖² it is p_uᵀ(r₀ + r_end)."""
        function = build_set_function(self.problem)
        middle = 2.0 * function.base + function.columns.sum(axis=1)
        values = np.ldexp(function.columns.T @ middle, function.exponent)
        return tuple(float(value) + 0.0 for value in values)


def _solve(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    task, last, exponents = _task(problem, patience)
    if not problem.changed:
        return Outcome(
            stops=(),
            terms=0,
            excess=0.0,
            difference=0.0,
            rounding=0.0,
            nothing=0.0,
            weight=1.0,
            exponents=exponents,
            solver="lattice",
            along=measure_stops(problem, ()),
        )
    whole = task.function.excess(range(task.function.size))
    if whole > task.rules.ceiling:
        raise dearer_target(*measure_stops(problem, order_stops(problem, range(task.function.size))[-1:]).costs)
    leading = task.rules.leading()[: problem.singles - 1]
    if leading and (task.alphas[len(leading) :].any() or last):
        return _after_first(problem, leading, solver, patience)
    settled = bool(task.rules) or solver == "direct" or problem.max_steps == 1 or not (task.alphas[1:].any() or last)
    first = None if settled else first_unit(task)
    if first is not None:
        return _after_first(problem, (first,), solver, patience)
    resting = task.rules.resting(task.depth)
    light = [u for u in range(task.function.size) if u not in resting] if task.rules else light_units(task)
    constant = last * whole
    of_all = patience.telling(lambda stage, best, bound: (stage, best + constant, bound + constant))
    inner = replace(task, function=task.function.restrict((), light), patience=of_all, rules=task.rules.among(light))
    answer = solve_order(problem, inner, solver, task)
    listed = solver == "direct" and not task.rules
    order = order_chain(() if listed else [light[u] for u in answer.order], task.function.size)
    among_light = [light.index(u) for u in order[: task.depth]] if set(order[: task.depth]) <= set(light) else None
    value = task.evaluate(order) if among_light is None else inner.evaluate(among_light)
    stops = order_stops(problem, order)
    along = measure_stops(problem, stops)
    weight = float(task.alphas.sum()) + last
    return Outcome(
        stops=stops,
        terms=problem.most_terms,
        excess=excess_of_stops(along, stops, np.append(task.alphas, last), exponents[0]),
        difference=value - answer.bound,
        rounding=2.0 * (inner if among_light is not None else task).rounding,
        nothing=nothing_at_all(problem, along, exponents[0]) * weight,
        weight=weight,
        exponents=exponents,
        solver=answer.solver,
        along=along,
        floor=_floor(problem, weight, exponents[0]) + FAINTEST * weight,
    )


def _after_first(problem: PathProblem, leading: tuple[int, ...], solver: str, patience: Patience) -> Outcome:
    """The best order if it is known which units move first: the others from there, with rounding that is theirs alone."""
    count = len(leading)
    first = order_stops(problem, (*leading, *(u for u in range(len(problem.changed)) if u not in leading)))[:count]
    alphas = problem.alphas(problem.most_terms)
    asked = replace(
        problem,
        start=first[-1].beta,
        steps=None,
        max_steps=None if problem.max_steps is None else problem.max_steps - count,
        weights=ExplicitWeights(tuple(alphas[count:].tolist())),
        constraints=problem.constraints.after(count),
    )
    others = _solve(asked, solver, patience)
    stops = (*first, *(replace(stop, k=stop.k + count) for stop in others.stops))
    along = measure_stops(problem, stops)
    alphas = np.ldexp(alphas, -others.exponents[1])
    weight = float(alphas.sum())
    return replace(
        others,
        stops=stops,
        terms=problem.most_terms,
        excess=excess_of_stops(along, stops, alphas, others.exponents[0]),
        nothing=nothing_at_all(problem, along, others.exponents[0]) * weight,
        weight=weight,
        along=along,
        floor=_floor(problem, weight, others.exponents[0]) + FAINTEST * weight,
    )


def _task(problem: PathProblem, patience: Patience) -> tuple[ChainTask, float, tuple[int, int]]:
    """The task of a solver, the weight of the last term, and the units of both."""
    if not problem.moves_once:
        raise ProblemError("steps: units may be visited again here, so an order alone is not a path; leave steps null")
    function = build_set_function(problem)
    alphas, exponent = normalise(problem.alphas(problem.most_terms))
    rules = chain_rules(problem, function.e0 + 2.0 * function.rounding)
    task = ChainTask(function, alphas[:-1], problem.seed, patience, rules=rules)
    return task, float(alphas[-1]) if len(alphas) else 0.0, (function.exponent, exponent)


def _floor(problem: PathProblem, weight: float, exponent: int) -> float:
    """By how much Σα·c may lie below Σα·min c for models between start and target, in units of 2^exponent."""
    target = problem.start if problem.target is None else problem.target
    with np.errstate(over="ignore"):
        return 2.0 * weight * float(np.ldexp(problem.quadratic.bend(None, np.stack([problem.start, target])), -exponent))


_MARGIN = 1.0 + 1e-6
_FAR = 1e3
"""How many times the sum along a good chain the excess of the start must be, to matter."""


def first_unit(task: ChainTask) -> int | None:
    """The unit that every chain as good as the greedy one moves first, if the start is far off and there is one."""
    function = task.function
    if task.depth == 0 or float(task.alphas[0]) <= 0.0:
        return None
    greedy_value = task.evaluate(forward_order(function)) + 2.0 * task.rounding
    if function.e0 <= _FAR * greedy_value:
        return None
    alone = function.e0 + function.linear + np.diag(function.quadratic)
    possible = np.flatnonzero(task.alphas[0] * alone <= _MARGIN * greedy_value)
    return int(possible[0]) if len(possible) == 1 else None


def light_units(task: ChainTask) -> list[int]:
    """All units but those that are certainly moved after the first n; all of them if that leaves too few."""
    function = task.function
    everything = list(range(function.size))
    if task.depth == 0 or float(task.alphas.min()) <= 0.0:
        return everything
    greedy_value = task.evaluate(forward_order(function))
    reach = np.sqrt(greedy_value / task.alphas)
    before = np.concatenate([[np.sqrt(function.e0)], reach[:-1]])
    limit = _MARGIN * float((reach + before).max())
    lengths = np.sqrt(np.sum(function.columns * function.columns, axis=0))
    light = [u for u in everything if lengths[u] <= limit]
    return light if len(light) >= task.depth else everything
