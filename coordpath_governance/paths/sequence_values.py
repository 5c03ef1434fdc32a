"""SequenceValues: what many sequences of units come to at once, fast and nearly exact, to rank them.

Between two visits a unit keeps one value. So a visit at term j contributes a column C_u x during [j, e), where e is its
next visit or the end; with a fixed end the last visit contributes the unit's whole change, with x = 1, until the end.
With M_jl = W([j, e_j) ∩ [l, e_l))·⟨c_j, c_l⟩ and h_j = W([j, e_j))·⟨c_j, r₀⟩, where W adds up the weights of an interval,
a sequence comes to

    Σα‖r₀‖² + 2h_F·1 + 1ᵀM_FF 1 − gᵀM_OO⁺g,   g = h_O + M_OF 1,   O open, F fixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.walks import Walks

__all__ = ["SequenceValues"]

_RIDGE = 1e-11
"""Added to a unit diagonal, so that dependent columns leave the equations solvable; the value moves by about as much."""

_RANK = 1e-12
_CHUNK = 400_000
"""Entries of M held at once."""


class SequenceValues:
    """Values of sequences of one problem under one set of weights."""

    def __init__(self, walks: Walks, alphas: NDArray[np.float64]) -> None:
        self.terms, self.units = len(alphas), walks.size
        self.free = walks.changes is None
        bases = [_basis(block) for block in walks.blocks]
        self.width = max(1, *(int(basis.shape[1]) for basis in bases))
        rank = len(walks.base)
        changes = [np.zeros(rank)] * self.units if walks.changes is None else list(walks.changes)
        # Columns: all bases, all changes, and one of zeros, at which every missing entry points.
        columns = np.column_stack([*bases, *changes, np.zeros(rank)])
        self._gram: NDArray[np.float64] = columns.T @ columns
        self._slope: NDArray[np.float64] = columns.T @ walks.base
        self._open, self._final = self._tables([basis.shape[1] for basis in bases], columns.shape[1] - 1)
        self._cumulated = np.concatenate([[0.0], np.cumsum(alphas)])
        self.scale = float(alphas.sum() * (walks.base @ walks.base))

    def _tables(self, widths: list[int], zero: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns of a visit by unit, the rest as the last row: while its value is open, and when it is the last."""
        opened = np.full((self.units + 1, self.width), zero)
        final = np.full((self.units + 1, self.width), zero)
        at = 0
        for u, width in enumerate(widths):
            opened[u, :width] = np.arange(at, at + width)
            at += width
        final[: self.units, 0] = np.arange(at, at + self.units)
        return opened, opened if self.free else final

    @property
    def rows(self) -> int:
        """Sequences that are valued in one go."""
        return max(1, _CHUNK // (self.terms * self.width) ** 2)

    @property
    def work(self) -> int:
        """Operations that one sequence takes, roughly."""
        size = self.terms * self.width
        return 600 + 20 * size**2 + size**3 // 3

    def values(self, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
        """Σαₖ‖r_k‖² of every row with its best values."""
        chunks = [self._some(sequences[i : i + self.rows]) for i in range(0, len(sequences), self.rows)]
        return np.concatenate(chunks) if chunks else np.zeros(0)

    def _some(self, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
        count, terms = sequences.shape
        ends = self._ends(sequences)
        last = ends == terms
        columns = np.where(last[:, :, None], self._final[sequences], self._open[sequences]).reshape(count, -1)
        begin = np.repeat(np.arange(terms), self.width)
        end = np.repeat(ends, self.width, axis=1)
        opened = np.repeat(np.logical_and(sequences >= 0, ~last | self.free), self.width, axis=1)
        together = np.minimum(end[:, :, None], end[:, None, :])
        together = np.maximum(together, np.maximum(begin[:, None], begin))
        weights = self._cumulated[together] - self._cumulated[np.maximum(begin[:, None], begin)]
        matrix = weights * self._gram[columns[:, :, None], columns[:, None, :]]
        slopes = (self._cumulated[end] - self._cumulated[begin]) * self._slope[columns]
        fixed = (~opened).astype(np.float64)
        pushed = np.einsum("njl,nl->nj", matrix, fixed)
        total = self.scale + np.sum((2.0 * slopes + pushed) * fixed, axis=1)
        least: NDArray[np.float64] = total - _gain(matrix, slopes + pushed, opened)
        return least

    def _ends(self, sequences: NDArray[np.int64]) -> NDArray[np.int64]:
        """The next visit of the same unit, or K."""
        count, terms = sequences.shape
        everyone = np.arange(count)
        following = np.full((count, self.units + 1), terms)
        ends = np.empty_like(sequences)
        for j in range(terms - 1, -1, -1):
            units = sequences[:, j]
            ends[:, j] = following[everyone, units]
            following[everyone, units] = j
        return ends


def _basis(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal columns that span a unit's own; none if the data do not exercise it."""
    left, lengths, _ = np.linalg.svd(block, full_matrices=False)
    kept: NDArray[np.float64] = left[:, lengths > _RANK * max(1.0, float(lengths.max(initial=0.0)))]
    return kept


def _gain(matrix: NDArray[np.float64], slopes: NDArray[np.float64], opened: NDArray[np.bool_]) -> NDArray[np.float64]:
    """gᵀM⁺g over the open entries of every row, gathered to the front; all others are made to gain nothing."""
    most = int(opened.sum(axis=1).max(initial=0))
    if most == 0:
        return np.zeros(len(opened))
    front = np.argsort(~opened, axis=1, kind="stable")[:, :most]
    there = np.take_along_axis(opened, front, axis=1)
    inner = np.take_along_axis(np.take_along_axis(matrix, front[:, :, None], axis=1), front[:, None, :], axis=2)
    diagonal = np.einsum("njj->nj", inner)
    there &= diagonal > 0
    root = np.where(there, 1.0 / np.sqrt(np.where(there, diagonal, 1.0)), 0.0)
    inner = inner * root[:, :, None] * root[:, None, :]
    each = np.arange(most)
    inner[:, each, each] = 1.0 + _RIDGE
    right = np.take_along_axis(slopes, front, axis=1) * root
    solved = np.linalg.solve(inner, right[:, :, None])[:, :, 0]
    gain: NDArray[np.float64] = np.sum(right * solved, axis=1)
    return gain
