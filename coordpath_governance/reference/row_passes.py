"""Rows as costs and measures read them: the columns of a change, again and again, from memory where they fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.costs.rows import RowChunk
from coordpath_governance.reference.collect import KEPT_FOR_PASSES
from coordpath_governance.reference.encode import EncodedRows, ReadingPlan, Tally, encode_rows
from coordpath_governance.reference.read_columns import Levels
from coordpath_governance.reference.sources import RowSource

__all__ = ["RowCoordinates", "RowPasses", "SegmentedRows"]

Array = NDArray[np.float64]

_OTHER_NUMBERS = 3
"""The numbers of a row besides its columns: target, weight and offset."""


class RowCoordinates(Protocol):
    """Turns the design columns of rows into the columns of a change: its coordinates, or its units."""

    @property
    def width(self) -> int:
        """How many columns there are."""
        ...

    def columns(self, design: Array) -> Array:
        """The columns of every row, rows × width."""
        ...


@dataclass(frozen=True, eq=False)
class SegmentedRows(RowChunk):
    """Some rows and the segments they are in."""

    segments: tuple[Levels, ...]


class RowPasses:
    """The rows of a source that count, in chunks, as often as asked.

    Columns are computed once and kept if they fit, otherwise anew in every pass; with ``once`` they are read once more only,
    and none are kept. The rows in ``kept`` (those that `collect_moments` kept, None if it did not) are taken out of that
    list, so that they are not held twice.
    """

    def __init__(
        self,
        source: RowSource,
        plan: ReadingPlan,
        columns: RowCoordinates,
        kept: list[EncodedRows] | None = None,
        *,
        once: bool = False,
    ) -> None:
        self.source = source
        self.plan = plan
        self._columns = columns
        self._fits = not once
        self._chunks: list[SegmentedRows] | None = None
        if kept is not None:
            kept.reverse()
            self._chunks = []
            while kept:
                self._chunks.append(self._chunk(kept.pop()))

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self._columns.width

    def __iter__(self) -> Iterator[SegmentedRows]:
        if self._chunks is not None:
            yield from self._chunks
            return
        gathered: list[SegmentedRows] = []
        cells = 0
        for encoded in encode_rows(self.source, self.plan, Tally()):
            chunk = self._chunk(encoded)
            cells += len(chunk) * (self.width + _OTHER_NUMBERS)
            if cells > KEPT_FOR_PASSES:
                self._fits = False
                gathered.clear()
            if self._fits:
                gathered.append(chunk)
            yield chunk
        if self._fits:
            self._chunks = gathered

    def _chunk(self, rows: EncodedRows) -> SegmentedRows:
        return SegmentedRows(self._columns.columns(rows.design), rows.target, rows.weight, rows.offset, rows.segments)
