"""Walks by whole steps, of every allowed number of terms: under a quadratic cost, and what they share with costs on rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.conflicts import conflict_of, dearer_target
from coordpath_governance.paths.outcome import Stop
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers.table import expect_walk_solver
from coordpath_governance.paths.walks.lengths import Length, solve_lengths
from coordpath_governance.paths.walks.quadratic_walks import QuadraticWalks
from coordpath_governance.paths.whole_steps.quadratic_states import QuadraticStates
from coordpath_governance.paths.whole_steps.state_search import StateSearch
from coordpath_governance.paths.whole_steps.whole_moves import whole_moves
from coordpath_governance.paths.whole_steps.whole_task import WholeTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.constraints import Constraints
    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import Answer
    from coordpath_governance.paths.whole_steps.state_search import StateCosts
    from coordpath_governance.paths.whole_steps.whole_moves import WholeMoves

    FloatArray = NDArray[np.float64]

__all__ = ["expect_path", "solve_whole_walk", "state_stops"]

_PROVING = 3e9
"""Work of one search for constraints that conflict."""


def solve_whole_walk(problem: PathProblem, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms that the named solver finds, with its bound."""
    expect_walk_solver(solver, WholeTask.offers)
    return solve_lengths(problem, _WholeWalks(problem, patience), solver, patience)


class _WholeWalks(QuadraticWalks):
    """The same walks, of whole steps."""

    def __init__(self, problem: PathProblem, patience: Patience) -> None:
        super().__init__(problem, patience)
        self._moves = whole_moves(problem)
        self._costs = self._costs_of(self._moves)
        if problem.target is not None and self._walks.excess(problem.target) > self._costs.ceiling:
            raise dearer_target(*problem.quadratic.measure(np.stack([problem.start, problem.target])).costs)

    def _costs_of(self, moves: WholeMoves) -> QuadraticStates:
        """Costs of states; a cost that differs from the start's by no more than rounding is not more."""
        walks = self._walks
        first = walks.excess(self._problem.start)
        monotone = moves.problem.constraints.monotone
        return QuadraticStates(moves, walks, first + 2.0 * walks.blur(first) if monotone else np.inf)

    def task(
        self,
        alphas: FloatArray,
        _floor: float,
        _share: float,
        _best_order: Callable[[], Outcome],
        patience: Patience,
    ) -> WholeTask:
        """With its own work for every length."""
        floors = self._floors.of_terms(len(alphas))
        return WholeTask(StateSearch(self._moves, self._costs, alphas, floors, patience), alphas, patience)

    def length(self, task: WholeTask, answer: Answer) -> Length:
        """The models that the walk passes through, with their exact costs."""
        if answer.models is None:
            return Length(terms=len(task.alphas), weight=float(task.alphas.sum()), bound=answer.bound)
        stops = state_stops(self._problem, answer.models)
        farthest = self._problem.start + self._moves.spacing * task.search.farthest
        return self.length_of(task.alphas, stops, answer.bound, answer.solver, (replace(stops[-1], beta=farthest),) if stops else ())

    def conclude(self, lengths: list[Length], exponent: int) -> Outcome:
        """Raises `ProblemError` if there is no path, with the constraints that conflict."""
        expect_path(lengths, self._costs_of, self._problem)
        return super().conclude(lengths, exponent)


def state_stops(problem: PathProblem, models: FloatArray) -> tuple[Stop, ...]:
    """The models of a walk at which something has moved."""
    before, stops = problem.start, []
    for k, beta in enumerate(models, start=1):
        moved = np.flatnonzero(beta != before)
        if len(moved):
            unit = problem.units[int(moved[0])]
            stops.append(Stop(k, unit.kind, unit.label, beta))
        before = beta
    return tuple(stops)


def expect_path(
    lengths: list[Length], costs: Callable[[WholeMoves], StateCosts], problem: PathProblem
) -> None:
    """Raises `ProblemError` where no length has a path, `SolverUnavailableError` where that is not proved."""
    if any(np.isfinite(length.value) for length in lengths):
        return
    if any(np.isfinite(length.bound) for length in lengths):
        raise SolverUnavailableError(
            "solver: found no path that keeps to the constraints, and did not prove that there is none; give a time_limit, or "
            "fewer constraints"
        )
    terms = max(length.terms for length in lengths)

    def feasible(constraints: Constraints) -> bool | None:
        some = whole_moves(replace(problem, constraints=constraints))
        search = StateSearch(some, costs(some), np.ones(terms), np.zeros(terms), Patience())
        for found in (search.run(np.inf, most=400, near=True), search.run(np.inf, work=_PROVING)):
            if found.states is not None:
                return True
        return None if np.isfinite(found.left_out) else False

    raise conflict_of(problem, feasible, "steps: no path of this step type leads to the target; give more steps")
