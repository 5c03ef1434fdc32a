"""What whole steps cost under a cost on rows: every state is evaluated once.

Along one feature the cost is convex. So where it is no less than a limit, and no less than nearer to the state, it stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from coordpath_governance.paths.row_walks.model_costs import ModelCosts
    from coordpath_governance.paths.whole_steps.whole_moves import FloatArray, IntArray, WholeMoves

__all__ = ["RowStates"]

_DOUBLINGS = 7
"""A feature is followed for up to so many doublings of its first spacing."""

_NANOSECONDS = 10.0
"""A row of a model takes about as long."""


@dataclass(frozen=True, eq=False)
class _Around:
    """Steps from some states."""

    costs: RowStates
    states: IntArray
    values: FloatArray

    def interval(self, feature: int, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends beyond which the cost is at least the limit, by doubling the distance; infinite where that does not end."""
        return self._end(feature, limits, -1), self._end(feature, limits, 1)

    def _end(self, feature: int, limits: FloatArray, sign: int) -> FloatArray:
        moves, ends = self.costs.moves, np.full(len(self.states), np.inf)
        last = (moves.high[feature], moves.low[feature])[sign < 0]
        going, nearer = np.flatnonzero(np.isfinite(limits)), self.values
        for doubling in range(_DOUBLINGS):
            distance = 1 << doubling
            beyond = sign * (self.states[going, feature] + sign * distance - last) > 0
            ends[going[beyond]] = distance
            going = going[~beyond]
            values = np.full(len(self.states), np.inf)
            values[going] = self.moved(feature, going, np.full(len(going), sign * distance))
            over = (values[going] >= limits[going]) & (values[going] >= nearer[going])
            ends[going[over]] = distance
            going, nearer = going[~over], values
        return sign * ends

    def moved(self, feature: int, rows: IntArray, spacings: IntArray) -> FloatArray:
        """What those states cost."""
        states = self.states[rows]
        states[:, feature] += spacings
        return self.costs.values(states)


class RowStates:
    """States of a problem's whole steps under its cost on rows; none may cost more than the ``ceiling``."""

    def __init__(self, moves: WholeMoves, costs: ModelCosts, ceiling: float = np.inf) -> None:
        self.moves, self.ceiling, self._costs = moves, ceiling, costs
        self.idle = frozenset(np.flatnonzero(~costs.move_scores(np.eye(moves.size))).tolist())

    def values(self, states: IntArray) -> FloatArray:
        """The mean loss of each state's model."""
        return self._costs.values(self.moves.models(states))

    def around(self, states: IntArray) -> _Around:
        """What steps from there cost."""
        return _Around(self, states, self.values(states))

    def later(self, states: IntArray, steps: int) -> FloatArray:
        """Nothing beyond the floors of the terms."""
        return np.full((len(states), steps), -np.inf)

    def reach(self, _limit: float) -> tuple[FloatArray, FloatArray]:
        """Endless: no matrix says how far a cost allows to go."""
        far = np.full(self.moves.size, np.inf)
        return -far, far

    def work(self, states: int, children: int) -> float:
        """Nanoseconds, about."""
        return _NANOSECONDS * self._costs.price(states + children)
