"""Step types: what one step may do to a coefficient, and which solvers can do it.

A new type is an object like `CoordinateSteps`, or a `GridSteps` with another spacing, handed to `register_step_type`; a
problem asks for it by its name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from coordpath_governance.errors import ProblemError, UsageError
from coordpath_governance.paths.reading import spelled

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import Offer

__all__ = [
    "COORDINATE",
    "INTEGER",
    "STEP_TYPES",
    "UNIT",
    "CoordinateSteps",
    "GridSteps",
    "StepType",
    "fewest_steps",
    "register_step_type",
    "step_type_of",
]

_ROUNDING = 2.0**-50
"""Part of the larger of two values by which their difference may miss a whole number of spacings."""


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


@dataclass(frozen=True)
class GridSteps:
    """One coefficient moves by a whole number of spacings: at most ``up`` of them upwards, ``down`` downwards (None: any).

    With spacing 1 these are the paper's S_SLIM; with ``up`` and ``down`` 1, too, its S′_SLIM. Raises `UsageError` if the
    spacing is not a positive number, or no step is left.
    """

    name: str
    spacing: float = 1.0
    up: int | None = None
    down: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.spacing) and self.spacing > 0):
            raise UsageError(f"step type {self.name!r}: the spacing {self.spacing} is not a positive number")
        if min(most for most in (self.up, self.down, 1) if most is not None) < 0 or self.up == self.down == 0:
            raise UsageError(f"step type {self.name!r}: up {self.up} and down {self.down} leave no step; give whole numbers")

    def spacings(self, before: float, after: float) -> int | None:
        """How many spacings lead from one value to another, negative downwards; None if no whole number does."""
        whole = round((after - before) / self.spacing)
        off = abs((after - before) - whole * self.spacing)
        return whole if off <= _ROUNDING * max(abs(before), abs(after)) else None

    def fewest(self, before: float, after: float) -> int | None:
        """The fewest steps from one value to another; None if no number of steps leads there."""
        whole = self.spacings(before, after)
        if not whole:
            return whole
        most = self.up if whole > 0 else self.down
        if most is None:
            return 1
        return -(-abs(whole) // most) if most else None

    def allows(self, before: float, after: float) -> bool:
        """Whether the values are a whole number of spacings apart, and no more than one step makes."""
        return self.fewest(before, after) in (0, 1)

    def lacks(self, solver: _Solver) -> str | None:  # noqa: ARG002
        """Nothing: walks of such steps are a task of their own, which only solvers that make them take."""
        return None


COORDINATE = CoordinateSteps()
INTEGER = GridSteps("integer")
UNIT = GridSteps("unit", up=1, down=1)

STEP_TYPES: dict[str, StepType] = {each.name: each for each in (COORDINATE, INTEGER, UNIT)}
"""Name in a problem → step type."""


def register_step_type(step_type: StepType) -> None:
    """Let problems ask for another step type by its name; raises `UsageError` if the name is taken."""
    if step_type.name in STEP_TYPES:
        raise UsageError(f"step type {step_type.name!r}: is there already; give it another name")
    STEP_TYPES[step_type.name] = step_type


def fewest_steps(step_type: StepType, before: float, after: float) -> int | None:
    """How many steps a coefficient needs at least to get from one value to another; None if no number of steps does it.

    A type of a user's own that is no `GridSteps` is taken to need one.
    """
    return step_type.fewest(before, after) if isinstance(step_type, GridSteps) else 1


def step_type_of(name: object) -> StepType:
    """The step type of a name; raises `ProblemError`, which lists the known names, if it is not among them."""
    if isinstance(name, str) and name in STEP_TYPES:
        return STEP_TYPES[name]
    raise ProblemError(f"step_type: {spelled(name)} is not known; use {', '.join(map(repr, STEP_TYPES))}")
