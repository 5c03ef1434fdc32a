"""The last pass over the rows: what only rows can tell of a path that is known, whatever the loss.

Along the path a row has the scores η₀, η₁, …, one per class where there are several. Its prediction at step k is the
family's mean of η_k, its loss that of the family. Scores come from the columns of the rows in one of two ways:

- `ModelScores`: from the models on the path, η_k = offset + zᵀβ_k with z the columns of a row.
- `UnitScores`: from the champion's own score and what each unit of the change adds to it. The champion's score is then
  computed from its raw coefficients, so that a row exactly at a threshold is decided as the model decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.costs.families import Family
from coordpath_governance.costs.rows import by_column
from coordpath_governance.reference.decisions import CutOff, DecisionSums, FlipMeasures
from coordpath_governance.reference.path_losses import GridShifts, PathLosses, RankedShifts, disagreement
from coordpath_governance.reference.read_columns import Levels
from coordpath_governance.reference.row_passes import RowPasses, SegmentedRows
from coordpath_governance.reference.segments import SegmentMeasures, SegmentSums
from coordpath_governance.reference.versions import BestOrder, ClassSums, ErrorSums, ScoreSums, VersionMeasures

__all__ = ["ModelScores", "PathOnRows", "PathScores", "RowMeasures", "UnitScores", "measure_path"]

Array = NDArray[np.float64]

_ROWS_AT_ONCE = 1 << 15
_AGREEMENT = 1e-6
_ROUNDING = 1e-12


class PathScores(Protocol):
    """Scores rows along a path, from their columns."""

    @property
    def rows_at_once(self) -> int | None:
        """Most rows that are scored at once, so that the scores of all models take little room; None: all of a chunk."""
        ...

    def along(self, columns: Array) -> Array:
        """The scores without the offset: rows × classes × models, the first model being the champion."""
        ...


@dataclass(frozen=True, eq=False)
class ModelScores:
    """From the models on the path: ``betas`` is models × (columns·classes); coordinate j·C + c is column j in class c."""

    betas: Array
    classes: int = 1

    @property
    def rows_at_once(self) -> int:
        """Several classes have several scores per model."""
        return _ROWS_AT_ONCE

    def along(self, columns: Array) -> Array:
        """One product scores all models."""
        scores: Array = (columns @ by_column(self.betas, self.classes)).reshape(len(columns), self.classes, -1)
        return scores


@dataclass(frozen=True, eq=False)
class UnitScores:
    """From the champion's score (the first column) and what each unit adds to it (one column per unit).

    ``moved`` is units × steps: 1 where a step moves a unit.
    """

    moved: Array
    rows_at_once: ClassVar[None] = None

    @classmethod
    def of(cls, units: Sequence[str], steps: Sequence[Sequence[str]]) -> UnitScores:
        """From the units in the order of the columns, and those that each step moves."""
        moved = np.zeros((len(units), len(steps)))
        for k, step in enumerate(steps):
            for unit in step:
                moved[units.index(unit), k] = 1.0
        return cls(moved)

    def along(self, columns: Array) -> Array:
        """The steps' changes added up, one after the other."""
        start, shifts = columns[:, 0], columns[:, 1:]
        return np.column_stack([start, start[:, None] + np.cumsum(shifts @ self.moved, axis=1)])[:, None, :]


@dataclass(frozen=True, eq=False, kw_only=True)
class PathOnRows:
    """A path in the form in which it is measured on rows.

    ``costs`` are those of the models, before the first step and after every step, and ``deltas`` the steps' changes, as the
    solver gave them; ``size`` is the size of the numbers that costs are differences of. ``steps`` are the titles of the
    steps. ``about_first``: a decision that flips up is one for the first of two classes, since the cut-off that was asked
    for is of its probability. ``shift_grid``: mean and standard deviation of the shift of the score, around which its
    quantiles are counted on a grid; None: they are taken from the ranks of the rows. ``by_version``: whether every step's
    flips are counted and each version has figures of its own.
    """

    scores: PathScores
    costs: tuple[float, ...]
    deltas: tuple[float, ...]
    size: float
    steps: tuple[str, ...]
    classes: tuple[str, ...] = ()
    champion_cut: CutOff | None = None
    candidate_cut: CutOff | None = None
    about_first: bool = False
    shift_grid: tuple[float, float] | None = None
    by_version: bool = True


@dataclass(frozen=True)
class RowMeasures:
    """Standard errors of steps and total, absolute errors, quantiles of the shift, flips, segments; figures of versions.

    The absolute error is |target − prediction|, of several classes 1 − the probability of the row's own. The shift is that
    of the score: of the prediction itself, log-odds, log rate, or of several classes the score of the row's own minus the
    mean over the classes. Flips are None unless both versions have a threshold; of several classes every changed decision
    is a flip up. With an exposure predictions are rates per unit of it: a threshold is one of the rate, and each version's
    figures are ranked by the rate, every row with its exposure. The versions' own figures are None if they were not asked.
    """

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
    champion_metrics: VersionMeasures | None = None
    candidate_metrics: VersionMeasures | None = None


class _Sums:
    """Running sums of a pass along one path."""

    def __init__(self, family: Family, path: PathOnRows, segments: tuple[str, ...], *, as_rates: bool) -> None:
        self._family, self._path, self._as_rates = family, path, as_rates
        self.losses = PathLosses(path.deltas)
        self.segments = SegmentSums(segments)
        self.decisions = None
        if path.champion_cut is not None and path.candidate_cut is not None:
            titles = path.steps if path.by_version else ("from first to last",)
            cuts = path.champion_cut, path.candidate_cut
            self.decisions = DecisionSums(titles, *cuts, family.scores, about_first=path.about_first)
        self.shifts = RankedShifts() if path.shift_grid is None else GridShifts(*path.shift_grid)
        self.best = BestOrder() if path.by_version and not path.classes else None
        self.versions: tuple[ErrorSums | ClassSums, ErrorSums | ClassSums]
        if family.scores > 1:
            self.versions = ClassSums(family.scores), ClassSums(family.scores)
        else:
            self.versions = (ScoreSums(), ScoreSums()) if path.by_version else (ErrorSums(), ErrorSums())

    def add(self, rows: SegmentedRows) -> None:
        """Take in some rows."""
        family, weight, target = self._family, rows.weight, rows.target
        score = self._path.scores.along(rows.columns)
        score += rows.offset[:, None, None]
        loss = family.loss(target, score)
        ends = score[:, :, [0, -1]]
        exposure = np.exp(rows.offset) if self._as_rates else np.ones(len(weight))
        rate, insured = target / exposure, weight * exposure
        models = score if self._path.by_version and self.decisions is not None else ends
        prediction = family.mean(models) / exposure[:, None, None]
        self.losses.add(loss, weight)
        flipped = np.zeros(len(weight), dtype=bool) if self.decisions is None else self.decisions.add(prediction, weight)
        for version, sums in zip((0, -1), self.versions, strict=True):
            own = ends[:, :, version] - rows.offset[:, None] * self._as_rates
            sums.add(own, prediction[:, :, version], rate, insured)
        if self.best is not None:
            self.best.add(rate, insured)
        shift = _shift(ends, target)
        self.shifts.add(shift, weight)
        self.segments.add(rows.segments, weight, (loss[:, 0], loss[:, -1]), shift, flipped)


def measure_path(
    rows: RowPasses, family: Family, path: PathOnRows, progress: Callable[[int], None] | None = None
) -> RowMeasures:
    """Read all rows once more and measure the path on them.

    ``progress`` is called with the number of rows that have been read. Raises `ReferenceDataError` if the source has
    changed, or if the rows disagree with the costs of the path.
    """
    sums = _Sums(family, path, rows.plan.segments, as_rates=rows.plan.exposure is not None and not path.classes)
    for chunk in rows:
        for part in _parts(chunk, path.scores.rows_at_once or max(len(chunk), 1)):
            sums.add(part)
        if progress is not None:
            progress(sums.losses.rows)
    rows.source.check_unchanged()
    _check_agreement(sums.losses, path)
    return _result(sums, path)


def _parts(chunk: SegmentedRows, most: int) -> Iterator[SegmentedRows]:
    """The rows of a chunk, at most so many at a time."""
    for start in range(0, len(chunk), most):
        part = slice(start, start + most)
        yield SegmentedRows(
            chunk.columns[part],
            chunk.target[part],
            chunk.weight[part],
            chunk.offset[part],
            tuple(Levels(levels.labels, levels.codes[part]) for levels in chunk.segments),
        )


def _shift(ends: Array, target: Array) -> Array:
    """How far the score of every row moves from the first model to the last, (n, C, 2) being both."""
    moved: Array = ends[:, :, 1] - ends[:, :, 0]
    if moved.shape[1] > 1:
        moved -= moved.mean(axis=1, keepdims=True)
        moved = moved[np.arange(len(target)), target.astype(np.intp), None]
    return moved[:, 0]


def _check_agreement(losses: PathLosses, path: PathOnRows) -> None:
    """Two computations of one thing: the mean loss of every model on the path, now and when the path was found."""
    costs = np.array(path.costs)
    scale = np.full(len(costs), abs(costs[0]) + float(np.abs(path.deltas).sum()))
    scale[0] = abs(costs[0])
    measured = losses.start_cost + np.concatenate([[0.0], np.cumsum(losses.mean_deltas)])
    if np.any(np.abs(measured - costs) > _AGREEMENT * scale + _ROUNDING * path.size):
        raise disagreement()


def _result(sums: _Sums, path: PathOnRows) -> RowMeasures:
    weight = sums.losses.weight
    low, middle, high = sums.shifts.quantiles()
    flips = None if sums.decisions is None else sums.decisions.result(weight)
    best = None if sums.best is None else sums.best.concentration()
    champion, candidate = sums.versions
    return RowMeasures(
        step_se=sums.losses.step_se,
        total_se=sums.losses.total_se,
        champion_mae=champion.error / weight,
        candidate_mae=candidate.error / weight,
        shift_p05=low,
        shift_p50=middle,
        shift_p95=high,
        shift_largest=sums.shifts.largest,
        flips=flips,
        segments=sums.segments.result(flips is not None),
        champion_metrics=champion.result(path.classes, best),
        candidate_metrics=candidate.result(path.classes, best),
    )
