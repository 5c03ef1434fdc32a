"""Sets of units as bit masks, any number of units: one 64-bit word for every `WORD` units, sets as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WORD", "add_unit", "empty_set", "find_set", "group_sets", "members", "remove_unit"]

WORD = 62
"""Units a word holds."""

_MIX = np.int64(-7046029254386353131)
"""An odd number with its bits well spread."""


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

    Sets of several words are ordered by one number made of them. Where two sets share theirs, which no one has seen, one of
    them may stand in two places: it is then looked at twice.
    """
    key = masks[:, 0]
    for word in masks.T[1:]:
        key = (key ^ (key >> 29)) * _MIX + word
    order = np.argsort(key, kind="stable")
    ordered = masks[order]
    different = np.any(ordered[1:] != ordered[:-1], axis=1)
    return order, np.flatnonzero(np.concatenate([[True], different]))


def find_set(masks: NDArray[np.int64], wanted: NDArray[np.int64]) -> int | None:
    """The row of a set, None if it is not there."""
    rows = np.flatnonzero(masks[:, 0] == wanted[0])
    rows = rows[np.all(masks[rows] == wanted, axis=1)]
    return int(rows[0]) if len(rows) else None
