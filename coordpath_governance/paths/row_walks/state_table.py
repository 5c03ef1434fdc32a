"""States of a walk: which units are at the target and which in between; and the least cost of each, where it matters.

With a fixed end and r terms more than changed units, the changed units in between and twice the others are at most r at
any term; with a free end, up to k units are off the start at term k. Every state has a least cost f, by Newton's method.
A programme over the states, in which values in between may be chosen anew at every term, bounds what follows term k:

    W_K = 0,   W_k(s) = min over the moves s → s' of α_{k+1} f(s') + W_{k+1}(s').

Where f is not known, min c stands for it; it is asked for only where some walk through the state could still be best.

A rest needs no move of its own: the unit that moves next may move twice, or the one before, and that is no worse. Only
where nothing changes there may be no such unit.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.state_costs import State, StateCosts
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks

__all__ = ["States"]

_TOGETHER = 256
"""States whose least costs are found at once."""


class States:
    """All states of walks of K terms, the moves between them, and their least costs as far as they matter.

    Move m leads from state ``source[m]`` to ``goal[m]``; ``unit[m]`` moves (or rests), ``closes[m]`` says whether to the
    target. Moves are in the order of their sources; those of state s begin at ``begin[s]``.
    """

    def __init__(self, walks: RowWalks, alphas: FloatArray, costs: StateCosts) -> None:
        self._walks, self._alphas, self._costs = walks, alphas, costs
        self.states = list(_states(walks, len(alphas)))
        number = {state: i for i, state in enumerate(self.states)}
        moves = [
            (i, number[to], u, closes)
            for i, state in enumerate(self.states)
            for u, closes, to in _moves(walks, state)
            if to in number
        ]
        self.source, self.goal, self.unit, self.closes = (np.array(column) for column in zip(*moves, strict=True))
        self.begin = np.searchsorted(self.source, np.arange(len(self.states) + 1))
        self.is_known = np.array([costs.is_fitted(state) for state in self.states])
        self.least = np.full(len(self.states), walks.costs.cost.minimum())
        self.least[self.is_known] = costs.least([state for state in self.states if costs.is_fitted(state)])
        self.idle = np.array([not opened for _, opened in self.states])
        self._possible = self._possible_terms()

    @staticmethod
    def count(walks: RowWalks, terms: int) -> int:
        """How many there are for walks of so many terms."""
        changed, spare = len(walks.changed), terms - len(walks.changed)
        others = walks.size - changed
        if walks.target is None:
            return sum(math.comb(walks.size, k) for k in range(min(terms, walks.size) + 1))
        return sum(
            math.comb(changed, a) * 2 ** (changed - a) * math.comb(others, b)
            for a in range(min(spare, changed) + 1)
            for b in range(min((spare - a) // 2, others) + 1)
        )

    def ask(self, best: float) -> None:
        """Find the least costs of states through which a walk could be better than ``best``, as far as the work allows."""
        while not self._walks.over():
            through = np.where(self.is_known, np.inf, self._through())
            order = np.argsort(through, kind="stable")[:_TOGETHER]
            chosen = order[through[order] < best]
            if not len(chosen):
                return
            self.least[chosen] = self._costs.least([self.states[i] for i in chosen])
            self.is_known[chosen] = True

    def to_go(self) -> FloatArray:
        """W, one row for every k = 0 … K; infinite for a state that term k cannot be in."""
        terms = len(self._alphas)
        table = np.full((terms + 1, len(self.states)), np.inf)
        table[terms, self._possible[terms]] = 0.0
        for k in range(terms - 1, -1, -1):
            after = self._alphas[k] * self.least + table[k + 1]
            least = np.minimum.reduceat(after[self.goal], self.begin[:-1])
            table[k] = np.where(self._possible[k], least, np.inf)
        return table

    def _through(self) -> FloatArray:
        """What a walk costs at least that passes through a state, at whatever term."""
        to_go = self.to_go()
        order = np.argsort(self.goal, kind="stable")
        source, begin = self.source[order], np.searchsorted(self.goal[order], np.arange(len(self.states) + 1))
        entered = begin[1:] > begin[:-1]
        so_far = np.where(self._possible[0], 0.0, np.inf)
        least: FloatArray = so_far + to_go[0]
        for k, alpha in enumerate(self._alphas.tolist(), start=1):
            before = np.minimum.reduceat(so_far[source], begin[:-1])
            so_far = np.where(entered & self._possible[k], before + alpha * self.least, np.inf)
            np.minimum(least, so_far + to_go[k], out=least)
        return least

    def _possible_terms(self) -> NDArray[np.bool_]:
        """For k = 0 … K, whether a state can be that of term k.

        With a fixed end, as many terms beyond one for each unit at the target must be spare as the units in between have
        taken, and those among them that must come back will still take.
        """
        changed = sum(1 << u for u in self._walks.changed)
        opened = np.array([units.bit_count() for _, units in self.states])
        terms = np.arange(len(self._alphas) + 1)[:, None]
        if self._walks.target is None:
            return np.asarray(opened <= terms)
        owed = np.array([(units & ~changed).bit_count() for _, units in self.states])
        taken = terms - np.array([units.bit_count() for units, _ in self.states])
        return np.asarray((opened <= taken) & (taken + owed <= len(self._alphas) - len(self._walks.changed)))


def _sum(units: Iterable[int]) -> int:
    return sum(1 << u for u in units)


def _states(walks: RowWalks, terms: int) -> Iterator[State]:
    """The start first."""
    changed, spare = sorted(walks.changed), terms - len(walks.changed)
    if walks.target is None:
        for k in range(min(terms, walks.size) + 1):
            for opened in itertools.combinations(range(walks.size), k):
                yield 0, _sum(opened)
        return
    others = [u for u in range(walks.size) if u not in walks.changed]
    for a in range(min(spare, len(changed)) + 1):
        for b in range(min((spare - a) // 2, len(others)) + 1):
            for between, more in itertools.product(itertools.combinations(changed, a), itertools.combinations(others, b)):
                left = [u for u in changed if u not in between]
                for size in range(len(left) + 1):
                    for moved in itertools.combinations(left, size):
                        yield _sum(moved), _sum(between) + _sum(more)


def _moves(walks: RowWalks, state: State) -> Iterator[tuple[int, bool, State]]:
    """The unit that moves, whether to the target, and the state that follows."""
    moved, opened = state
    for u in range(walks.size):
        bit = 1 << u
        if moved & bit:
            continue
        if u in walks.changed:
            yield u, True, (moved | bit, opened & ~bit)
        elif opened & bit and walks.target is not None:
            yield u, True, (moved, opened & ~bit)
        yield u, False, (moved, opened | bit)
    if walks.target is not None and (not walks.changed or moved == _sum(walks.changed)):
        yield REST, False, state
