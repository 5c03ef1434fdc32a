"""Decisions that flip along a path: "prediction ≥ threshold", or the most probable of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["THRESHOLD_STEP", "DecisionSums", "FlipMeasures", "FlipStepMeasures"]

Array = NDArray[np.float64]
Decisions = NDArray[np.int16]

THRESHOLD_STEP = "(threshold)"
"""Title of the move from the champion's threshold to the candidate's."""


@dataclass(frozen=True)
class FlipStepMeasures:
    """Shares of the rows whose decision flips at one step."""

    feature: str
    up: float
    down: float


@dataclass(frozen=True)
class FlipMeasures:
    """Shares of the rows whose decision flips, from the first model to the last and at every step.

    Several classes have no order: there every changed decision counts as ``up`` and none as ``down``.
    """

    up: float
    down: float
    steps: tuple[FlipStepMeasures, ...]


class DecisionSums:
    """Adds up flips: the path decides at the champion's threshold, and a threshold that moves is the last step.

    A model with several classes decides for the most probable one, whatever the thresholds.
    """

    def __init__(self, titles: Sequence[str], champion: float, candidate: float, scores: int) -> None:
        self._champion, self._candidate = champion, candidate
        self._several = scores > 1
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
        return flipped

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
            float(up[-1]), float(down[-1]), tuple(FlipStepMeasures(title, float(u), float(d)) for title, u, d in steps)
        )
