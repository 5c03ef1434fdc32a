"""Decisions that flip along a path: "prediction ≥ threshold", or the most probable of several classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_CLASS_FLIPS", "THRESHOLD_STEP", "ClassFlipMeasures", "DecisionSums", "FlipMeasures", "FlipStepMeasures"]

Array = NDArray[np.float64]
Decisions = NDArray[np.int16]

THRESHOLD_STEP = "(threshold)"
"""Title of the move from the champion's threshold to the candidate's."""

MOST_CLASS_FLIPS = 400
"""From which class to which: no more of these are told than the most frequent ones; up to 20 classes have fewer."""


@dataclass(frozen=True)
class FlipStepMeasures:
    """Shares of the rows whose decision flips at one step."""

    feature: str
    up: float
    down: float


@dataclass(frozen=True)
class ClassFlipMeasures:
    """The share of the rows that the first model decides one way and the last another, by the numbers of the classes."""

    before: int
    after: int
    flips: float


@dataclass(frozen=True)
class FlipMeasures:
    """Shares of the rows whose decision flips, from the first model to the last and at every step.

    Several classes have no order: there every changed decision counts as ``up`` and none as ``down``, and ``classes`` tells
    which become which, in the order of the classes.
    """

    up: float
    down: float
    steps: tuple[FlipStepMeasures, ...]
    classes: tuple[ClassFlipMeasures, ...] = ()


class DecisionSums:
    """Adds up flips: the path decides at the champion's threshold, and a threshold that moves is the last step.

    A model with several classes decides for the most probable one, whatever the thresholds.
    """

    def __init__(self, titles: Sequence[str], champion: float, candidate: float, scores: int) -> None:
        self._champion, self._candidate = champion, candidate
        self._several = scores > 1
        self._class_flips: defaultdict[tuple[int, int], float] = defaultdict(float)
        self._moves = champion != candidate and not self._several
        self._titles = (*titles, THRESHOLD_STEP) if self._moves else tuple(titles)
        self._up, self._down = np.zeros(len(self._titles) + 1), np.zeros(len(self._titles) + 1)

    def add(self, prediction: Array, weight: Array) -> NDArray[np.bool_]:
        """Take in one chunk, predictions being rows × scores × models; tells which decisions flip from first to last."""
        decided = self._decided(prediction)
        steps: Decisions = np.column_stack([decided[:, 1:], decided[:, :1]]) - decided
        steps[:, -1] *= -1  # from the last back to the first, turned round
        self._up += weight @ (steps != 0 if self._several else steps > 0)
        if not self._several:
            self._down += weight @ (steps < 0)
        flipped: NDArray[np.bool_] = steps[:, -1] != 0
        if self._several:
            self._add_class_flips(decided[flipped][:, [0, -1]], weight[flipped])
        return flipped

    def _add_class_flips(self, decided: Decisions, weight: Array) -> None:
        """Rows × (first, last) of those that flip."""
        pairs, which = np.unique(decided, axis=0, return_inverse=True)
        sums = np.bincount(which.ravel(), weights=weight, minlength=len(pairs))
        for (before, after), each in zip(pairs.tolist(), sums.tolist(), strict=True):
            self._class_flips[before, after] += each

    def _decided(self, prediction: Array) -> Decisions:
        """The decision of every row and model, and the last once more with the candidate's threshold if that is another."""
        if self._several:
            classes: Decisions = np.argmax(prediction, axis=1).astype(np.int16)
            return classes
        decided = prediction[:, 0] >= self._champion
        if self._moves:
            decided = np.column_stack([decided, prediction[:, 0, -1] >= self._candidate])
        return decided.astype(np.int16)

    def result(self, weight: float) -> FlipMeasures:
        """The shares of all rows taken in."""
        up, down = self._up / weight, self._down / weight
        steps = zip(self._titles, up[:-1], down[:-1], strict=True)
        return FlipMeasures(
            float(up[-1]),
            float(down[-1]),
            tuple(FlipStepMeasures(title, float(u), float(d)) for title, u, d in steps),
            tuple(ClassFlipMeasures(*pair, each / weight) for pair, each in self._most_frequent() if each),
        )

    def _most_frequent(self) -> list[tuple[tuple[int, int], float]]:
        """The changes of class with the most weight, in the order of the classes."""
        return sorted(sorted(self._class_flips.items(), key=lambda each: (-each[1], each[0]))[:MOST_CLASS_FLIPS])
