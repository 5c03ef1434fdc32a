"""Sums over rows in the order of a number, from which quantiles, calibration, AUC and Gini are computed.

Rows whose numbers agree to 2^−digits form one *cell*; they are tied. If there are more than `MOST_CELLS` cells, neighbours
are joined by a coarser grid. The error of a figure of ranks (AUC, Gini) is then at most half the share of pairs of rows that
are in one cell: about one in a million if no cell is much larger than the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALL_DIGITS", "SCORE_DIGITS", "RankedSums"]

Array = NDArray[np.float64]

MOST_CELLS = 1 << 21
"""The most cells, and the most rows that wait to be sorted into cells."""
SCORE_DIGITS = 33
"""Binary digits after the point to which scores are compared: the odds, or the rates, of tied rows agree to 1e-10."""
ALL_DIGITS = 60


class RankedSums:
    """Adds up ``width`` numbers of every row by a key; `cells` returns keys and sums in ascending order."""

    def __init__(self, width: int, digits: int, share: int = 1) -> None:
        """``digits`` are binary digits of the keys; ``share`` objects at a time divide `MOST_CELLS` among them."""
        self._digits = digits
        self._most = MOST_CELLS // share
        self._keys = [np.zeros(0)]
        self._sums = [np.zeros((0, width))]
        self._waiting = 0

    def add(self, key: Array, *numbers: Array) -> None:
        """Add one chunk: a key and the numbers of every row. It is sorted here, which makes the later sorting faster."""
        rounded, sums = _sorted(_rounded(key, self._digits), np.column_stack(numbers))
        self._keys.append(rounded)
        self._sums.append(sums)
        self._waiting += len(key)
        if self._waiting > self._most:
            self.cells()

    def cells(self) -> tuple[Array, Array]:
        """The distinct keys in ascending order, and for each the sums of its rows."""
        key, sums = _sorted(_rounded(np.concatenate(self._keys), self._digits), np.concatenate(self._sums))
        self._digits = _digits_that_fit(key, self._digits, self._most)
        key, sums = _joined(_rounded(key, self._digits), sums)
        self._keys, self._sums, self._waiting = [key], [sums], 0
        return key, sums


def _rounded(key: Array, digits: int) -> Array:
    return np.rint(key * 2.0**digits) * 2.0**-digits


def _digits_that_fit(key: Array, digits: int, most: int) -> int:
    """The most binary digits, up to ``digits``, with which the ascending keys form at most ``most`` cells."""
    if len(key) <= most:
        return digits
    fewest = -ALL_DIGITS
    while fewest < digits:
        middle = (fewest + digits + 1) // 2
        if np.count_nonzero(np.diff(_rounded(key, middle))) < most:
            fewest = middle
        else:
            digits = middle - 1
    return digits


def _sorted(key: Array, sums: Array) -> tuple[Array, Array]:
    """Keys and sums by ascending key; rows with the same key keep their order."""
    order = np.argsort(key, kind="stable")
    return key[order], np.take(sums, order, axis=0)


def _joined(key: Array, sums: Array) -> tuple[Array, Array]:
    """Neighbours with the same key become one cell."""
    starts = np.flatnonzero(np.diff(key, prepend=np.nan) != 0)
    return key[starts], np.add.reduceat(sums, starts, axis=0)
