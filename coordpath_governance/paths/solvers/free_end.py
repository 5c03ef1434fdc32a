"""Walks with a free end, exactly: best-first search over the sequence of units.

A node is a prefix of k moves. No walk that begins so costs less than the best values of the prefix alone plus, for every
later term, the least excess of the touched units and as many more as have moved since. A rest is never needed: a unit may
move to the value it has. The excess of a walk depends on its residuals alone, so that moves without a weight between them
are a set, and are made in order.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.solvers.protocol import LEAST_SQUARES, Answer
from coordpath_governance.paths.solvers.walk_improvement import improve_walk
from coordpath_governance.paths.walks.prefix_tree import Nodes, WalkTree

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["FreeEnd"]

_TOLERANCE = 2e-7
"""Walks better by less than this part are not looked for; a gap of 1e-6 is called optimal."""

_BEAM, _BEAM_WORK = 24, 100_000_000
"""Prefixes of each length that the first descent keeps, if that takes no more work than this."""

_FEW = 160
"""Prefixes that are looked at together, even if some could be left out beforehand."""

_IMPROVE_AT = ((100_000_000, 0), (700_000_000, 8))
"""Work after which a search that has not ended tries to improve its walk by other means, and with how many rounds."""

_ROUND = 300_000_000
"""Work between two looks at the time and at what has become known."""

_FITTED, _VALUED = 16, 200_000
"""Whole walks that are fitted in a round, and the work of one."""


class FreeEnd:
    """``work`` counts numbers touched (about 1e9 a second), so that every machine stops at the same place."""

    name = "free end"
    needs = LEAST_SQUARES

    def __init__(self, work: int) -> None:
        self._work = work

    def lacks(self, task: WalkTask) -> str | None:
        """A fixed end has other walks."""
        return None if task.walks.changes is None else "needs a free end"

    def solve(self, task: WalkTask) -> Answer:
        """The best walk, and a bound that meets it unless the work or the time ran out."""
        search = _Search(task)
        if search.limit <= task.floor:
            return Answer(task.first, task.floor, self.name)
        search.descend()
        left = self._work
        for work, rounds in _IMPROVE_AT:
            search.run(min(work, left))
            left -= work
            if not search.open or task.expired() or left <= 0:
                break
            search.offer(*improve_walk(task, rounds))
        search.run(left)
        return Answer(search.walk, search.bound(), self.name)


class _Search:
    """The best walk known and the prefixes that may lead to a better one, by their length."""

    def __init__(self, task: WalkTask) -> None:
        self._task = task
        self.walk, self._value = task.first, task.evaluate(task.first)
        self._rounding = task.walks.blur(float(task.walks.base @ task.walks.base)) * float(task.alphas.sum()) / 2
        self._least = np.inf
        self._valued = 0

    @cached_property
    def _tree(self) -> WalkTree:
        return WalkTree(self._task)

    @cached_property
    def open(self) -> dict[int, Nodes]:
        """Nodes of each length that are to be expanded."""
        return {0: self._tree.root()}

    @property
    def limit(self) -> float:
        """Nodes at or above this cannot lead to a walk worth looking for."""
        return self._value - max(_TOLERANCE * self._value, self._rounding)

    def offer(self, walk: tuple[int, ...], value: float) -> None:
        """Keep a walk if it is better."""
        if value < self._value:
            self.walk, self._value = walk, value

    def bound(self) -> float:
        """No walk costs less; of the best one known, what rounding may have added to it is taken off."""
        reached = max(self._value - self._rounding, 0.0)
        return min([reached, self._least, *(float(nodes.bounds.min()) for nodes in self.open.values())])

    def descend(self) -> None:
        """A first good walk: of every length only the most promising prefixes go on, the others wait."""
        terms = self._tree.terms
        width = min(_BEAM, _BEAM_WORK // sum(self._tree.work(length) for length in range(terms)))
        length = 0
        while width and length in self.open and not self._task.expired():
            nodes = self.open.pop(length)
            if length == terms:
                self._evaluate(nodes)
                self._forget()
                return
            order = np.argsort(nodes.bounds, kind="stable")
            self._keep(length, nodes[order[width:]])
            nodes = self._tree.grown(nodes[order[:width]], _FEW)
            self._expand(nodes)
            length = nodes.sequences.shape[1] + 1

    def run(self, work: int) -> None:
        """Expand the most promising prefixes until none is left, or the work or the time is used up."""
        last = self._spent + work
        while self.open and self._spent < last and not self._task.expired():
            for length, nodes in self._choose():
                if length == self._tree.terms:
                    self._evaluate(nodes)
                else:
                    self._expand(nodes)
            self._forget()
            self._task.report("sequences of moves", self._value, self.bound())

    def _choose(self) -> list[tuple[int, Nodes]]:
        """The best nodes that one round has work for, the longest prefixes first."""
        bounds = np.concatenate([nodes.bounds for nodes in self.open.values()])
        works = np.concatenate([np.full(len(nodes), self._work(length)) for length, nodes in self.open.items()])
        order = np.argsort(bounds, kind="stable")
        last = int(np.searchsorted(np.cumsum(works[order]), _ROUND))
        highest = bounds[order[min(last, len(order) - 1)]]
        chosen = []
        for length in sorted(self.open, reverse=True):
            nodes = self.open.pop(length)
            now = nodes.bounds <= highest
            if now.any():
                chosen.append((length, nodes[now]))
            self._keep(length, nodes[~now])
        return chosen

    def _work(self, length: int) -> int:
        return _VALUED if length == self._tree.terms else self._tree.work(length)

    @property
    def _spent(self) -> int:
        return self._tree.spent + _VALUED * self._valued

    def _expand(self, nodes: Nodes) -> None:
        length = nodes.sequences.shape[1]
        children, dropped = self._tree.children(nodes, self.limit)
        self._least = min(self._least, dropped)
        self._keep(length + 1, children)

    def _evaluate(self, nodes: Nodes) -> None:
        """Fit the most promising whole walks; with its values known, a walk needs no bound beyond its value."""
        nodes = nodes[np.argsort(nodes.bounds, kind="stable")]
        fitted = 0
        while fitted < min(_FITTED, len(nodes)) and nodes.bounds[fitted] < self.limit:
            walk = self._tree.walk(nodes.sequences[fitted])
            self.offer(walk, self._task.evaluate(walk))
            fitted += 1
        self._valued += fitted
        self._keep(self._tree.terms, nodes[fitted:])

    def _keep(self, length: int, nodes: Nodes) -> None:
        if len(nodes):
            self.open[length] = self.open[length].joined(nodes) if length in self.open else nodes

    def _forget(self) -> None:
        """Drop what the best walk known has overtaken."""
        for length, nodes in list(self.open.items()):
            above = nodes.bounds >= self.limit
            self._least = float(np.min(nodes.bounds, where=above, initial=self._least))
            del self.open[length]
            self._keep(length, nodes[~above])
