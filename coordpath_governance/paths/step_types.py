"""Step types: what one step may do to a coefficient, and which solvers can do it.

A new type is an object like `CoordinateSteps`, handed to `register_step_type`; a problem asks for it by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from coordpath_governance.errors import ProblemError, UsageError
from coordpath_governance.paths.reading import spelled

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import Offer

__all__ = ["COORDINATE", "STEP_TYPES", "CoordinateSteps", "StepType", "register_step_type", "step_type_of"]


class _Solver(Protocol):
    """What a step type looks at in a solver."""

    name: str
    needs: Offer


class StepType(Protocol):
    """A kind of step."""

    @property
    def name(self) -> str:
        """The ``step_type`` of a problem's document."""
        ...

    def allows(self, before: float, after: float) -> bool:
        """Whether one step may bring a coefficient from one value to another."""
        ...

    def lacks(self, solver: _Solver) -> str | None:
        """What a solver lacks to make such steps, as the end of "solver x: …"; None if it makes them."""
        ...


class CoordinateSteps:
    """A coefficient, or a group of them, moves to any value."""

    name = "coordinate"

    def allows(self, before: float, after: float) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def lacks(self, solver: _Solver) -> str | None:  # noqa: ARG002
        """Nothing: every solver makes these."""
        return None


COORDINATE = CoordinateSteps()

STEP_TYPES: dict[str, StepType] = {COORDINATE.name: COORDINATE}
"""Name in a problem → step type."""


def register_step_type(step_type: StepType) -> None:
    """Let problems ask for another step type by its name; raises `UsageError` if the name is taken."""
    if step_type.name in STEP_TYPES:
        raise UsageError(f"step type {step_type.name!r}: is there already; give it another name")
    STEP_TYPES[step_type.name] = step_type


def step_type_of(name: object) -> StepType:
    """The step type of a name; raises `ProblemError`, which lists the known names, if it is not among them."""
    if isinstance(name, str) and name in STEP_TYPES:
        return STEP_TYPES[name]
    raise ProblemError(f"step_type: {spelled(name)} is not known; use {' or '.join(map(repr, STEP_TYPES))}")
