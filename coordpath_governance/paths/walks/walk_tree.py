"""The tree of walks with a free end: prefixes of units, each with a bound on all walks that begin so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.later_floors import CountedFloors, LaterFloors, TouchedFloors, WholeTable
from coordpath_governance.paths.walks.prefixes import prepare_prefixes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["Nodes", "WalkTree"]

_WHOLE_TABLE = 12
"""Most units for which the excess of every set is tabulated."""

_DEPENDENT = 1e-13
"""Directions of a unit below this part of its largest are rounding."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Prefixes of one length, what they cost at least, and what every walk that begins so costs at least."""

    sequences: NDArray[np.int16]
    values: NDArray[np.float64]
    bounds: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.bounds)

    def __getitem__(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Nodes:
        return Nodes(self.sequences[rows], self.values[rows], self.bounds[rows])

    def joined(self, other: Nodes) -> Nodes:
        """Both."""
        return Nodes(
            np.concatenate([self.sequences, other.sequences]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.bounds, other.bounds]),
        )


class WalkTree:
    """Prefixes of the units that can move the residual; terms after the last weight are rests."""

    def __init__(self, task: WalkTask) -> None:
        walks, self._task = task.walks, task
        bases = [_orthonormal(block) for block in walks.blocks]
        self._units = [u for u, basis in enumerate(bases) if basis.shape[1]]
        self.terms = int(np.flatnonzero(task.alphas)[-1]) + 1
        self._alphas = task.alphas[: self.terms]
        bases = [bases[u] for u in self._units]
        self._prefixes = prepare_prefixes(walks.base, bases, self._alphas)
        self._spent = 0
        self._floors = task.floors.from_start
        self._counted = CountedFloors(self._floors, self._alphas)
        self._later: LaterFloors
        if len(bases) <= _WHOLE_TABLE:
            self._later = WholeTable(walks.base, bases, self._alphas)
        else:
            self._later = TouchedFloors(self._prefixes, self._floors)

    @property
    def spent(self) -> int:
        """Numbers touched so far."""
        return self._spent + self._later.spent

    def root(self) -> Nodes:
        """Nothing has moved."""
        touched = np.zeros((1, len(self._units)), np.bool_)
        return Nodes(np.empty((1, 0), np.int16), np.zeros(1), self._later.rest(touched, 0))

    def work(self, length: int) -> int:
        """Numbers touched at most to find the children of one prefix."""
        return self._prefixes.work(length) + len(self._units) * self._later.work(length + 1)

    def steps(self, length: int) -> int:
        """Numbers touched to find the promising children of one prefix."""
        return self._prefixes.work(length) + 4 * self._later.work(length + 1)

    def walk(self, sequence: NDArray[np.int16]) -> tuple[int, ...]:
        """The whole walk of a prefix of full length."""
        return tuple(self._units[u] for u in sequence.tolist()) + (REST,) * (self._task.terms - self.terms)

    def promising(self, nodes: Nodes, limit: float, most: int) -> Nodes:
        """Some prefixes with one more move, those of the least bounds first."""
        values, bounds, touched = self._extend(nodes)
        best = np.argsort(bounds, axis=None, kind="stable")[: 4 * most]
        parent, unit = np.unravel_index(best[bounds.ravel()[best] < limit], bounds.shape)
        children = self._refined(nodes, values, bounds, touched, parent, unit)
        return children[np.argsort(children.bounds, kind="stable")[:most]]

    def children(self, nodes: Nodes, limit: float) -> tuple[Nodes, float]:
        """All prefixes with one more move whose bound is below the limit, and the least bound of the others."""
        values, bounds, touched = self._extend(nodes)
        dropped = float(np.min(bounds, where=bounds >= limit, initial=np.inf))
        children = self._refined(nodes, values, bounds, touched, *np.nonzero(bounds < limit))
        above = children.bounds >= limit
        return children[~above], float(np.min(children.bounds, where=above, initial=dropped))

    def _extend(self, nodes: Nodes) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Values and first bounds of all children, and what their parents touched; no bound where the order is wrong."""
        length = nodes.sequences.shape[1]
        self._spent += self._prefixes.work(length) * len(nodes)
        values, tight = self._prefixes.extend(nodes.sequences, nodes.values)
        touched = np.zeros(values.shape, np.bool_)
        touched[np.arange(len(nodes))[:, None], nodes.sequences] = True
        number = touched.sum(axis=1)[:, None] + ~touched
        values += np.where(tight, 0.0, self._alphas[length] * self._floors[np.minimum(number, len(self._floors) - 1)])
        bounds = np.maximum(values + self._counted.sums(number, length + 1), nodes.bounds[:, None])
        bounds[~self._in_order(nodes.sequences)] = np.inf
        return values, bounds, touched

    def _refined(
        self,
        nodes: Nodes,
        values: NDArray[np.float64],
        bounds: NDArray[np.float64],
        touched: NDArray[np.bool_],
        parent: NDArray[np.int64],
        unit: NDArray[np.int64],
    ) -> Nodes:
        """Some of the children, bounded by which units they touched."""
        touched = touched[parent]
        touched[np.arange(len(parent)), unit] = True
        value = values[parent, unit]
        later = self._later.rest(touched, nodes.sequences.shape[1] + 1)
        sequences = np.concatenate([nodes.sequences[parent], unit[:, None].astype(np.int16)], axis=1)
        return Nodes(sequences, value, np.maximum(bounds[parent, unit], value + later))

    def _in_order(self, sequences: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Moves without a weight between them are a set: made in order, and twice only where no unit is left."""
        (number, length), units = sequences.shape, len(self._units)
        if not length or self._alphas[length - 1]:
            return np.ones((number, units), np.bool_)
        last = sequences[:, -1:]
        ordered: NDArray[np.bool_] = (np.arange(units) > last) | ((np.arange(units) == last) & (last == units - 1))
        return ordered


def _orthonormal(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """A basis of what a unit's columns span."""
    vectors, sizes, _ = np.linalg.svd(block, full_matrices=False)
    basis: NDArray[np.float64] = vectors[:, sizes > _DEPENDENT * max(1.0, float(np.max(sizes, initial=0.0)))]
    return basis
