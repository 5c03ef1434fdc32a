"""The second pass: what only rows can tell of a path whose moments are known.

Per row i and step k the loss is (y_i − score_k(i))².
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.reference.decisions import CutOff, DecisionSums, FlipMeasures
from coordpath_governance.reference.encode import EncodedRows, ReadingPlan, Tally, encode_rows
from coordpath_governance.reference.path_losses import PathLosses, disagreement
from coordpath_governance.reference.rank_figures import quantiles
from coordpath_governance.reference.segments import SegmentMeasures, SegmentSums
from coordpath_governance.reference.sources import RowSource

__all__ = ["PathOnRows", "RowMeasures", "RowScores", "measure_rows"]

Array = NDArray[np.float64]

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
    flips: FlipMeasures | None
    segments: tuple[SegmentMeasures, ...]


@dataclass
class _Sums:
    """Running sums of a pass."""

    losses: PathLosses
    segments: SegmentSums
    decisions: DecisionSums | None = None
    champion_mae: float = 0.0
    candidate_mae: float = 0.0
    target_square: float = 0.0
    largest: float = 0.0
    histogram: Array = field(default_factory=lambda: np.zeros(_BINS))


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
    sums = _Sums(PathLosses(path.deltas), SegmentSums(plan.segments))
    if path.threshold is not None:
        sums.decisions = DecisionSums(("from first to last",), CutOff(path.threshold), CutOff(path.threshold), 1)
    edges = path.shift_mean + max(path.shift_sd, 1e-300) * np.linspace(-_REACH, _REACH, _BINS + 1)
    tally = Tally()
    for chunk in encode_rows(source, plan, tally) if kept is None else kept:
        _add_chunk(sums, chunk, scores, picks, edges)
        if progress is not None:
            progress(tally.rows_read)
    source.check_unchanged()
    _check_agreement(sums, path)
    return _result(sums, edges)


def _add_chunk(sums: _Sums, chunk: EncodedRows, scores: RowScores, picks: Array, edges: Array) -> None:
    weight, target = chunk.weight, chunk.target
    start = scores.score(chunk.design)
    along = np.column_stack([start, start[:, None] + np.cumsum(scores.shifts(chunk.design) @ picks, axis=1)])
    residual = target[:, None] - along
    loss = residual**2
    sums.losses.add(loss, weight)
    sums.target_square += float(weight @ target**2)
    sums.champion_mae += float(weight @ np.abs(residual[:, 0]))
    sums.candidate_mae += float(weight @ np.abs(residual[:, -1]))
    shift = along[:, -1] - start
    if len(shift):
        extreme = shift[np.argmax(np.abs(shift))]
        sums.largest = float(extreme) if abs(extreme) > abs(sums.largest) else sums.largest
    bins = np.clip(np.searchsorted(edges, shift, side="right") - 1, 0, _BINS - 1)
    sums.histogram += np.bincount(bins, weights=weight, minlength=_BINS)
    flipped = np.zeros(len(shift), dtype=bool)
    if sums.decisions is not None:
        flipped = sums.decisions.add(along[:, None, [0, -1]], weight)
    sums.segments.add(chunk.segments, weight, (loss[:, 0], loss[:, -1]), shift, flipped)


def _check_agreement(sums: _Sums, path: PathOnRows) -> None:
    """Two computations of one thing: the start's cost and the steps' mean changes, from the rows and from the moments."""
    deltas = np.array(path.deltas)
    scale = abs(path.start_cost) + float(np.abs(deltas).sum())
    apart = np.abs(sums.losses.mean_deltas - deltas).max(initial=0.0) > _AGREEMENT * scale
    start = sums.losses.start_cost
    rounding = _ROUNDING * sums.target_square / sums.losses.weight
    if apart or abs(start - path.start_cost) > _AGREEMENT * start + rounding:
        raise disagreement("their moments")


def _result(sums: _Sums, edges: Array) -> RowMeasures:
    low, middle, high = quantiles((edges[:-1] + edges[1:]) / 2, sums.histogram)
    weight = sums.losses.weight
    flips = None if sums.decisions is None else sums.decisions.result(weight)
    return RowMeasures(
        step_se=sums.losses.step_se,
        total_se=sums.losses.total_se,
        champion_mae=sums.champion_mae / weight,
        candidate_mae=sums.candidate_mae / weight,
        shift_p05=low,
        shift_p50=middle,
        shift_p95=high,
        shift_largest=sums.largest,
        flips=flips,
        segments=sums.segments.result(flips is not None),
    )
