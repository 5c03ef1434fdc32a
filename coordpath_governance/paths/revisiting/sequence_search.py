"""Sequences of units, best first, whatever their groups and weights.

An entry is a unit and whether this is its last visit: then it is at its target, before that at a value that is fitted. The
first k entries cost at least what their terms cost by themselves, plus the floors of the terms to come. Only r visits are
not last ones, which keeps few values free.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.revisiting.skeletons import Spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordpath_governance.paths.revisiting.incumbent import Incumbent
    from coordpath_governance.paths.solvers.protocol import WalkTask

    Entries = tuple[int, ...]

__all__ = ["SequenceSearch"]

_NODE_WORK = 100_000
"""Work of one fit in addition to its arithmetic, where a move in a table is 1."""

_REPORTED = 1_000
"""Beginnings continued between two reports."""


class SequenceSearch:
    """The open beginnings of sequences in a heap; their least bound holds for all walks.

    An entry u is a visit of unit u that another will follow, ~u its last.
    """

    def __init__(self, task: WalkTask, spans: Spans, incumbent: Incumbent) -> None:
        self.task, self.spans, self.incumbent = task, spans, incumbent
        self.changed = set(task.walks.changed)
        floors = task.alphas * task.floors.of_terms(task.terms)
        self.to_come = np.concatenate([np.cumsum(floors[::-1])[::-1], [0.0]])
        self.units = [u for u, basis in enumerate(spans.bases) if u in self.changed or basis.size] or [0]

    def run(self, reserve: int = 0) -> float:
        """A bound of all walks: the incumbent's threshold if the search comes to its end before less work is left."""
        heap: list[tuple[float, Entries]] = [(float(self.to_come[0]), ())]
        complete, continued = self.incumbent.threshold, 0
        while heap and heap[0][0] < self.incumbent.threshold:
            bound, begun = heap[0]
            following = []
            for entries in self._continue(begun):
                if self.incumbent.left <= reserve or self.incumbent.stopped():
                    return min(bound, complete)
                following.append((self._bound(entries), entries))
            heapq.heappop(heap)
            if len(begun) + 1 == self.task.terms:
                complete = min([complete, *(least for least, _ in following)])
                continue
            for beginning in following:
                heapq.heappush(heap, beginning)
            continued += 1
            if continued % _REPORTED == 0:
                self.task.report("sequences of moves", self.incumbent.value, min(bound, complete))
        return min(complete, self.incumbent.threshold)

    def _continue(self, begun: Entries) -> Iterator[Entries]:
        """Beginnings one entry longer that can still be completed."""
        out = {u for u in begun if u >= 0 and ~u not in begun}
        moved = {~u for u in begun if u < 0}
        left = self.task.terms - len(begun) - 1
        for u in self.units:
            if u not in moved:
                needed = len((self.changed | out | {u}) - moved)
                if needed <= left:
                    yield (*begun, u)
                if needed - 1 <= left and (u in self.changed or u in out):
                    yield (*begun, ~u)

    def _bound(self, entries: Entries) -> float:
        """What a sequence costs at least; a complete one is offered to the incumbent."""
        least = self._fit(entries) + float(self.to_come[len(entries)])
        if len(entries) == self.task.terms and least < self.incumbent.value:
            self.incumbent.offer(tuple(max(u, ~u) for u in entries))
        return least

    def _fit(self, entries: Entries) -> float:
        """Least Σ αₖ‖r_k‖² over the terms of the entries, less rounding."""
        spans, terms = self.spans, len(entries)
        root = np.sqrt(self.task.alphas[:terms])[:, None]
        fixed = np.repeat(spans.base[None, :], terms, axis=0)
        columns = []
        for k, entry in enumerate(entries):
            if entry < 0:
                fixed[k:] += spans.changes[~entry]
                continue
            until = next((j for j in range(k + 1, terms) if entries[j] in (entry, ~entry)), terms)
            design = np.zeros((terms, *spans.bases[entry].shape))
            design[k:until] = root[k:until, :, None] * spans.bases[entry]
            columns.append(design)
        aim = (root * fixed).reshape(-1)
        size, work = 0.0, _NODE_WORK
        if columns:
            stacked = np.concatenate(columns, axis=2)
            whole = stacked.reshape(len(aim), stacked.shape[2])
            lengths = np.sqrt(np.sum(whole * whole, axis=0))
            lengths[lengths == 0] = 1.0
            values = np.linalg.lstsq(whole / lengths, -aim, rcond=None)[0] / lengths
            aim = aim + whole @ values
            size = float(np.abs(values).sum())
            work += whole.size * (1 + whole.shape[1])
        self.incumbent.spend(work)
        return float(aim @ aim) - self._rounding(size)

    def _rounding(self, size: float) -> float:
        """What floating point may do to a fit with values of this size."""
        reach = self.spans.reach + size
        return 16 * (len(self.spans.bases) + 8) * EPS * float(self.task.alphas.sum()) * reach * reach
