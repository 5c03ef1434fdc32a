"""The tree of walks with a free end: prefixes of units, each with a bound on all walks that begin with it.

The bound is what the prefix costs at least, plus floors of the terms that follow: which units were touched says more about
those than how many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from coordpath_governance.paths.walks.geometry import FEW_UNITS, REST
from coordpath_governance.paths.walks.prefixes import prepare_prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask
    from coordpath_governance.paths.walks.prefixes import Prefixes

__all__ = ["CountedFloors", "LaterFloors", "Nodes", "TouchedFloors", "WalkTree", "WholeTable"]

_LOOK_UP = 1500
"""Work of looking up one set."""


class LaterFloors(Protocol):
    """Σ_{j>k} αⱼ·(least excess of the touched units and j − k more) after a prefix of k moves."""

    spent: int
    """Numbers touched so far."""

    def work(self, length: int, /) -> int:
        """Numbers touched at most for one row of ``touched``."""
        ...

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """A lower bound of that sum for each row of ``touched``."""
        ...


class WholeTable:
    """Few units: from the excess of every set (bit u of the index: unit u), the least of every set with so many more."""

    spent = 0

    def __init__(self, excess: NDArray[np.float64], alphas: NDArray[np.float64]) -> None:
        units, terms = len(excess).bit_length() - 1, len(alphas)
        masks = np.arange(1 << units)
        least = [excess]
        for _ in range(min(units, terms)):
            wider = least[-1]
            for u in range(units):
                wider = np.minimum(wider, least[-1][masks | 1 << u])
            least.append(wider)
        table = np.stack(least)
        self._sums = np.zeros((terms + 1, 1 << units))
        for k in range(terms):
            more = np.minimum(np.arange(1, terms - k + 1), len(least) - 1)
            self._sums[k] = alphas[k:] @ table[more]
        self._bits = 1 << np.arange(units)

    def work(self, _length: int, /) -> int:
        """Nothing to speak of."""
        return 0

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """Looked up."""
        sums: NDArray[np.float64] = self._sums[length, touched @ self._bits]
        return sums


class CountedFloors:
    """Only the number of touched units counts: ``floors[k]`` for at most k units."""

    def __init__(self, floors: NDArray[np.float64], alphas: NDArray[np.float64]) -> None:
        terms = len(alphas)
        counts = np.arange(1, terms + 1) + np.arange(terms + 1)[:, None]
        along = floors[np.minimum(counts, len(floors) - 1)]
        self._sums = np.stack([along[:, : terms - k] @ alphas[k:] for k in range(terms + 1)])

    def sums(self, number: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """Σ_{j>k} αⱼ·(floor of so many touched units and j − k more)."""
        sums: NDArray[np.float64] = self._sums[length, number]
        return sums


class TouchedFloors:
    """Many units: exact for one more unit, and by number for the terms after it. Every set is looked at once."""

    def __init__(self, prefixes: Prefixes, floors: NDArray[np.float64]) -> None:
        alphas = prefixes.alphas
        self._prefixes, self._alphas = prefixes, alphas
        self._counted = CountedFloors(floors, alphas)
        self._floors = np.concatenate([floors, np.full(len(alphas) + 2, floors[-1])])
        self._least: dict[bytes, float] = {}
        self.spent = 0

    def work(self, length: int) -> int:
        """A set that is new."""
        return _LOOK_UP + self._prefixes.work(length)

    def rest(self, touched: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
        """Exact for the next term; what rounding leaves in doubt is bounded by number."""
        number = touched.sum(axis=1)
        sums = self._counted.sums(number, length)
        if length == len(self._alphas) or not len(touched):
            return sums
        self.spent += _LOOK_UP * len(touched)
        packed = np.packbits(touched, axis=1)
        keys: list[bytes] = packed.view(f"V{packed.shape[1]}")[:, 0].tolist()
        rows = {key: row for row, key in enumerate(keys) if key not in self._least}
        new = np.array(list(rows.values()), np.int64)
        for size in np.unique(number[new]).tolist():
            group = new[number[new] == size]
            for row, least in zip(group.tolist(), self._one_more(touched[group]).tolist(), strict=True):
                self._least[keys[row]] = least
        least = np.array([self._least[key] for key in keys])
        sums += self._alphas[length] * np.maximum(least - self._floors[number + 1], 0.0)
        return sums

    def _one_more(self, touched: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The least excess of each set and one more unit: a walk of which only the last term has a weight."""
        size = int(touched[0].sum())
        members = np.nonzero(touched)[1].reshape(len(touched), size).astype(np.int16)
        last = replace(self._prefixes, alphas=np.concatenate([np.zeros(size), [1.0]]))
        self.spent += last.work(size) * len(touched)
        values, tight = last.extend(members, np.zeros(len(touched)))
        values[touched] = np.inf
        values[~tight & ~touched] = 0.0
        least: NDArray[np.float64] = values.min(axis=1)
        return np.where(np.isinf(least), 0.0, least)


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
