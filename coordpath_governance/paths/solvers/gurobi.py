"""Gurobi as a solver: the paper's SOS-1 model of walks, and the 0/1 model of chains."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.set_function import order_chain
from coordpath_governance.paths.solvers.gurobi_model import OBJECTIVE, Model, missing, optimise
from coordpath_governance.paths.solvers.gurobi_walks import WalkModel
from coordpath_governance.paths.solvers.improvement import first_polish
from coordpath_governance.paths.solvers.protocol import LEAST_SQUARES, SET_FUNCTION, Answer
from coordpath_governance.paths.solvers.walk_improvement import improve_walk

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import ChainTask, WalkTask

__all__ = ["GurobiChain", "GurobiWalks"]


class GurobiChain:
    """A 0/1 variable for every unit and every level that has a weight: level k has k ones, and ones stay.

    min Σ αₖ(e₀ + aᵀxₖ + xₖᵀQxₖ), Σ_u xₖᵤ = k, xₖ ≤ xₗ for k < l. Between two levels any order is as good as any other
    where the levels between have no weight.
    """

    name = "gurobi"
    needs = SET_FUNCTION

    def lacks(self, _task: ChainTask) -> str | None:
        """The package, if it is not installed."""
        return missing()

    def solve(self, task: ChainTask) -> Answer:
        """The best chain that Gurobi finds from a polished one, with its bound, lowered by its tolerances."""
        order, best = first_polish(task)
        levels = [k for k, alpha in enumerate(task.alphas.tolist(), start=1) if alpha > 0.0]
        unit = best / OBJECTIVE
        if not levels or unit < np.finfo(np.float64).tiny or task.expired():
            return Answer(order, 0.0, self.name)
        model = _chain_model(task, levels, order, unit)
        optimised = optimise(model, task, OBJECTIVE, unit)
        if optimised.point is not None:
            counts = np.rint(optimised.point).reshape(len(levels), -1).sum(axis=0)
            candidate = order_chain(np.argsort(-counts, kind="stable").tolist(), task.function.size)
            order = candidate if task.evaluate(candidate) < best - task.tie else order
        return Answer(order, max(0.0, model.allow(optimised.bound, task.evaluate(order) / unit) * unit), self.name)


def _chain_model(task: ChainTask, levels: list[int], order: tuple[int, ...], unit: float) -> Model:
    function, size = task.function, task.function.size
    weights = task.alphas[[k - 1 for k in levels]] / unit
    blocks = [slice(at * size, (at + 1) * size) for at in range(len(levels))]
    start = np.zeros((len(levels), size))
    rows = np.zeros((len(levels), len(levels) * size))
    for at, k in enumerate(levels):
        start[at, list(order[:k])] = 1.0
        rows[at, blocks[at]] = 1.0
    return Model(
        quadratic=np.kron(np.diag(weights), function.quadratic),
        linear=np.kron(weights, function.linear),
        constant=float(weights.sum()) * function.e0,
        lower=np.zeros(start.size),
        upper=np.ones(start.size),
        start=start.ravel(),
        binary=True,
        equal=tuple((row, float(k)) for row, k in zip(rows, levels, strict=True)),
        ordered=tuple(itertools.pairwise(blocks)),
    )


class GurobiWalks:
    """The increments of all units at all terms, of which those of one unit at most are not zero at each term."""

    name = "gurobi"
    needs = LEAST_SQUARES

    def lacks(self, _task: WalkTask) -> str | None:
        """The package, if it is not installed."""
        return missing()

    def solve(self, task: WalkTask) -> Answer:
        """The best walk that Gurobi finds from an improved one, with its bound, lowered by its tolerances."""
        walk, best = improve_walk(task)
        floor = task.floor
        if best <= floor or task.expired():
            return Answer(walk, floor, self.name)
        built = WalkModel(task, walk, best)
        optimised = optimise(built.model, task, built.best, built.unit)
        if optimised.point is not None:
            candidate = built.decode(optimised.point)
            walk = candidate if candidate is not None and task.evaluate(candidate) < best else walk
        bound = built.model.allow(optimised.bound, task.evaluate(walk) / built.unit) * built.unit if built.limited else floor
        return Answer(walk, max(floor, bound), self.name)
