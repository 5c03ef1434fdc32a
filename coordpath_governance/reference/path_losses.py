"""Losses of rows along a path, and shifts of their scores: standard errors of steps, and quantiles.

The standard error of a step's mean change d̄ is

    sqrt( n/(n−1) · Σ w_i² (d_i − d̄)² ) / Σ w_i,   d_i = loss_k(i) − loss_{k−1}(i).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.reference.rank_figures import quantiles
from coordpath_governance.reference.ranked import ALL_DIGITS, RankedSums

__all__ = ["GridShifts", "PathLosses", "RankedShifts", "disagreement"]

Array = NDArray[np.float64]

_BINS = 4800
_REACH = 12.0
"""Bins of a histogram of shifts, and standard deviations on either side of their mean that it covers."""


class PathLosses:
    """Running sums of a pass; ``deltas`` are the mean changes of the steps, which are known before this pass."""

    def __init__(self, deltas: Sequence[float]) -> None:
        self._expected = np.array(deltas, dtype=np.float64)
        self.rows = 0
        self.weight = 0.0
        self._champion = 0.0
        self._delta = np.zeros(len(deltas))
        self._squares = np.zeros(len(deltas))
        self._total_square = 0.0

    def add(self, loss: Array, weight: Array) -> None:
        """Add one chunk; ``loss`` is rows × (steps + 1): before the path and after every step."""
        delta = np.diff(loss, axis=1)
        self.rows += len(weight)
        self.weight += float(weight.sum())
        self._delta += weight @ delta
        self._squares += (weight**2) @ (delta - self._expected) ** 2
        self._champion += float(weight @ loss[:, 0])
        total = loss[:, -1] - loss[:, 0]
        self._total_square += float((weight**2) @ (total - self._expected.sum()) ** 2)

    @property
    def start_cost(self) -> float:
        """The mean loss before the first step."""
        return self._champion / self.weight

    @property
    def mean_deltas(self) -> Array:
        """Mean change of the loss at every step."""
        return self._delta / self.weight

    @property
    def step_se(self) -> tuple[float, ...]:
        """Standard error of every step's mean change."""
        return tuple(self._standard_error(square) for square in self._squares)

    @property
    def total_se(self) -> float:
        """Standard error of the mean change from the first model to the last."""
        return self._standard_error(self._total_square)

    def _standard_error(self, square: float) -> float:
        return float(math.sqrt(self.rows / (self.rows - 1) * square) / self.weight)


class GridShifts:
    """Shifts of a score whose mean and standard deviation are known: quantiles from a histogram around the mean."""

    def __init__(self, mean: float, sd: float) -> None:
        self._edges = mean + max(sd, 1e-300) * np.linspace(-_REACH, _REACH, _BINS + 1)
        self._histogram = np.zeros(_BINS)
        self.largest = 0.0

    def add(self, shift: Array, weight: Array) -> None:
        """Take in one chunk: the shift of every row."""
        extreme = float(shift[np.argmax(np.abs(shift))])
        self.largest = extreme if abs(extreme) > abs(self.largest) else self.largest
        bins = np.clip(np.searchsorted(self._edges, shift, side="right") - 1, 0, _BINS - 1)
        self._histogram += np.bincount(bins, weights=weight, minlength=_BINS)

    def quantiles(self) -> tuple[float, float, float]:
        """The 5th, 50th and 95th percentile, each the middle of a bin."""
        return quantiles((self._edges[:-1] + self._edges[1:]) / 2, self._histogram)


class RankedShifts:
    """Shifts of a score of which nothing is known: quantiles from the ranks of the rows."""

    def __init__(self) -> None:
        self._ranked = RankedSums(1, ALL_DIGITS)
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, shift: Array, weight: Array) -> None:
        """Take in one chunk: the shift of every row."""
        self._ranked.add(shift, weight)
        self._lowest, self._highest = min(self._lowest, float(shift.min())), max(self._highest, float(shift.max()))

    @property
    def largest(self) -> float:
        """The shift that is furthest from 0."""
        return self._highest if self._highest >= -self._lowest else self._lowest

    def quantiles(self) -> tuple[float, float, float]:
        """The 5th, 50th and 95th percentile; ranks of very many rows are on a grid, whose points may lie beyond all rows."""
        shifts, weights = self._ranked.cells()
        low, middle, high = (min(max(each, self._lowest), self._highest) for each in quantiles(shifts, weights[:, 0]))
        return low, middle, high


def disagreement() -> ReferenceDataError:
    """The error for rows that contradict the costs that the path was found with."""
    return ReferenceDataError(
        "the rows and the path disagree on the cost of the steps; the data changed while they were read, "
        "or lie too far apart for double precision (rescale the columns)"
    )
