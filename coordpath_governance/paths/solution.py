"""Solution: a path with its certificate, the function that finds it, and questions about orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.by_cost import answers_for, orders_of
from coordpath_governance.paths.outcome import certify_outcome, trace
from coordpath_governance.paths.patience import NeverWorse, until
from coordpath_governance.paths.problem import PathProblem, check_solver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordpath_governance.paths.certificate import Certificate, Status
    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.path import Path
    from coordpath_governance.paths.patience import Patience

__all__ = ["PATH_SCHEMA", "Solution", "evaluate_order", "greedy_order", "shapley", "solve_problem", "solve_within"]

PATH_SCHEMA = "coordpath.path/1"


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer to a `PathProblem`: the path and its certificate, whose figures are properties of the solution too."""

    problem: PathProblem
    path: Path
    certificate: Certificate

    @property
    def objective(self) -> float:
        """Σₖ αₖ c(βₖ)."""
        return self.certificate.objective

    @property
    def lower_bound(self) -> float:
        """No path that the problem allows has a smaller objective."""
        return self.certificate.lower_bound

    @property
    def gap(self) -> float:
        """(objective − lower_bound)/(objective − Σα·min c)."""
        return self.certificate.gap

    @property
    def status(self) -> Status:
        """`optimal` or `bounded`."""
        return self.certificate.status

    def to_dict(self) -> dict[str, object]:
        """The document `coordpath.path/1`, of plain numbers and texts."""
        certificate = self.certificate
        return {
            "schema": PATH_SCHEMA,
            "objective": certificate.objective,
            "lower_bound": certificate.lower_bound,
            "gap": certificate.gap,
            "gap_per_step": certificate.gap_per_step,
            "status": certificate.status,
            "solver": certificate.solver,
            "terms": self.path.terms,
            "start_cost": self.path.start_cost,
            "steps": [step.to_dict() for step in self.path.steps],
        }


def solve_problem(
    problem: PathProblem,
    *,
    solver: str | None = None,
    clock: Callable[[], float] | None = None,
    progress: Callable[[str, float, float], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> Solution:
    """Solve a problem with the named ``solver``, or with the problem's own.

    Returns the best path found, with what is proved about it. Raises `ProblemError` if the problem cannot be solved as it
    is asked, and `SolverUnavailableError` if no solver of that name takes it.

    ``time_limit`` counts only if a monotonic ``clock`` is passed: a stop by time alone makes the answer depend on the
    machine, one by amount of work does not. ``interrupted`` is called often; the search stops when it returns True.
    ``progress`` is called with a stage, the best Σα(c − min c) so far and a bound of it for all paths, in units of the
    solver: 1 − bound/best is the gap, and never grows. While only a first path is looked for, the bound is −∞.
    """
    return solve_within(problem, until(clock, problem.time_limit, interrupted=interrupted, progress=progress), solver)


def solve_within(problem: PathProblem, patience: Patience, solver: str | None = None) -> Solution:
    """Like `solve_problem`, with a patience that several problems may share."""
    name = problem.solver if solver is None else solver
    check_solver(name, problem.target)
    never_worse = patience.telling(NeverWorse())
    if problem.moves_once:
        return _conclude(problem, orders_of(problem).solve(name, never_worse))
    return _conclude(problem, answers_for(problem).solve_walk(problem, name, never_worse))


def evaluate_order(problem: PathProblem, order: Sequence[int]) -> Solution:
    """The path along a given ``order`` (indices into ``problem.changed``); its lower bound is only Σα·min c."""
    return _conclude(problem, orders_of(problem).measure(order))


def greedy_order(problem: PathProblem) -> tuple[int, ...]:
    """The order that always moves the unit that lowers the cost most, as indices into ``problem.changed``."""
    return orders_of(problem).greedy()


def shapley(problem: PathProblem) -> tuple[float, ...]:
    """Shapley value aᵢ + Σⱼ Qᵢⱼ of every changed unit, in the order of ``problem.changed``: its change over all orders.

    They add up to c(target) − c(start). Of a cost that is not quadratic they are the Aumann–Shapley values. Raises
    `ProblemError` if the end is free.
    """
    if problem.target is None:
        raise ProblemError("target: is free; Shapley values need the model the change ends at")
    return orders_of(problem).shares()


def _conclude(problem: PathProblem, outcome: Outcome) -> Solution:
    path = trace(problem, outcome)
    return Solution(problem, path, certify_outcome(problem, outcome, path))
