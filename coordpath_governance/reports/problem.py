"""The path problem of a change, as the document that `solve` takes and a report stores."""

from __future__ import annotations

from typing import Any

from coordpath_governance.alignment.change import Change
from coordpath_governance.errors import AlignmentError
from coordpath_governance.reports.document import Settings

__all__ = ["MAX_COORDINATES", "moving_units", "problem_document"]

MAX_COORDINATES = 1000
"""Most coordinates whose Gram matrix a report can hold."""


def moving_units(change: Change) -> set[str]:
    """Units with a change that the reference data exercise: these are the steps."""
    return {c.unit for c in change.coordinates if c.changed and c.exercised}


def problem_document(change: Change, settings: Settings) -> dict[str, Any]:
    """`coordpath.problem/1` over the exercised coordinates; a unit that does not move has target = start."""
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
        "schema": "coordpath.problem/1",
        "features": [c.label for c in exercised],
        "cost": {
            "kind": "quadratic",
            "gram": change.gram.tolist(),
            "linear": change.linear.tolist(),
            "constant": change.constant,
            "scale": "1/n",
        },
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
