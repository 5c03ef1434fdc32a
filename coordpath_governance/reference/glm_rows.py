"""The last pass over the rows of generalised linear models: what only rows can tell of a path that is known.

With z the columns of a row, o its offset and β_k the model after step k, the score is η_k = o + zᵀβ_k (one a class where
there are several), the prediction its mean, the loss that of the family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.costs.accumulate import by_column
from coordpath_governance.costs.families import Family
from coordpath_governance.reference.decisions import CutOff, DecisionSums
from coordpath_governance.reference.path_losses import PathLosses, disagreement
from coordpath_governance.reference.rank_figures import quantiles
from coordpath_governance.reference.ranked import ALL_DIGITS, RankedSums
from coordpath_governance.reference.read_columns import Levels
from coordpath_governance.reference.row_passes import GlmRows, SegmentedRows
from coordpath_governance.reference.rows import RowMeasures
from coordpath_governance.reference.segments import SegmentSums
from coordpath_governance.reference.versions import BestOrder, ClassSums, ScoreSums, VersionMeasures

__all__ = ["GlmPathOnRows", "GlmRowMeasures", "measure_glm_rows"]

Array = NDArray[np.float64]

_ROWS_AT_ONCE = 1 << 15
_AGREEMENT = 1e-6
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class GlmPathOnRows:
    """The path as the models on it: before the first step and after every step, with their costs as the solver told them.

    ``betas`` is (steps + 1) × (columns·scores), coordinate j·C + c being column j in class c. ``about_first``: a decision
    that flips up is one for the first of two classes, since the cut-off that was asked for is of its probability.
    """

    betas: Array
    steps: tuple[str, ...]
    costs: tuple[float, ...]
    classes: tuple[str, ...] = ()
    champion_cut: CutOff | None = None
    candidate_cut: CutOff | None = None
    about_first: bool = False


@dataclass(frozen=True)
class GlmRowMeasures(RowMeasures):
    """The same as of any path, in terms of the loss, the prediction and the linear score; and each version's own figures.

    The absolute error is |target − prediction|, of several classes 1 − the probability of the row's own. The shift is that
    of the score: log-odds, log rate, or of several classes the score of the row's own minus the mean over the classes. Flips
    are None unless both versions have a threshold; of several classes every changed decision is a flip up. With an exposure
    predictions are rates per unit of it: a threshold is one of the rate, and each version's figures are ranked by the rate,
    every row with its exposure.
    """

    champion_metrics: VersionMeasures
    candidate_metrics: VersionMeasures


class _Sums:
    """Running sums of a pass along one path."""

    def __init__(self, family: Family, path: GlmPathOnRows, segments: tuple[str, ...], *, as_rates: bool) -> None:
        self._as_rates = as_rates
        self.losses = PathLosses(np.diff(path.costs).tolist())
        self.segments = SegmentSums(segments)
        self.decisions = None
        if path.champion_cut is not None and path.candidate_cut is not None:
            cuts = path.champion_cut, path.candidate_cut
            self.decisions = DecisionSums(path.steps, *cuts, family.scores, about_first=path.about_first)
        self.shift = RankedSums(1, ALL_DIGITS)
        self.lowest, self.highest = np.inf, -np.inf
        self.best = BestOrder() if not path.classes else None
        several = family.scores > 1
        self.versions: tuple[ScoreSums | ClassSums, ...] = tuple(
            ClassSums(family.scores) if several else ScoreSums() for _ in range(2)
        )
        self._family = family
        self._betas = by_column(path.betas, family.scores)

    def add(self, rows: SegmentedRows) -> None:
        """Take in some rows."""
        family, weight, target = self._family, rows.weight, rows.target
        score = (rows.columns @ self._betas).reshape(len(target), family.scores, -1)
        score += rows.offset[:, None, None]
        loss = family.loss(target, score)
        ends = score[:, :, [0, -1]]
        exposure = np.exp(rows.offset) if self._as_rates else np.ones(len(weight))
        rate, insured = target / exposure, weight * exposure
        prediction = family.mean(ends if self.decisions is None else score) / exposure[:, None, None]
        self.losses.add(loss, weight)
        flipped = np.zeros(len(weight), dtype=bool) if self.decisions is None else self.decisions.add(prediction, weight)
        for version, sums in zip((0, -1), self.versions, strict=True):
            own = ends[:, :, version] - rows.offset[:, None] * self._as_rates
            sums.add(own, prediction[:, :, version], rate, insured)
        if self.best is not None:
            self.best.add(rate, insured)
        shift = _shift(ends, target)
        self.shift.add(shift, weight)
        self.lowest, self.highest = min(self.lowest, float(shift.min())), max(self.highest, float(shift.max()))
        self.segments.add(rows.segments, weight, (loss[:, 0], loss[:, -1]), shift, flipped)


def measure_glm_rows(
    rows: GlmRows, family: Family, path: GlmPathOnRows, progress: Callable[[int], None] | None = None
) -> GlmRowMeasures:
    """Go through all rows once more; ``progress`` is told how many have gone by.

    Raises if the source has changed or the rows disagree with the costs that the path was told with.
    """
    sums = _Sums(family, path, rows.plan.segments, as_rates=rows.plan.exposure is not None and not path.classes)
    for chunk in rows:
        for part in _parts(chunk):
            sums.add(part)
        if progress is not None:
            progress(sums.losses.rows)
    rows.source.check_unchanged()
    _check_agreement(sums.losses, np.array(path.costs))
    return _result(sums, path)


def _parts(chunk: SegmentedRows) -> Iterator[SegmentedRows]:
    """Some rows at a time, so that the scores of all models on the path take little room."""
    for start in range(0, len(chunk), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        yield SegmentedRows(
            chunk.columns[some],
            chunk.target[some],
            chunk.weight[some],
            chunk.offset[some],
            tuple(Levels(levels.labels, levels.codes[some]) for levels in chunk.segments),
        )


def _shift(ends: Array, target: Array) -> Array:
    """How far the score of every row moves from the first model to the last, (n, C, 2) being both."""
    moved: Array = ends[:, :, 1] - ends[:, :, 0]
    if moved.shape[1] > 1:
        moved -= moved.mean(axis=1, keepdims=True)
        moved = moved[np.arange(len(target)), target.astype(np.intp), None]
    return moved[:, 0]


def _check_agreement(losses: PathLosses, costs: Array) -> None:
    """Two computations of one thing: the mean loss of every model on the path, now and when the path was found."""
    found = losses.start_cost + np.concatenate([[0.0], np.cumsum(losses.mean_deltas)])
    if np.any(np.abs(found - costs) > _AGREEMENT * np.abs(costs) + _ROUNDING * np.abs(costs).max()):
        raise disagreement("the path")


def _result(sums: _Sums, path: GlmPathOnRows) -> GlmRowMeasures:
    weight = sums.losses.weight
    shifts, weights = sums.shift.cells()
    # Ranks of very many rows are on a grid, whose points may lie beyond all rows.
    low, middle, high = (min(max(each, sums.lowest), sums.highest) for each in quantiles(shifts, weights[:, 0]))
    flips = None if sums.decisions is None else sums.decisions.result(weight)
    best = None if sums.best is None else sums.best.concentration()
    champion, candidate = sums.versions
    return GlmRowMeasures(
        step_se=sums.losses.step_se,
        total_se=sums.losses.total_se,
        champion_mae=champion.error / weight,
        candidate_mae=candidate.error / weight,
        shift_p05=low,
        shift_p50=middle,
        shift_p95=high,
        shift_largest=sums.highest if sums.highest >= -sums.lowest else sums.lowest,
        flips=flips,
        segments=sums.segments.result(flips is not None),
        champion_metrics=champion.result(path.classes, best),
        candidate_metrics=candidate.result(path.classes, best),
    )
