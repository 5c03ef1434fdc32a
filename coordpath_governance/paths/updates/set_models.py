"""The best models in which only some units have moved from the start, for every kind of cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.paths.row_walks.model_costs import ModelCosts
from coordpath_governance.paths.row_walks.newton_values import Layout, Term
from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks
from coordpath_governance.paths.walks.geometry import Walks, prepare_walks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem

    FloatArray = NDArray[np.float64]

__all__ = ["ModelsOnRows", "QuadraticModels", "models_of"]

_ROUNDING = 1e-9
"""Part of the start's excess that a projection may be wrong by."""

_PROJECTIONS = 30_000
"""Sets that a search asks a quadratic cost for: some seconds."""

_PASSES = 8e8
"""Rows times models or so that a search asks a cost on rows for: about ten seconds."""


def models_of(problem: PathProblem, patience: Patience) -> QuadraticModels | ModelsOnRows:
    """The models of a problem, under a quadratic cost or one on rows."""
    if isinstance(problem.cost, GlmCost):
        return ModelsOnRows(problem, patience, RowWalks(problem, ModelCosts(problem.cost), _PASSES, patience))
    return QuadraticModels(problem, patience)


@dataclass(eq=False)
class QuadraticModels:
    """By least squares on the columns of the units."""

    problem: PathProblem
    patience: Patience
    walks: Walks = field(init=False)
    _asked: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.walks = prepare_walks(self.problem)

    def models(self, sets: Sequence[tuple[int, ...]]) -> FloatArray:
        """The values that lower the last cost most; those of units before it do not count."""
        self._asked += len(sets)
        found = np.repeat(self.problem.start[None, :], len(sets), axis=0)
        for row, units in zip(found, sets, strict=True):
            if units:
                weights = np.zeros(len(units))
                weights[-1] = 1.0
                row[:] = self.walks.value(units, weights)[1][-1].beta
        return found

    def reached(self, sets: Sequence[tuple[int, ...]]) -> tuple[FloatArray, FloatArray]:
        """The second is lower by what rounding may do."""
        costs = self.costs(self.models(sets))
        first = math.ldexp(float(self.walks.base @ self.walks.base), self.walks.exponent)
        return costs, costs - _ROUNDING * first

    def costs(self, models: FloatArray) -> FloatArray:
        """Exactly."""
        return np.array(self.problem.quadratic.measure(models).costs)

    def over(self) -> bool:
        """By number of sets."""
        return self._asked >= _PROJECTIONS or self.patience.expired()


@dataclass(frozen=True, eq=False)
class ModelsOnRows:
    """By Newton's method, many sets in one pass over the rows."""

    problem: PathProblem
    patience: Patience
    walks: RowWalks

    def models(self, sets: Sequence[tuple[int, ...]]) -> FloatArray:
        """Where the searches end."""
        return self._fitted(sets)[0]

    def reached(self, sets: Sequence[tuple[int, ...]]) -> tuple[FloatArray, FloatArray]:
        """The second is lower by what Newton's method leaves open."""
        _, costs, lower = self._fitted(sets)
        return costs, np.maximum(lower, self.walks.costs.cost.minimum())

    def costs(self, models: FloatArray) -> FloatArray:
        """In one pass."""
        return self.walks.costs.values(models)

    def over(self) -> bool:
        """By passes over the rows."""
        return self.walks.over()

    def _fitted(self, sets: Sequence[tuple[int, ...]]) -> tuple[FloatArray, FloatArray, FloatArray]:
        start = self.problem.start
        opened = [self._coordinates(units) for units in sets]
        layouts = [Layout((Term(1.0, start, part, np.arange(len(part))),), len(part)) for part in opened]
        fitted = self.walks.fit(layouts, [start[part] for part in opened])
        models = np.repeat(start[None, :], len(sets), axis=0)
        for row, part, fit in zip(models, opened, fitted, strict=True):
            row[part] = fit.x
        return models, np.array([fit.value for fit in fitted]), np.array([fit.lower for fit in fitted])

    def _coordinates(self, units: tuple[int, ...]) -> NDArray[np.int64]:
        return np.concatenate([np.zeros(0, dtype=np.int64), *(self.walks.members[u] for u in units)])
