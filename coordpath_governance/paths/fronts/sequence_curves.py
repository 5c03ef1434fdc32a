"""From sequences of units to their curves: loss and cost of every sequence as matrices of the values of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.fronts.curves import Curves
from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.walks.geometry import Walks

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

__all__ = ["MOST_UNEVEN", "SequenceCurves"]

MOST_UNEVEN = 1e6
"""Ratio of the largest weight to the least beyond which the matrices of a sequence say too little of its values."""


class SequenceCurves:
    """Curves of sequences of units (rows of an array, `REST` where nothing moves), in the units of the walks' excess.

    ``floor`` is the least cost in these units, which every term costs besides its excess.
    """

    def __init__(self, walks: Walks, alphas: FloatArray, floor: float) -> None:
        self._alphas, self._floor = alphas, floor
        columns = np.column_stack([*walks.bases, walks.base])
        self._gram: FloatArray = columns.T @ columns
        self._widths = np.array([*(basis.shape[1] for basis in walks.bases), 0])
        self._first = np.concatenate([[0], np.cumsum(self._widths[:-1])])
        self.units: tuple[int, ...] = tuple(np.flatnonzero(self._widths[:-1] > 0).tolist())

    def start(self) -> Curves:
        """The path without a step, which has no loss."""
        cost = np.array([self._gram[-1, -1] + self._floor])
        return Curves(np.zeros(1), cost, np.zeros((1, 0)), np.zeros((1, 0)))

    def of(self, sequences: IntArray) -> Curves:
        """The curves of sequences of one length, in their order."""
        widths = self._widths[sequences]
        patterns, pattern_of = np.unique(widths, axis=0, return_inverse=True)
        pattern_of = pattern_of.reshape(-1)
        parts, places = [], []
        for at, pattern in enumerate(patterns):
            rows = np.flatnonzero(pattern_of == at)
            parts.append(Curves.of(*self._matrices(sequences[rows], pattern)))
            places.append(rows)
        return Curves.joined(parts)[np.argsort(np.concatenate(places), kind="stable")]

    def _matrices(self, sequences: IntArray, widths: IntArray) -> tuple[FloatArray, FloatArray]:
        """Loss and cost of sequences whose units have these numbers of values; the last row and column are of 1."""
        count, terms = sequences.shape
        inside = np.concatenate([np.arange(width) for width in widths])
        term = np.repeat(np.arange(terms), widths)
        columns = np.column_stack([self._first[sequences[:, term]] + inside, np.full(count, len(self._gram) - 1)])
        cost = self._gram[columns[:, :, None], columns[:, None, :]]
        begins = np.append(term, 0)
        alphas = self._alphas[:terms]
        later = np.cumsum(alphas[::-1])[::-1]
        loss = later[np.maximum(begins[:, None], begins)] * cost
        loss[:, -1, -1] += self._floor * float(alphas.sum())
        cost[:, -1, -1] += self._floor
        return loss, cost

    def least_losses(self, floors: FloatArray) -> FloatArray:
        """For K = 1, 2, …: no path of K steps has less loss, where ``floors[k]`` is what the model after k + 1 costs."""
        total: FloatArray = np.cumsum(self._alphas[: len(floors)] * floors)
        return total


def neighbours(sequences: Sequence[tuple[int, ...]], units: Sequence[int], terms: int) -> list[tuple[int, ...]]:
    """Some sequences and all that differ from one of them by an entry that is changed, left out, put in or swapped."""
    near: dict[tuple[int, ...], None] = dict.fromkeys(sequences)
    for sequence in sequences:
        places = range(len(sequence))
        near.update(dict.fromkeys((*sequence[:k], u, *sequence[k + 1 :]) for k in places for u in units))
        near.update(dict.fromkeys((*sequence[:k], *sequence[k + 1 :]) for k in places))
        if len(sequence) < terms:
            near.update(dict.fromkeys((*sequence[:k], u, *sequence[k:]) for k in range(len(sequence) + 1) for u in units))
        for k in places:
            for j in range(k):
                swapped = list(sequence)
                swapped[j], swapped[k] = swapped[k], swapped[j]
                near[tuple(swapped)] = None
    return [sequence for sequence in near if any(u != REST for u in sequence)]
