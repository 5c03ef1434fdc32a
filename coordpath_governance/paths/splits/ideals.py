"""Up to twenty steps, whatever their gains depend on: the least Σ α_k·F(S_k) over all orders, by all sets that may be done.

The loss after k steps depends on which steps were done and not on their order, so V(S) = α_|S|·F(S) + min V(S without its
last unit) over the units that may be the last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.paths.splits.split_loss import SplitLoss

__all__ = ["MOST_UNITS", "Programme"]

MOST_UNITS = 20


class Programme:
    """All the sets of units of one problem that may be done, with their loss. At most `MOST_UNITS` units."""

    def __init__(self, loss: SplitLoss) -> None:
        self._count = len(loss.units)
        numbers = np.arange(1 << self._count)
        allowed = np.ones(1 << self._count, dtype=np.bool_)
        for unit, before in enumerate(loss.units.after):
            for other in before:
                allowed &= ((numbers >> unit) & 1 == 0) | ((numbers >> other) & 1 == 1)
        self._numbers = numbers[allowed]
        self._loss = loss.table()
        sizes = np.zeros(len(self._numbers), dtype=np.int64)
        for unit in range(self._count):
            sizes += (self._numbers >> unit) & 1
        self._levels = [self._numbers[sizes == size] for size in range(self._count + 1)]

    @property
    def least(self) -> float:
        """The least loss of any set."""
        return float(self._loss[self._numbers].min())

    def best(self, alphas: NDArray[np.float64], steps: int) -> list[int]:
        """The order of ``steps`` single steps with the least Σ α_k·F(S_k), whatever is done after them."""
        values = np.full(1 << self._count, np.inf)
        last = np.full(1 << self._count, -1, dtype=np.int8)
        values[0] = 0.0
        for size in range(1, steps + 1):
            level = self._levels[size]
            best, by = np.full(len(level), np.inf), np.full(len(level), -1, dtype=np.int8)
            for unit in range(self._count):
                has = (level >> unit) & 1 == 1
                before = values[np.where(has, level ^ (1 << unit), 0)]
                better = has & (before < best)
                best[better], by[better] = before[better], unit
            values[level] = best + alphas[size - 1] * self._loss[level]
            last[level] = by
        number = int(self._levels[steps][int(np.argmin(values[self._levels[steps]]))])
        order: list[int] = []
        while number:
            order.append(int(last[number]))
            number ^= 1 << order[-1]
        return order[::-1]
