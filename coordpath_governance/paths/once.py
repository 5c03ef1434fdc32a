"""Every changed unit moves exactly once, or the best m do and then all the rest: only the order is open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.chains.heavy_units import light_units
from coordpath_governance.paths.chains.set_function import build_set_function, order_chain
from coordpath_governance.paths.outcome import Outcome, Stop, data_scale, normalise
from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.problem import REST_LABEL
from coordpath_governance.paths.solvers.protocol import ChainTask
from coordpath_governance.paths.solvers.table import choose_chain_solver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["measure_order", "order_stops", "solve_once"]


def solve_once(problem: PathProblem, solver: str, patience: Patience = FOREVER) -> Outcome:
    """The best order the named solver finds, with its bound."""
    task, last, exponents = _task(problem, patience)
    if not problem.changed:
        return Outcome((), 0, 0.0, 0.0, 0.0, 0.0, 1.0, exponents, "lattice")
    light = light_units(task)
    constant = last * task.function.excess(range(task.function.size))
    told = patience.telling(lambda stage, best, bound: (stage, best + constant, bound + constant))
    inner = replace(task, function=task.function.restrict((), light), patience=told)
    found = choose_chain_solver(solver, inner).solve(inner)
    order = order_chain([light[u] for u in found.order] if solver != "direct" else (), task.function.size)
    weight = float(task.alphas.sum()) + last
    return Outcome(
        order_stops(problem, order),
        problem.most_terms,
        task.evaluate(order) + constant,
        found.bound + constant,
        inner.rounding,
        data_scale(problem, exponents[0]) * weight,
        weight,
        exponents,
        found.solver,
    )


def measure_order(problem: PathProblem, order: Sequence[int]) -> Outcome:
    """A given order of the changed units, with no bound but min c."""
    size = len(problem.changed)
    if sorted(order) != list(range(size)):
        raise ProblemError(f"order: {list(order)} is not an arrangement of the {size} changed units 0 … {size - 1}")
    task, last, exponents = _task(problem, FOREVER)
    excess = task.evaluate(order) + last * task.function.excess(range(size))
    weight = float(task.alphas.sum()) + last
    return Outcome(order_stops(problem, order), problem.most_terms, excess, 0.0, 0.0, 0.0, weight, exponents, "given")


def _task(problem: PathProblem, patience: Patience) -> tuple[ChainTask, float, tuple[int, int]]:
    """The task of a solver, the weight of the last term, and the units of both."""
    if not problem.moves_once:
        raise ProblemError("steps: units may be visited again here, so an order alone is not a path; leave steps null")
    function = build_set_function(problem)
    alphas, exponent = normalise(problem.alphas(problem.most_terms))
    task = ChainTask(function, alphas[:-1], problem.seed, patience)
    return task, float(alphas[-1]) if len(alphas) else 0.0, (function.exponent, exponent)


def order_stops(problem: PathProblem, order: Sequence[int]) -> tuple[Stop, ...]:
    """The models along an order: ``singles`` single steps, then the rest at once if any is left."""
    target = problem.start if problem.target is None else problem.target
    beta: NDArray[np.float64] = problem.start.copy()
    stops: list[Stop] = []
    for k, u in enumerate(order[: problem.singles], start=1):
        unit = problem.changed[u]
        beta = beta.copy()
        beta[list(unit.members)] = target[list(unit.members)]
        stops.append(Stop(k, unit.kind, unit.label, beta))
    if problem.singles < len(problem.changed):
        stops.append(Stop(problem.singles + 1, "rest", REST_LABEL, target))
    return tuple(stops)
