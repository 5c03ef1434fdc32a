"""Gurobi as a solver: the 0/1 model of chains, and the paper's SOS-1 model of walks.

The model of walks has as few variables as there are: the increments themselves. With δ_{j,c} the increment of column c at
term j, in an orthonormal basis of each unit's columns, r_k = r₀ + Σ_{j≤k} Cδ_j and

    min Σ αₖ‖r_k‖²,   SOS-1 over the units at every term,   Σ_j δ_j = change, if the end is fixed.

A walk no worse than one of value B has ‖r_k‖ ≤ √(B/αₖ), so |δ_{k,c}| ≤ ‖r_k − r_{k−1}‖ ≤ √(B/αₖ) + √(B/αₖ₋₁). So all
variables are bounded, and outside the bounds there are only walks worse than B.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.set_function import order_chain
from coordpath_governance.paths.solvers.gurobi_model import OBJECTIVE, Model, missing, optimise
from coordpath_governance.paths.solvers.improvement import first_polish
from coordpath_governance.paths.solvers.protocol import LEAST_SQUARES, SET_FUNCTION, Answer
from coordpath_governance.paths.solvers.walk_improvement import improve_walk, tidy
from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.sequence_values import unit_basis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import ChainTask, WalkTask

__all__ = ["GurobiChain", "GurobiWalks", "WalkModel"]


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


_MARGIN = 1.0 + 1e-6
_STILL = 1e-6
"""A largest increment below this, where the residuals of a walk are near 100, counts as no move."""

_FAR = 1e6
"""No residual is let go farther, whatever its weight."""

_UNSEEN = 1e-4
"""A change that moves the residual less than this gets a variable that says whether it was made."""


class WalkModel:
    """A walk task as a model; ``limited`` says whether all walks as good as the known one are in it."""

    def __init__(self, task: WalkTask, walk: Sequence[int], best: float) -> None:
        walks, alphas = task.walks, task.alphas
        self.task = task
        self.unit = max(best, 1e-3 * float(alphas.sum() * (walks.base @ walks.base))) / OBJECTIVE
        self.best = best / self.unit
        self._stretch = 1.0 / math.sqrt(self.unit)
        bases = [unit_basis(block) for block in walks.blocks]
        changes = None if walks.changes is None else [self._stretch * change for change in walks.changes]
        tagged = [u for u in walks.changed if changes is not None and np.linalg.norm(changes[u]) < _UNSEEN]
        widths = [basis.shape[1] + (u in tagged) for u, basis in enumerate(bases)]
        ends = np.cumsum(widths)
        self._members = [tuple(range(end - width, end)) for end, width in zip(ends.tolist(), widths, strict=True)]
        self._tags = {u: self._members[u][-1] for u in tagged}
        self._columns = np.zeros((len(walks.base), int(ends[-1])))
        for u, basis in enumerate(bases):
            self._columns[:, list(self._members[u][: basis.shape[1]])] = basis
        base = walks.base * self._stretch
        reach = self._reach(base, base if changes is None else base + np.sum(changes, axis=0))
        self.limited = bool((reach < _FAR).all())
        self.model = self._model(base, changes, reach, walk)

    def _reach(self, base: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
        """How long r₀ … r_K can be in a walk no worse than the known one."""
        with np.errstate(divide="ignore"):
            reach = np.minimum(np.sqrt(self.best / self.task.alphas), _FAR)
        if self.task.walks.changes is not None:
            reach[-1] = np.linalg.norm(end)
        return np.concatenate([[np.linalg.norm(base)], reach])

    def _model(
        self,
        base: NDArray[np.float64],
        changes: list[NDArray[np.float64]] | None,
        reach: NDArray[np.float64],
        walk: Sequence[int],
    ) -> Model:
        terms, width = self.task.terms, self._columns.shape[1]
        later = np.cumsum(self.task.alphas[::-1])[::-1]
        limits = np.repeat(_MARGIN * (reach[1:] + reach[:-1])[:, None], width, axis=1)
        lower = -limits
        for column in self._tags.values():
            limits[:, column], lower[:, column] = 1.0, 0.0
        sets = tuple(tuple(k * width + c for c in members) for k in range(terms) for members in self._alternatives())
        return Model(
            quadratic=np.kron(later[np.maximum.outer(np.arange(terms), np.arange(terms))], self._columns.T @ self._columns),
            linear=np.kron(2.0 * later, self._columns.T @ base),
            constant=float(later[0] * (base @ base)),
            lower=lower.ravel(),
            upper=limits.ravel(),
            start=self._increments(walk).ravel(),
            sets=sets,
            equal=() if changes is None else tuple(self._equations(changes)),
        )

    def _alternatives(self) -> list[tuple[int, ...]]:
        """Sets of columns of which one at most moves at a term: together they say that one unit does."""
        moving = [members for members in self._members if members]
        if math.prod(map(len, moving)) <= self._columns.shape[1] ** 2:
            return list(itertools.product(*moving))
        pairs = itertools.combinations(moving, 2)
        return [pair for one, other in pairs for pair in itertools.product(one, other)]

    def _equations(self, changes: list[NDArray[np.float64]]) -> Iterator[tuple[NDArray[np.float64], float]]:
        """The increments of every column add up to its change."""
        sums = np.tile(np.eye(self._columns.shape[1]), self.task.terms)
        for members, change in zip(self._members, changes, strict=True):
            for column in members:
                tag = column in self._tags.values()
                yield sums[column], 1.0 if tag else float(self._columns[:, column] @ change)

    def _increments(self, walk: Sequence[int]) -> NDArray[np.float64]:
        """The variables of a walk with its best values."""
        walks = self.task.walks
        increments = np.zeros((self.task.terms, self._columns.shape[1]))
        before = walks.base
        for stop in walks.value(walk, self.task.alphas)[1]:
            residual = walks.residual(stop.beta)
            members = list(self._members[walk[stop.k - 1]])
            increments[stop.k - 1, members] = self._columns[:, members].T @ (residual - before) * self._stretch
            before = residual
        for u, column in self._tags.items():
            increments[max(k for k, unit in enumerate(walk) if unit == u), column] = 1.0
        return increments

    def decode(self, point: NDArray[np.float64]) -> tuple[int, ...] | None:
        """The unit that moves at each term; None if the walk would not end as it must."""
        sizes = np.abs(point).reshape(self.task.terms, -1)
        moved = np.stack([sizes[:, list(members)].sum(axis=1) for members in self._members], axis=1)
        walk = np.where(moved.max(axis=1) > _STILL, np.argmax(moved, axis=1), REST)
        return tidy(self.task, walk) if np.isin(self.task.walks.changed, walk).all() else None
