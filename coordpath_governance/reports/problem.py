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
"""Of the candidate's cost: what changes that count as none may make of it."""


def moving_units(change: Change) -> set[str]:
    """Units with a change that the reference data exercise: these are the steps."""
    return {c.unit for c in change.coordinates if c.changed and c.exercised}


def problem_on_moments(change: Change, settings: Settings) -> PathProblem:
    """The problem under the squared error, whose cost is the change's own moments."""
    asked = _question(change)
    size = len(asked.features)
    cost = read_quadratic(gram=change.gram, linear=change.linear, constant=change.constant, size=size)
    return _problem(asked, settings, cost)


def problem_on_rows(change: Change, settings: Settings, cost: GlmCost) -> PathProblem:
    """The problem under a cost that only rows can tell."""
    asked = _question(change)
    _check_unchanged(change, cost, np.array(asked.target))
    return _problem(asked, settings, cost)


def free_problem(change: Change, settings: Settings, cost: QuadraticCost | GlmCost | None, most: int) -> PathProblem:
    """The problem of updates of the champion: to any end, in at most so many steps; without a ``cost`` the change's own.

    Every coordinate that the data exercise may move, whether or not the candidate moves it.
    """
    asked = _question(change)
    size = len(asked.features)
    own = cost or read_quadratic(gram=change.gram, linear=change.linear, constant=change.constant, size=size)
    return PathProblem(
        features=asked.features,
        cost=own,
        start=as_vector(asked.start, "start", size),
        steps=StepRange(1, most),
        groups=asked.groups,
        weights=GeometricWeights(settings.gamma),
        seed=settings.seed,
    )


def _problem(asked: _Question, settings: Settings, cost: QuadraticCost | GlmCost) -> PathProblem:
    return PathProblem(
        features=asked.features,
        cost=cost,
        start=as_vector(asked.start, "start", len(asked.features)),
        target=as_vector(asked.target, "target", len(asked.features)),
        max_steps=settings.max_steps,
        groups=asked.groups,
        weights=GeometricWeights(settings.gamma),
        solver=settings.solver,
        time_limit=settings.time_limit,
        seed=settings.seed,
    )


def _check_unchanged(change: Change, cost: GlmCost, target: NDArray[np.float64]) -> None:
    """What counts as unchanged must not change the cost, as it does where a version's scores drown all of normal size."""
    new = np.array([c.new for c in change.exercised], dtype=np.float64)
    drowned = [c.label for c, value, end in zip(change.exercised, new, target, strict=True) if value != end]
    if not drowned:
        return
    old = np.array([c.old for c in change.exercised], dtype=np.float64)
    told, true = cost.values(np.stack([target, new]))
    if abs(told - true) > _DROWNED * true:
        who, reach = max(("champion", cost.reach(old)), ("candidate", cost.reach(new)), key=lambda side: side[1])
        raise AlignmentError(
            f"the change of {drowned[0]!r} is lost in the rounding of the {who}'s scores, which reach {reach:.1g}: "
            "check that it did not diverge when it was trained, and scale its columns"
        )


def stored_problem(change: Change, settings: Settings, problem: PathProblem) -> dict[str, Any]:
    """The document that a report stores: with the moments, or with the record of all that was asked of the rows.

    It says what ``change`` and ``settings`` ask, whatever ``problem`` does; only the record is taken from there.
    """
    cost = problem.cost
    if isinstance(cost, QuadraticCost):
        cost_entry = quadratic_to_dict(change.gram, change.linear, change.constant)
    else:
        cost_entry = cost_to_dict(cost if isinstance(cost, RecordedCost) else recorded(problem, cost))
    asked = _question(change)
    return write_problem(
        features=asked.features,
        cost=cost_entry,
        start=asked.start,
        target=asked.target,
        max_steps=settings.max_steps,
        groups=asked.groups,
        weights=GeometricWeights(settings.gamma),
        solver=settings.solver,
        time_limit=settings.time_limit,
        seed=settings.seed,
    )


@dataclass(frozen=True)
class _Question:
    """What a change asks, over its exercised coordinates; a unit that does not move has target = start."""

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
