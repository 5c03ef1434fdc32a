"""The path problem of a change, as the document that `solve` takes and a report stores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change
from coordpath_governance.costs.glm import GlmCost
from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.errors import AlignmentError
from coordpath_governance.paths import PathProblem, parse_problem
from coordpath_governance.paths.convex.document import convex_cost_document, recorded
from coordpath_governance.paths.convex.record import RecordedCost
from coordpath_governance.paths.document import PROBLEM_SCHEMA
from coordpath_governance.paths.weights import GeometricWeights
from coordpath_governance.reports.document import Settings

__all__ = ["MAX_COORDINATES", "moving_units", "problem_document", "problem_on_moments", "problem_on_rows", "stored_problem"]

MAX_COORDINATES = 1000
"""Most coordinates whose Gram matrix a report can hold."""

_DROWNED = 1e-7
"""Of the candidate's cost: what changes that count as none may make of it."""


def moving_units(change: Change) -> set[str]:
    """Units with a change that the reference data exercise: these are the steps."""
    return {c.unit for c in change.coordinates if c.changed and c.exercised}


def problem_on_moments(change: Change, settings: Settings) -> PathProblem:
    """The problem under the squared error, whose cost is the change's own moments."""
    return parse_problem(problem_document(change, settings, _squared_error(change)))


def problem_on_rows(change: Change, settings: Settings, cost: GlmCost) -> PathProblem:
    """The problem under a cost that only rows can tell."""
    asked = _without_cost(change, settings)
    _check_unchanged(change, cost, np.array(asked["target"]))
    return PathProblem(
        features=tuple(asked["features"]),
        cost=cost,
        start=np.array(asked["start"]),
        target=np.array(asked["target"]),
        max_steps=settings.max_steps,
        groups=tuple(tuple(group) for group in asked["groups"]),
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
    """The document that a report stores: with the moments, or with the record of all that was asked of the rows."""
    cost = problem.cost
    if isinstance(cost, QuadraticCost):
        return problem_document(change, settings, _squared_error(change))
    record = cost if isinstance(cost, RecordedCost) else recorded(problem, cost)
    return problem_document(change, settings, convex_cost_document(record))


def problem_document(change: Change, settings: Settings, cost: dict[str, Any]) -> dict[str, Any]:
    """`coordpath.problem/1` over the exercised coordinates; a unit that does not move has target = start."""
    asked = _without_cost(change, settings)
    return {key: cost if key == "cost" else value for key, value in asked.items()}


def _squared_error(change: Change) -> dict[str, Any]:
    return {
        "kind": "quadratic",
        "gram": change.gram.tolist(),
        "linear": change.linear.tolist(),
        "constant": change.constant,
        "scale": "1/n",
    }


def _without_cost(change: Change, settings: Settings) -> dict[str, Any]:
    exercised = change.exercised
    if not exercised:
        raise AlignmentError("the reference data exercise none of the coefficients: no column varies in them")
    if len(exercised) > MAX_COORDINATES:
        raise AlignmentError(
            f"{len(exercised)} coordinates are more than the {MAX_COORDINATES} that a report can hold; "
            "group rare levels in the encoder (min_frequency, max_categories)"
        )
    moving = moving_units(change)
    groups = [
        [c.label for c in members if c.exercised]
        for members in change.units.values()
        if len(members) > 1 and any(c.exercised for c in members)
    ]
    return {
        "schema": PROBLEM_SCHEMA,
        "features": [c.label for c in exercised],
        "cost": {},
        "start": [c.old for c in exercised],
        "target": [c.new if c.unit in moving else c.old for c in exercised],
        "steps": None,
        "max_steps": settings.max_steps,
        "groups": groups,
        "weights": {"gamma": settings.gamma},
        "step_type": "coordinate",
        "solver": settings.solver,
        "time_limit": settings.time_limit,
        "seed": settings.seed,
    }
