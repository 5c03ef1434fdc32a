"""Walks under constraints with values in between, under a quadratic cost, of every allowed number of terms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.patience import FOREVER
from coordpath_governance.paths.ruled_walks.ruled_task import RuledTask
from coordpath_governance.paths.ruled_walks.ruled_values import RuledValues
from coordpath_governance.paths.solvers.table import choose_walk_solver, expect_walk_solver
from coordpath_governance.paths.walks.chosen_models import ChosenModels, expect_path
from coordpath_governance.paths.walks.lengths import solve_lengths

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.constraints import Constraints
    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import Answer
    from coordpath_governance.paths.walks.lengths import Length

    FloatArray = NDArray[np.float64]

__all__ = ["solve_ruled_walk"]


def solve_ruled_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms that the named solver finds, with its bound."""
    expect_walk_solver(solver, RuledTask.offers)
    return solve_lengths(problem, _RuledWalks(problem, patience), solver, patience)


class _RuledWalks(ChosenModels):
    """The same walks, under the problem's constraints."""

    def __init__(self, problem: PathProblem, patience: Patience) -> None:
        super().__init__(problem, patience)
        self._values = RuledValues(self._walks, self.ceiling(problem.constraints))

    def task(
        self, alphas: FloatArray, _floor: float, _share: float, _best_order: Callable[[], Outcome], patience: Patience
    ) -> RuledTask:
        """With its own work for every length."""
        return RuledTask(self._values, alphas, self._floors.of_terms(len(alphas)), patience)

    def length(self, task: RuledTask, answer: Answer) -> Length:
        """The models that the walk passes through, with their exact costs."""
        models = self._problem.start[None, :] if answer.models is None else answer.models
        farthest = self._problem.start + np.abs(models - self._problem.start).max(axis=0)
        return self.models_length(task.alphas, answer, farthest)

    def conclude(self, lengths: list[Length], exponent: int) -> Outcome:
        """Raises `ProblemError` if there is no path, with the constraints that conflict."""
        alphas = np.ones(max(length.terms for length in lengths))

        def feasible(constraints: Constraints) -> bool | None:
            problem = replace(self._problem, constraints=constraints)
            walks = replace(self._walks, problem=problem)
            task = RuledTask(RuledValues(walks, self.ceiling(constraints)), alphas, 0.0 * alphas, FOREVER)
            answer: Answer = choose_walk_solver("auto", task, problem.step_type).solve(task)
            if answer.models is not None:
                return True
            return None if np.isfinite(answer.bound) else False

        expect_path(lengths, self._problem, feasible)
        return super().conclude(lengths, exponent)
