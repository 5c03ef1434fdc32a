"""Moments: everything that a quadratic cost needs of the rows, collected in one pass.

For z = (design columns, target) and population weights w:

    W = Σ w,  mean = Σ w z / W,  covariance = Σ w (z − mean)(z − mean)ᵀ / W

Chunks are merged by the exact update of Chan, Golub and LeVeque, so a mean far from zero loses no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.reference.design import DesignColumn

__all__ = ["MIN_COUNT", "Moments", "MomentsAccumulator"]

MIN_COUNT = 10
"""The fewest rows that a cell (a level, a segment) may have in anything that is stored or shown."""

_ROUNDING = 1e-13

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """First and second moments of the design columns and the target; the target is the last row and column.

    ``counts`` is the number of rows of each indicator (None for other columns); a row of weight zero is in no cell.
    """

    columns: tuple[DesignColumn, ...]
    rows: int
    weight_sum: float
    weight_square_sum: float
    mean: Array
    covariance: Array
    counts: tuple[int | None, ...]

    def __post_init__(self) -> None:
        self.mean.flags.writeable = False
        self.covariance.flags.writeable = False

    @property
    def target_mean(self) -> float:
        """Weighted mean of the target."""
        return float(self.mean[-1])

    @property
    def target_variance(self) -> float:
        """Weighted variance of the target."""
        return float(self.covariance[-1, -1])

    def mapped(self, matrix: Array, columns: Sequence[DesignColumn], counts: Sequence[int | None]) -> Moments:
        """The moments of ``matrix`` @ columns: mean ↦ M·mean, covariance ↦ M·covariance·Mᵀ; the target is unchanged.

        A sum of columns that is constant (the sum of all levels) gets variance 0, not the rounding errors of its parts.
        """
        full = np.zeros((len(columns) + 1, len(self.columns) + 1))
        full[:-1, :-1] = matrix
        full[-1, -1] = 1.0
        covariance = full @ self.covariance @ full.T
        parts = np.einsum("ij,jk,ik->i", np.abs(full), np.abs(self.covariance), np.abs(full), optimize=True)
        constant = np.diag(covariance) <= _ROUNDING * parts
        covariance[constant, :] = 0.0
        covariance[:, constant] = 0.0
        return Moments(
            columns=tuple(columns),
            rows=self.rows,
            weight_sum=self.weight_sum,
            weight_square_sum=self.weight_square_sum,
            mean=full @ self.mean,
            covariance=(covariance + covariance.T) / 2,
            counts=tuple(counts),
        )


class MomentsAccumulator:
    """Adds up chunks of rows; `result` returns the moments of all of them."""

    def __init__(self, columns: Sequence[DesignColumn]) -> None:
        self._columns = tuple(columns)
        self._indicator = np.array([c.is_indicator for c in self._columns], dtype=bool)
        size = len(self._columns) + 1
        self._rows = 0
        self._weight = 0.0
        self._weight_square = 0.0
        self._mean = np.zeros(size)
        self._scatter = np.zeros((size, size))
        self._counts = np.zeros(len(self._columns), dtype=np.int64)

    def add(self, design: Array, target: Array, weight: Array) -> None:
        """Add one chunk of rows."""
        total = float(weight.sum())
        self._rows += len(target)
        self._counts += np.count_nonzero(design if weight.all() else design[weight > 0], axis=0)
        if total == 0.0:
            return
        values = np.column_stack([design, target])
        mean = weight @ values / total
        centred = values - mean
        scatter = (centred * weight[:, None]).T @ centred
        shift = mean - self._mean
        joint = self._weight + total
        self._scatter += scatter + np.outer(shift, shift) * (self._weight * total / joint)
        self._mean = self._mean + shift * (total / joint)
        self._weight = joint
        self._weight_square += float(weight @ weight)

    @property
    def rows(self) -> int:
        """The number of rows added so far."""
        return self._rows

    def result(self) -> Moments:
        """The moments of all rows added."""
        covariance = self._scatter / self._weight if self._weight > 0 else self._scatter
        return Moments(
            columns=self._columns,
            rows=self._rows,
            weight_sum=self._weight,
            weight_square_sum=self._weight_square,
            mean=self._mean.copy(),
            covariance=(covariance + covariance.T) / 2,
            counts=tuple(int(n) if indicator else None for n, indicator in zip(self._counts, self._indicator, strict=True)),
        )
