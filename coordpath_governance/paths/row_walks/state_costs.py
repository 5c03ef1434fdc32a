"""The least costs of states of a walk: some units are at the target, some anywhere in between, all others at the start.

The floors of a walk are the least of them: what its models cost at least, by how few units they can differ from its ends.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.masks import units_of
from coordpath_governance.paths.row_walks.newton_values import Fitted, Layout, Term

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coordpath_governance.paths.row_walks.model_costs import FloatArray, IntArray
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks

__all__ = ["State", "StateCosts", "WalkFloors"]

State = tuple[int, int]
"""Units at the target and units in between, unit u as 2^u in a sum."""

_CLOSE = 1e-12
"""A part of c − min c by which a state's least cost may be taken too low; where tails fall at different rates it may be too
high by a multiple of this."""

_ROUNDS = 2
"""About as many passes as a state takes."""


_DISTANCES = 2
_MOST_SETS = 2000
_PART = 0.1
"""Sets of units are tried up to this size, where there are no more of them and they take no more of what may be spent."""


_TOGETHER = 200
"""Sets that are tried before the deadline is asked for."""


class StateCosts:
    """Least costs of states, each found once."""

    def __init__(self, walks: RowWalks) -> None:
        self._walks = walks
        self._fitted: dict[State, Fitted] = {}

    def price(self, states: int) -> float:
        """What so many states take, about."""
        return self._walks.costs.price(_ROUNDS * states)

    def is_fitted(self, state: State) -> bool:
        """Whether a state was asked for before."""
        return state in self._fitted

    def least(self, states: Sequence[State]) -> FloatArray:
        """No model in each of these states costs less; those in between fewer units first, to begin where they end."""
        for _, group in itertools.groupby(sorted(states, key=_between), key=_between):
            missing = [state for state in group if state not in self._fitted]
            layouts, guesses = [self._layout(state) for state in missing], [self._guess(state) for state in missing]
            self._fitted.update(zip(missing, self._walks.fit(layouts, guesses, _CLOSE), strict=True))
        least = self._walks.costs.cost.minimum()
        return np.array([max(self._fitted[state].lower, least) for state in states])

    def _layout(self, state: State) -> Layout:
        walks = self._walks
        beta = walks.problem.start.copy()
        if walks.target is not None:
            moved = self._coordinates(state[0])
            beta[moved] = walks.target[moved]
        opened = self._coordinates(state[1])
        return Layout((Term(1.0, beta, opened, np.arange(len(opened))),), len(opened))

    def _coordinates(self, units: int) -> IntArray:
        return np.concatenate([np.zeros(0, dtype=np.int64), *(self._walks.members[u] for u in units_of(units))])

    def _guess(self, state: State) -> FloatArray:
        """The best values of a state that differs in one unit, if one is known, and the start's where they say nothing."""
        moved, opened = state
        if not opened:
            return np.zeros(0)
        for u in sorted(self._walks.changed):
            near = self._fitted.get((moved ^ 1 << u, opened))
            if near is not None:
                return near.x
        start = [self._walks.problem.start[self._walks.members[u]] for u in units_of(opened)]
        fewer = self._fitted.get((moved, opened & ~(1 << opened.bit_length() - 1)))
        return np.concatenate(start if fewer is None else [fewer.x, start[-1]])


def _between(state: State) -> int:
    return state[1].bit_count()


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
