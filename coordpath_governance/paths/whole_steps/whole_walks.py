"""Walks by whole steps under a quadratic cost, of every allowed number of terms; and which constraints leave none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.patience import FOREVER
from coordpath_governance.paths.solvers.table import expect_walk_solver
from coordpath_governance.paths.walks.chosen_models import ChosenModels, expect_path
from coordpath_governance.paths.walks.lengths import solve_lengths
from coordpath_governance.paths.whole_steps.quadratic_states import QuadraticStates
from coordpath_governance.paths.whole_steps.state_search import StateSearch
from coordpath_governance.paths.whole_steps.whole_moves import whole_moves
from coordpath_governance.paths.whole_steps.whole_task import WholeTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.constraints import Constraints
    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import Answer
    from coordpath_governance.paths.walks.lengths import Length
    from coordpath_governance.paths.whole_steps.state_search import StateCosts
    from coordpath_governance.paths.whole_steps.whole_moves import WholeMoves

    FloatArray = NDArray[np.float64]

__all__ = ["expect_whole_path", "solve_whole_walk"]

_WIDE = 400
"""States of a term that the search for any path keeps."""

_PROVING = 3e9
"""Work of one search for constraints that conflict."""


def solve_whole_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms that the named solver finds, with its bound."""
    expect_walk_solver(solver, WholeTask.offers)
    return solve_lengths(problem, _WholeWalks(problem, patience), solver, patience)


class _WholeWalks(ChosenModels):
    """The same walks, of whole steps."""

    def __init__(self, problem: PathProblem, patience: Patience) -> None:
        super().__init__(problem, patience)
        self._moves = whole_moves(problem)
        self._costs = self._costs_of(self._moves)

    def _costs_of(self, moves: WholeMoves) -> QuadraticStates:
        return QuadraticStates(moves, self._walks, self.ceiling(moves.problem.constraints))

    def task(
        self, alphas: FloatArray, _floor: float, _share: float, _best_order: Callable[[], Outcome], patience: Patience
    ) -> WholeTask:
        """With its own work for every length."""
        floors = self._floors.of_terms(len(alphas))
        return WholeTask(StateSearch(self._moves, self._costs, alphas, floors, patience), alphas, patience)

    def length(self, task: WholeTask, answer: Answer) -> Length:
        """The models that the walk passes through, with their exact costs."""
        farthest = self._problem.start + self._moves.spacing * task.search.farthest
        return self.models_length(task.alphas, answer, farthest)

    def conclude(self, lengths: list[Length], exponent: int) -> Outcome:
        """Raises `ProblemError` if there is no path, with the constraints that conflict."""
        expect_whole_path(lengths, self._problem, self._costs_of)
        return super().conclude(lengths, exponent)


def expect_whole_path(lengths: list[Length], problem: PathProblem, costs_of: Callable[[WholeMoves], StateCosts]) -> None:
    """Raises `ProblemError` where no length has a path, `SolverUnavailableError` where that is not proved."""
    terms = max(length.terms for length in lengths)

    def feasible(constraints: Constraints) -> bool | None:
        moves = whole_moves(replace(problem, constraints=constraints))
        search = StateSearch(moves, costs_of(moves), np.ones(terms), np.zeros(terms), FOREVER)
        found = search.run(np.inf, most=_WIDE, near=True)
        found = search.run(np.inf, work=_PROVING) if found.states is None else found
        if found.states is not None:
            return True
        return None if np.isfinite(found.left_out) else False

    expect_path(lengths, problem, feasible)
