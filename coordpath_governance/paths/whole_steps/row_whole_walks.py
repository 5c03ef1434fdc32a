"""Walks by whole steps under a cost on rows, of every allowed number of terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.conflicts import dearer_target
from coordpath_governance.paths.row_walks.row_walk_costs import WalksOnRows
from coordpath_governance.paths.solvers.table import expect_walk_solver
from coordpath_governance.paths.walks.chosen_models import model_stops
from coordpath_governance.paths.walks.lengths import Length, solve_lengths
from coordpath_governance.paths.whole_steps.row_states import RowStates
from coordpath_governance.paths.whole_steps.state_search import StateSearch
from coordpath_governance.paths.whole_steps.whole_moves import whole_moves
from coordpath_governance.paths.whole_steps.whole_task import WholeTask
from coordpath_governance.paths.whole_steps.whole_walks import expect_whole_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import Answer
    from coordpath_governance.paths.whole_steps.whole_moves import WholeMoves

    FloatArray = NDArray[np.float64]

__all__ = ["solve_whole_row_walk"]


def solve_whole_row_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms that the named solver finds, with its bound."""
    expect_walk_solver(solver, WholeTask.offers)
    return solve_lengths(problem, _WholeWalksOnRows(problem, solver, patience), solver, patience)


class _WholeWalksOnRows(WalksOnRows):
    """The same walks, of whole steps."""

    def __init__(self, problem: PathProblem, solver: str, patience: Patience) -> None:
        super().__init__(problem, solver, patience)
        self._problem, self._moves = problem, whole_moves(problem)
        self._at_states = self._costs_of(self._moves)
        if problem.target is not None:
            start, target = self._walks.costs.values(np.stack([problem.start, problem.target])).tolist()
            if target > self._at_states.ceiling:
                raise dearer_target(start, target)

    def _costs_of(self, moves: WholeMoves) -> RowStates:
        """Costs of states; a cost that differs from the start's by no more than rounding is not more."""
        costs = self._walks.costs
        first = float(costs.values(moves.problem.start[None, :])[0])
        return RowStates(moves, costs, first * (1.0 + 64.0 * EPS) if moves.problem.constraints.monotone else np.inf)

    def task(
        self, alphas: FloatArray, _floor: float, _share: float, _best_order: Callable[[], Outcome], patience: Patience
    ) -> WholeTask:
        """With its own work for every length."""
        floors = self._floors.of_terms(len(alphas))
        return WholeTask(StateSearch(self._moves, self._at_states, alphas, floors, patience), alphas, patience)

    def length(self, task: WholeTask, answer: Answer) -> Length:
        """The walk with its bound."""
        alphas, models = task.alphas, answer.models
        weight = float(alphas.sum())
        if models is None:
            return Length(terms=len(alphas), weight=weight, bound=answer.bound)
        return Length(
            terms=len(alphas),
            weight=weight,
            bound=answer.bound,
            value=float(alphas @ self._walks.costs.values(models)),
            stops=model_stops(self._problem, models),
            solver=answer.solver,
        )

    def conclude(self, lengths: list[Length], exponent: int) -> Outcome:
        """Raises `ProblemError` if there is no path, with the constraints that conflict."""
        expect_whole_path(lengths, self._problem, self._costs_of)
        return super().conclude(lengths, exponent)
