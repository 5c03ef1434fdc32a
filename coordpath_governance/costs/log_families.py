"""The losses whose link is the logarithm: counts, amounts, and amounts of which many are zero. Formulas: `families`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["Gamma", "Poisson", "Tweedie", "bounded_log"]

_LEAST = math.exp(-46.0)
"""Losses are expanded around the target, but not around a smaller one than this: there they are relative to it."""

_FAR = 30.0
"""A score that stands for infinity where a search begins."""


class _LogLink:
    """One score per row, the logarithm of the prediction."""

    scores = 1
    targets = "numbers from 0 on"
    classifies = False

    def mean(self, score: FloatArray) -> FloatArray:
        """Of a score η it is e^η."""
        return _power(score)

    def link(self, mean: FloatArray) -> FloatArray:
        """The logarithm."""
        return bounded_log(mean)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """Targets that are negative or no number."""
        return ~(np.isfinite(target) & (target >= 0.0))


@dataclass(frozen=True)
class Poisson(_LogLink):
    """ℓ/2 = s(e^d − 1) − yd + (s − y + y log(y/s)) with d = η − log s; s is y, or tiny where y is smaller still.

    With s = y the last bracket is zero, and the loss of large counts keeps its digits.
    """

    kind: str = "poisson"
    loss_name: str = "mean Poisson deviance"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """By the expansion above."""
        return self._parts(target, score)[0]

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope is 2(μ − y)."""
        loss, grown, start = self._parts(target, score)
        grown += 2.0 * (start - target)[:, None]
        return loss, grown[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:  # noqa: ARG002
        """It is 2μ."""
        return 2.0 * _power(score)[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:  # noqa: ARG002
        """At the lowest score."""
        return self.curvature(target, low)

    @staticmethod
    def _parts(target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """ℓ, 2s(e^d − 1) and s."""
        start = np.maximum(target, _LEAST)
        distance = score[:, 0] - np.log(start)[:, None]
        with np.errstate(over="ignore"):
            grown = np.expm1(distance)
            grown *= (2.0 * start)[:, None]
        distance *= (-2.0 * target)[:, None]
        distance += grown
        distance += 2.0 * (start - target + special.xlogy(target, target / start))[:, None]
        return distance, grown, start


@dataclass(frozen=True)
class Gamma(_LogLink):
    """ℓ/2 = d + e^(−d) − 1 with d = η − log y."""

    kind: str = "gamma"
    loss_name: str = "mean gamma deviance"
    targets: str = "numbers above 0"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """By the expansion above."""
        return self.loss_and_slope(target, score)[0]

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope is 2(1 − y/μ)."""
        loss = np.log(target)[:, None] - score[:, 0]
        with np.errstate(over="ignore"):
            slope = np.expm1(loss)
        np.subtract(slope, loss, out=loss)
        loss *= 2.0
        slope *= -2.0
        return loss, slope[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """It is 2y/μ."""
        return 2.0 * _power(np.log(target)[:, None] - score)[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:  # noqa: ARG002
        """At the highest score."""
        return self.curvature(target, high)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """Targets that are not positive, or no number."""
        return ~(np.isfinite(target) & (target > 0.0))


@dataclass(frozen=True)
class Tweedie(_LogLink):
    """The loss in a form that keeps its digits, also for powers close to 1 and 2.

    With a = p − 1, b = 2 − p and d = η − log s, where s is y, or tiny where y is smaller still,

        ℓ/2 = y s^(−a) (e^(−ad) − 1)/a + s^b (e^(bd) − 1)/b + (y s^(−a)/a + s^b/b − y^b/(ab)),

    and with s = y the last bracket is zero.
    """

    power: float
    kind: str = "tweedie"

    def __post_init__(self) -> None:
        if self.power is None or not 1.0 < self.power < 2.0:
            raise ProblemError(
                f"cost.power: {self.power} is not between 1 and 2, where the Tweedie deviance is convex in the score; "
                "for 1 use the kind 'poisson', for 2 'gamma'"
            )

    @property
    def loss_name(self) -> str:
        """Names the power."""
        return f"mean Tweedie deviance (power {self.power:g})"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """By the expansion above."""
        return self._parts(target, score)[0]

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope is 2(μ^b − y μ^(−a))."""
        loss, fall, rise, difference = self._parts(target, score)
        fall *= 1.0 - self.power
        rise *= 2.0 - self.power
        with np.errstate(invalid="ignore"):
            rise += fall
        rise += difference[:, None]
        return loss, rise[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """It is 2(a·y μ^(−a) + b·μ^b)."""
        a, b = self.power - 1.0, 2.0 - self.power
        with np.errstate(divide="ignore"):
            fall = _power(np.log(target)[:, None] - a * score)
        return 2.0 * (a * fall + b * _power(b * score))[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """The curvature falls until e^η = y(a/b)², and rises from there."""
        with np.errstate(divide="ignore"):
            bottom = np.log(target) + 2.0 * math.log((self.power - 1.0) / (2.0 - self.power))
        return self.curvature(target, np.clip(bottom[:, None], low, high))

    def _parts(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """ℓ, twice the terms with an exponential in it, and 2(s^b − y s^(−a))."""
        a, b = self.power - 1.0, 2.0 - self.power
        start = np.maximum(target, _LEAST)
        first, second = target * start**-a, start**b
        fall = score[:, 0] - np.log(start)[:, None]
        rise = b * fall
        fall *= -a
        with np.errstate(over="ignore", invalid="ignore"):
            np.expm1(fall, out=fall)
            np.expm1(rise, out=rise)
            fall *= (2.0 / a * first)[:, None]
            rise *= (2.0 / b * second)[:, None]
        fall[target == 0.0] = 0.0
        loss = fall + rise
        loss += 2.0 * np.where(target < start, first / a + second / b - target**b / (a * b), 0.0)[:, None]
        return loss, fall, rise, 2.0 * (second - first)


def bounded_log(mean: FloatArray, other: float | FloatArray = 1.0) -> FloatArray:
    """log(mean/other), and ±30 where that is infinite."""
    with np.errstate(divide="ignore"):
        score: FloatArray = np.nan_to_num(np.log(mean) - np.log(other), posinf=_FAR, neginf=-_FAR)
    return score


def _power(score: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.exp(score)
