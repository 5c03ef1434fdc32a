"""The path problem of a change, as the document that `solve` takes and a report stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change
from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.errors import AlignmentError
from coordpath_governance.paths import PathProblem, StepRange
from coordpath_governance.paths.cost_document import cost_to_dict, quadratic_to_dict, read_quadratic
from coordpath_governance.paths.problem_document import write_problem
from coordpath_governance.paths.reading import as_vector
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost, recorded
from coordpath_governance.paths.weights import GeometricWeights
from coordpath_governance.reports.document import Settings

__all__ = ["MAX_COORDINATES", "free_problem", "moving_units", "problem_on_moments", "problem_on_rows", "stored_problem"]

MAX_COORDINATES = 1000
"""Most coordinates whose Gram matrix a report can hold."""

_DROWNED = 1e-7
"""The part of the candidate's cost that changes which count as none may amount to."""


def moving_units(change: Change) -> set[str]:
    """Units with a change that the reference data exercise: these are the steps."""
    return {c.unit for c in change.coordinates if c.changed and c.exercised}


def problem_on_moments(change: Change, settings: Settings) -> PathProblem:
    """The problem under the squared error, whose cost is the change's own moments."""
    question = _question(change)
    size = len(question.features)
    cost = read_quadratic(gram=change.gram, linear=change.linear, constant=change.constant, size=size)
    return _problem(question, settings, cost)


def problem_on_rows(change: Change, settings: Settings, cost: GlmCost) -> PathProblem:
    """The problem under a cost that only rows can tell."""
    question = _question(change)
    _check_unchanged(change, cost, np.array(question.target))
    return _problem(question, settings, cost)


def free_problem(change: Change, settings: Settings, cost: QuadraticCost | GlmCost | None, most: int) -> PathProblem:
    """The problem of updates of the champion: to any end, in at most so many steps; without a ``cost`` the change's own.

    Every coordinate that the data exercise may move, whether or not the candidate moves it.
    """
    question = _question(change)
    size = len(question.features)
    own = cost or read_quadratic(gram=change.gram, linear=change.linear, constant=change.constant, size=size)
    return PathProblem(
        features=question.features,
        cost=own,
        start=as_vector(question.start, "start", size),
        steps=StepRange(1, most),
        groups=question.groups,
        weights=GeometricWeights(settings.gamma),
        seed=settings.seed,
    )


def _problem(question: _Question, settings: Settings, cost: QuadraticCost | GlmCost) -> PathProblem:
    return PathProblem(
        features=question.features,
        cost=cost,
        start=as_vector(question.start, "start", len(question.features)),
        target=as_vector(question.target, "target", len(question.features)),
        max_steps=settings.max_steps,
        groups=question.groups,
        weights=GeometricWeights(settings.gamma),
        solver=settings.solver,
        time_limit=settings.time_limit,
        seed=settings.seed,
    )


def _check_unchanged(change: Change, cost: GlmCost, target: NDArray[np.float64]) -> None:
    """Raises `AlignmentError` if leaving out a change that counts as none changes the cost.

    That happens where a version's scores are so large that changes of normal size are lost in their rounding.
    """
    new = np.array([c.new for c in change.exercised], dtype=np.float64)
    drowned = [c.label for c, value, end in zip(change.exercised, new, target, strict=True) if value != end]
    if not drowned:
        return
    old = np.array([c.old for c in change.exercised], dtype=np.float64)
    without, with_change = cost.values(np.stack([target, new]))
    if abs(without - with_change) > _DROWNED * with_change:
        who, reach = max(("champion", cost.reach(old)), ("candidate", cost.reach(new)), key=lambda side: side[1])
        raise AlignmentError(
            f"the change of {drowned[0]!r} is lost in the rounding of the {who}'s scores, which reach {reach:.1g}: "
            "check that it did not diverge when it was trained, and scale its columns"
        )


def stored_problem(change: Change, settings: Settings, problem: PathProblem) -> dict[str, Any]:
    """The problem document that a report stores, with the moments, or with the record of all evaluations on the rows.

    It is written from ``change`` and ``settings``; only the record is taken from ``problem``.
    """
    cost = problem.cost
    if isinstance(cost, QuadraticCost):
        cost_entry = quadratic_to_dict(change.gram, change.linear, change.constant)
    else:
        cost_entry = cost_to_dict(cost if isinstance(cost, RecordedCost) else recorded(problem, cost))
    question = _question(change)
    return write_problem(
        features=question.features,
        cost=cost_entry,
        start=question.start,
        target=question.target,
        max_steps=settings.max_steps,
        groups=question.groups,
        weights=GeometricWeights(settings.gamma),
        solver=settings.solver,
        time_limit=settings.time_limit,
        seed=settings.seed,
    )


@dataclass(frozen=True)
class _Question:
    """The question that a change poses, over its exercised coordinates; a unit that does not move has target = start."""

    features: tuple[str, ...]
    start: tuple[float | None, ...]
    target: tuple[float | None, ...]
    groups: tuple[tuple[str, ...], ...]


def _question(change: Change) -> _Question:
    exercised = change.exercised
    if not exercised:
        raise AlignmentError("the reference data exercise none of the coefficients: no column varies in them")
    if len(exercised) > MAX_COORDINATES:
        raise AlignmentError(
            f"{len(exercised)} coordinates are more than the {MAX_COORDINATES} that a report can hold; "
            "group rare levels in the encoder (min_frequency, max_categories)"
        )
    moving = moving_units(change)
    return _Question(
        features=tuple(c.label for c in exercised),
        start=tuple(c.old for c in exercised),
        target=tuple(c.new if c.unit in moving else c.old for c in exercised),
        groups=tuple(
            tuple(c.label for c in members if c.exercised)
            for members in change.units.values()
            if len(members) > 1 and any(c.exercised for c in members)
        ),
    )
