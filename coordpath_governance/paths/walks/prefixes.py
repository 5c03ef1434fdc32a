"""Prefixes of walks with a free end: the least Σ_{j≤k} αⱼ‖rⱼ‖² that k moves reach, for all ways to move once more.

With increments δⱼ scaled by √Wⱼ, Wⱼ = αⱼ + … + α_k, and an orthonormal basis for every unit, the normal matrix has a unit
diagonal and entries √(W_l/W_j)·Q_jᵀQ_l (j ≤ l). It is well conditioned, even if columns are dependent, as long as no weight
is small compared with the later ones: its least eigenvalue is at least 1/(4·max Wⱼ/αⱼ). Where ρ² = ‖L⁻¹‖²_F of its factor
says that rounding could matter, a prefix keeps the value of the shorter one, which is never larger. For one move more ρ² is
at most ρ² + w(1 + ρ²)/(what the factor leaves of the unit's own w columns).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Prefixes", "prepare_prefixes"]

_CHUNK = 100_000
"""Numbers held at a time, few enough for the processor's cache."""

_TRUSTED = 1e-5
"""Largest allowance, as a part of Σα·(excess at the start), with which a value is used."""

_NO_PIVOT = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class Prefixes:
    """Products of the units' orthonormal bases, each padded with zeros to the same width, and with the residual."""

    gram: NDArray[np.float64]
    slope: NDArray[np.float64]
    padding: NDArray[np.float64]
    excess: float
    rank: int
    alphas: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Number of units."""
        return int(self.gram.shape[0])

    def work(self, length: int) -> int:
        """Numbers touched to extend one prefix by every unit."""
        return (length * int(self.slope.shape[1]) + 2) * self._numbers(length)

    def _numbers(self, length: int) -> int:
        rows = length * int(self.slope.shape[1])
        return (rows + 1) * (2 * rows + 1 + self.slope.size)

    def extend(
        self, sequences: NDArray[np.int16], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Values of all prefixes with one more unit (rows: sequences, columns: units), and whether they are the least.

        Each is a lower bound of the least value, tight to rounding where the flag says so.
        """
        length = sequences.shape[1]
        if not self.alphas[length]:
            return np.repeat(values[:, None], self.size, axis=1), np.ones((len(values), self.size), np.bool_)
        step = max(1, _CHUNK // self._numbers(length))
        parts = [self._extend(sequences[at : at + step], values[at : at + step]) for at in range(0, len(values), step)]
        return np.concatenate([least for least, _ in parts]), np.concatenate([tight for _, tight in parts])

    def _extend(
        self, sequences: NDArray[np.int16], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        (number, length), (units, width) = sequences.shape, self.slope.shape
        alphas = self.alphas[: length + 1]
        root = np.sqrt(np.cumsum(alphas[::-1])[::-1])
        rows, whole = length * width, float(alphas.sum()) * self.excess
        table, identity = self._table(sequences, root), rows + 1 + units * width
        for i in range(rows - 1):
            row, filled = table[i], slice(i + 1, identity + i + 1)
            share = row[i + 1 : rows] / np.maximum(row[i], _NO_PIVOT)
            table[i + 1 :, filled] -= share[:, None] * row[filled]
        pivots = np.einsum("iin->in", table[:, :rows]).copy()
        table[:, rows:] /= np.sqrt(np.maximum(pivots, _NO_PIVOT))[:, None]
        blur = np.einsum("ijn,ijn->n", table[:, identity:], table[:, identity:])
        aim, other = table[:, rows], table[:, rows + 1 : identity]
        left = -root[-1] * self.slope.reshape(-1, 1) - np.einsum("rn,rcn->cn", aim, other)
        gain, freedom = self._gains(other.reshape(rows, units, width, number), left.reshape(units, width, number))
        base = whole - np.einsum("rn,rn->n", aim, aim)
        blurs = blur[:, None] + width * (1.0 + blur[:, None]) / np.maximum(freedom, _NO_PIVOT)
        allowance = 4 * (rows + 2) * (self.rank + rows + 8) * EPS * (1.0 + blurs)
        sound = np.min(pivots, axis=0, initial=1.0) > _NO_PIVOT
        tight = sound[:, None] & (freedom > _NO_PIVOT) & (allowance < _TRUSTED)
        least = np.where(tight, base[:, None] - gain - allowance * whole, -np.inf)
        return np.maximum(least, values[:, None]), tight

    def _table(self, sequences: NDArray[np.int16], root: NDArray[np.float64]) -> NDArray[np.float64]:
        """[normal matrix | right side | products with every unit | identity]: scaled increments × columns × sequences.

        The sequences stand last, so that inner loops are long; the identity does since elimination fills it from the left.
        """
        units, width = self.slope.shape
        places = (sequences.T[:, None, :] * width + np.arange(width)[:, None]).reshape(-1, len(sequences))
        rows, scales = len(places), np.repeat(root[:-1], width)
        columns = units * width
        gram = self.gram.transpose(0, 2, 1, 3).ravel()
        table = np.empty((rows, 2 * rows + 1 + columns, len(sequences)))
        ratios = np.minimum(scales[None, :] / scales[:, None], scales[:, None] / scales[None, :])
        np.multiply(gram.take(places[:, None] * columns + places), ratios[:, :, None], out=table[:, :rows])
        slots = np.arange(rows)
        table[slots, slots] += self.padding.ravel()[places]
        np.multiply(-scales[:, None], self.slope.ravel()[places], out=table[:, rows])
        products = gram.take(np.arange(columns)[:, None] * columns + places[:, None])
        np.multiply(products, (root[-1] / scales)[:, None, None], out=table[:, rows + 1 : -rows or None])
        table[:, table.shape[1] - rows :] = np.eye(rows)[:, :, None]
        return table

    def _gains(
        self, other: NDArray[np.float64], left: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each unit takes off the value, and the least pivot on the way."""
        units, width, _ = left.shape
        own = self.gram[range(units), range(units)] + self.padding[:, :, None] * np.eye(width)
        if width == 1:
            freedom = own[:, 0] - np.einsum("run,run->un", other[:, :, 0], other[:, :, 0])
            return (np.square(left[:, 0]) / np.maximum(freedom, _NO_PIVOT)).T, freedom.T
        rest = own[None] - np.einsum("ruan,rubn->nuab", other, other)
        values, vectors = np.linalg.eigh(rest)
        turned = np.einsum("nuab,uan->nub", vectors, left)
        return np.sum(turned * turned / np.maximum(values, _NO_PIVOT), axis=2), values[:, :, 0]


def prepare_prefixes(
    base: NDArray[np.float64], bases: Sequence[NDArray[np.float64]], alphas: NDArray[np.float64]
) -> Prefixes:
    """Products of orthonormal bases, one basis per unit."""
    width = max(basis.shape[1] for basis in bases)
    padded = np.zeros((len(bases), len(base), width))
    padding = np.ones((len(bases), width))
    for u, basis in enumerate(bases):
        padded[u, :, : basis.shape[1]] = basis
        padding[u, : basis.shape[1]] = 0.0
    gram = np.einsum("ura,vrb->uvab", padded, padded)
    return Prefixes(
        gram=gram,
        slope=np.einsum("ura,r->ua", padded, base),
        padding=padding,
        excess=float(base @ base),
        rank=len(base),
        alphas=alphas,
    )
