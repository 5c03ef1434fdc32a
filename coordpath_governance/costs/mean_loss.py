"""The mean loss over rows with its derivatives: one pass over the rows each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.rows import by_column, overflowing, weighty_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.costs.families import Family
    from coordpath_governance.costs.rows import RowChunk, Rows

    FloatArray = NDArray[np.float64]

__all__ = ["MeanLoss"]

_WIDE = 256
_NARROW = 64
"""Wider rows than these count as this wide where blocks are cut: short blocks would be slow, most of all for products."""


@dataclass(frozen=True, eq=False)
class MeanLoss:
    """c(β) = Σ w·ℓ/Σ w; what overflows is infinite or not a number. Coordinate j·C + c of β is column j in class c."""

    family: Family
    rows: Rows
    weight: float

    @property
    def size(self) -> int:
        """Number of coordinates: a coefficient for every column and class."""
        return self.rows.width * self.family.scores

    def values(self, vectors: FloatArray) -> FloatArray:
        """The cost of every vector, (m,)."""
        total = np.zeros(len(vectors))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in weighty_blocks(self.rows, self.family.scores * len(vectors)):
                total += part.weight @ self.family.loss(part.target, self._scores(part, vectors))
            return total / self.weight

    def lost(self, vectors: FloatArray) -> int:
        """The number of rows whose loss overflows at any of the vectors; all if only their sum does."""
        lost, count = 0, 0
        with np.errstate(over="ignore", invalid="ignore"):
            for part in weighty_blocks(self.rows, self.family.scores * len(vectors)):
                lost += overflowing(self.family.loss(part.target, self._scores(part, vectors)), part.weight)
                count += len(part)
        return lost or count

    def slope(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """The cost and its gradient."""
        value, slope = 0.0, np.zeros(self.size)
        with np.errstate(over="ignore", invalid="ignore"):
            for part in weighty_blocks(self.rows, min(self.size, _WIDE)):
                losses, slopes = self._slope(part, self._scores(part, vector[None]))
                value, slope = value + losses, slope + slopes
            return value / self.weight, slope / self.weight

    def expansion(self, vector: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The cost, its gradient and its matrix of second derivatives."""
        value, slope, curvature = 0.0, np.zeros(self.size), np.zeros((self.size, self.size))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in weighty_blocks(self.rows, min(self.size, _NARROW)):
                score = self._scores(part, vector[None])
                losses, slopes = self._slope(part, score)
                value, slope = value + losses, slope + slopes
                self._add_curvature(part, score, curvature)
            return value / self.weight, slope / self.weight, curvature / self.weight

    def shape(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean products of the columns, d×d, and the mean curvature in the scores at a point, C×C."""
        products, bends = np.zeros((self.rows.width, self.rows.width)), np.zeros((self.family.scores, self.family.scores))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in weighty_blocks(self.rows, min(self.size, _NARROW)):
                products += _products(part.columns, part.weight)
                bend = self.family.curvature(part.target, self._scores(part, vector[None])[:, :, 0])
                bends += np.tensordot(part.weight, bend, axes=1)
            return products / self.weight, bends / self.weight

    def least_margin(self, vector: FloatArray) -> float:
        """Over all rows the least lead of the true class's score, without the offset, before that of any other class."""
        least = np.inf
        for part in weighty_blocks(self.rows, self.family.scores):
            score = self._scores(part, vector[None])[:, :, 0] - part.offset[:, None]
            if self.family.scores == 1:
                lead = score[:, 0] * (2.0 * part.target - 1.0)
            else:
                own = np.arange(len(part)), part.target.astype(np.intp)
                true = score[own]
                score[own] = -np.inf
                lead = true - score.max(axis=1)
            least = min(least, float(lead.min()))
        return least

    def _scores(self, part: RowChunk, vectors: FloatArray) -> FloatArray:
        """η of every row, class and vector, (n, C, m)."""
        columns = part.columns @ by_column(vectors, self.family.scores)
        result: FloatArray = columns.reshape(-1, self.family.scores, len(vectors))
        result += part.offset[:, None, None]
        return result

    def _slope(self, part: RowChunk, score: FloatArray) -> tuple[float, FloatArray]:
        """Σ w·ℓ and Σ w·∂ℓ/∂β over some rows."""
        loss, slope = self.family.loss_and_slope(part.target, score)
        return float(part.weight @ loss[:, 0]), (part.columns.T @ (slope[:, :, 0] * part.weight[:, None])).ravel()

    def _add_curvature(self, part: RowChunk, score: FloatArray, curvature: FloatArray) -> None:
        """Add Σ w·∂²ℓ/∂β² over some rows."""
        scores, width = self.family.scores, self.rows.width
        bend = self.family.curvature(part.target, score[:, :, 0]) * part.weight[:, None, None]
        by_class = curvature.reshape(width, scores, width, scores)
        for c in range(scores):
            by_class[:, c, :, c] += _products(part.columns, bend[:, c, c])
            for other in range(c):
                products = part.columns.T @ (part.columns * bend[:, c, other, None])
                by_class[:, c, :, other] += products
                by_class[:, other, :, c] += products.T


def _products(columns: FloatArray, weight: FloatArray) -> FloatArray:
    """Σ w·xxᵀ."""
    weighted = columns * np.sqrt(weight)[:, None]
    result: FloatArray = weighted.T @ weighted
    return result
