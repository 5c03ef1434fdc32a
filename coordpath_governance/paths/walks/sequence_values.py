"""What many sequences of units come to at once, fast and nearly exact, to rank them.

Two ways to the same values: by intervals, whose work grows with the square of the number of terms, and backwards from the
end, whose work grows with the square of the number of columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.walks.geometry import Walks

__all__ = ["Backwards", "Intervals", "SequenceValues", "unit_basis", "value_sequences"]

_RIDGE = 1e-11
"""Added to a unit diagonal, so that dependent columns leave the equations solvable; the value moves by about as much."""

_RANK = 1e-12
_PIVOT = 1e-12
_CHUNK = 200_000
"""Entries of matrices held at once."""


class SequenceValues(Protocol):
    """Values of sequences of one problem under one set of weights."""

    @property
    def work(self) -> int:
        """What one sequence takes, roughly in nanoseconds; the same on every machine."""
        ...

    @property
    def rows(self) -> int:
        """Sequences that are best valued in one go."""
        ...

    def values(self, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
        """Σαₖ‖r_k‖² of every row with its best values."""
        ...


def value_sequences(walks: Walks, alphas: NDArray[np.float64]) -> SequenceValues:
    """The way that takes less work."""
    ways: tuple[SequenceValues, ...] = (Backwards(walks, alphas), Intervals(walks, alphas))
    return min(ways, key=lambda way: way.work)


class Backwards:
    """From the end to the beginning: what a walk still costs is a quadratic function of where it is.

    With r = Cz + r_T, where z are the values of all columns and r_T is the residual of the target (of the start, if the
    end is free), let V_k(z) = (z, 1)ᵀP_k(z, 1) be the least cost of the terms after k, and S = P_k + αₖ[C, r_T]ᵀ[C, r_T].
    Term k moves unit u to its best value, P_{k−1} = S − S_u S_uᵀ/S_uu for each of its columns in turn, or, if it is the last
    visit before a fixed end, to z_u = 0. As columns have length 1, S_uu ≥ αₖ: dependent columns do no harm. Sequences that
    end alike share P_k up to where they differ.
    """

    def __init__(self, walks: Walks, alphas: NDArray[np.float64]) -> None:
        self.alphas, self.units = alphas, walks.size
        self.free = walks.changes is None
        bases = [unit_basis(block) for block in walks.blocks]
        changes = [np.zeros(len(walks.base))] * self.units if walks.changes is None else list(walks.changes)
        # One more column of zeros, at which everything that is missing points.
        columns = np.column_stack([*bases, walks.base + sum(changes), np.zeros(len(walks.base))])
        self._gram: NDArray[np.float64] = columns.T @ columns
        start = [-basis.T @ change for basis, change in zip(bases, changes, strict=True)]
        self._start = np.concatenate([*start, [1.0, 0.0]])
        self._columns = _places([int(basis.shape[1]) for basis in bases], columns.shape[1] - 1)

    @property
    def work(self) -> int:
        """What one sequence takes."""
        return 4 * len(self.alphas) * (20 + int(self._columns.shape[1]) * len(self._gram) ** 2)

    @property
    def rows(self) -> int:
        """Sequences that are best valued in one go."""
        return max(1, _CHUNK // len(self._gram) ** 2)

    def values(self, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
        """Σαₖ‖r_k‖² of every row with its best values."""
        chunks = [self._chunk_values(sequences[i : i + self.rows]) for i in range(0, len(sequences), self.rows)]
        return np.concatenate(chunks)

    def _chunk_values(self, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
        order, leads = _shared_ends(sequences)
        matrix = np.zeros((1, *self._gram.shape))
        visited = np.full((1, self.units + 1), self.free)
        before = np.zeros(len(sequences), dtype=np.int64)
        after = 0.0
        for k in range(sequences.shape[1] - 1, -1, -1):
            lead = np.flatnonzero(leads[:, k])
            units = sequences[order[lead], k]
            matrix = matrix[before[lead]] + self.alphas[k] * self._gram
            visited = visited[before[lead]]
            before = np.cumsum(leads[:, k]) - 1
            every = np.arange(len(lead))
            after += float(self.alphas[k])
            opened = visited[every, units]
            for columns in self._columns[units].T:
                row = matrix[every, columns]
                pivot = row[every, columns]
                usable = opened & (pivot > _PIVOT * after)
                factor = np.where(usable, 1.0 / np.where(usable, pivot, 1.0), 0.0)
                matrix -= (factor[:, None] * row)[:, :, None] * row[:, None, :]
                matrix[every, columns] = 0.0
                matrix[every, :, columns] = 0.0
            visited[every, units] = True
        values = np.empty(len(sequences))
        values[order] = np.einsum("nij,i,j->n", matrix, self._start, self._start)[before]
        return values


class Intervals:
    """Between two visits a unit keeps one value, so every visit is one unknown that holds for an interval of terms.

    A visit at term j contributes a column C_u x during [j, e), where e is its next visit or the end; with a fixed end the
    last visit contributes the unit's whole change, with x = 1, until the end. With M_jl = W([j, e_j) ∩ [l, e_l))·⟨c_j, c_l⟩
    and h_j = W([j, e_j))·⟨c_j, r₀⟩, where W adds up the weights of an interval, a sequence comes to

        Σα‖r₀‖² + 2h_F·1 + 1ᵀM_FF 1 − gᵀM_OO⁺g,   g = h_O + M_OF 1,   O open, F fixed.
    """

    def __init__(self, walks: Walks, alphas: NDArray[np.float64]) -> None:
        self.terms, self.units = len(alphas), walks.size
        self.free, self.changed = walks.changes is None, len(walks.changed)
        bases = [unit_basis(block) for block in walks.blocks]
        self.width = max(1, *(int(basis.shape[1]) for basis in bases))
        rank = len(walks.base)
        changes = [np.zeros(rank)] * self.units if walks.changes is None else list(walks.changes)
        # Columns: all bases, all changes, and one of zeros, at which every missing entry points.
        columns = np.column_stack([*bases, *changes, np.zeros(rank)])
        self._gram: NDArray[np.float64] = columns.T @ columns
        self._slope: NDArray[np.float64] = columns.T @ walks.base
        zero = columns.shape[1] - 1
        self._open = _places([int(basis.shape[1]) for basis in bases], zero)
        final = np.full_like(self._open, zero)
        final[: self.units, 0] = np.arange(zero - self.units, zero)
        self._final = self._open if self.free else final
        self._cumulated = np.concatenate([[0.0], np.cumsum(alphas)])
        self._constant = float(alphas.sum() * (walks.base @ walks.base))

    @property
    def rows(self) -> int:
        """Sequences that are best valued in one go."""
        return max(1, _CHUNK // (self.terms * self.width) ** 2)

    @property
    def work(self) -> int:
        """What one sequence takes."""
        size = self.terms * self.width
        opened = size if self.free else self.width * (self.terms - self.changed)
        return 2000 + 40 * size**2 + opened**3 // 8

    def values(self, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
        """Σαₖ‖r_k‖² of every row with its best values."""
        chunks = [self._chunk_values(sequences[i : i + self.rows]) for i in range(0, len(sequences), self.rows)]
        return np.concatenate(chunks)

    def _chunk_values(self, sequences: NDArray[np.int64]) -> NDArray[np.float64]:
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
        total = self._constant + np.sum((2.0 * slopes + pushed) * fixed, axis=1)
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


def _shared_ends(sequences: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """An order of the rows in which equal ends lie together, and where [row, k] is the first with its entries from k on."""
    order = np.lexsort(sequences.T)
    ordered = sequences[order]
    leads = np.ones(sequences.shape, dtype=bool)
    leads[1:] = np.logical_or.accumulate((ordered[1:] != ordered[:-1])[:, ::-1], axis=1)[:, ::-1]
    return order, leads


def _places(widths: list[int], zero: int) -> NDArray[np.int64]:
    """Columns of every unit, and of the rest as the last row; missing ones point at ``zero``."""
    places = np.full((len(widths) + 1, max(1, *widths)), zero)
    at = 0
    for u, width in enumerate(widths):
        places[u, :width] = np.arange(at, at + width)
        at += width
    return places


def unit_basis(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal columns that span a unit's own; none if the data do not exercise it."""
    left, lengths, _ = np.linalg.svd(block, full_matrices=False)
    basis: NDArray[np.float64] = left[:, lengths > _RANK * max(1.0, float(lengths.max(initial=0.0)))]
    return basis


def _gain(matrix: NDArray[np.float64], slopes: NDArray[np.float64], opened: NDArray[np.bool_]) -> NDArray[np.float64]:
    """gᵀM⁺g over the open entries of every row, gathered to the front; all others are made to gain nothing."""
    most = int(opened.sum(axis=1).max(initial=0))
    front = np.argsort(~opened, axis=1, kind="stable")[:, :most]
    filled = np.take_along_axis(opened, front, axis=1)
    inner = np.take_along_axis(np.take_along_axis(matrix, front[:, :, None], axis=1), front[:, None, :], axis=2)
    diagonal = np.einsum("njj->nj", inner)
    filled &= diagonal > 0
    root = np.where(filled, 1.0 / np.sqrt(np.where(filled, diagonal, 1.0)), 0.0)
    inner = inner * root[:, :, None] * root[:, None, :]
    every = np.arange(most)
    inner[:, every, every] = 1.0 + _RIDGE
    right = np.take_along_axis(slopes, front, axis=1) * root
    solved = np.linalg.solve(inner, right[:, :, None])[:, :, 0]
    gain: NDArray[np.float64] = np.sum(right * solved, axis=1)
    return gain
