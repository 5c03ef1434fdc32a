"""Coordinate paths: the best step-by-step way from one linear model to another, with a certificate.

`solve` takes the problem document and answers at once; `solve_problem` takes a `PathProblem`. `model_loss` and
`pareto_front` (interpretability loss of a model; loss against cost) take either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from coordpath_governance.paths.certificate import Certificate
from coordpath_governance.paths.document import parse_json, parse_problem, problem_to_dict
from coordpath_governance.paths.front import Front, FrontPoint
from coordpath_governance.paths.front_tracing import pareto_front
from coordpath_governance.paths.losses import (
    ModelLoss,
    cost_sequence,
    dominates,
    model_complexity,
    model_loss,
    path_complexity,
    path_loss,
)
from coordpath_governance.paths.path import Move, Path, Step
from coordpath_governance.paths.patience import heeding_interrupts
from coordpath_governance.paths.problem import BASELINE, PathProblem, StepRange, Unit
from coordpath_governance.paths.shapley import shapley
from coordpath_governance.paths.solution import Solution, evaluate_order, greedy_order, solve_problem

__all__ = [
    "BASELINE",
    "Certificate",
    "Front",
    "FrontPoint",
    "ModelLoss",
    "Move",
    "Path",
    "PathProblem",
    "Solution",
    "Step",
    "StepRange",
    "Unit",
    "cost_sequence",
    "dominates",
    "evaluate_order",
    "greedy_order",
    "model_complexity",
    "model_loss",
    "pareto_front",
    "parse_json",
    "parse_problem",
    "path_complexity",
    "path_loss",
    "problem_to_dict",
    "shapley",
    "solve",
    "solve_problem",
]


def solve(
    problem: Mapping[str, Any],
    *,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[str, float, float], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> Solution:
    """Solve a problem document (`coordpath.problem/1`); ``.to_dict()`` of the answer is `coordpath.path/1`.

    When the problem's ``time_limit`` has passed, or on Ctrl-C, it is the best path so far with the gap that is proved of it.
    A second Ctrl-C raises `KeyboardInterrupt`. Whoever passes ``interrupted`` handles the signal instead.
    """
    parsed = parse_problem(problem)
    if interrupted is not None:
        return solve_problem(parsed, clock=clock, progress=progress, interrupted=interrupted)
    with heeding_interrupts() as pressed:
        return solve_problem(parsed, clock=clock, progress=progress, interrupted=pressed)
