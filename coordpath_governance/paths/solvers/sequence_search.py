"""All sequences of units, best first: for problems with few of them, whatever their groups and weights.

A sequence begun at terms 1 … k costs at least what its first k terms cost with the end left free, plus the floors of the
terms to come. Values, not increments, are fitted: what a unit is at from one visit to its next.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.set_function import EPS
from coordpath_governance.paths.solvers.skeletons import Spans

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.incumbent import Incumbent
    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["SequenceSearch"]

_NODE_WORK = 100_000
"""Work of one fit, where a move in a table is 1."""


class SequenceSearch:
    """The open beginnings of sequences in a heap; their least bound holds for all walks."""

    def __init__(self, task: WalkTask, spans: Spans, incumbent: Incumbent) -> None:
        self.task, self.spans, self.incumbent = task, spans, incumbent
        self.changed = set(task.walks.changed)
        floors = task.alphas * task.floors.of_terms(task.terms)
        self.to_come = np.concatenate([np.cumsum(floors[::-1])[::-1], [0.0]])
        self.units = [u for u, basis in enumerate(spans.bases) if u in self.changed or basis.size] or [0]

    def run(self) -> float:
        """A bound of all walks: the incumbent's threshold if the search comes to its end."""
        heap: list[tuple[float, tuple[int, ...]]] = [(float(self.to_come[0]), ())]
        while heap:
            bound, begun = heap[0]
            if bound >= self.incumbent.threshold:
                break
            if len(begun) == self.task.terms or self.incumbent.stopped():
                self.task.report("sequences", self.incumbent.value, bound)
                return bound
            heapq.heappop(heap)
            for unit in self.units:
                following = (*begun, unit)
                if len(self.changed.difference(following)) <= self.task.terms - len(following):
                    heapq.heappush(heap, (self._bound(following), following))
        return self.incumbent.threshold

    def _bound(self, sequence: tuple[int, ...]) -> float:
        """What a sequence costs at least; a complete one is offered to the incumbent."""
        self.incumbent.spend(_NODE_WORK)
        least = self._fit(sequence) + float(self.to_come[len(sequence)])
        if len(sequence) == self.task.terms and least < self.incumbent.value:
            self.incumbent.offer(sequence)
        return least

    def _fit(self, sequence: tuple[int, ...]) -> float:
        """Least Σ αₖ‖r_k‖² over the terms of a sequence, less rounding; a complete one ends at the target."""
        spans, terms = self.spans, len(sequence)
        root = np.sqrt(self.task.alphas[:terms])[:, None]
        fixed = np.repeat(spans.base[None, :], terms, axis=0)
        columns = []
        for k, unit in enumerate(sequence):
            after = sequence[k + 1 :]
            if unit not in after and terms == self.task.terms:
                fixed[k:] += spans.changes[unit]
                continue
            until = k + 1 + after.index(unit) if unit in after else terms
            design = np.zeros((terms, *spans.bases[unit].shape))
            design[k:until] = root[k:until, :, None] * spans.bases[unit]
            columns.append(design)
        aim = (root * fixed).reshape(-1)
        size = 0.0
        if columns:
            whole = np.concatenate(columns, axis=2).reshape(len(aim), -1)
            values = np.linalg.lstsq(whole, -aim, rcond=None)[0]
            aim = aim + whole @ values
            size = float(np.abs(values).sum())
        return float(aim @ aim) - self._rounding(size)

    def _rounding(self, size: float) -> float:
        """What floating point may do to a fit with values of this size."""
        reach = self.spans.reach + size
        return 16 * (len(self.spans.bases) + 8) * EPS * float(self.task.alphas.sum()) * reach * reach
