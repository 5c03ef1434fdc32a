"""What whole steps may do: a state is how many spacings every feature is away from the start, as whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.conflicts import unit_orders
from coordpath_governance.paths.step_types import GridSteps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

__all__ = ["FARTHEST", "WholeMoves", "whole_moves"]

FARTHEST = 1 << 40
"""More spacings than any feature goes: no limit."""

_INSIDE = 1e-9
"""Part of a spacing by which a value may miss the end of a box by rounding."""


@dataclass(frozen=True, eq=False)
class WholeMoves:
    """Steps give feature j from ``low[j]`` to ``high[j]`` spacings, and move it by at most ``up`` or ``down`` of them.

    ``goal``: the state at which a walk ends, None if any. ``waits[b]``: features that must have moved before feature b.
    A frozen feature has no value that steps could give it.
    """

    problem: PathProblem
    spacing: float
    up: int
    down: int
    low: IntArray
    high: IntArray
    bounds: tuple[FloatArray, FloatArray]
    goal: IntArray | None
    waits: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.low)

    @property
    def movable(self) -> IntArray:
        """Features that some step may move."""
        return np.flatnonzero(self.low <= self.high)

    @property
    def watched(self) -> tuple[int, ...]:
        """Features of which must be known whether they have moved."""
        return tuple(sorted({a for waits in self.waits for a in waits}))

    def models(self, states: IntArray) -> FloatArray:
        """The coefficients of states, rows; at the goal exactly the target's."""
        problem = self.problem
        moved = np.clip(problem.start + self.spacing * states, *self.bounds)
        models: FloatArray = np.where(states == 0, problem.start, moved)
        if self.goal is not None and problem.target is not None:
            models = np.where(states == self.goal, problem.target, models)
        return models

    def fewest(self, states: IntArray) -> IntArray:
        """How many steps lead from each state to the goal at least, by feature; none if the end is free."""
        if self.goal is None:
            return np.zeros(states.shape, dtype=np.int64)
        ahead = self.goal - states
        most = np.where(ahead > 0, self.up, self.down)
        never = (most == 0) & (ahead != 0)
        steps: IntArray = -(-np.abs(ahead) // np.maximum(most, 1))
        return np.where(never, FARTHEST, steps)


def whole_moves(problem: PathProblem) -> WholeMoves:
    """What the problem's step type and constraints allow."""
    steps, target = problem.step_type, problem.target
    if not isinstance(steps, GridSteps):
        raise ProblemError(f"step_type: {steps.name!r} has no spacing, so its values are not whole numbers of steps")
    intervals = [problem.constraints.interval(feature) for feature in problem.features]
    low, high = (np.empty(len(problem.features), dtype=np.int64) for _ in range(2))
    for j, feature in enumerate(problem.features):
        start = float(problem.start[j])
        ends = [_spacings((limit - start) / steps.spacing) for limit in intervals[j]]
        low[j], high[j] = math.ceil(ends[0] - _INSIDE), math.floor(ends[1] + _INSIDE)
        if feature in problem.constraints.frozen:
            low[j], high[j] = 1, 0
    goal = None
    if target is not None:
        ends_at = zip(problem.start.tolist(), target.tolist(), strict=True)
        goal = np.array([steps.spacings(before, after) or 0 for before, after in ends_at], dtype=np.int64)
    waits: list[set[int]] = [set() for _ in problem.features]
    for _, _, order in unit_orders(problem):
        waits[problem.features.index(order.then)].add(problem.features.index(order.first))
    up, down = (FARTHEST if most is None else most for most in (steps.up, steps.down))
    return WholeMoves(
        problem=problem,
        spacing=steps.spacing,
        up=up,
        down=down,
        low=low,
        high=high,
        bounds=(np.array([low for low, _ in intervals]), np.array([high for _, high in intervals])),
        goal=goal,
        waits=tuple(tuple(sorted(each)) for each in waits),
    )


def _spacings(number: float) -> float:
    return min(max(number, -float(FARTHEST)), float(FARTHEST))
