"""Coordinate paths: the best step-by-step way from one linear model to another, with a certificate.

`solve`, `model_loss` (interpretability loss of a model) and `pareto_front` (loss against cost) take a problem's document or
a `PathProblem`. They watch the clock and stop at Ctrl-C. The functions that they call, such as `solve_problem`, do so only
if a clock and a flag are passed to them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.one_thread import one_thread
from coordpath_governance.paths.certificate import Certificate
from coordpath_governance.paths.front import Front, FrontPoint, trace_front
from coordpath_governance.paths.losses import (
    ModelLoss,
    as_problem,
    cost_sequence,
    dominates,
    find_model_loss,
    model_complexity,
    path_complexity,
    path_loss,
)
from coordpath_governance.paths.path import Move, Path, Step
from coordpath_governance.paths.patience import heeding_interrupts, until
from coordpath_governance.paths.problem import BASELINE, PathProblem, StepRange, Unit
from coordpath_governance.paths.problem_document import parse_json, parse_problem, problem_to_dict
from coordpath_governance.paths.reading import spelled
from coordpath_governance.paths.solution import Solution, evaluate_order, greedy_order, shapley, solve_problem, solve_within

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
    problem: PathProblem | Mapping[str, Any],
    *,
    clock: Callable[[], float] | None = time.monotonic,
    progress: Callable[[str, float, float], None] | None = None,
    interrupted: Callable[[], bool] | None = None,
) -> Solution:
    """Solve a problem, or its document (`coordpath.problem/1`); ``.to_dict()`` of the answer is `coordpath.path/1`.

    ``clock`` returns seconds; None takes no notice of the time. ``progress`` is called with a stage, a best value and a
    bound. ``interrupted`` returns True when the search should stop; without it, Ctrl-C stops the search and a second Ctrl-C
    raises `KeyboardInterrupt`. When the problem's ``time_limit`` (seconds) has passed since the call, or the search is
    stopped, the answer is the best path so far with its gap. Raises `ProblemError` if the document is wrong, and
    `SolverUnavailableError` if the solver it names cannot take the problem.
    """
    if progress is not None and not callable(progress):
        raise ProblemError(
            f"progress: is {spelled(progress)}; give a function of a stage, a best value and a bound, or None"
        )
    began = _now(clock)
    with _heeding(interrupted) as pressed, _quietly(), one_thread():
        question = as_problem(problem)
        return solve_within(question, until(clock, question.time_limit, interrupted=pressed, progress=progress, began=began))


def model_loss(
    problem: PathProblem | Mapping[str, Any],
    *,
    solver: str | None = None,
    clock: Callable[[], float] | None = time.monotonic,
    interrupted: Callable[[], bool] | None = None,
) -> ModelLoss:
    """The interpretability loss of a problem's target: the least loss of any path to it, of any length.

    Paths of D (the number of changed units) to ``steps.max`` terms are searched; if ``steps`` is null, of D to D + 3 terms,
    or of fewer where longer paths cannot pay. ``solver``: in place of the problem's own. The ``time_limit`` is for the whole
    search. Past it, or on Ctrl-C, the answer is what is proved so far. Raises `ProblemError` if the end is free.
    """
    began = _now(clock)
    with _heeding(interrupted) as pressed, _quietly(), one_thread():
        question = as_problem(problem)
        return find_model_loss(question, until(clock, question.time_limit, interrupted=pressed, began=began), solver)


def pareto_front(
    problem: PathProblem | Mapping[str, Any],
    *,
    resolution: float = 1e-3,
    solver: str | None = None,
    clock: Callable[[], float] | None = time.monotonic,
    interrupted: Callable[[], bool] | None = None,
) -> Front:
    """The models that minimise c(β_K) + λ·loss for some λ > 0, over paths of up to ``steps`` steps to any end.

    ``weights`` are those of the loss: gamma, alpha or p. ``resolution`` is relative to c(start) − min c. The ``time_limit``
    is for the whole front. Past it, or on Ctrl-C, the front has the models found so far, and ``shortfall`` says what that
    leaves open. Raises `ProblemError` if the problem has a target.
    """
    began = _now(clock)
    with _heeding(interrupted) as pressed, one_thread():
        question = as_problem(problem)
        return trace_front(question, resolution, until(clock, question.time_limit, interrupted=pressed, began=began), solver)


def _now(clock: Callable[[], float] | None) -> float | None:
    """The time of the call: reading a large problem takes some of its time limit, too."""
    return None if clock is None else clock()


def _heeding(interrupted: Callable[[], bool] | None) -> AbstractContextManager[Callable[[], bool]]:
    """Stop at Ctrl-C, unless the caller handles the signal."""
    return heeding_interrupts() if interrupted is None else nullcontext(interrupted)


def _quietly() -> np.errstate:
    """Without numpy's warnings of overflow: figures that overflow are refused by name."""
    return np.errstate(over="ignore", invalid="ignore")
