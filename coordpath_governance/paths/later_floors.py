"""Floors of the terms that follow a prefix: which units were touched says more than how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from coordpath_governance.paths.projections import excess_of_all_sets, excess_of_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["CountedFloors", "LaterFloors", "TouchedFloors", "WholeTable"]


class LaterFloors(Protocol):
    """Σ_{j>k} αⱼ·(least excess of the touched units and j − k more) after a prefix of k moves."""

    spent: int
    """Numbers touched so far."""

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """A lower bound of that sum for each row of ``touched``."""
        ...


class WholeTable:
    """Few units: the excess of every set, and from it the least of every set with so many more."""

    spent = 0

    def __init__(
        self, residual: NDArray[np.float64], blocks: Sequence[NDArray[np.float64]], alphas: NDArray[np.float64]
    ) -> None:
        units, terms = len(blocks), len(alphas)
        masks = np.arange(1 << units)
        least = [excess_of_all_sets(residual, blocks)]
        for _ in range(min(units, terms)):
            wider = least[-1]
            for u in range(units):
                wider = np.minimum(wider, least[-1][masks | 1 << u])
            least.append(wider)
        table = np.stack(least)
        self._sums = np.zeros((terms + 1, 1 << units))
        for k in range(terms):
            more = np.minimum(np.arange(1, terms - k + 1), len(least) - 1)
            self._sums[k] = alphas[k:] @ table[more]
        self._bits = 1 << np.arange(units)

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """Looked up."""
        sums: NDArray[np.float64] = self._sums[length, touched @ self._bits]
        return sums


class CountedFloors:
    """Only the number of touched units counts: ``floors[k]`` for at most k units."""

    spent = 0

    def __init__(self, floors: NDArray[np.float64], alphas: NDArray[np.float64]) -> None:
        terms = len(alphas)
        counts = np.arange(1, terms + 1) + np.arange(terms + 1)[:, None]
        along = floors[np.minimum(counts, len(floors) - 1)]
        self._sums = np.stack([along[:, : terms - k] @ alphas[k:] for k in range(terms + 1)])

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """By the number of touched units."""
        return self.sums(touched.sum(axis=1), length)

    def sums(self, number: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """The same by that number."""
        sums: NDArray[np.float64] = self._sums[length, number]
        return sums


class TouchedFloors:
    """Many units, a column each: exact for one more unit, and by number for the terms after it."""

    def __init__(
        self,
        residual: NDArray[np.float64],
        columns: NDArray[np.float64],
        floors: NDArray[np.float64],
        alphas: NDArray[np.float64],
    ) -> None:
        self._residual, self._columns, self._alphas = residual, columns, alphas
        self._counted = CountedFloors(floors, alphas)
        self._floors = floors
        self.spent = 0

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """The sets that occur are projected once each."""
        if length == len(self._alphas) or not len(touched):
            return np.zeros(len(touched))
        packed = np.packbits(touched, axis=1)
        _, first, back = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        sets = touched[first]
        number = sets.sum(axis=1)
        members = np.argsort(~sets, axis=1, kind="stable")[:, : int(number.max(initial=0))]
        members = np.where(np.arange(members.shape[1]) < number[:, None], members, -1)
        self.spent += 2 * members.size * self._columns.size
        own, more = excess_of_sets(self._residual, self._columns, members)
        least = np.minimum(own, more.min(axis=1))
        known = self._floors[np.minimum(number + 1, len(self._floors) - 1)]
        sums = self._counted.sums(number, length) + self._alphas[length] * np.maximum(least - known, 0.0)
        every: NDArray[np.float64] = sums[back.reshape(-1)]
        return every
