"""The second pass: what only rows can tell of a path whose moments are known.

Per row i and step k the loss is (y_i − score_k(i))². The standard error of a step's mean change d̄ is

    sqrt( n/(n−1) · Σ w_i² (d_i − d̄)² ) / Σ w_i,   d_i = loss_k(i) − loss_{k−1}(i).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.reference.encode import EncodedRows, ReadingPlan, Tally, encode_rows
from coordpath_governance.reference.moments import MIN_COUNT
from coordpath_governance.reference.sources import RowSource

__all__ = ["PathOnRows", "RowMeasures", "RowScores", "SegmentMeasures", "measure_rows"]

Array = NDArray[np.float64]

SMALL_CELLS = f"(values with fewer than {MIN_COUNT} rows)"
_BINS = 4800
_REACH = 12.0
_AGREEMENT = 1e-6
_ROUNDING = 1e-12


class RowScores(Protocol):
    """Scores rows: the champion's score, and what each unit of the change adds to it."""

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the change, in the order of `shifts`' columns."""
        ...

    def score(self, design: Array) -> Array:
        """The champion's score of every row."""
        ...

    def shifts(self, design: Array) -> Array:
        """What moving each unit adds, rows × units."""
        ...


@dataclass(frozen=True)
class PathOnRows:
    """The path as units moved per step, and what its moments say: deltas per step, mean and sd of the whole shift."""

    steps: tuple[tuple[str, ...], ...]
    deltas: tuple[float, ...]
    start_cost: float
    shift_mean: float
    shift_sd: float
    threshold: float | None


@dataclass(frozen=True)
class SegmentMeasures:
    """Figures within one value of a segment column; ``flips`` is a share, None without a threshold."""

    segment: str
    value: str
    rows: int
    champion_cost: float
    candidate_cost: float
    delta: float
    delta_se: float | None
    mean_shift: float
    flips: float | None


@dataclass(frozen=True)
class RowMeasures:
    """Standard errors of steps and total, absolute errors, quantiles of the shift, flips and segments."""

    step_se: tuple[float, ...]
    total_se: float
    champion_mae: float
    candidate_mae: float
    shift_p05: float
    shift_p50: float
    shift_p95: float
    shift_largest: float
    flips_up: float | None
    flips_down: float | None
    segments: tuple[SegmentMeasures, ...]


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


@dataclass
class _Sums:
    """Running sums of a pass."""

    rows: int
    weight: float
    mean_delta: Array
    squares: Array
    total_square: float = 0.0
    champion_mae: float = 0.0
    candidate_mae: float = 0.0
    champion_loss: float = 0.0
    target_square: float = 0.0
    largest: float = 0.0
    up: float = 0.0
    down: float = 0.0
    histogram: Array = field(default_factory=lambda: np.zeros(_BINS))
    cells: dict[tuple[int, str], _Cell] = field(default_factory=dict)


def measure_rows(
    source: RowSource,
    plan: ReadingPlan,
    scores: RowScores,
    path: PathOnRows,
    progress: Callable[[int], None] | None = None,
    kept: Iterable[EncodedRows] | None = None,
) -> RowMeasures:
    """Go through all rows once more, from ``kept`` if they are at hand.

    Raises if the source has changed or the rows disagree with the moments that the path was computed from.
    """
    picks = np.zeros((len(scores.units), len(path.steps)))
    for k, units in enumerate(path.steps):
        for unit in units:
            picks[scores.units.index(unit), k] = 1.0
    sums = _Sums(0, 0.0, np.zeros(len(path.steps)), np.zeros(len(path.steps)))
    edges = path.shift_mean + max(path.shift_sd, 1e-300) * np.linspace(-_REACH, _REACH, _BINS + 1)
    tally = Tally()
    for chunk in encode_rows(source, plan, tally) if kept is None else kept:
        _add_chunk(sums, chunk, scores, picks, path, edges)
        if progress is not None:
            progress(tally.rows_read)
    source.check_unchanged()
    _check_agreement(sums, path)
    return _result(sums, path, edges, plan.segments)


def _add_chunk(sums: _Sums, chunk: EncodedRows, scores: RowScores, picks: Array, path: PathOnRows, edges: Array) -> None:
    weight, target = chunk.weight, chunk.target
    start = scores.score(chunk.design)
    along = np.column_stack([start, start[:, None] + np.cumsum(scores.shifts(chunk.design) @ picks, axis=1)])
    residual = target[:, None] - along
    loss = residual**2
    delta = np.diff(loss, axis=1)
    sums.rows += len(target)
    sums.weight += float(weight.sum())
    sums.mean_delta += weight @ delta
    expected = np.array(path.deltas)
    sums.squares += (weight**2) @ (delta - expected) ** 2
    sums.champion_loss += float(weight @ loss[:, 0])
    sums.target_square += float(weight @ target**2)
    total = loss[:, -1] - loss[:, 0]
    sums.total_square += float((weight**2) @ (total - expected.sum()) ** 2)
    sums.champion_mae += float(weight @ np.abs(residual[:, 0]))
    sums.candidate_mae += float(weight @ np.abs(residual[:, -1]))
    shift = along[:, -1] - start
    if len(shift):
        extreme = shift[np.argmax(np.abs(shift))]
        sums.largest = float(extreme) if abs(extreme) > abs(sums.largest) else sums.largest
    bins = np.clip(np.searchsorted(edges, shift, side="right") - 1, 0, _BINS - 1)
    sums.histogram += np.bincount(bins, weights=weight, minlength=_BINS)
    flipped = np.zeros(len(shift), dtype=bool)
    if path.threshold is not None:
        before, after = start >= path.threshold, along[:, -1] >= path.threshold
        flipped = before != after
        sums.up += float(weight @ (after & ~before))
        sums.down += float(weight @ (before & ~after))
    for column, labels in enumerate(chunk.segments):
        names, codes = np.unique(np.array(labels, dtype=np.str_), return_inverse=True)
        for code, name in enumerate(names):
            inside = codes == code
            w, d = weight[inside], total[inside]
            cell = _Cell(
                rows=int(inside.sum()),
                weight=float(w.sum()),
                weight_square=float(w @ w),
                champion=float(w @ loss[inside, 0]),
                candidate=float(w @ loss[inside, -1]),
                square=float(w**2 @ d**2),
                cross=float(w**2 @ d),
                shift=float(w @ shift[inside]),
                flips=float(w @ flipped[inside]),
            )
            sums.cells.setdefault((column, str(name)), _Cell()).add(cell)


def _check_agreement(sums: _Sums, path: PathOnRows) -> None:
    """Two computations of one thing: the start's cost and the steps' mean changes, from the rows and from the moments."""
    deltas = np.array(path.deltas)
    scale = abs(path.start_cost) + float(np.abs(deltas).sum())
    apart = np.abs(sums.mean_delta / sums.weight - deltas).max(initial=0.0) > _AGREEMENT * scale
    start = sums.champion_loss / sums.weight
    rounding = _ROUNDING * sums.target_square / sums.weight
    if apart or abs(start - path.start_cost) > _AGREEMENT * start + rounding:
        raise ReferenceDataError(
            "the rows and their moments disagree on the cost of the steps; the data changed while they were read, "
            "or lie too far apart for double precision (rescale the columns)"
        )


def _result(sums: _Sums, path: PathOnRows, edges: Array, segments: Sequence[str]) -> RowMeasures:
    correction = sums.rows / (sums.rows - 1)
    middles = (edges[:-1] + edges[1:]) / 2
    reached = np.cumsum(sums.histogram)
    quantiles = [float(middles[np.searchsorted(reached, q * reached[-1])]) for q in (0.05, 0.5, 0.95)]
    with_threshold = path.threshold is not None
    return RowMeasures(
        step_se=tuple(float(math.sqrt(correction * s) / sums.weight) for s in sums.squares),
        total_se=math.sqrt(correction * sums.total_square) / sums.weight,
        champion_mae=sums.champion_mae / sums.weight,
        candidate_mae=sums.candidate_mae / sums.weight,
        shift_p05=quantiles[0],
        shift_p50=quantiles[1],
        shift_p95=quantiles[2],
        shift_largest=sums.largest,
        flips_up=sums.up / sums.weight if with_threshold else None,
        flips_down=sums.down / sums.weight if with_threshold else None,
        segments=_segments(sums, segments, with_threshold),
    )


def _segments(sums: _Sums, names: Sequence[str], with_threshold: bool) -> tuple[SegmentMeasures, ...]:
    """One line per segment value, small cells merged, in the order of columns and values."""
    out = []
    for column, name in enumerate(names):
        small = _Cell()
        for (where, value), cell in sorted(sums.cells.items()):
            if where != column:
                continue
            if cell.rows < MIN_COUNT:
                small.add(cell)
            else:
                out.append(_segment(name, value, cell, with_threshold))
        if small.rows >= MIN_COUNT:
            out.append(_segment(name, SMALL_CELLS, small, with_threshold))
    return tuple(out)


def _segment(name: str, value: str, cell: _Cell, with_threshold: bool) -> SegmentMeasures:
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
        flips=cell.flips / weight if with_threshold else None,
    )
