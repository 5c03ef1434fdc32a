"""Families: what a row loses by its score, one convex function of it a family.

With target y and score η, and μ = e^η where the link is the logarithm, the loss ℓ(y, η) is

    logistic      log(1 + e^η) − yη                       y is 0 or 1
    multinomial   log Σ e^η_c − η_y                       one score a class, y the number of the class
    poisson       2(y log(y/μ) − y + μ)                   y ≥ 0
    gamma         2(−log(y/μ) + y/μ − 1)                  y > 0
    tweedie       2(y^(2−p)/((1−p)(2−p)) − y μ^(1−p)/(1−p) + μ^(2−p)/(2−p))   y ≥ 0, 1 < p < 2

Targets are (n,), scores (n, C, m): C scores a row (one but for multinomial), m models side by side. Where a loss exceeds
double precision it is infinite, without a warning; whoever sums the losses refuses that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import special

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["KINDS", "Family", "family_of"]

KINDS = ("logistic", "multinomial", "poisson", "gamma", "tweedie")
"""The names of the families in a problem."""

_LOG_LEAST_COUNT = -46.0
_LEAST_COUNT = math.exp(_LOG_LEAST_COUNT)
"""Around a count below this one the Poisson loss is not expanded: e^η there is told relative to this count instead."""

_FURTHEST = 700.0
"""A score that stands for infinity: its exponential is still a number."""


class Family(Protocol):
    """A loss and what an optimiser needs of it."""

    @property
    def kind(self) -> str:
        """The name in a problem: one of `KINDS`."""
        ...

    @property
    def scores(self) -> int:
        """C: how many scores a row has."""
        ...

    @property
    def loss_name(self) -> str:
        """What the mean loss is called."""
        ...

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """ℓ, (n, m)."""
        ...

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ℓ, (n, m), and ∂ℓ/∂η, (n, C, m)."""
        ...

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """∂²ℓ/∂η², (n, C, C), at one score vector a row, (n, C)."""
        ...

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """A positive semi-definite matrix a row, (n, C, C), below the curvature wherever low ≤ η ≤ high, both (n, C)."""
        ...

    def mean(self, score: FloatArray) -> FloatArray:
        """The prediction at a score, of the same shape; classes are told apart along the second axis."""
        ...

    def link(self, mean: FloatArray) -> FloatArray:
        """The scores, (C,), at which the prediction is ``mean``, (C,); none is further than 700 from zero."""
        ...

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """The rows whose target no such model can have produced."""
        ...


@dataclass(frozen=True)
class _Logistic:
    """ℓ = log(1 + e^t) with t = −η where y = 1 and t = η where y = 0, so that small losses keep their digits."""

    kind: str = "logistic"
    scores: int = 1
    loss_name: str = "log loss"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        return _softplus(score[:, 0] * _sign(target))

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        sign = _sign(target)
        wrong = score[:, 0] * sign
        loss = _softplus(wrong)
        wrong -= loss  # e^(t − log(1 + e^t)) is the derivative of log(1 + e^t)
        slope = np.exp(wrong, out=wrong)
        slope *= sign
        return loss, slope[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:  # noqa: ARG002
        odds = np.exp(-np.abs(score))
        return (odds / (1.0 + odds) ** 2)[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        return self.curvature(target, np.maximum(np.abs(low), np.abs(high)))

    def mean(self, score: FloatArray) -> FloatArray:
        probability: FloatArray = special.expit(score)
        return probability

    def link(self, mean: FloatArray) -> FloatArray:
        return _bounded(mean, 1.0 - mean)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        return ~np.isin(target, (0.0, 1.0))


@dataclass(frozen=True)
class _Multinomial:
    """ℓ = log Σ e^(η_c − max η) − (η_y − max η)."""

    scores: int
    kind: str = "multinomial"
    loss_name: str = "log loss"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        return self._parts(target, score)[0]

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        loss, powers, total = self._parts(target, score)
        powers /= total[:, None]
        true = _true_class(target)
        right = np.take_along_axis(powers, true, axis=1)
        np.put_along_axis(powers, true, 0.0, axis=1)
        np.put_along_axis(powers, true, np.where(right < 0.5, right - 1.0, -np.sum(powers, axis=1, keepdims=True)), axis=1)
        return loss, powers

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:  # noqa: ARG002
        return _laplacian(self.mean(score))

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:  # noqa: ARG002
        """The least probabilities q in the box give edge weights q_c·q_c' that are nowhere above those of the curvature.

        Class c is least likely where its own score is lowest and all others are highest.
        """
        lead = high[:, None, :] - low[:, :, None]
        own = np.arange(self.scores)
        lead[:, own, own] = 0.0
        return _laplacian(np.exp(-special.logsumexp(lead, axis=2)))

    def mean(self, score: FloatArray) -> FloatArray:
        probability: FloatArray = special.softmax(score, axis=1)
        return probability

    def link(self, mean: FloatArray) -> FloatArray:
        return _bounded(mean)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        return ~np.isin(target, np.arange(self.scores))

    @staticmethod
    def _parts(target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """ℓ, e^(η − max η) and its sum over the classes."""
        top = np.max(score, axis=1)
        powers = score - top[:, None]
        right = np.take_along_axis(powers, _true_class(target), axis=1)[:, 0]
        np.exp(powers, out=powers)
        total = np.sum(powers, axis=1)
        return np.log(total) - right, powers, total


@dataclass(frozen=True)
class _Poisson:
    """ℓ/2 = s(e^d − 1) − yd + (s − y + y log(y/s)) with d = η − log s; s is y, or a tiny count where y is smaller still.

    With s = y the last bracket is zero, and the loss of large counts keeps its digits.
    """

    kind: str = "poisson"
    scores: int = 1
    loss_name: str = "mean Poisson deviance"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        return self._parts(target, score)[0]

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        loss, grown, start = self._parts(target, score)
        grown += 2.0 * (start - target)[:, None]
        return loss, grown[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:  # noqa: ARG002
        with np.errstate(over="ignore"):
            return 2.0 * np.exp(score)[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:  # noqa: ARG002
        return self.curvature(target, low)

    def mean(self, score: FloatArray) -> FloatArray:
        return _power(score)

    def link(self, mean: FloatArray) -> FloatArray:
        return _bounded(mean)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        return ~(np.isfinite(target) & (target >= 0.0))

    @staticmethod
    def _parts(target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """ℓ, 2s(e^d − 1) and s."""
        start = np.maximum(target, _LEAST_COUNT)
        distance = score[:, 0] - np.maximum(np.log(start), _LOG_LEAST_COUNT)[:, None]
        with np.errstate(over="ignore"):
            grown = np.expm1(distance)
            grown *= (2.0 * start)[:, None]
        distance *= (-2.0 * target)[:, None]
        distance += grown
        distance += 2.0 * (start - target + special.xlogy(target, target / start))[:, None]
        return distance, grown, start


@dataclass(frozen=True)
class _Gamma:
    """ℓ/2 = d + e^(−d) − 1 with d = η − log y."""

    kind: str = "gamma"
    scores: int = 1
    loss_name: str = "mean gamma deviance"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        return self.loss_and_slope(target, score)[0]

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        loss = np.log(target)[:, None] - score[:, 0]
        with np.errstate(over="ignore"):
            slope = np.expm1(loss)
        np.subtract(slope, loss, out=loss)
        loss *= 2.0
        slope *= -2.0
        return loss, slope[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:
        return 2.0 * _power(np.log(target)[:, None] - score)[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:  # noqa: ARG002
        return self.curvature(target, high)

    def mean(self, score: FloatArray) -> FloatArray:
        return _power(score)

    def link(self, mean: FloatArray) -> FloatArray:
        return _bounded(mean)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        return ~(np.isfinite(target) & (target > 0.0))


@dataclass(frozen=True)
class _Tweedie:
    """ℓ/2 = y e^(−aη)/a + e^(bη)/b − y^b/(ab) with a = p − 1 and b = 2 − p."""

    power: float
    kind: str = "tweedie"
    scores: int = 1

    @property
    def loss_name(self) -> str:
        return f"mean Tweedie deviance (power {self.power:g})"

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        fall, rise = self._parts(target, score[:, 0])
        return self._loss(target, fall, rise)

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        fall, rise = self._parts(target, score[:, 0])
        with np.errstate(invalid="ignore"):
            slope = rise - fall
        slope *= 2.0
        return self._loss(target, fall, rise), slope[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:
        fall, rise = self._parts(target, score)
        return 2.0 * ((self.power - 1.0) * fall + (2.0 - self.power) * rise)[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """The curvature 2(a·y e^(−aη) + b·e^(bη)) falls until e^η = y(a/b)² and rises from there."""
        with np.errstate(divide="ignore"):
            bottom = np.log(target) + 2.0 * math.log((self.power - 1.0) / (2.0 - self.power))
        return self.curvature(target, np.clip(bottom[:, None], low, high))

    def mean(self, score: FloatArray) -> FloatArray:
        return _power(score)

    def link(self, mean: FloatArray) -> FloatArray:
        return _bounded(mean)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        return ~(np.isfinite(target) & (target >= 0.0))

    def _parts(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The two terms y e^(−aη) and e^(bη)."""
        fall = score * (1.0 - self.power)
        rise = score * (2.0 - self.power)
        with np.errstate(over="ignore", invalid="ignore"):
            np.exp(fall, out=fall)
            np.exp(rise, out=rise)
            fall *= target[:, None]
        return fall, rise

    def _loss(self, target: FloatArray, fall: FloatArray, rise: FloatArray) -> FloatArray:
        """ℓ from the two parts, which it uses up."""
        a, b = self.power - 1.0, 2.0 - self.power
        fall *= 2.0 / a
        rise *= 2.0 / b
        fall += rise
        fall -= (2.0 / (a * b) * target**b)[:, None]
        return fall


def family_of(kind: str, *, power: float | None = None, classes: int = 0) -> Family:
    """The family of a name; ``power`` belongs to tweedie, the number of ``classes`` to multinomial."""
    if kind == "multinomial":
        if classes < 2:
            raise ProblemError(f"cost.classes: {classes} classes make no multinomial cost; give at least two")
        return _Multinomial(classes)
    if kind == "tweedie":
        if power is None or not 1.0 < power < 2.0:
            raise ProblemError(
                f"cost.power: {power} is not between 1 and 2, where the Tweedie deviance is convex in the score; "
                "for 1 use the kind 'poisson', for 2 'gamma'"
            )
        return _Tweedie(power)
    plain: dict[str, Family] = {"logistic": _Logistic(), "poisson": _Poisson(), "gamma": _Gamma()}
    if kind not in plain:
        raise ProblemError(f"cost.kind: {kind!r} is not known; use one of {', '.join(KINDS)}")
    return plain[kind]


def _sign(target: FloatArray) -> FloatArray:
    return (1.0 - 2.0 * target)[:, None]


def _softplus(values: FloatArray) -> FloatArray:
    """log(1 + e^t) = max(t, 0) + log(1 + e^(−|t|))."""
    result = np.abs(values)
    np.negative(result, out=result)
    np.exp(result, out=result)
    np.log1p(result, out=result)
    result += np.maximum(values, 0.0)
    return result


def _power(score: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.exp(score)


def _bounded(mean: FloatArray, other: float | FloatArray = 1.0) -> FloatArray:
    """log(mean/other), at most `_FURTHEST` from zero."""
    with np.errstate(divide="ignore"):
        score: FloatArray = np.clip(np.log(mean) - np.log(other), -_FURTHEST, _FURTHEST)
    return score


def _true_class(target: FloatArray) -> NDArray[np.intp]:
    return target.astype(np.intp)[:, None, None]


def _laplacian(probability: FloatArray) -> FloatArray:
    """Of the graph in which classes c and c' are joined by q_c·q_c'; where the q sum to one, diag(q) − qqᵀ."""
    result = -probability[:, :, None] * probability[:, None, :]
    own = np.arange(probability.shape[1])
    result[:, own, own] = 0.0
    result[:, own, own] = -np.sum(result, axis=2)
    return result
