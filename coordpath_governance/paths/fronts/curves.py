"""Curves: for each of many sequences of units, the least cost at a loss of at most ε.

Along one sequence the loss L = Σ αₖ c(βₖ) and the cost C = c(β_K) are quadratic in the values of the steps, so the least
cost φ(ε) at a loss of at most ε is a convex function. In coordinates w with L = L₀ + ‖w − b‖² and C = C₀ + Σ dᵢ(wᵢ − aᵢ)²,
the minimiser of C + λL has wᵢ = (dᵢaᵢ + λbᵢ)/(dᵢ + λ), so that with δ = a − b

    L(λ) = L₀ + Σ (dᵢδᵢ/(dᵢ + λ))²,   C(λ) = C₀ + Σ dᵢ(λδᵢ/(dᵢ + λ))²,   φ′ = −λ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

__all__ = ["Curves"]

_LEVEL = 1e-12
"""Part of the largest eigenvalue below which values change the last cost by rounding only."""

_ROUNDS, _SAME = 60, 1e-15
"""Newton steps for λ at most, and the part of it by which the last one may still move it."""


@dataclass(frozen=True, eq=False)
class Curves:
    """φ of many sequences: L₀ and C₀, and dᵢ and δᵢ of each, zero beyond its own number of values."""

    least_loss: FloatArray
    least_cost: FloatArray
    bend: FloatArray
    apart: FloatArray

    @classmethod
    def of(cls, loss: FloatArray, cost: FloatArray) -> Curves:
        """From loss and cost of every sequence, as matrices M with (v, 1)ᵀM(v, 1) for values v.

        The loss bends everywhere.
        """
        inner, slope = loss[:, :-1, :-1], loss[:, :-1, -1:]
        best = -np.linalg.solve(inner, slope)
        root = np.linalg.cholesky(inner)
        half = np.linalg.solve(root, cost[:, :-1, :-1])
        white = np.linalg.solve(root, half.transpose(0, 2, 1))
        sizes, axes = np.linalg.eigh((white + white.transpose(0, 2, 1)) / 2.0)
        pull = np.linalg.solve(root, cost[:, :-1, :-1] @ best + cost[:, :-1, -1:])
        along = (axes.transpose(0, 2, 1) @ pull)[:, :, 0]
        real = sizes > _LEVEL * sizes[:, -1:]
        bend = np.where(real, sizes, 0.0)
        apart = np.where(real, -along / np.where(real, sizes, 1.0), 0.0)
        at = np.concatenate([best, np.ones((len(best), 1, 1))], axis=1)
        reached = (at.transpose(0, 2, 1) @ cost @ at)[:, 0, 0]
        return cls((at.transpose(0, 2, 1) @ loss @ at)[:, 0, 0], reached - np.sum(bend * apart**2, axis=1), bend, apart)

    @classmethod
    def joined(cls, parts: Sequence[Curves]) -> Curves:
        """All curves of some parts, one after the other."""
        width = max(part.bend.shape[1] for part in parts)
        padded = [(part.least_loss, part.least_cost, _wide(part.bend, width), _wide(part.apart, width)) for part in parts]
        return cls(*(np.concatenate(arrays) for arrays in zip(*padded, strict=True)))

    def __len__(self) -> int:
        return len(self.least_loss)

    def __getitem__(self, chosen: IntArray) -> Curves:
        return Curves(self.least_loss[chosen], self.least_cost[chosen], self.bend[chosen], self.apart[chosen])

    @property
    def most_loss(self) -> FloatArray:
        """The loss beyond which a sequence's cost does not fall: λ → 0."""
        total: FloatArray = self.least_loss + np.sum(self.apart**2, axis=1)
        return total

    def tradeoff(self, loss: float) -> FloatArray:
        """λ = −φ′ of every curve at a loss: infinite at or below its least one, 0 from the most on.

        L(λ) − L₀ lies between ‖δ‖²(d/(d + λ))² for the least and the largest d, which brackets λ. Its root is one over a
        concave function of λ, so Newton's method on that grows from the lower end to the solution.
        """
        spare, total = loss - self.least_loss, np.sum(self.apart**2, axis=1)
        between = (spare > 0) & (spare < total)
        ratio = np.sqrt(np.where(between, total, 1.0) / np.where(between, spare, 1.0)) - 1.0
        between &= ratio > 0
        least = np.min(np.where(self.apart != 0, self.bend, np.inf), axis=1, initial=np.inf)
        low = np.where(between, ratio, 1.0) * np.where(between, least, 1.0)
        high = np.where(between, ratio * np.max(self.bend, axis=1, initial=0.0), 1.0)
        lam, size = low, np.sqrt(np.where(between, spare, 1.0))
        for _ in range(_ROUNDS):
            share = np.where(between[:, None], self._share(lam), 0.0)
            squares = (self.bend * self.apart * share) ** 2
            length, slope = np.sqrt(squares.sum(axis=1)), np.sum(squares * share, axis=1)
            moves = between & (slope > 0)
            gain = np.where(moves, (length / size - 1.0) * length**2 / np.where(moves, slope, 1.0), 0.0)
            following = np.clip(lam + gain, low, high)
            if np.all(np.abs(following - lam) <= _SAME * lam):
                break
            lam = following
        return np.where(spare > 0, np.where(between, lam, 0.0), np.where(total > 0, np.inf, 0.0))

    def loss(self, lam: FloatArray) -> FloatArray:
        """L(λ)."""
        total: FloatArray = self.least_loss + np.sum((self.bend * self.apart * self._share(lam)) ** 2, axis=1)
        return total

    def cost(self, lam: FloatArray) -> FloatArray:
        """C(λ); at λ = ∞ that of the values that make the loss least."""
        endless = np.isinf(lam)[:, None]
        share = np.where(endless, 1.0, np.where(endless, 0.0, lam[:, None]) * self._share(lam))
        total: FloatArray = self.least_cost + np.sum(self.bend * (share * self.apart) ** 2, axis=1)
        return total

    def value(self, lam: float) -> FloatArray:
        """C + λL of every curve at one finite λ: the least that the sequence reaches."""
        each = np.full(len(self), lam)
        total: FloatArray = self.cost(each) + lam * self.loss(each)
        return total

    def lowest(self, loss: float) -> tuple[FloatArray, FloatArray]:
        """φ and λ of every curve at a loss; both are infinite below a sequence's least loss."""
        lam = self.tradeoff(loss)
        reached = loss >= self.least_loss
        return np.where(reached, self.cost(lam), np.inf), np.where(reached, lam, np.inf)

    def _share(self, lam: FloatArray) -> FloatArray:
        """1/(d + λ), and 0 where nothing moves."""
        total = self.bend + lam[:, None]
        return np.where(self.bend > 0, 1.0 / np.where(total > 0, total, 1.0), 0.0)


def _wide(values: FloatArray, width: int) -> FloatArray:
    """Filled up with zeros to a width."""
    return np.pad(values, ((0, 0), (0, width - values.shape[1])))
