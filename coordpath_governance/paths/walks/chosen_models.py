"""Walks whose models a solver chose itself, by whole steps or under constraints, and what to say where it found none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.conflicts import conflict_of, dearer_target
from coordpath_governance.paths.outcome import Stop
from coordpath_governance.paths.walks.lengths import Length
from coordpath_governance.paths.walks.quadratic_walks import QuadraticWalks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.constraints import Constraints
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import Answer

    FloatArray = NDArray[np.float64]

__all__ = ["ChosenModels", "expect_path", "model_stops"]


class ChosenModels(QuadraticWalks):
    """Quadratic walks of which a solver tells the models.

    ``ceiling``: what the start costs, and a little for rounding, if the problem asks for monotone costs; otherwise infinite.
    Raises `ProblemError` if the target costs more than that.
    """

    def __init__(self, problem: PathProblem, patience: Patience) -> None:
        super().__init__(problem, patience)
        if problem.target is not None and self._walks.excess(problem.target) > self.ceiling(problem.constraints):
            raise dearer_target(*problem.quadratic.measure(np.stack([problem.start, problem.target])).costs)

    def ceiling(self, constraints: Constraints) -> float:
        """The most that a model on the way may exceed the least cost by, in units of the walks."""
        first = self._walks.excess(self._problem.start)
        return first + 2.0 * self._walks.blur(first) if constraints.monotone else np.inf

    def models_length(self, alphas: FloatArray, answer: Answer, farthest: FloatArray) -> Length:
        """The walk with its exact costs; ``farthest`` is no nearer to the start than any model of the search."""
        if answer.models is None:
            return Length(terms=len(alphas), weight=float(alphas.sum()), bound=answer.bound)
        stops = model_stops(self._problem, answer.models)
        beyond = Stop(len(alphas), "rest", "", farthest)
        return self.length_of(alphas, stops, answer.bound, answer.solver, (beyond,))


def model_stops(problem: PathProblem, models: FloatArray) -> tuple[Stop, ...]:
    """Those of a walk's models at which something has moved."""
    unit_of = {i: unit for unit in problem.units for i in unit.members}
    before, stops = problem.start, []
    for k, beta in enumerate(models, start=1):
        moved = np.flatnonzero(beta != before)
        if len(moved):
            unit = unit_of[int(moved[0])]
            stops.append(Stop(k, unit.kind, unit.label, beta))
        before = beta
    return tuple(stops)


def expect_path(lengths: list[Length], problem: PathProblem, feasible: Callable[[Constraints], bool | None]) -> None:
    """Raises `ProblemError` where no length has a path, `SolverUnavailableError` where that is not proved."""
    if any(np.isfinite(length.value) for length in lengths):
        return
    if any(np.isfinite(length.bound) for length in lengths):
        raise SolverUnavailableError(
            "solver: found no path that keeps to the constraints, and did not prove that there is none; give a time_limit, "
            "or fewer constraints"
        )
    raise conflict_of(problem, feasible)
