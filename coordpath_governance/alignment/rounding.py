"""What rounding does to a change: which coordinates differ by more than rounding, and whether the cost is exact enough.

The cost is written as βᵀGβ − 2bᵀβ + E[y²], and E[y²] is stored to 16 digits. If E[y²] is far larger than the cost (a target
of mean 1e8 and spread 1), those digits hold nothing of the cost. So the cost is computed a second time from centred moments,
Var(y − βᵀz) + E[y − βᵀz]², and must be large enough that six of its digits are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.rare_levels import Means
from coordpath_governance.errors import AlignmentError
from coordpath_governance.reference.moments import Moments

__all__ = ["SCORE_TOLERANCE", "changed_coordinates", "check_precision", "differ", "function_noise"]

RELATIVE_TOLERANCE = 1e-9
SCORE_TOLERANCE = 1e-12

Array = NDArray[np.float64]


def changed_coordinates(
    pair: ModelPair,
    moments: Moments,
    means: Sequence[Means],
    coefficients: Sequence[tuple[Array, Array]],
    *,
    spread: Array,
    scale: float,
) -> NDArray[np.bool_]:
    """Which coordinates, classes × columns, differ by more than rounding: 1e-9 of the coefficient plus 1e-12 of the score.

    ``coefficients`` are those of champion and candidate, one pair of vectors per class. ``spread`` is the standard deviation
    of every column (the root mean square if nothing is centred), ``scale`` the one of the score.

    The coefficient is the largest of a column, over levels and classes. The part that was subtracted from all classes has
    left rounding errors too. All merged levels of a column differ if any of them does.
    """
    changed = np.zeros((len(coefficients), len(moments.columns)), dtype=bool)
    sizes = {name: _level_sizes(pair, moments, name) for name in means[0]}
    noise = function_noise(moments, spread, scale)
    for i, column in enumerate(moments.columns):
        if column.is_function:
            varies = not noise[i]
            for k, scores in enumerate(pair.scores):
                if column.level == scores.label and len(set(scores.coefficients(column))) > 1:
                    changed[k, i] = varies or scores.functions[column.column].differs(pair.has_intercept)
            continue
        if column.kind in ("numeric", "missing"):
            size = max(abs(beta[i]) for sides in coefficients for beta in sides)
            common = _largest(pair.common.coefficients(column)) if pair.common else 0.0
            allowance = SCORE_TOLERANCE * scale / (math.hypot(spread[i], moments.mean[i]) or 1.0) + SCORE_TOLERANCE * common
            for k, (old, new) in enumerate(coefficients):
                changed[k, i] = not np.isnan(old[i] + new[i]) and differ(old[i], new[i], size, allowance)
            continue
        size, common = sizes[column.column]
        allowance = SCORE_TOLERANCE * (scale + size + common)
        for k, (scores, class_means) in enumerate(zip(pair.scores, means, strict=True)):
            shift = class_means[column.column]
            for level in column.merged or (str(column.level),):
                before, after = scores.level_effects(column.column, level)
                if before is not None and after is not None:
                    changed[k, i] |= differ(before - shift[0], after - shift[1], size, allowance)
    for name in {c.column for c in moments.columns if c.kind.startswith("rare")}:
        members = [i for i, c in enumerate(moments.columns) if c.column == name and c.kind.startswith("rare")]
        any_differs = changed[:, members].any()
        for i in members:
            changed[:, i] = [any_differs and moments.columns[i].level in (None, scores.label) for scores in pair.scores]
    return changed


def function_noise(moments: Moments, spread: Array, scale: float) -> NDArray[np.bool_]:
    """Which columns of functions vary by no more than rounding, so that the data show no difference of the functions."""
    spread_of = {(c.column, c.level): spread[i] for i, c in enumerate(moments.columns) if c.kind == "function"}
    noise = np.zeros(len(moments.columns), dtype=bool)
    for i, column in enumerate(moments.columns):
        if column.is_function:
            largest = max(spread_of.get((column.column, column.level), 0.0), spread[i])
            noise[i] = not spread[i] > RELATIVE_TOLERANCE * largest + SCORE_TOLERANCE * scale
    return noise


def _level_sizes(pair: ModelPair, moments: Moments, column: str) -> tuple[float, float]:
    """The largest effect of a column's levels in any score, and in the part that was subtracted from all scores."""
    effects = [c for c in moments.columns if c.column == column and c.kind in ("level", "other", "rare")]
    levels = [level for c in effects for level in (c.merged or (str(c.level),))]
    size, common = (
        max((_largest(scores.level_effects(column, level)) for scores in group for level in levels), default=0.0)
        for group in (pair.scores, [pair.common] if pair.common else [])
    )
    return size, common


def _largest(values: Iterable[float | None]) -> float:
    return max(abs(value or 0.0) for value in values)


def differ(before: float, after: float, size: float, allowance: float) -> bool:
    """Whether two numbers differ by more than 1e-9 of ``size`` plus ``allowance``."""
    return bool(abs(after - before) > RELATIVE_TOLERANCE * size + allowance)


_DIGITS = 1e-6
_ROUNDING = 1e-12


def check_precision(moments: Moments, constant: float, models: Iterable[tuple[NDArray[np.float64], float]]) -> None:
    """Raise `AlignmentError` if E[y²] = ``constant`` is so large that six digits of the cost are lost.

    ``models`` are given by their slopes and their average score. A cost that is itself at the level of rounding belongs to
    a model without any error, and is accepted.
    """
    costs, floor = [], _ROUNDING**2 * constant
    for slopes, average in models:
        residual = np.append(-np.nan_to_num(slopes), 1.0)
        costs.append(float(residual @ moments.covariance @ residual) + (moments.target_mean - average) ** 2)
        floor = max(floor, _ROUNDING * float(residual**2 @ np.diag(moments.covariance)))
    largest = max(costs)
    if floor < largest < np.finfo(np.float64).eps / _DIGITS * constant:
        raise AlignmentError(
            f"the target lies so far from zero (mean {moments.target_mean:.6g}) that a mean squared error of {largest:.3g} "
            "cannot be told to six digits in double precision; subtract a constant from the target and from both models"
        )
