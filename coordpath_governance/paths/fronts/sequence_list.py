"""Which sequences can be on a front: all of them where they are few, by growing length, with their curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.fronts.curves import Curves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.fronts.sequence_curves import SequenceCurves

    IntArray = NDArray[np.int64]

__all__ = ["Listed", "all_sequences", "listed"]

_MOST = 60_000
"""Sequences that are all looked at: a second or two. It is a count, so that every machine decides alike."""


@dataclass(frozen=True, eq=False)
class Listed:
    """Sequences and the curve of each; the first is the path without a step."""

    sequences: tuple[tuple[int, ...], ...]
    curves: Curves


def all_sequences(
    made: SequenceCurves, alphas: NDArray[np.float64], floors: NDArray[np.float64], end: float, most: int = _MOST
) -> Listed | None:
    """Every sequence of up to as many terms as there are ``alphas`` whose loss can be less than ``end``; None if too many.

    A beginning whose least loss, with what the next term costs at least, reaches ``end`` is not followed. To move one unit
    twice in a row is no use where the weights do not fall: without the first of the two moves the loss is no larger.
    """
    again = bool(np.any(np.diff(alphas) < 0))
    units = np.array(made.units, dtype=np.int64)
    kept: list[IntArray] = []
    curves = [made.start()]
    beginnings = np.zeros((1, 0), dtype=np.int64)
    reached = np.zeros(1)
    count = 0
    for k, alpha in enumerate(alphas.tolist()):
        beginnings = beginnings[reached + alpha * floors[k] < end]
        if not len(beginnings):
            break
        count += len(beginnings) * len(units)
        if count > most:
            return None
        longer = np.column_stack([np.repeat(beginnings, len(units), axis=0), np.tile(units, len(beginnings))])
        if k and not again:
            longer = longer[longer[:, -1] != longer[:, -2]]
        found = made.of(longer)
        usable = np.flatnonzero(found.least_loss < end)
        beginnings, reached = longer[usable], found.least_loss[usable]
        kept.append(beginnings)
        curves.append(found[usable])
    sequences = ((), *(tuple(row) for part in kept for row in part.tolist()))
    return Listed(sequences, Curves.joined(curves))


def listed(made: SequenceCurves, sequences: Sequence[tuple[int, ...]]) -> Listed:
    """Given sequences, the shortest first."""
    lengths = sorted({len(sequence) for sequence in sequences})
    by_length = [[sequence for sequence in sequences if len(sequence) == length] for length in lengths]
    curves = [made.of(np.array(group, dtype=np.int64)) for group in by_length]
    ordered = ((), *(sequence for group in by_length for sequence in group))
    return Listed(ordered, Curves.joined([made.start(), *curves]))
