"""Figures for every value of a segment column, for any loss; small cells are merged before anyone sees them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.read_columns import Levels

__all__ = ["SMALL_CELLS", "SegmentMeasures", "SegmentSums"]

Array = NDArray[np.float64]

SMALL_CELLS = f"(values with fewer than {MIN_COUNT} rows)"


@dataclass(frozen=True)
class SegmentMeasures:
    """Figures of the rows with one value of a segment column; ``flips`` is a share, None without a threshold."""

    segment: str
    value: str
    rows: int
    champion_cost: float
    candidate_cost: float
    delta: float
    delta_se: float | None
    mean_shift: float
    flips: float | None


@dataclass
class _Cell:
    """Running sums of one segment value."""

    rows: int = 0
    weight: float = 0.0
    weight_square: float = 0.0
    champion: float = 0.0
    candidate: float = 0.0
    square: float = 0.0
    cross: float = 0.0
    shift: float = 0.0
    flips: float = 0.0

    def add(self, other: _Cell) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class SegmentSums:
    """Adds up rows by the values of segment columns; `result` returns the figures of each value."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._cells: dict[tuple[int, str], _Cell] = {}

    def add(
        self,
        segments: Sequence[Levels],
        weight: Array,
        losses: tuple[Array, Array],
        shift: Array,
        flipped: NDArray[np.bool_],
    ) -> None:
        """Add one chunk: weights, both versions' losses, shifts of the score, and whether decisions flip."""
        champion, candidate = losses
        total = candidate - champion
        for column, levels in enumerate(segments):
            order = np.argsort(levels.codes, kind="stable")
            ends = np.cumsum(np.bincount(levels.codes, minlength=len(levels.labels)))
            for label, inside in zip(levels.labels, np.split(order, ends[:-1]), strict=True):
                if not len(inside):
                    continue
                w, d = weight[inside], total[inside]
                cell = _Cell(
                    rows=len(inside),
                    weight=float(w.sum()),
                    weight_square=float(w @ w),
                    champion=float(w @ champion[inside]),
                    candidate=float(w @ candidate[inside]),
                    square=float(w**2 @ d**2),
                    cross=float(w**2 @ d),
                    shift=float(w @ shift[inside]),
                    flips=float(w @ flipped[inside]),
                )
                self._cells.setdefault((column, label), _Cell()).add(cell)

    def result(self, with_flips: bool) -> tuple[SegmentMeasures, ...]:
        """One line per segment value, small cells merged, in the order of columns and values."""
        out = []
        for column, name in enumerate(self._names):
            small = _Cell()
            for (where, value), cell in sorted(self._cells.items()):
                if where != column:
                    continue
                if cell.rows < MIN_COUNT:
                    small.add(cell)
                else:
                    out.append(_segment(name, value, cell, with_flips))
            if small.rows >= MIN_COUNT:
                out.append(_segment(name, SMALL_CELLS, small, with_flips))
        return tuple(out)


def _segment(name: str, value: str, cell: _Cell, with_flips: bool) -> SegmentMeasures:
    weight = cell.weight or 1.0
    delta = (cell.candidate - cell.champion) / weight
    spread = cell.square - 2 * delta * cell.cross + delta**2 * cell.weight_square
    return SegmentMeasures(
        segment=name,
        value=value,
        rows=cell.rows,
        champion_cost=cell.champion / weight,
        candidate_cost=cell.candidate / weight,
        delta=delta,
        delta_se=math.sqrt(max(spread, 0.0) * cell.rows / (cell.rows - 1)) / weight,
        mean_shift=cell.shift / weight,
        flips=cell.flips / weight if with_flips else None,
    )
