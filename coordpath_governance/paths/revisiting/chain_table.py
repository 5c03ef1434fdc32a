"""The best chain through a product of chains, for many costs at once.

A state x gives every unit its rank: 0 … 1 for a unit that moves once, 0 … q + 1 for one with q values in between. A move
raises one rank by one, so a state is reached after |x| = Σ ranks moves, whatever the way:

    V(x) = w(x) + min over units i with xᵢ > 0 of V(x − eᵢ).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ChainTable", "build_chain_table"]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Consecutive rows of one level and their predecessors, slot × row (some twice), with the coordinate that moved."""

    start: int
    stop: int
    before: NDArray[np.int64]
    moved: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class ChainTable:
    """States sorted by level; ``order[row]`` is the state's number, the last coordinate counting fastest."""

    order: NDArray[np.int64]
    levels: NDArray[np.int64]
    rows: tuple[_Rows, ...]

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.order)

    @property
    def edges(self) -> int:
        """Number of moves between states: the work of one programme."""
        return sum(rows.before.size for rows in self.rows)

    def accumulate(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """V in place of w, states × programmes, and its last row: the best chains from the first state to the last."""
        widest = max((rows.stop - rows.start for rows in self.rows), default=0)
        scratch = np.empty((2, widest, costs.shape[1]))
        for rows in self.rows:
            best, other = scratch[:, : rows.stop - rows.start]
            np.take(costs, rows.before[0], axis=0, out=best, mode="clip")
            for before in rows.before[1:]:
                np.take(costs, before, axis=0, out=other, mode="clip")
                np.minimum(best, other, out=best)
            costs[rows.start : rows.stop] += best
        last: NDArray[np.float64] = costs[-1]
        return last

    def through(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """For every state the best chain from the first to the last that passes it; ``costs`` of one programme.

        Backwards is forwards with every rank counted from its other end, which turns the numbers of the states around.
        """
        turned = np.argsort(self.order)[self.size - 1 - self.order]
        forward, backward = costs[:, None].copy(), costs[turned][:, None]
        self.accumulate(forward)
        self.accumulate(backward)
        total: NDArray[np.float64] = forward[:, 0] + backward[turned, 0] - costs
        return total

    def restrict(self, alive: NDArray[np.bool_]) -> ChainTable:
        """The table of some of the states, less those that then cannot be reached; itself if the last is not among them."""
        alive = alive.copy()
        new_rows = np.full(self.size, -1)
        chosen, groups = [np.zeros(1, dtype=np.int64)], []
        new_rows[0], count = 0, 1
        for rows in self.rows:
            own = np.flatnonzero(alive[rows.start : rows.stop])
            usable = alive[rows.before[:, own]]
            left = usable.sum(axis=0)
            alive[rows.start + own[left == 0]] = False
            entered = np.flatnonzero(left)
            if len(entered):
                places = own[entered]
                slots = np.argsort(~usable[:, entered], axis=0, kind="stable")[: left.max()]
                slots = np.where(np.arange(len(slots))[:, None] < left[entered], slots, slots[0])
                new_rows[rows.start + places] = count + np.arange(len(places))
                groups.append(
                    _Rows(count, count + len(places), new_rows[rows.before[slots, places]], rows.moved[slots, places])
                )
                chosen.append(rows.start + places)
                count += len(places)
        if not alive[-1]:
            return self
        kept_rows = np.concatenate(chosen)
        return ChainTable(self.order[kept_rows], self.levels[kept_rows], tuple(groups))

    def trace(self, values: NDArray[np.float64]) -> list[int]:
        """The coordinate that moves at every level of the best chain; ``values`` is one column of V."""
        chain: list[int] = []
        row = self.size - 1
        for rows in reversed(self.rows):
            if rows.start <= row < rows.stop:
                before = rows.before[:, row - rows.start]
                slot = int(np.argmin(values[before]))
                chain.append(int(rows.moved[slot, row - rows.start]))
                row = int(before[slot])
        return chain[::-1]


@lru_cache(maxsize=16)
def build_chain_table(lengths: tuple[int, ...]) -> ChainTable:
    """The table of coordinates with so many ranks each."""
    strides = np.array([int(np.prod(lengths[i + 1 :])) for i in range(len(lengths))], dtype=np.int64)
    ranks = np.indices(lengths).reshape(len(lengths), -1).T
    levels, moved = ranks.sum(axis=1), np.count_nonzero(ranks, axis=1)
    order = np.lexsort((moved, levels))
    position = np.argsort(order)
    ranks, levels, moved = ranks[order], levels[order], moved[order]
    borders = np.flatnonzero((np.diff(levels) != 0) | (np.diff(moved) != 0)) + 1
    groups: list[_Rows] = []
    for start, stop in zip(borders.tolist(), [*borders.tolist()[1:], len(order)], strict=True):
        coordinates = np.nonzero(ranks[start:stop])[1].reshape(stop - start, -1).T
        before = position[order[start:stop] - strides[coordinates]]
        groups.append(_Rows(start, stop, np.ascontiguousarray(before), coordinates.astype(np.int16)))
    return ChainTable(order, levels, tuple(groups))
