"""Orders as a solver finds them; under constraints, what to say where it finds none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths.conflicts import conflict_of
from coordpath_governance.paths.orders.chain_rules import chain_rules
from coordpath_governance.paths.solvers.table import choose_order_solver

if TYPE_CHECKING:
    from coordpath_governance.paths.constraints import Constraints
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask
    from coordpath_governance.paths.solvers.protocol import Answer, ChainTask

__all__ = ["solve_order"]


def solve_order(
    problem: PathProblem, task: ChainTask | EvaluatedTask, solver: str, among_all: ChainTask | EvaluatedTask | None = None
) -> Answer:
    """What the named solver answers; ``among_all`` is the task over all changed units, if that is another one.

    Raises `ProblemError` where no order keeps to the constraints, with those that conflict, and `SolverUnavailableError`
    where the solver found none.
    """
    answer: Answer = choose_order_solver(solver, task, problem.step_type).solve(task)
    everything = among_all or task
    if not everything.rules or ((answer.order or not task.depth) and answer.bound < np.inf):
        return answer
    if answer.bound < np.inf:
        raise SolverUnavailableError(
            f"solver {solver}: found no order that keeps to the constraints, and did not prove that there is none; use "
            "exact, or fewer constraints"
        )

    def feasible(constraints: Constraints) -> bool | None:
        rules = chain_rules(replace(problem, constraints=constraints), everything.rules.ceiling)
        if not rules:
            return True
        some = replace(everything, rules=rules)
        found: Answer = choose_order_solver("auto", some, problem.step_type).solve(some)
        if found.bound == np.inf:
            return False
        return True if found.order else None

    raise conflict_of(problem, feasible)
