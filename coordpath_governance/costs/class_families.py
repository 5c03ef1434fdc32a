"""The losses of classes: two with one score, or any number with a score each. The formulas are in `families`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from coordpath_governance.costs.log_families import bounded_log
from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["Logistic", "Multinomial"]


@dataclass(frozen=True)
class Logistic:
    """ℓ = log(1 + e^t) with t = −η where y = 1 and t = η where y = 0, so that small losses keep their digits."""

    kind: str = "logistic"
    scores: int = 1
    loss_name: str = "log loss"
    targets: str = "0 or 1"
    classifies: bool = True

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """The loss log(1 + e^t)."""
        return _softplus(score[:, 0] * _sign(target))

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope is 1/(1 + e^(−t)), with the sign of t."""
        sign = _sign(target)
        wrong = score[:, 0] * sign
        loss = _softplus(wrong)
        wrong -= loss  # e^(t − log(1 + e^t)) is the derivative of log(1 + e^t)
        slope = np.exp(wrong, out=wrong)
        slope *= sign
        return loss, slope[:, None]

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:  # noqa: ARG002
        """The product p(1 − p)."""
        odds = np.exp(-np.abs(score))
        return (odds / (1.0 + odds) ** 2)[:, :, None]

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """The score furthest from zero bends least."""
        return self.curvature(target, np.maximum(np.abs(low), np.abs(high)))

    def mean(self, score: FloatArray) -> FloatArray:
        """1/(1 + e^(−η))."""
        probability: FloatArray = special.expit(score)
        return probability

    def link(self, mean: FloatArray) -> FloatArray:
        """The logarithm of the odds."""
        return bounded_log(mean, np.maximum(1.0 - mean, 0.0))

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """Targets other than 0 and 1."""
        return ~np.isin(target, (0.0, 1.0))


@dataclass(frozen=True)
class Multinomial:
    """ℓ = log(1 + (rest + t − 1)) − log t, where t = e^(η_y − max η), and rest is the same summed over the other classes.

    Where the true class has the highest score t is 1, and small losses keep their digits.
    """

    scores: int
    kind: str = "multinomial"
    loss_name: str = "log loss"
    targets: str = "the number of a class, from 0 on"
    classifies: bool = True

    def __post_init__(self) -> None:
        classes = self.scores or 0
        if classes < 2:
            raise ProblemError(f"cost.classes: {classes} classes make no multinomial cost; give at least two")

    @property
    def classes(self) -> int:
        """How many there are: each has a score."""
        return self.scores

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """The loss of the class that occurred."""
        return self._parts(target, score)[0]

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope is the probability, less one in the class that occurred."""
        loss, powers, rest, total = self._parts(target, score)
        powers[np.arange(len(target)), target.astype(np.intp)] = -rest
        powers /= total[:, None]
        return loss, powers

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:  # noqa: ARG002
        """The matrix diag(p) − ppᵀ."""
        return _laplacian(self.mean(score))

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:  # noqa: ARG002
        """The least probabilities q in the box give edge weights q_c·q_c' that are nowhere above those of the curvature.

        Class c is least likely where its own score is lowest and all others are highest.
        """
        rest = np.ones(low.shape)
        with np.errstate(over="ignore"):
            for c in range(self.scores):
                for other in range(self.scores):
                    if other != c:
                        rest[:, c] += np.exp(high[:, other] - low[:, c])
        return _laplacian(1.0 / rest)

    def mean(self, score: FloatArray) -> FloatArray:
        """The probabilities: e^η over its sum."""
        powers = np.exp(score - _over_classes(np.maximum, score)[:, None])
        probability: FloatArray = powers / _over_classes(np.add, powers)[:, None]
        return probability

    def link(self, mean: FloatArray) -> FloatArray:
        """The logarithm of the shares."""
        return bounded_log(mean)

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """Targets that are not the number of a class."""
        return ~np.isin(target, np.arange(self.scores))

    @staticmethod
    def _parts(target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """ℓ, e^(η − max η) with zeros in the true class, its sum over the classes, and that with the true class."""
        own = np.arange(len(target)), target.astype(np.intp)
        powers = score - _over_classes(np.maximum, score)[:, None]
        right = powers[own]
        np.exp(powers, out=powers)
        true = powers[own]
        powers[own] = 0.0
        rest = _over_classes(np.add, powers)
        return np.log1p(rest + (true - 1.0)) - right, powers, rest, rest + true


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


def _over_classes(reduce: np.ufunc, values: FloatArray) -> FloatArray:
    """One number for every row and model; class by class, which is faster than along an axis in the middle."""
    result: FloatArray = values[:, 0].copy()
    for c in range(1, values.shape[1]):
        reduce(result, values[:, c], out=result)
    return result


def _laplacian(probability: FloatArray) -> FloatArray:
    """Of the graph in which classes c and c' are joined by q_c·q_c'; where the q sum to one, diag(q) − qqᵀ."""
    classes = probability.shape[1]
    result = np.zeros((len(probability), classes, classes))
    for c in range(classes):
        for other in range(c):
            joined = probability[:, c] * probability[:, other]
            result[:, c, other] = result[:, other, c] = -joined
            result[:, c, c] += joined
            result[:, other, other] += joined
    return result
