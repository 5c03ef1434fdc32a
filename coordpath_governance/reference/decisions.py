"""Decisions that flip along a path: "prediction ≥ threshold", or the most probable of several classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_CLASS_FLIPS",
    "THRESHOLD_STEP",
    "ClassFlipMeasures",
    "CutOff",
    "DecisionSums",
    "FlipMeasures",
    "FlipStepMeasures",
]

Array = NDArray[np.float64]
Decisions = NDArray[np.int16]

THRESHOLD_STEP = "(threshold)"
"""Title of the move from the champion's threshold to the candidate's."""

MOST_CLASS_FLIPS = 400
"""From which class to which: no more of these are told than the most frequent ones; up to 20 classes have fewer."""


@dataclass(frozen=True)
class CutOff:
    """Where a version decides: for the last class where its probability p is at least ``value``.

    ``of_first``: for the first of two classes where 1 − p is at least ``value``, as scikit-learn computes it. Turned into
    "p at most 1 − value", a row exactly at the cut-off could be decided otherwise.
    """

    value: float
    of_first: bool = False

    def decided(self, prediction: Array) -> NDArray[np.bool_]:
        """Whether the last class is decided for, or what is predicted is at least the value."""
        if self.of_first:
            return ~(1.0 - prediction >= self.value)
        return prediction >= self.value


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
    which become which, in the order of the classes. ``rows_up`` and ``rows_down`` count the rows themselves, whatever their
    weights. ``champion_yes`` and ``candidate_yes`` are the shares that each version decides for what up leads to; None for
    several classes.
    """

    up: float
    down: float
    steps: tuple[FlipStepMeasures, ...]
    classes: tuple[ClassFlipMeasures, ...] = ()
    rows_up: int = 0
    rows_down: int = 0
    champion_yes: float | None = None
    candidate_yes: float | None = None


class DecisionSums:
    """Adds up flips: the path decides at the champion's threshold, and a threshold that moves is the last step.

    A model with several classes decides for the most probable one, whatever the thresholds. ``about_first``: up is to the
    first of two classes instead of to the last.
    """

    def __init__(
        self, titles: Sequence[str], champion: CutOff, candidate: CutOff, scores: int, *, about_first: bool = False
    ) -> None:
        self._champion, self._candidate = champion, candidate
        self._several, self._about_first = scores > 1, about_first
        self._rows = np.zeros(2, dtype=np.int64)
        self._yes = np.zeros(2)
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
        up = flipped if self._several else steps[:, -1] > 0
        self._rows += np.array([up.sum(), (flipped & ~up).sum()])
        if not self._several:
            self._yes += weight @ decided[:, [0, -1]]
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
        decided = self._champion.decided(prediction[:, 0])
        if self._moves:
            decided = np.column_stack([decided, self._candidate.decided(prediction[:, 0, -1])])
        return (~decided if self._about_first else decided).astype(np.int16)

    def result(self, weight: float) -> FlipMeasures:
        """The shares of all rows taken in."""
        up, down = self._up / weight, self._down / weight
        steps = zip(self._titles, up[:-1], down[:-1], strict=True)
        return FlipMeasures(
            float(up[-1]),
            float(down[-1]),
            tuple(FlipStepMeasures(title, float(u), float(d)) for title, u, d in steps),
            tuple(ClassFlipMeasures(*pair, each / weight) for pair, each in self._most_frequent() if each),
            *(int(count) for count in self._rows),
            *((None, None) if self._several else (float(share) for share in self._yes / weight)),
        )

    def _most_frequent(self) -> list[tuple[tuple[int, int], float]]:
        """The changes of class with the most weight, in the order of the classes."""
        return sorted(sorted(self._class_flips.items(), key=lambda each: (-each[1], each[0]))[:MOST_CLASS_FLIPS])
