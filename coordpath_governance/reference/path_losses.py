"""Losses of rows along a path: the mean change of every step and its standard error, whatever the loss.

The standard error of a step's mean change d̄ is

    sqrt( n/(n−1) · Σ w_i² (d_i − d̄)² ) / Σ w_i,   d_i = loss_k(i) − loss_{k−1}(i).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError

__all__ = ["PathLosses", "disagreement"]

Array = NDArray[np.float64]


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


def disagreement(source: str) -> ReferenceDataError:
    """The error for rows that contradict the costs of the steps; ``source`` says where these costs come from."""
    return ReferenceDataError(
        f"the rows and {source} disagree on the cost of the steps; the data changed while they were read, "
        "or lie too far apart for double precision (rescale the columns)"
    )
