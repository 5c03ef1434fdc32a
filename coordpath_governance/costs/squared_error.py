"""The squared error as a family: what a row loses under a linear model whose score is its prediction.

A quadratic cost has all of it in its moments, which find and prove paths faster than rows do. So documents do not name this
family, and it is not in `FAMILIES`; a path under the squared error is measured on rows with it, like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["SquaredError"]


@dataclass(frozen=True)
class SquaredError:
    """ℓ = (y − η)²."""

    kind: str = "squared error"
    scores: int = 1
    loss_name: str = "mean squared error"
    targets: str = "finite numbers"
    classifies: bool = False

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """The loss (y − η)²."""
        squares: FloatArray = (target[:, None] - score[:, 0]) ** 2
        return squares

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope is 2(η − y)."""
        return self.loss(target, score), 2.0 * (score - target[:, None, None])

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:  # noqa: ARG002
        """It is 2 everywhere."""
        return np.full((len(target), 1, 1), 2.0)

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:  # noqa: ARG002
        """It is 2 everywhere."""
        return self.curvature(target, low)

    def mean(self, score: FloatArray) -> FloatArray:
        """The prediction is the score."""
        return score

    def link(self, mean: FloatArray) -> FloatArray:
        """The score is the prediction."""
        return mean

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """Targets that are not finite."""
        return ~np.isfinite(target)
