"""Floors: what the models of a walk cost at least, by how few units they can differ from its ends."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.state_costs import State, StateCosts
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks

__all__ = ["WalkFloors"]

_DISTANCES = 2
_MOST_SETS = 2000
_PART = 0.1
"""Sets of units are tried up to this size, where there are no more of them and they take no more of what may be spent."""


_TOGETHER = 200
"""Sets that are tried before the deadline is asked for."""


class WalkFloors:
    """``from_start[k]``, ``from_target[k]``: no model that differs from that end in at most k units costs less."""

    def __init__(self, walks: RowWalks, states: StateCosts) -> None:
        self._walks, self._states = walks, states
        self.from_start = self._least(0)
        self.from_target = None if walks.target is None else self._least(sum(1 << u for u in walks.changed))

    def of_terms(self, terms: int) -> FloatArray:
        """For a walk of K terms, what each costs at least: k units have moved, with a fixed end K − k may still move."""
        least = self._walks.costs.cost.minimum()
        floors = np.full(terms, least)
        for k, floor in enumerate(self.from_start[1 : terms + 1]):
            floors[k] = floor
        for k, floor in enumerate((self.from_target or ())[:terms]):
            floors[terms - 1 - k] = max(floors[terms - 1 - k], floor)
        return floors

    def _least(self, moved: int) -> tuple[float, ...]:
        """By distance from the model at which these units are at the target."""
        least = [float(self._states.least([(moved, 0)])[0])]
        for distance in range(1, _DISTANCES + 1):
            states = list(_around(moved, self._walks.size, distance))
            left = self._walks.limit - self._walks.costs.spent
            if len(states) > _MOST_SETS or self._states.price(len(states)) > _PART * left:
                break
            lowest = least[-1]
            for begin in range(0, len(states), _TOGETHER):
                if self._walks.patience.expired():
                    return tuple(least)
                lowest = min([lowest, *self._states.least(states[begin : begin + _TOGETHER]).tolist()])
            least.append(lowest)
        return tuple(least)


def _around(moved: int, size: int, distance: int) -> Iterator[State]:
    for units in itertools.combinations(range(size), distance):
        opened = sum(1 << u for u in units)
        yield moved & ~opened, opened
