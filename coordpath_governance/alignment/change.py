"""Change: champion and candidate as two coefficient vectors on one canonical set of coordinates.

With m_c the mean effect of categorical column c over the reference population and μ the means of numeric columns,

    score = baseline + Σ β_j (x_j − μ_j) + Σ_c (e_c(level) − m_c),   baseline = intercept + Σ β_j μ_j + Σ_c m_c.

So scalers, dummy codings and dropped levels leave no trace, and moving a slope leaves the average score where it is. If
neither model has an intercept, x is not centred and the baseline holds only the Σ m_c that the levels gave up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.precision import check_precision
from coordpath_governance.alignment.rare_levels import mean_effects
from coordpath_governance.errors import AlignmentError
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reference.moments import Moments

__all__ = ["Change", "Coordinate", "align"]

RELATIVE_TOLERANCE = 1e-9
SCORE_TOLERANCE = 1e-12
_NO_VARIANCE = 1e-12

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coordinate:
    """One coefficient, old and new. ``source`` is its design column, None for the baseline.

    ``old`` or ``new`` is None where that model cannot score such a row; the coordinate is then not exercised.
    """

    label: str
    unit: str
    source: DesignColumn | None
    old: float | None
    new: float | None
    mean: float
    sd: float
    rows: int | None
    exercised: bool
    changed: bool

    @property
    def flips(self) -> bool:
        """True if a slope changes its sign."""
        is_slope = self.source is not None and self.source.kind == "numeric"
        return is_slope and self.changed and (self.old or 0.0) * (self.new or 0.0) < 0


@dataclass(frozen=True)
class Change:
    """All coordinates, the exercised ones with their Gram matrix, products with the target and the target's square."""

    coordinates: tuple[Coordinate, ...]
    centred: bool
    gram: NDArray[np.float64]
    linear: NDArray[np.float64]
    constant: float

    @property
    def exercised(self) -> tuple[Coordinate, ...]:
        """The coordinates of ``gram``, in its order."""
        return tuple(c for c in self.coordinates if c.exercised)

    @property
    def units(self) -> dict[str, tuple[Coordinate, ...]]:
        """Coordinates by the unit they move with."""
        out: dict[str, list[Coordinate]] = {}
        for coordinate in self.coordinates:
            out.setdefault(coordinate.unit, []).append(coordinate)
        return {unit: tuple(members) for unit, members in out.items()}


def align(pair: ModelPair, moments: Moments) -> Change:
    """Put both models on the coordinates of ``moments``; raises if two coordinates would have one name."""
    centred = pair.has_intercept
    means = mean_effects(pair, moments)
    old, new = _coefficients(pair, moments, means)
    mean, sd = moments.mean[:-1], np.sqrt(np.maximum(np.diag(moments.covariance)[:-1], 0.0))
    spread = sd if centred else np.hypot(sd, mean)
    scorable = ~(np.isnan(old) | np.isnan(new))
    exercised = scorable & (spread > _NO_VARIANCE * np.abs(mean))
    scale = max(_score_scale(moments, beta, centred) for beta in (old, new))
    units = _unit_labels(moments.columns)
    changed = _changed(pair, moments, means, (old, new), spread, scale)

    coordinates = [_baseline(pair, moments, means, scale)] if centred or means else []
    for i, (column, unit) in enumerate(zip(moments.columns, units, strict=True)):
        if column.kind == "other" and not moments.counts[i] and not changed[i] and np.isnan(old[i]) == np.isnan(new[i]):
            continue
        unchanged_rare = column.kind.startswith("rare") and not changed[i]
        coordinates.append(
            Coordinate(
                label=_label(column),
                unit=unit,
                source=column,
                old=_number(old[i]),
                new=_number(old[i] if unchanged_rare else new[i]),
                mean=float(mean[i]),
                sd=float(sd[i]),
                rows=moments.counts[i],
                exercised=bool(exercised[i]),
                changed=bool(changed[i]),
            )
        )
    _check_labels(coordinates)
    gram, linear, constant = _quadratic(moments, exercised, centred, with_baseline=bool(centred or means))
    if pair.candidate.family == "gaussian":
        averages = [
            _average_score(coordinates, side, beta, None if centred else mean) for side, beta in enumerate((old, new))
        ]
        check_precision(moments, constant, zip((old, new), averages, strict=True))
    return Change(tuple(coordinates), centred, gram, linear, constant)


def _average_score(coordinates: Sequence[Coordinate], side: int, slopes: Array, mean: Array | None) -> float:
    """The baseline, if there is one, and what columns that are not centred add to it."""
    baseline = [c.new if side else c.old for c in coordinates if c.source is None]
    return float(sum(value or 0.0 for value in baseline)) + (0.0 if mean is None else float(np.nan_to_num(slopes) @ mean))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value) + 0.0


def _coefficients(pair: ModelPair, moments: Moments, means: dict[str, tuple[float, float]]) -> tuple[Array, Array]:
    """Both coefficient vectors, level effects minus their mean; NaN where a model would raise."""
    both = np.full((2, len(moments.columns)), np.nan)
    for i, column in enumerate(moments.columns):
        for side, value in enumerate(pair.coefficients(column)):
            if value is not None:
                shift = means[column.column][side] if column.kind in ("level", "other", "rare") else 0.0
                both[side, i] = value - shift
    return both[0], both[1]


def _score_scale(moments: Moments, beta: Array, centred: bool) -> float:
    """Standard deviation of the score (root mean square if nothing is centred), the yardstick for "no change"."""
    known = np.nan_to_num(beta)
    variance = float(known @ moments.covariance[:-1, :-1] @ known)
    offset = 0.0 if centred else float(known @ moments.mean[:-1])
    return float(np.hypot(np.sqrt(max(variance, 0.0)), offset))


def _changed(
    pair: ModelPair,
    moments: Moments,
    means: dict[str, tuple[float, float]],
    both: tuple[Array, Array],
    spread: Array,
    scale: float,
) -> NDArray[np.bool_]:
    """Which coordinates differ by more than rounding: 1e-9 of the coefficient plus 1e-12 of the score's scale.

    The merged levels of a column differ if any of them does.
    """
    old, new = both
    changed = np.zeros(len(old), dtype=bool)
    for i, column in enumerate(moments.columns):
        if column.kind in ("numeric", "missing"):
            if not np.isnan(old[i] + new[i]):
                allowance = SCORE_TOLERANCE * scale / (math.hypot(spread[i], moments.mean[i]) or 1.0)
                changed[i] = _differ(old[i], new[i], max(abs(old[i]), abs(new[i])), allowance)
            continue
        raw = [effect for level in _levels_of(moments, column.column) for effect in pair.level_effects(column.column, level)]
        size = max(abs(effect or 0.0) for effect in raw) if raw else 0.0
        allowance = SCORE_TOLERANCE * (scale + size)
        shift = means[column.column]
        for level in column.merged or (str(column.level),):
            before, after = pair.level_effects(column.column, level)
            if before is not None and after is not None:
                changed[i] |= _differ(before - shift[0], after - shift[1], size, allowance)
    for name in {c.column for c in moments.columns if c.kind.startswith("rare")}:
        members = [i for i, c in enumerate(moments.columns) if c.column == name and c.kind.startswith("rare")]
        changed[members] = changed[members].any()
    return changed


def _differ(before: float, after: float, size: float, allowance: float) -> bool:
    return bool(abs(after - before) > RELATIVE_TOLERANCE * size + allowance)


def _levels_of(moments: Moments, column: str) -> list[str]:
    own = [c for c in moments.columns if c.column == column and c.kind in ("level", "other", "rare")]
    return [level for c in own for level in (c.merged or (str(c.level),))]


def _baseline(pair: ModelPair, moments: Moments, means: dict[str, tuple[float, float]], scale: float) -> Coordinate:
    """The average score of both models over the reference population."""
    values, sizes = [], []
    for side, model in enumerate((pair.champion, pair.candidate)):
        parts = [model.intercept, *(mean[side] for mean in means.values())]
        if pair.has_intercept:
            for column, mean in zip(moments.columns, moments.mean[:-1], strict=True):
                value = pair.coefficients(column)[side]
                if column.kind in ("numeric", "missing") and value is not None:
                    parts.append(value * float(mean))
        values.append(math.fsum(parts))
        sizes.append(math.fsum(abs(part) for part in parts))
    old, new = values
    changed = _differ(old, new, max(abs(old), abs(new)), SCORE_TOLERANCE * (scale + max(sizes)))
    return Coordinate(BASELINE, BASELINE, None, old, new, 1.0, 0.0, None, exercised=True, changed=changed)


def _quadratic(
    moments: Moments, exercised: NDArray[np.bool_], centred: bool, with_baseline: bool
) -> tuple[Array, Array, float]:
    """E[zzᵀ], E[zy] and E[y²] of the exercised coordinates, the baseline (z = 1) first if there is one."""
    keep = np.append(exercised, True)
    covariance = moments.covariance[np.ix_(keep, keep)]
    mean = moments.mean[keep]
    if centred:
        mean = np.append(np.zeros(len(mean) - 1), mean[-1])
    if with_baseline:
        covariance = np.pad(covariance, ((1, 0), (1, 0)))
        mean = np.insert(mean, 0, 1.0)
    second = covariance + np.outer(mean, mean)
    return second[:-1, :-1].copy(), second[:-1, -1].copy(), float(second[-1, -1])


def _label(column: DesignColumn) -> str:
    if column.kind == "numeric":
        return column.column
    if column.kind == "missing":
        return f"{column.column} is missing"
    if column.kind.startswith("rare"):
        what = f"{column.column} = ({len(column.merged)} merged levels)"
        side = {"rare": "", "rare-champion": ", as in the champion", "rare-candidate": ", as in the candidate"}
        return what + side[column.kind]
    return f"{column.column} = {column.level}"


def _unit_labels(columns: Sequence[DesignColumn]) -> list[str]:
    """The name of what moves together: the raw column, told apart if it is used both as number and as category."""
    numeric = {c.column for c in columns if c.kind in ("numeric", "missing")}
    return [
        f"{c.column} (as a category)" if c.kind not in ("numeric", "missing") and c.column in numeric else c.column
        for c in columns
    ]


def _check_labels(coordinates: Sequence[Coordinate]) -> None:
    seen: set[str] = set()
    for coordinate in coordinates:
        if coordinate.label in seen:
            raise AlignmentError(
                f"two coordinates would both be called '{coordinate.label}'; rename the column in the models"
            )
        seen.add(coordinate.label)
    owners: dict[str, tuple[str, bool] | None] = {}
    for coordinate in coordinates:
        source = coordinate.source
        owner = None if source is None else (source.column, source.kind in ("numeric", "missing"))
        if owners.setdefault(coordinate.unit, owner) != owner:
            raise AlignmentError(f"two steps would both be called '{coordinate.unit}'; rename the column in the models")
