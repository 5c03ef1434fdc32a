"""Where each pair (level, word) of a refinement is listed: nodes are few among the 2^I words that there could be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NodeIndex"]

_TABLE = 1 << 22
"""Up to so many pairs they are looked up in a table, beyond that among the sorted ones there are."""


class NodeIndex:
    """Rows of nodes by level and word. `missing` is the row of a pair that is none of them."""

    def __init__(self, level: NDArray[np.int64], word: NDArray[np.int64], levels: int, bits: int) -> None:
        self.missing = len(level)
        self._levels = levels
        self._table: NDArray[np.int64] | None = None
        if bits < 62 and levels << bits <= _TABLE:
            self._table = np.full((levels, 1 << bits), self.missing, dtype=np.int64)
            self._table[level, word] = np.arange(len(level))
            return
        self._words = np.unique(word)
        keys = level * len(self._words) + np.searchsorted(self._words, word)
        self._rows = np.argsort(keys, kind="stable")
        self._keys = keys[self._rows]

    def find(self, level: NDArray[np.int64] | int, word: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of some pairs; levels beyond the last have none."""
        if self._table is not None:
            inside = np.less(level, self._levels)
            return np.where(inside, self._table[np.where(inside, level, 0), word], self.missing)
        if self.missing == 0:
            return np.zeros(np.shape(word), dtype=np.int64)
        place = np.minimum(np.searchsorted(self._words, word), len(self._words) - 1)
        keys = level * len(self._words) + place
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known = (self._words[place] == word) & (self._keys[at] == keys)
        return np.where(known, self._rows[at], self.missing)
