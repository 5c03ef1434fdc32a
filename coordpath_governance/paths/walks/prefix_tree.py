"""The tree of walks with a free end: prefixes of units, each with a bound on all walks that begin so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.walks.geometry import FEW_UNITS, REST
from coordpath_governance.paths.walks.later_floors import CountedFloors, LaterFloors, TouchedFloors, WholeTable
from coordpath_governance.paths.walks.prefixes import prepare_prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["Nodes", "WalkTree"]


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
        self._units = [u for u, basis in enumerate(walks.bases) if basis.shape[1]]
        self.terms = int(np.flatnonzero(task.alphas)[-1]) + 1
        self._alphas = task.alphas[: self.terms]
        self._prefixes = prepare_prefixes(walks.base, [walks.bases[u] for u in self._units], self._alphas)
        self._spent = 0
        self._floors = task.floors.from_start
        self._counted = CountedFloors(self._floors, self._alphas)
        self._later: LaterFloors
        if walks.size <= FEW_UNITS:
            self._later = WholeTable(walks.excess_of_sets[_subsets_of(self._units)], self._alphas)
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

    def walk(self, sequence: NDArray[np.int16]) -> tuple[int, ...]:
        """The whole walk of a prefix of full length."""
        return tuple(self._units[u] for u in sequence.tolist()) + (REST,) * (self._task.terms - self.terms)

    def grown(self, nodes: Nodes, most: int) -> Nodes:
        """The prefixes with as many more moves as keep them few, short of the last; what bounds a prefix bounds them."""
        while len(nodes) * len(self._units) <= most and nodes.sequences.shape[1] < self.terms - 1:
            parent, unit = np.nonzero(self._in_order(nodes.sequences))
            sequences = np.concatenate([nodes.sequences[parent], unit[:, None].astype(np.int16)], axis=1)
            nodes = Nodes(sequences, nodes.values[parent], nodes.bounds[parent])
        return nodes

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


def _subsets_of(units: Sequence[int]) -> NDArray[np.int64]:
    """All sets of some units, as masks, in the order of the masks of their places."""
    masks = np.zeros(1, np.int64)
    for u in units:
        masks = np.concatenate([masks, masks | 1 << u])
    return masks
