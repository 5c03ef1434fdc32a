"""Prefixes of walks with a free end: the least Σ_{j≤k} αⱼ‖rⱼ‖² that k moves reach, for all ways to move once more.

With increments δⱼ scaled by √Wⱼ, Wⱼ = αⱼ + … + α_k, and an orthonormal basis for every unit, the normal matrix has a unit
diagonal and entries √(W_l/W_j)·Q_jᵀQ_l (j ≤ l). It is well conditioned whatever the columns depend on as long as no weight
is small beside the later ones: its least eigenvalue is at least 1/(4·max Wⱼ/αⱼ). Where ρ² = ‖L⁻¹‖²_F of its factor says that
rounding could matter, a prefix keeps the value of the shorter one, which is never larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.set_function import EPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Prefixes", "prepare_prefixes"]

_CHUNK = 100_000
"""Numbers held at a time, few enough for the processor's cache."""

_TRUSTED = 1e-5
"""Largest allowance, as a part of Σα·(excess at the start), with which a value is used."""

_NO_PIVOT = 1e-12


@dataclass(frozen=True, eq=False)
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
        table = self._table(sequences, root)
        bad = np.zeros(number, np.bool_)
        for i in range(rows):
            pivot = table[:, i, i]
            bad |= pivot <= _NO_PIVOT
            table[:, i] /= np.sqrt(np.where(pivot <= _NO_PIVOT, 1.0, pivot))[:, None]
            table[:, i + 1 :, i + 1 :] -= table[:, i, i + 1 : rows, None] * table[:, i, None, i + 1 :]
        unfold, aim, other = table[:, :, rows : 2 * rows], table[:, :, 2 * rows], table[:, :, 2 * rows + 1 :]
        blur = np.sum(unfold * unfold, axis=(1, 2))
        combination = np.sum(np.square(np.matmul(unfold.transpose(0, 2, 1), other)), axis=1).reshape(number, units, width)
        left = -root[-1] * self.slope.ravel() - np.matmul(aim[:, None, :], other)[:, 0]
        gain, freedom = self._gains(other.reshape(number, rows, units, width), left.reshape(number, units, width))
        base = whole - np.sum(aim * aim, axis=1)
        blurs = blur[:, None] + (1.0 + combination.sum(axis=2)) / np.maximum(freedom, _NO_PIVOT)
        allowance = 4 * (rows + 2) * (self.rank + rows + 8) * EPS * (1.0 + blurs)
        tight = ~bad[:, None] & (freedom > _NO_PIVOT) & (allowance < _TRUSTED)
        least = np.where(tight, base[:, None] - gain - allowance * whole, -np.inf)
        return np.maximum(least, values[:, None]), tight

    def _table(self, sequences: NDArray[np.int16], root: NDArray[np.float64]) -> NDArray[np.float64]:
        """[normal matrix | identity | right side | products with every unit], a row for each scaled increment."""
        (number, length), (units, width) = sequences.shape, self.slope.shape
        rows = length * width
        ratio = np.minimum(root[None, :-1] / root[:-1, None], root[:-1, None] / root[None, :-1])
        normal = self.gram[sequences[:, :, None], sequences[:, None, :]] * ratio[None, :, :, None, None]
        slots = np.arange(length)
        normal[:, slots, slots] = normal[:, slots, slots] + self.padding[sequences][:, :, :, None] * np.eye(width)
        table = np.empty((number, rows, 2 * rows + 1 + units * width))
        table[:, :, :rows] = normal.transpose(0, 1, 3, 2, 4).reshape(number, rows, rows)
        table[:, :, rows : 2 * rows] = np.eye(rows)
        table[:, :, 2 * rows] = (-root[None, :-1, None] * self.slope[sequences]).reshape(number, rows)
        products = self.gram[sequences] * (root[-1] / root[:-1])[None, :, None, None, None]
        table[:, :, 2 * rows + 1 :] = products.transpose(0, 1, 3, 2, 4).reshape(number, rows, units * width)
        return table

    def _gains(
        self, other: NDArray[np.float64], left: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each unit takes off the value, and the least pivot on the way."""
        if other.shape[3] == 1:
            freedom = (
                self.padding[:, 0]
                + self.gram[range(self.size), range(self.size), 0, 0]
                - np.sum(other * other, axis=1)[:, :, 0]
            )
            return np.square(left[:, :, 0]) / np.maximum(freedom, _NO_PIVOT), freedom
        own = self.gram[range(self.size), range(self.size)] + self.padding[:, :, None] * np.eye(other.shape[3])
        rest = own[None] - np.einsum("nrua,nrub->nuab", other, other)
        values, vectors = np.linalg.eigh(rest)
        turned = np.einsum("nuab,nua->nub", vectors, left)
        freedom = values[:, :, 0]
        return np.sum(turned * turned / np.maximum(values, _NO_PIVOT), axis=2), freedom


def prepare_prefixes(
    base: NDArray[np.float64], bases: Sequence[NDArray[np.float64]], alphas: NDArray[np.float64]
) -> Prefixes:
    """Products of orthonormal bases, one a unit."""
    width = max(basis.shape[1] for basis in bases)
    padded = np.zeros((len(bases), len(base), width))
    padding = np.ones((len(bases), width))
    for u, basis in enumerate(bases):
        padded[u, :, : basis.shape[1]] = basis
        padding[u, : basis.shape[1]] = 0.0
    gram = np.einsum("ura,vrb->uvab", padded, padded)
    return Prefixes(gram, np.einsum("ura,r->ua", padded, base), padding, float(base @ base), len(base), alphas)
