"""Change: champion and candidate as two coefficient vectors on one canonical set of coordinates.

With m_c the mean effect of categorical column c over the reference population and μ the means of numeric columns,

    score = baseline + Σ β_j (x_j − μ_j) + Σ_c (e_c(level) − m_c),   baseline = intercept + Σ β_j μ_j + Σ_c m_c.

So scalers, dummy codings and dropped levels leave no trace, and moving a slope does not change the average score. If neither
model has an intercept, x is not centred and the baseline is only the Σ m_c that is subtracted from the levels.

A multinomial model has such a score for every class (see `class_scores`): a column gives one coordinate per class, and these
move as one unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.rare_levels import Means, mean_effects
from coordpath_governance.alignment.rounding import (
    SCORE_TOLERANCE,
    changed_coordinates,
    check_precision,
    differ,
    function_noise,
)
from coordpath_governance.alignment.score_pair import ScorePair
from coordpath_governance.errors import AlignmentError
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reference.moments import Moments

__all__ = ["Change", "Coordinate", "align"]

_NO_VARIANCE = 1e-12

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coordinate:
    """One coefficient, old and new. ``source`` is its design column, None for the baseline.

    ``old`` or ``new`` is None if that model cannot score such a row; the coordinate is then not exercised by the data.
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
    """All coordinates of a change, and the moments of those that the reference data exercise.

    ``gram`` is their Gram matrix E[zzᵀ], ``linear`` is E[zy] and ``constant`` is E[y²]. With several classes, ``gram`` and
    ``linear`` are those of the columns, which are the same for every class. ``interactions`` are the names of functions of
    several columns.
    """

    coordinates: tuple[Coordinate, ...]
    centred: bool
    gram: NDArray[np.float64]
    linear: NDArray[np.float64]
    constant: float
    interactions: frozenset[str] = frozenset()

    @property
    def exercised(self) -> tuple[Coordinate, ...]:
        """The coordinates that the reference data exercise, in the order of ``gram``."""
        return tuple(c for c in self.coordinates if c.exercised)

    @property
    def units(self) -> dict[str, tuple[Coordinate, ...]]:
        """The coordinates by the unit with which they move."""
        out: dict[str, list[Coordinate]] = {}
        for coordinate in self.coordinates:
            out.setdefault(coordinate.unit, []).append(coordinate)
        return {unit: tuple(members) for unit, members in out.items()}


def align(pair: ModelPair, moments: Moments) -> Change:
    """Put both models on the coordinates of ``moments``.

    Raises `AlignmentError` if two coordinates or two steps would have the same name, or if scores overflow.
    """
    centred = pair.has_intercept
    means = [mean_effects(scores, moments) for scores in pair.scores]
    coefficients = [
        _coefficients(scores, moments, class_means) for scores, class_means in zip(pair.scores, means, strict=True)
    ]
    mean, sd = moments.mean[:-1], np.sqrt(np.maximum(np.diag(moments.covariance)[:-1], 0.0))
    spread = sd if centred else np.hypot(sd, mean)
    old, new = coefficients[0]
    scorable = ~(np.isnan(old) | np.isnan(new))
    varies = scorable & (spread > _NO_VARIANCE * np.abs(mean))
    scale = max(_score_scale(moments, beta, centred) for sides in coefficients for beta in sides)
    units = _unit_labels(moments.columns)
    changed = changed_coordinates(pair, moments, means, coefficients, spread=spread, scale=scale)
    replaced = np.array([c.kind == "function-change" for c in moments.columns], dtype=bool)
    same_function = replaced & ~changed.any(axis=0)
    exercised = varies & ~same_function & ~(replaced & function_noise(moments, spread, scale))

    has_baseline = bool(centred or means[0])
    coordinates = _baselines(pair, moments, means, scale) if has_baseline else []
    for i, (column, unit) in enumerate(zip(moments.columns, units, strict=True)):
        one_can_score = np.isnan(old[i]) != np.isnan(new[i])
        if column.kind == "other" and not moments.counts[i] and not changed[:, i].any() and not one_can_score:
            continue
        apart_by_a_constant = abs(mean[i]) > SCORE_TOLERANCE * scale
        if same_function[i] and _in_both(pair, column.column) and not apart_by_a_constant:
            continue
        for scores, (before, after), differs in zip(pair.scores, coefficients, changed[:, i], strict=True):
            unchanged_rare = column.kind.startswith("rare") and not differs
            coordinates.append(
                Coordinate(
                    label=_label(column, scores.label, in_both=column.is_function and _in_both(pair, column.column)),
                    unit=unit,
                    source=column,
                    old=_number(before[i]),
                    new=_number(before[i] if unchanged_rare else after[i]),
                    mean=float(mean[i]),
                    sd=float(sd[i]),
                    rows=moments.counts[i],
                    exercised=bool(exercised[i]),
                    changed=bool(differs),
                )
            )
    _check_labels(coordinates)
    gram, linear, constant = _quadratic(moments, exercised, centred, has_baseline)
    if pair.candidate.family == "gaussian":
        averages = [
            _average_score(coordinates, side, beta, None if centred else mean) for side, beta in enumerate((old, new))
        ]
        check_precision(moments, constant, zip((old, new), averages, strict=True))
    interactions = frozenset(name for name, functions in pair.scores[0].functions.items() if len(functions.columns) > 1)
    return Change(tuple(coordinates), centred, gram, linear, constant, interactions)


def _average_score(coordinates: Sequence[Coordinate], side: int, slopes: Array, mean: Array | None) -> float:
    """The average score of a model: its baseline, plus slopes·means of columns that are not centred."""
    baseline = [c.new if side else c.old for c in coordinates if c.source is None]
    return float(sum(value or 0.0 for value in baseline)) + (0.0 if mean is None else float(np.nan_to_num(slopes) @ mean))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value) + 0.0


def _coefficients(pair: ScorePair, moments: Moments, means: Means) -> tuple[Array, Array]:
    """Both coefficient vectors, with level effects minus their mean; NaN where a model would raise."""
    both = np.full((2, len(moments.columns)), np.nan)
    for i, column in enumerate(moments.columns):
        for side, value in enumerate(pair.coefficients(column)):
            if value is not None:
                shift = means[column.column][side] if column.kind in ("level", "other", "rare") else 0.0
                both[side, i] = value - shift
    return both[0], both[1]


def _score_scale(moments: Moments, beta: Array, centred: bool) -> float:
    """The standard deviation of the score (root mean square if nothing is centred), against which changes are measured."""
    slopes = np.nan_to_num(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(slopes @ moments.covariance[:-1, :-1] @ slopes)
        offset = 0.0 if centred else float(slopes @ moments.mean[:-1])
        scale = float(np.hypot(np.sqrt(max(variance, 0.0)), offset))
    if not math.isfinite(scale):
        raise AlignmentError("scores overflow double precision: check the coefficients and the scale of the columns")
    return scale


def _baselines(pair: ModelPair, moments: Moments, means: Sequence[Means], scale: float) -> list[Coordinate]:
    """The baselines: both models' average score over the reference population, one coordinate per class."""
    averages = [
        _averages(scores, moments, class_means, pair.has_intercept)
        for scores, class_means in zip(pair.scores, means, strict=True)
    ]
    common = _averages(pair.common, moments, mean_effects(pair.common, moments), pair.has_intercept) if pair.common else []
    size = max(abs(value) for sides in averages for value, _ in sides)
    rounding = max(parts for sides in [*averages, common] for _, parts in sides)
    return [
        Coordinate(
            label=_of_class(BASELINE, scores.label),
            unit=BASELINE,
            source=None,
            old=old,
            new=new,
            mean=1.0,
            sd=0.0,
            rows=None,
            exercised=True,
            changed=differ(old, new, size, SCORE_TOLERANCE * (scale + rounding)),
        )
        for scores, ((old, _), (new, _)) in zip(pair.scores, averages, strict=True)
    ]


def _averages(scores: ScorePair, moments: Moments, means: Means, centred: bool) -> list[tuple[float, float]]:
    """For both models: the baseline, and the sum of the absolute values of its parts (by which rounding is judged)."""
    out = []
    for side, intercept in enumerate(scores.intercepts):
        parts = [intercept, *(mean[side] for mean in means.values())]
        if centred:
            for column, mean in zip(moments.columns, moments.mean[:-1], strict=True):
                value = scores.coefficients(column)[side]
                if not column.is_effect and value is not None:
                    parts.append(value * float(mean))
        out.append((math.fsum(parts), math.fsum(abs(part) for part in parts)))
    return out


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


def _in_both(pair: ModelPair, name: str) -> bool:
    """Whether both models have a function of these columns."""
    return all(all(scores.functions[name].sides) for scores in pair.scores)


def _label(column: DesignColumn, class_label: str | None, *, in_both: bool) -> str:
    if column.is_function:
        of = column.column if column.level is None else f"{column.column} of {column.level}"
        return _of_class(f"{of} (change)" if in_both and column.kind == "function-change" else of, class_label)
    if column.kind == "numeric":
        return _of_class(column.column, class_label)
    if column.kind == "missing":
        return _of_class(f"{column.column} is missing", class_label)
    if column.kind.startswith("rare"):
        merged = f"{column.column} = ({len(column.merged)} merged levels)"
        side = {"rare": "", "rare-champion": ", as in the champion", "rare-candidate": ", as in the candidate"}
        whose = "" if column.level is None else f"'s '{column.level}'"
        return _of_class(merged + side[column.kind] + whose, class_label)
    return _of_class(f"{column.column} = {column.level}", class_label)


def _of_class(label: str, class_label: str | None) -> str:
    return label if class_label is None else f"{label} [{class_label}]"


def _unit_labels(columns: Sequence[DesignColumn]) -> list[str]:
    """The name of each column's unit: the raw column; a column used as number and as category gives two units."""
    numeric = {c.column for c in columns if not c.is_effect}
    return [f"{c.column} (as a category)" if c.is_effect and c.column in numeric else c.column for c in columns]


def _check_labels(coordinates: Sequence[Coordinate]) -> None:
    labels: set[str] = set()
    for coordinate in coordinates:
        if coordinate.label in labels:
            raise AlignmentError(
                f"two coordinates would both be called '{coordinate.label}'; rename the column in the models"
            )
        labels.add(coordinate.label)
    owners: dict[str, tuple[str, bool] | None] = {}
    for coordinate in coordinates:
        source = coordinate.source
        owner = None if source is None else (source.column, not source.is_effect)
        if owners.setdefault(coordinate.unit, owner) != owner:
            raise AlignmentError(f"two steps would both be called '{coordinate.unit}'; rename the column in the models")
