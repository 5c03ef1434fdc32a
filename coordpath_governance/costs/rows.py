"""Rows: the reference data as a cost reads them, in chunks, again and again in the same order; and sums over them.

Sums are made in blocks of rows that stay in the processor's cache, for many models in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from coordpath_governance.costs.families import Family

    FloatArray = NDArray[np.float64]

__all__ = [
    "RowChunk",
    "Rows",
    "RowsInMemory",
    "blocks",
    "by_column",
    "evaluate_rows",
    "overflow",
    "overflowing",
    "weighty_blocks",
]

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
    """Rows that can be read in chunks any number of times, always the same."""

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


_BLOCK = 1 << 16
"""Numbers of a block."""


def blocks(rows: int, numbers: int) -> Iterator[slice]:
    """Consecutive rows, as many at a time as there is room for, with ``numbers`` numbers per row."""
    step = max(_BLOCK // max(numbers, 1), 1)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def weighty_blocks(rows: Rows, numbers: int) -> Iterator[RowChunk]:
    """All rows that have a weight, in blocks that leave room for ``numbers`` numbers per row."""
    for chunk in rows:
        weighty = chunk.weight > 0.0
        weighted = chunk if weighty.all() else chunk.part(weighty)
        for block in blocks(len(weighted), numbers):
            yield weighted.part(block)


def by_column(betas: FloatArray, scores: int) -> FloatArray:
    """Models × (columns·scores) as columns × (scores·models), so that one product scores all models."""
    models, size = betas.shape
    return betas.reshape(models, size // scores, scores).transpose(1, 2, 0).reshape(size // scores, scores * models)


def evaluate_rows(
    family: Family,
    *,
    base: FloatArray,
    shifts: FloatArray,
    at: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    slopes: bool,
) -> tuple[FloatArray, FloatArray | None]:
    """Σ w·ℓ(y, base + shifts·x) for every row x of ``at``, (m,), and Σ w·shiftsᵀ·∂ℓ/∂η, (m, D), if ``slopes``.

    ``base`` is (n, C), ``shifts`` (n, C, D), ``at`` (m, D). A row without weight counts for nothing, whatever its loss;
    losses of other rows that overflow double precision are a `ProblemError`.
    """
    weighty = weight > 0.0
    if not weighty.all():
        base, shifts, target, weight = base[weighty], shifts[weighty], target[weighty], weight[weighty]
    count, scores, width = shifts.shape
    total, lost = np.zeros(len(at)), 0
    slope_total = np.zeros((len(at), width)) if slopes else None
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in blocks(count, scores * max(len(at), width)):
            flat = shifts[rows].reshape(len(target[rows]) * scores, width)
            score = (flat @ at.T).reshape(-1, scores, len(at))
            score += base[rows, :, None]
            if slope_total is None:
                loss = family.loss(target[rows], score)
            else:
                loss, slope = family.loss_and_slope(target[rows], score)
                slope *= weight[rows, None, None]
                slope_total += slope.reshape(-1, len(at)).T @ flat
            part = weight[rows] @ loss
            total += part
            if not np.isfinite(part).all():
                lost += overflowing(loss, weight[rows])
    if lost or not np.isfinite(total).all():
        raise overflow(lost or count)
    return total, slope_total


def overflowing(loss: FloatArray, weight: FloatArray) -> int:
    """How many rows have a loss that double precision cannot hold once it is weighted."""
    return int(np.count_nonzero(~np.isfinite(loss * weight[:, None]).all(axis=1)))


def overflow(rows: int) -> ProblemError:
    """What to raise where the losses of some rows, or their sum, exceed double precision."""
    return ProblemError(
        f"cost: overflows double precision for {rows} rows; their scores are too far from their targets: check the "
        "coefficients, the offset and the scale of the columns"
    )
