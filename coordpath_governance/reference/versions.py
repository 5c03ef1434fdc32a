"""How one version does on the rows: its absolute error, calibration, AUC, Gini, class balance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.reference.rank_figures import CalibrationMeasures, area_under_curve, calibration, concentration
from coordpath_governance.reference.ranked import SCORE_DIGITS, RankedSums

__all__ = [
    "MOST_CLASSES",
    "BestOrder",
    "ClassMeasures",
    "ClassSums",
    "ErrorSums",
    "ScoreSums",
    "VersionMeasures",
    "log_odds",
]

Array = NDArray[np.float64]

MOST_CLASSES = 20
"""The most classes that are measured against the rest one by one, because each needs its own order of the rows."""

_LEAST_TARGET = 1e-300
_NO_SPREAD = 1e-12


@dataclass(frozen=True)
class ClassMeasures:
    """One class: its share of the rows, and the mean of its predicted probability.

    One of three or more classes also has ``auc`` and ``calibration`` of its probability against the rest (the rows of all
    other classes). The AUC is None if all rows or no rows are of the class.
    """

    label: str
    observed: float
    expected: float
    auc: float | None = None
    calibration: tuple[CalibrationMeasures, ...] = ()


@dataclass(frozen=True)
class VersionMeasures:
    """The figures of one version that need rows.

    ``expected`` is the mean prediction, ``observed`` the mean target, and ``calibration`` has both by tenths of the rows'
    weight in the order of the prediction. With two classes there is an ``auc``, and ``gini`` is 2·auc − 1. Without classes
    ``gini`` is the concentration of the target in the order of the prediction, relative to that in its own order. With three
    or more classes each class has its own figures, and ``accuracy`` is the share of the rows whose most probable class (the
    first of equals) is the observed one.
    """

    expected: float | None
    observed: float | None
    auc: float | None
    gini: float | None
    calibration: tuple[CalibrationMeasures, ...]
    classes: tuple[ClassMeasures, ...]
    accuracy: float | None = None


class BestOrder:
    """The order of the target itself, which is the best order that predictions could give."""

    def __init__(self) -> None:
        self._ranked = RankedSums(2, SCORE_DIGITS)

    def add(self, target: Array, weight: Array) -> None:
        """Add one chunk."""
        self._ranked.add(np.log(np.maximum(target, _LEAST_TARGET)), weight, weight * target)

    def concentration(self) -> float | None:
        """The concentration of the target in its own order; None if it is the same in all rows."""
        _, sums = self._ranked.cells()
        highest = concentration(sums[:, 0], sums[:, 1])
        return highest if highest > _NO_SPREAD else None


class ErrorSums:
    """Sums of a version with one score per row: ``error`` is Σ w·|target − prediction|, and nothing else is told of it."""

    def __init__(self) -> None:
        self.error = 0.0

    def add(self, score: Array, prediction: Array, target: Array, weight: Array) -> None:  # noqa: ARG002 - as `ScoreSums`
        """Take in one chunk; scores and predictions are rows × 1."""
        self.error += float(weight @ np.abs(target - prediction[:, 0]))

    def result(self, classes: Sequence[str], best: float | None) -> VersionMeasures | None:  # noqa: ARG002 - as `ScoreSums`
        """No figures."""
        return None


class ScoreSums(ErrorSums):
    """The same with what the order of the rows by their score tells."""

    def __init__(self) -> None:
        super().__init__()
        self._ranked = RankedSums(4, SCORE_DIGITS)

    def add(self, score: Array, prediction: Array, target: Array, weight: Array) -> None:
        """Take in one chunk; scores and predictions are rows × 1."""
        super().add(score, prediction, target, weight)
        self._ranked.add(score[:, 0], np.ones(len(weight)), weight, weight * prediction[:, 0], weight * target)

    def result(self, classes: Sequence[str], best: float | None) -> VersionMeasures:
        """The figures; ``best`` is the concentration of the target in its own order, None if there are classes."""
        _, cells = self._ranked.cells()
        rows, weight, expected, observed = cells.T
        _, total, expected_sum, observed_sum = cells.sum(axis=0)
        expected_mean, observed_mean = float(expected_sum / total), float(observed_sum / total)
        auc, gini = None, None
        balance: tuple[ClassMeasures, ...] = ()
        if classes:
            auc = area_under_curve(weight, observed)
            gini = 2.0 * auc - 1.0
            balance = (
                ClassMeasures(classes[0], 1.0 - observed_mean, 1.0 - expected_mean),
                ClassMeasures(classes[1], observed_mean, expected_mean),
            )
        elif best is not None:
            gini = concentration(weight, observed) / best
        bins = calibration(rows, weight, expected, observed)
        return VersionMeasures(expected_mean, observed_mean, auc, gini, bins, balance)


class ClassSums:
    """Sums of a version with a score for each of several classes; ``error`` is Σ w·(1 − probability of the row's class)."""

    def __init__(self, count: int) -> None:
        self.error = 0.0
        self._weight = 0.0
        self._right = 0.0
        self._observed = np.zeros(count)
        self._expected = np.zeros(count)
        self._ranked = [RankedSums(4, SCORE_DIGITS, share=count) for _ in range(count if count <= MOST_CLASSES else 0)]

    def add(self, score: Array, prediction: Array, target: Array, weight: Array) -> None:
        """Add one chunk; scores and predictions are rows × classes."""
        true = target.astype(np.intp)
        self.error += float(weight @ (1.0 - prediction[np.arange(len(true)), true]))
        self._weight += float(weight.sum())
        self._right += float(weight @ (np.argmax(prediction, axis=1) == true))
        self._observed += np.bincount(true, weights=weight, minlength=len(self._observed))
        self._expected += weight @ prediction
        if self._ranked:
            odds, ones = log_odds(score), np.ones(len(weight))
            for c, ranked in enumerate(self._ranked):
                ranked.add(odds[:, c], ones, weight, weight * prediction[:, c], weight * (true == c))

    def result(self, classes: Sequence[str], best: float | None) -> VersionMeasures:  # noqa: ARG002 - as `ScoreSums`
        """The balance of the classes, and each class against the rest if there are not too many."""
        observed, expected = (sums / self._weight for sums in (self._observed, self._expected))
        balance = [
            ClassMeasures(label, float(observed[c]), float(expected[c]), *self._against_the_rest(c))
            for c, label in enumerate(classes)
        ]
        return VersionMeasures(None, None, None, None, (), tuple(balance), self._right / self._weight)

    def _against_the_rest(self, c: int) -> tuple[float | None, tuple[CalibrationMeasures, ...]]:
        if not self._ranked:
            return None, ()
        rows, weight, expected, observed = self._ranked[c].cells()[1].T
        has_both = observed.any() and (observed < weight).any()
        return area_under_curve(weight, observed) if has_both else None, calibration(rows, weight, expected, observed)


_LEAST = 1e-300


def log_odds(score: Array) -> Array:
    """log(p/(1 − p)) of every class, from scores η (rows × classes): η_c − log Σ e^η over the other classes.

    For the most probable class the sum is computed without its own term, so no digits are lost near p = 1. For any other
    class the sum contains the largest term, so its own term can be subtracted.
    """
    rows, top = np.arange(len(score)), np.argmax(score, axis=1)
    below = score - score[rows, top, None]
    powers = np.exp(below)
    powers[rows, top] = 0.0
    others = powers.sum(axis=1)
    rest = others[:, None] + 1.0 - powers
    rest[rows, top] = others
    odds: Array = below - np.log(np.maximum(rest, _LEAST))
    return odds
