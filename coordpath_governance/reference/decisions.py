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
"""The most pairs (from class, to class) that are listed; the most frequent come first. Up to 20 classes have fewer pairs."""


@dataclass(frozen=True)
class CutOff:
    """Where a version decides: for the last class if its probability p is at least ``value``.

    ``of_first``: for the first of two classes if 1 − p is at least ``value``, computed as in scikit-learn. With the rule
    "p at most 1 − value" a row exactly at the cut-off could be decided differently.
    """

    value: float
    of_first: bool = False

    def decided(self, prediction: Array) -> NDArray[np.bool_]:
        """Whether each row is decided for the last class; without classes, whether its prediction is at least ``value``."""
        if self.of_first:
            return ~(1.0 - prediction >= self.value)
        return prediction >= self.value


@dataclass(frozen=True)
class FlipStepMeasures:
    """Shares of the rows whose decision flips up and down at one step."""

    feature: str
    up: float
    down: float


@dataclass(frozen=True)
class ClassFlipMeasures:
    """The share of the rows that the first model assigns to the class ``before`` and the last to ``after`` (positions)."""

    before: int
    after: int
    flips: float


@dataclass(frozen=True)
class FlipMeasures:
    """Shares of the rows whose decision flips, from the first model to the last and at every step.

    Three or more classes have no order: every changed decision counts as ``up`` and none as ``down``, and ``classes`` lists
    from which class to which. ``rows_up`` and ``rows_down`` are numbers of rows, whatever their weights. ``champion_yes``
    and ``candidate_yes`` are the shares of rows that each version decides "up"; None for three or more classes.
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
    """Adds up flips along a path.

    All steps decide at the champion's threshold; the move to the candidate's threshold, if it is another, is the last step.
    A model of three or more classes decides for the most probable class, whatever the thresholds. ``about_first``: up means
    the first of two classes, not the last.
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
        """Add one chunk; ``prediction`` is rows × scores × models. Returns which decisions flip from first to last model."""
        decided = self._decided(prediction)
        steps: Decisions = np.column_stack([decided[:, 1:], decided[:, :1]]) - decided
        steps[:, -1] *= -1  # was: from the last back to the first
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
        """Add rows that flip; ``decided`` is rows × (first, last)."""
        pairs, positions = np.unique(decided, axis=0, return_inverse=True)
        sums = np.bincount(positions.ravel(), weights=weight, minlength=len(pairs))
        for (before, after), flips in zip(pairs.tolist(), sums.tolist(), strict=True):
            self._class_flips[before, after] += flips

    def _decided(self, prediction: Array) -> Decisions:
        """The decision of every row and model; if the threshold moves, the last model again with the candidate's."""
        if self._several:
            classes: Decisions = np.argmax(prediction, axis=1).astype(np.int16)
            return classes
        decided = self._champion.decided(prediction[:, 0])
        if self._moves:
            decided = np.column_stack([decided, self._candidate.decided(prediction[:, 0, -1])])
        return (~decided if self._about_first else decided).astype(np.int16)

    def result(self, weight: float) -> FlipMeasures:
        """The shares of all rows added; ``weight`` is the sum of their weights."""
        up, down = self._up / weight, self._down / weight
        steps = zip(self._titles, up[:-1], down[:-1], strict=True)
        return FlipMeasures(
            float(up[-1]),
            float(down[-1]),
            tuple(FlipStepMeasures(title, float(u), float(d)) for title, u, d in steps),
            tuple(ClassFlipMeasures(*pair, flips / weight) for pair, flips in self._most_frequent() if flips),
            *(int(count) for count in self._rows),
            *((None, None) if self._several else (float(share) for share in self._yes / weight)),
        )

    def _most_frequent(self) -> list[tuple[tuple[int, int], float]]:
        """The changes of class with the most weight, in the order of the classes."""
        return sorted(sorted(self._class_flips.items(), key=lambda item: (-item[1], item[0]))[:MOST_CLASS_FLIPS])
