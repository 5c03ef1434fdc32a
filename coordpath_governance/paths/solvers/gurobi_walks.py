"""The paper's model of walks for Gurobi, in as few variables as there are: the increments themselves.

With δ_{j,c} the increment of column c at term j, in an orthonormal basis of each unit's columns, r_k = r₀ + Σ_{j≤k} Cδ_j and

    min Σ αₖ‖r_k‖²,   SOS-1 over the units at every term,   Σ_j δ_j = change, if the end is fixed.

A walk no worse than one of value B has ‖r_k‖ ≤ √(B/αₖ), so |δ_{k,c}| ≤ ‖r_k − r_{k−1}‖ ≤ √(B/αₖ) + √(B/αₖ₋₁): all
variables are bounded, and outside the bounds there are only walks worse than B.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.solvers.gurobi_model import OBJECTIVE, Model
from coordpath_governance.paths.solvers.walk_improvement import tidy
from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.sequence_values import unit_basis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["WalkModel"]

_MARGIN = 1.0 + 1e-6
_STILL = 1e-6
"""A largest increment below this, where the residuals of a walk are near 100, is none."""

_FAR = 1e6
"""No residual is let go farther, whatever its weight."""

_UNSEEN = 1e-4
"""A change that moves the residual less than this gets a variable that tells whether it was made."""


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
