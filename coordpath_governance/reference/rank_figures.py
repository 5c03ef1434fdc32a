"""How well predictions order and match the observations: calibration, AUC and Gini, from sums in order of the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.reference.moments import MIN_COUNT

__all__ = ["CalibrationMeasures", "area_under_curve", "calibration", "concentration", "quantiles"]

Array = NDArray[np.float64]

_BINS = 10
_ROUNDING = 1e-9


@dataclass(frozen=True)
class CalibrationMeasures:
    """Rows with similar predictions: their number, the mean prediction and the mean observation."""

    rows: int
    expected: float
    observed: float


def quantiles(values: Array, weight: Array) -> tuple[float, float, float]:
    """The 5th, 50th and 95th percentile of ordered values: the first value at which that share of the weight is reached."""
    reached = np.cumsum(weight)
    low, middle, high = (float(values[np.searchsorted(reached, q * reached[-1])]) for q in (0.05, 0.5, 0.95))
    return low, middle, high


def calibration(rows: Array, weight: Array, expected: Array, observed: Array) -> tuple[CalibrationMeasures, ...]:
    """Tenths of the weight in the order of the prediction; a tenth with fewer than `MIN_COUNT` rows joins its neighbour.

    Arguments are sums over tied rows, in order of the prediction. Tied rows stay together, in the bin of the first of them.
    """
    before = (np.cumsum(weight) - weight) / weight.sum()
    tenth = np.floor(_BINS * before + _ROUNDING).astype(np.intp)
    starts = np.flatnonzero(np.diff(tenth, prepend=-1))
    bins = np.add.reduceat(np.column_stack([rows, weight, expected, observed]), starts, axis=0)
    merged: list[Array] = []
    for sums in bins:
        if merged and (merged[-1][0] < MIN_COUNT or sums[0] < MIN_COUNT):
            merged[-1] = merged[-1] + sums
        else:
            merged.append(sums)
    return tuple(CalibrationMeasures(int(n), float(e / w), float(o / w)) for n, w, e, o in merged if n >= MIN_COUNT)


def area_under_curve(weight: Array, positive: Array) -> float:
    """P(score of a row of class 1 > score of a row of class 0) + ½ P(they are tied), by weight; rows in order of score."""
    negative = weight - positive
    below = np.cumsum(negative) - negative / 2
    return float(np.clip(positive @ below / (positive.sum() * negative.sum()), 0.0, 1.0))


def concentration(weight: Array, observed: Array) -> float:
    """1 − 2·(area under the curve of the share of the target over the share of the weight, rows in the given order)."""
    reached = np.cumsum(observed) - observed / 2
    return float(1.0 - 2.0 * (weight @ reached) / (weight.sum() * observed.sum()))
