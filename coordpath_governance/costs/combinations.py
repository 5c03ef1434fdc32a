"""Combinations of columns: which of them move the scores, and which are nothing but rounding.

A matrix of products squares what it is made of: columns that differ by a part δ of their size, such as a constant and a
date in seconds, leave an eigenvalue of δ², which double precision hides from δ = 10⁻⁷ on. On the rows themselves δ shows
down to 10⁻¹². Where that makes a difference, combinations of the columns that are uncorrelated and of size one take their
place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.rows import RowChunk, RowsInMemory, weighty_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coordpath_governance.costs.rows import Rows

    FloatArray = NDArray[np.float64]

__all__ = ["CombinedRows", "distinct_combinations", "move_scores"]

_HIDDEN = 1e-10
"""Eigenvalues below this part of the largest may be rounding, or may not."""
_NOISE = 1e-12
"""Of what its parts add up to: a combination that is no larger anywhere is rounding."""
_FLOOR = 1e-14
"""A round makes combinations larger by the root of this at most, so that what it takes for their direction is right."""
_SQUARED = 1e-100, 1e100
"""Numbers whose squares keep all their digits."""
_NOTHING = 1e-300
"""A column that is nowhere larger is one of zeros."""
_EVEN = 0.1
_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class CombinedRows:
    """Rows that have a weight, with combinations of their columns, those of ``matrix`` (d×r), in place of the columns."""

    rows: Rows
    matrix: FloatArray

    @property
    def width(self) -> int:
        """Number of combinations."""
        return int(self.matrix.shape[1])

    def __iter__(self) -> Iterator[RowChunk]:
        for chunk in weighty_blocks(self.rows, self.width):
            yield RowChunk(chunk.columns @ self.matrix, chunk.target, chunk.weight, chunk.offset)

    def held(self) -> RowsInMemory:
        """All of them in memory."""
        chunks = list(self)
        parts = ([getattr(chunk, name) for chunk in chunks] for name in ("columns", "target", "weight", "offset"))
        return RowsInMemory(*(np.concatenate(part) for part in parts))

    def mean(self) -> FloatArray:
        """Of every combination: what a column of ones is made of, as far as it can be."""
        total, weight = np.zeros(self.width), 0.0
        for chunk in self:
            total += chunk.weight @ chunk.columns
            weight += float(chunk.weight.sum())
        mean: FloatArray = total / weight
        return mean


def distinct_combinations(rows: Rows, largest: FloatArray) -> FloatArray | None:
    """A (d×r) such that the columns times A are uncorrelated and of size one, and no score is lost but by rounding.

    None where the products of the columns tell all there is: where no combination hides in their rounding, and no column is
    so large or small that its squares are lost. ``largest``: the largest number of every column.
    """
    largest = np.where(largest < _NOTHING, 1.0, largest)
    products = _products(rows, largest)
    sizes = np.sqrt(np.diag(products))
    sizes[sizes == 0.0] = 1.0
    values, vectors = np.linalg.eigh(products / sizes[:, None] / sizes)
    matrix = vectors / sizes[:, None] / largest[:, None]
    hidden = matrix[:, values <= _HIDDEN * values[-1]]
    lost = (largest < _SQUARED[0]) | (largest > _SQUARED[1])
    if not lost.any() and not (hidden.size and move_scores(rows, hidden.T[:, :, None]).any()):
        return None
    for _ in range(_ROUNDS):
        matrix = matrix / np.sqrt(np.maximum(values, _FLOOR * values[-1]))
        matrix = matrix[:, move_scores(rows, matrix.T[:, :, None])]
        values, vectors = np.linalg.eigh(_products(CombinedRows(rows, matrix), np.ones(matrix.shape[1])))
        if values[0] >= _EVEN * values[-1]:
            break
        matrix = matrix @ vectors
    return matrix


def move_scores(rows: Rows, directions: FloatArray) -> NDArray[np.bool_]:
    """Whether coefficients that go in each of the directions, (m, d, C), move any row's scores by more than rounding.

    Of several classes it does not count what all their scores have in common.
    """
    count, width, classes = directions.shape
    apart = directions - directions.mean(axis=2, keepdims=True) * (classes > 1)
    moving, reaching = (coefficients.transpose(1, 0, 2).reshape(width, -1) for coefficients in (apart, np.abs(directions)))
    moved, reach = np.zeros(count), np.zeros(count)
    for chunk in weighty_blocks(rows, count * classes):
        columns = chunk.columns
        for largest_so_far, scores in ((moved, np.abs(columns @ moving)), (reach, np.abs(columns) @ reaching)):
            np.maximum(
                largest_so_far, scores.max(axis=0, initial=0.0).reshape(count, classes).max(axis=1), out=largest_so_far
            )
    noticed: NDArray[np.bool_] = moved > _NOISE * reach
    return noticed


def _products(rows: Rows, units: FloatArray) -> FloatArray:
    """Mean products of the columns in these units, d×d."""
    total, weight = np.zeros((rows.width, rows.width)), 0.0
    for chunk in weighty_blocks(rows, rows.width):
        columns = chunk.columns / units
        total += columns.T @ (columns * chunk.weight[:, None])
        weight += float(chunk.weight.sum())
    mean: FloatArray = total / weight
    return mean
