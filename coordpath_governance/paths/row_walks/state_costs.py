"""The least costs of states of a walk: some units are at the target, some anywhere in between, all others at the start."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.row_walks.newton_values import Fitted, Layout, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.row_walks.model_costs import FloatArray, IntArray
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks

__all__ = ["State", "StateCosts", "units_of"]

State = tuple[int, int]
"""Units at the target and units in between, unit u as 2^u in a sum."""

_CLOSE = 1e-12
"""A part of c − min c by which a state's least cost may be taken too low; where tails fall at different rates it may be too
high by a multiple of this."""

_ROUNDS = 2
"""About as many passes as a state takes."""


def units_of(number: int) -> list[int]:
    """The units in a sum of powers of two."""
    return [u for u in range(number.bit_length()) if number >> u & 1]


class StateCosts:
    """Least costs of states, each found once."""

    def __init__(self, walks: RowWalks) -> None:
        self._walks = walks
        self._known: dict[State, Fitted] = {}

    def price(self, states: int) -> float:
        """What so many states take, about."""
        return self._walks.costs.price(_ROUNDS * states)

    def known(self, state: State) -> bool:
        """Whether a state was asked for before."""
        return state in self._known

    def least(self, states: Sequence[State]) -> FloatArray:
        """No model in each of these states costs less; those in between fewer units first, to begin where they end."""
        for _, some in itertools.groupby(sorted(states, key=_between), key=_between):
            missing = [state for state in some if state not in self._known]
            layouts, guesses = [self._layout(state) for state in missing], [self._guess(state) for state in missing]
            self._known.update(zip(missing, self._walks.fit(layouts, guesses, _CLOSE), strict=True))
        least = self._walks.costs.cost.minimum()
        return np.array([max(self._known[state].lower, least) for state in states])

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
            near = self._known.get((moved ^ 1 << u, opened))
            if near is not None:
                return near.x
        start = [self._walks.problem.start[self._walks.members[u]] for u in units_of(opened)]
        fewer = self._known.get((moved, opened & ~(1 << opened.bit_length() - 1)))
        return np.concatenate(start if fewer is None else [fewer.x, start[-1]])


def _between(state: State) -> int:
    return state[1].bit_count()
