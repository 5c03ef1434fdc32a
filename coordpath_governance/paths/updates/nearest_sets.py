"""Best sets of units by size, by branch and bound on what sets cost: for costs that are known only by evaluating sets.

A set costs no more than any of its subsets. A node stands for all sets S with A ⊆ S ⊆ W. Of the free units W∖A a set of at
most k leaves out at least |W| − k, and costs at least as much as W without any one of those: so at least as much as the
(|W| − k)-th smallest cost of W without one free unit.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["NearestSets", "SetCosts", "search_sets"]

Set = tuple[int, ...]

_TRIED, _MOST = 2, 1000
"""Sizes of which every set is tried, where there are no more than so many."""

_WORTH = 1e-9
"""Sets better by less than this part of what the best of them gains are not looked for."""


class SetCosts(Protocol):
    """The least cost of models in which only the units of a set have moved."""

    def reached(self, sets: Sequence[Set], /) -> tuple[FloatArray, FloatArray]:
        """For every set a cost that is reached, and a number below which it does not go."""
        ...

    def over(self) -> bool:
        """Whether the work is used up."""
        ...


@dataclass(frozen=True, eq=False)
class NearestSets:
    """By size k = 0 … most: the best set known of at most k units, what it costs, and a bound on all of them."""

    sets: tuple[Set, ...]
    costs: FloatArray
    bounds: FloatArray


def search_sets(costs: SetCosts, units: int, most: int) -> NearestSets:
    """The best sets of up to ``most`` of some units; where the work ends first, what is known until then."""
    return _Search(costs, units, min(most, units)).run()


class _Search:
    """Nodes that wait by their bound, the best sets known, and what was dropped."""

    def __init__(self, costs: SetCosts, units: int, most: int) -> None:
        self._costs, self._units, self._most = costs, units, most
        self._lower: dict[Set, float] = {}
        self._best: list[tuple[float, Set]] = [(np.inf, ())] * (most + 1)
        self._waiting: list[tuple[float, int, Set, Set, FloatArray]] = []
        self._count = 0
        self._dropped = np.full(most + 1, np.inf)

    def run(self) -> NearestSets:
        """Sets grown greedily first, then the nodes."""
        everything = tuple(range(self._units))
        self._learn([(), everything])
        exact = self._try_small_sizes()
        self._grow()
        self._wait((), everything, np.full(self._most + 1, self._lower[everything]))
        while self._waiting and not self._costs.over():
            self._branch(*heapq.heappop(self._waiting)[2:])
        bounds = np.minimum(self._dropped, [cost for cost, _ in self._best])
        for *_, left in self._waiting:
            bounds = np.minimum(bounds, left)
        sets = tuple(best for _, best in self._best)
        return NearestSets(sets, np.array([cost for cost, _ in self._best]), np.maximum(bounds, exact))

    def _learn(self, sets: Sequence[Set]) -> None:
        new = [each for each in dict.fromkeys(sets) if each not in self._lower]
        if not new:
            return
        for each, cost, lower in zip(new, *self._costs.reached(new), strict=True):
            self._lower[each] = float(lower)
            for size in range(len(each), self._most + 1):
                self._best[size] = min(self._best[size], (float(cost), each), key=lambda known: known[0])

    def _try_small_sizes(self) -> FloatArray:
        """Bounds for the sizes of which every set is tried, −∞ for the others."""
        exact, lowest = np.full(self._most + 1, -np.inf), np.inf
        for size in range(min(self._most, _TRIED) + 1):
            sets = list(combinations(range(self._units), size))
            if size and (len(sets) > _MOST or self._costs.over()):
                break
            self._learn(sets)
            exact[size] = lowest = min(lowest, *(self._lower[each] for each in sets))
        return exact

    def _grow(self) -> None:
        """One unit after the other, the best at each step."""
        for size in range(1, self._most + 1):
            if self._costs.over():
                return
            grown = self._best[size - 1][1]
            self._learn([tuple(sorted((*grown, u))) for u in range(self._units) if u not in grown])

    def _limits(self) -> FloatArray:
        start, least = self._best[0][0], self._lower[tuple(range(self._units))]
        return np.array([cost for cost, _ in self._best]) - _WORTH * max(start - least, 0.0)

    def _wait(self, forced: Set, allowed: Set, bounds: FloatArray) -> None:
        """Keep a node if it may be better at some size; of the others their bounds are remembered."""
        hopeless = bounds >= self._limits()
        bounds = np.where(np.arange(self._most + 1) < len(forced), np.inf, bounds)
        if np.all(hopeless | np.isinf(bounds)):
            self._dropped = np.minimum(self._dropped, bounds)
            return
        self._count += 1
        heapq.heappush(self._waiting, (float(np.min(bounds - self._limits())), self._count, forced, allowed, bounds))

    def _branch(self, forced: Set, allowed: Set, bounds: FloatArray) -> None:
        """Leave out the free units one by one, the dearest first; those that were passed are forced.

        Sizes that hold all of W need no branch: no set of the node costs less than W.
        """
        free = [u for u in allowed if u not in forced]
        fewer = [tuple(v for v in allowed if v != u) for u in free]
        self._learn(fewer)
        each = np.array([self._lower[one] for one in fewer])
        left_out = len(allowed) - np.arange(self._most + 1)
        self._dropped[left_out <= 0] = np.minimum(self._dropped[left_out <= 0], self._lower[allowed])
        cheapest = np.append(np.sort(each), np.inf)
        own = cheapest[np.clip(left_out - 1, 0, len(free))]
        bounds = np.where(left_out > 0, np.maximum(bounds, own), np.inf)
        passed = forced
        for place in np.argsort(-each, kind="stable").tolist():
            self._wait(passed, fewer[place], np.maximum(bounds, each[place]))
            passed = tuple(sorted((*passed, free[place])))
