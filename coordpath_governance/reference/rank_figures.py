"""How well predictions order and match what was observed: calibration, AUC and Gini, from sums in the order of the score."""

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
    """Rows with like predictions: how many, and the mean of what was expected of them and of what was observed."""

    rows: int
    expected: float
    observed: float


def quantiles(values: Array, weight: Array) -> tuple[float, float, float]:
    """The 5th, 50th and 95th percentile of ordered values: the first at which so much of the weight is reached."""
    reached = np.cumsum(weight)
    low, middle, high = (float(values[np.searchsorted(reached, q * reached[-1])]) for q in (0.05, 0.5, 0.95))
    return low, middle, high


def calibration(rows: Array, weight: Array, expected: Array, observed: Array) -> tuple[CalibrationMeasures, ...]:
    """Tenths of the weight in the order of the prediction; a tenth with fewer than `MIN_COUNT` rows joins its neighbour.

    Arguments are sums over tied rows, in order. Tied rows are in one bin: that in which the first of them is.
    """
    before = (np.cumsum(weight) - weight) / weight.sum()
    tenth = np.floor(_BINS * before + _ROUNDING).astype(np.intp)
    starts = np.flatnonzero(np.diff(tenth, prepend=-1))
    bins = np.add.reduceat(np.column_stack([rows, weight, expected, observed]), starts, axis=0)
    merged: list[Array] = []
    for one in bins:
        if merged and (merged[-1][0] < MIN_COUNT or one[0] < MIN_COUNT):
            merged[-1] = merged[-1] + one
        else:
            merged.append(one)
    return tuple(CalibrationMeasures(int(n), float(e / w), float(o / w)) for n, w, e, o in merged if n >= MIN_COUNT)


def area_under_curve(weight: Array, positive: Array) -> float:
    """P(score of a row of class 1 > score of a row of class 0) + ½ P(they are tied), by weight."""
    negative = weight - positive
    below = np.cumsum(negative) - negative / 2
    return float(np.clip(positive @ below / (positive.sum() * negative.sum()), 0.0, 1.0))


def concentration(weight: Array, observed: Array) -> float:
    """1 − 2·(area under the share of the target that the first rows of an order have, over their share of the weight)."""
    reached = np.cumsum(observed) - observed / 2
    return float(1.0 - 2.0 * (weight @ reached) / (weight.sum() * observed.sum()))
