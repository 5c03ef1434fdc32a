"""Sets of units as bit masks, and where the sets of a refinement are listed.

A set of any number of units has one 64-bit word for every `WORD` units; sets are rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WORD", "NodeIndex", "add_unit", "empty_set", "find_set", "group_sets", "members", "remove_unit", "units_of"]

WORD = 62
"""Units a word holds."""

_MIX = np.int64(-7046029254386353131)
"""An odd number with its bits well spread."""


def units_of(number: int) -> list[int]:
    """The units in a sum of powers of two, which is a set of few units as one number."""
    return [u for u in range(number.bit_length()) if number >> u & 1]


def empty_set(size: int) -> NDArray[np.int64]:
    """One row, the empty set of ``size`` units."""
    return np.zeros((1, max(1, -(-size // WORD))), dtype=np.int64)


def members(masks: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which units each set holds."""
    units = np.arange(size)
    inside: NDArray[np.bool_] = (masks[:, units // WORD] >> (units % WORD) & 1) != 0
    return inside


def add_unit(masks: NDArray[np.int64], units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each set with one more unit."""
    if masks.shape[1] == 1:
        return masks | (np.int64(1) << units)[:, None]
    larger = masks.copy()
    larger[np.arange(len(masks)), units // WORD] |= np.int64(1) << (units % WORD)
    return larger


def remove_unit(mask: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """One set without one of its units."""
    smaller = mask.copy()
    smaller[unit // WORD] ^= np.int64(1) << (unit % WORD)
    return smaller


def group_sets(masks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order in which equal sets stand together, and where in it each different set begins.

    Sets of several words are ordered by one number made of them. Two sets may
    share theirs, which is very unlikely. Then a set may stand in two places, and is looked at twice.
    """
    key = masks[:, 0]
    for word in masks.T[1:]:
        key = (key ^ (key >> 29)) * _MIX + word
    order = np.argsort(key, kind="stable")
    ordered = masks[order]
    different = np.any(ordered[1:] != ordered[:-1], axis=1)
    return order, np.flatnonzero(np.concatenate([[True], different]))


def find_set(masks: NDArray[np.int64], wanted: NDArray[np.int64]) -> int | None:
    """The row of a set; None if the set is not listed."""
    rows = np.flatnonzero(masks[:, 0] == wanted[0])
    rows = rows[np.all(masks[rows] == wanted, axis=1)]
    return int(rows[0]) if len(rows) else None


_TABLE = 1 << 22
"""Up to so many pairs they are looked up in a table, beyond that among the sorted ones there are."""


class NodeIndex:
    """Finds the row of a node by level and word. `missing` is the row for pairs that are not nodes."""

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
        listed = (self._words[place] == word) & (self._keys[at] == keys)
        return np.where(listed, self._rows[at], self.missing)
