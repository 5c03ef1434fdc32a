"""Floors of the terms that follow a prefix: which units were touched says more than how many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.walks.prefixes import Prefixes

__all__ = ["CountedFloors", "LaterFloors", "TouchedFloors", "WholeTable"]


_LOOK_UP = 1500
"""Work of looking up one set."""


class LaterFloors(Protocol):
    """Σ_{j>k} αⱼ·(least excess of the touched units and j − k more) after a prefix of k moves."""

    spent: int
    """Numbers touched so far."""

    def work(self, length: int, /) -> int:
        """Numbers touched at most for one row of ``touched``."""
        ...

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """A lower bound of that sum for each row of ``touched``."""
        ...


class WholeTable:
    """Few units: from the excess of every set (bit u of the index: unit u), the least of every set with so many more."""

    spent = 0

    def __init__(self, excess: NDArray[np.float64], alphas: NDArray[np.float64]) -> None:
        units, terms = len(excess).bit_length() - 1, len(alphas)
        masks = np.arange(1 << units)
        least = [excess]
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

    def work(self, _length: int, /) -> int:
        """Nothing to speak of."""
        return 0

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """Looked up."""
        sums: NDArray[np.float64] = self._sums[length, touched @ self._bits]
        return sums


class CountedFloors:
    """Only the number of touched units counts: ``floors[k]`` for at most k units."""

    def __init__(self, floors: NDArray[np.float64], alphas: NDArray[np.float64]) -> None:
        terms = len(alphas)
        counts = np.arange(1, terms + 1) + np.arange(terms + 1)[:, None]
        along = floors[np.minimum(counts, len(floors) - 1)]
        self._sums = np.stack([along[:, : terms - k] @ alphas[k:] for k in range(terms + 1)])

    def sums(self, number: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """Σ_{j>k} αⱼ·(floor of so many touched units and j − k more)."""
        sums: NDArray[np.float64] = self._sums[length, number]
        return sums


class TouchedFloors:
    """Many units: exact for one more unit, and by number for the terms after it. Every set is looked at once."""

    def __init__(self, prefixes: Prefixes, floors: NDArray[np.float64]) -> None:
        alphas = prefixes.alphas
        self._prefixes, self._alphas = prefixes, alphas
        self._counted = CountedFloors(floors, alphas)
        self._floors = np.concatenate([floors, np.full(len(alphas) + 2, floors[-1])])
        self._least: dict[bytes, float] = {}
        self.spent = 0

    def work(self, length: int) -> int:
        """A set that is new."""
        return _LOOK_UP + self._prefixes.work(length)

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """Exact for the next term; what rounding leaves in doubt is bounded by number."""
        number = touched.sum(axis=1)
        sums = self._counted.sums(number, length)
        if length == len(self._alphas) or not len(touched):
            return sums
        self.spent += _LOOK_UP * len(touched)
        packed = np.packbits(touched, axis=1)
        keys: list[bytes] = packed.view(f"V{packed.shape[1]}")[:, 0].tolist()
        rows = {key: row for row, key in enumerate(keys) if key not in self._least}
        new = np.array(list(rows.values()), np.int64)
        for size in np.unique(number[new]).tolist():
            some = new[number[new] == size]
            for row, least in zip(some.tolist(), self._one_more(touched[some]).tolist(), strict=True):
                self._least[keys[row]] = least
        least = np.array([self._least[key] for key in keys])
        sums += self._alphas[length] * np.maximum(least - self._floors[number + 1], 0.0)
        return sums

    def _one_more(self, touched: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The least excess of each set and one more unit: a walk of which only the last term has a weight."""
        size = int(touched[0].sum())
        members = np.nonzero(touched)[1].reshape(len(touched), size).astype(np.int16)
        last = replace(self._prefixes, alphas=np.concatenate([np.zeros(size), [1.0]]))
        self.spent += last.work(size) * len(touched)
        values, tight = last.extend(members, np.zeros(len(touched)))
        values[touched] = np.inf
        values[~tight & ~touched] = 0.0
        least: NDArray[np.float64] = values.min(axis=1)
        return np.where(np.isinf(least), 0.0, least)
