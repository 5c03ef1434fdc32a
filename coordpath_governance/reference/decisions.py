"""Decisions that flip along a path: "prediction ≥ threshold", or the most probable of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["THRESHOLD_STEP", "DecisionSums", "FlipMeasures", "FlipStepMeasures"]

Array = NDArray[np.float64]

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
        steps = np.diff(np.column_stack([decided, decided[:, :1]]), axis=1)
        steps[:, -1] *= -1  # from the last back to the first, turned round
        up, down = (steps != 0, np.zeros_like(steps)) if self._several else (steps > 0, steps < 0)
        self._up += weight @ up
        self._down += weight @ down
        flipped: NDArray[np.bool_] = steps[:, -1] != 0
        return flipped

    def _decided(self, prediction: Array) -> Array:
        """The decision of every row and model, and the last once more with the candidate's threshold if that is another."""
        decided: Array
        if self._several:
            decided = np.argmax(prediction, axis=1).astype(np.float64)
        else:
            decided = (prediction[:, 0] >= self._champion).astype(np.float64)
        return np.column_stack([decided, prediction[:, 0, -1] >= self._candidate]) if self._moves else decided

    def result(self, weight: float) -> FlipMeasures:
        """The shares of all rows taken in."""
        up, down = self._up / weight, self._down / weight
        steps = zip(self._titles, up[:-1], down[:-1], strict=True)
        return FlipMeasures(
            float(up[-1]), float(down[-1]), tuple(FlipStepMeasures(title, float(u), float(d)) for title, u, d in steps)
        )
