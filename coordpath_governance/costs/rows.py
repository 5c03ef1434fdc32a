"""Rows: the reference data as a cost reads them, in chunks, again and again in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["RowChunk", "Rows", "RowsInMemory"]

_CHUNK = 1 << 16
"""Rows of a chunk cut from arrays in memory."""


@dataclass(frozen=True, eq=False)
class RowChunk:
    """Some rows: ``columns`` is n×d, the others have n numbers; the score of a row is offset + columnsᵀβ."""

    columns: FloatArray
    target: FloatArray
    weight: FloatArray
    offset: FloatArray

    def __len__(self) -> int:
        return len(self.target)

    def part(self, rows: slice | NDArray[np.bool_]) -> RowChunk:
        """Some of these rows."""
        return RowChunk(self.columns[rows], self.target[rows], self.weight[rows], self.offset[rows])


class Rows(Protocol):
    """What can be read in chunks any number of times, always the same."""

    @property
    def width(self) -> int:
        """d, the number of columns."""
        ...

    def __iter__(self) -> Iterator[RowChunk]:
        """The chunks, in the same order every time."""
        ...


class RowsInMemory:
    """Rows from arrays; weights are 1 and offsets 0 unless given. What has no finite value is refused."""

    def __init__(
        self, columns: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, offset: ArrayLike | None = None
    ) -> None:
        matrix = np.ascontiguousarray(columns, dtype=np.float64)
        if matrix.ndim != 2:
            raise ProblemError(f"cost.rows: columns have {matrix.ndim} dimensions; give a row of numbers for every row")
        n = len(matrix)
        self._rows = RowChunk(
            _finite(matrix, "columns"),
            _numbers(target, "target", n),
            np.ones(n) if weight is None else _numbers(weight, "weight", n),
            np.zeros(n) if offset is None else _numbers(offset, "offset", n),
        )

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self._rows.columns.shape[1])

    def __iter__(self) -> Iterator[RowChunk]:
        for start in range(0, len(self._rows), _CHUNK):
            yield self._rows.part(slice(start, start + _CHUNK))


def _numbers(values: ArrayLike, name: str, count: int) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count,):
        raise ProblemError(f"cost.rows: {name} has shape {array.shape}, but there are {count} rows; give a number for each")
    return _finite(array, name)


def _finite(array: FloatArray, name: str) -> FloatArray:
    bad = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
    if len(bad):
        raise ProblemError(f"cost.rows: {name} has no finite number in {len(bad)} rows, first in row {bad[0]}")
    return array
