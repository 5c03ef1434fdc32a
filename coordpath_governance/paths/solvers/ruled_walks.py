"""Walks under constraints: best first over their beginnings.

No walk costs less than the best allowed values of its beginning alone plus the floors of the terms to come. A beginning is
first bounded by the one before it, and valued only when its turn comes.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.solvers.protocol import RULED_WALKS, Answer
from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.ruled_walks.ruled_task import RuledTask
    from coordpath_governance.paths.ruled_walks.ruled_values import Valued

    FloatArray = NDArray[np.float64]

__all__ = ["GreedyRuledWalk", "RuledWalks"]

_TOLERANCE = 2e-7
"""Walks better by less than this part are not looked for; a gap of 1e-6 is called optimal."""

_CEILING = 1e-9
"""Part of Σα·ceiling by which a walk may exceed it by rounding."""


class RuledWalks:
    """``work`` counts the beginnings that are valued, each a millisecond or so."""

    name = "beginnings"
    needs = RULED_WALKS

    def __init__(self, work: int) -> None:
        self._work = work

    def lacks(self, _task: RuledTask) -> str | None:
        """Nothing: what it cannot search it bounds."""
        return None

    def solve(self, task: RuledTask) -> Answer:
        """The best walk, and a bound that meets it unless the work or the time ran out."""
        search = _Search(task)
        search.descend(())
        search.run(self._work)
        return search.answer(self.name)


class GreedyRuledWalk:
    """At each term the unit that leaves the least bound; a walk that leads nowhere is given up."""

    name = "greedy"
    needs = RULED_WALKS

    def lacks(self, _task: RuledTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: RuledTask) -> Answer:
        """That walk with a bound on all."""
        search = _Search(task)
        search.descend(())
        return search.answer(self.name)


class _Search:
    """The best walk so far, and beginnings by their bounds; ``left_out``: a bound on walks without allowed values."""

    def __init__(self, task: RuledTask) -> None:
        self._task = task
        self._number = itertools.count()
        self._open: list[tuple[float, int, int, tuple[int, ...], bool]] = []
        self._push((), task.later(0), valued=True)
        self._best = np.inf
        self._models: FloatArray | None = None
        self._left_out = np.inf
        self._most = float(task.alphas.sum()) * task.values.ceiling * (1.0 + _CEILING)
        self._spent = 0
        if not task.values.walks.changed:
            self._value((REST,) * len(task.alphas))

    @property
    def _limit(self) -> float:
        """Beginnings at or above this lead to no walk worth looking for."""
        return min(self._best * (1.0 - _TOLERANCE), float(np.nextafter(self._most, np.inf)))

    def _push(self, sequence: tuple[int, ...], bound: float, *, valued: bool) -> None:
        heapq.heappush(self._open, (bound, -len(sequence), next(self._number), sequence, valued))

    def _value(self, sequence: tuple[int, ...]) -> Valued:
        task = self._task
        self._spent += 1
        found = task.values.value(sequence, task.alphas, self._limit - task.later(len(sequence)))
        if len(sequence) == len(task.alphas):
            if found.bound < min(found.value, self._limit):
                self._left_out = min(self._left_out, found.bound)
            if found.value < self._best:
                self._best, self._models = found.value, found.models
        return found

    def descend(self, sequence: tuple[int, ...]) -> None:
        """Go on with the unit that has the least bound, to the end."""
        while len(sequence) < len(self._task.alphas) and not self._task.patience.expired():
            longer = [(*sequence, u) for u in self._task.following(sequence)]
            bounds = [self._value(each).bound for each in longer]
            sequence = longer[int(np.argmin(bounds))]

    def run(self, work: int) -> None:
        """The most promising beginnings, until none is left, or the work or the time is used up."""
        task = self._task
        last = np.inf if task.patience.timed else self._spent + work
        while self._open and self._spent < last and not task.patience.expired():
            bound, _, _, sequence, valued = heapq.heappop(self._open)
            if bound >= self._limit:
                self._open = []
                self._left_out = min(self._left_out, bound) if bound < self._most else self._left_out
                return
            if not valued:
                found = self._value(sequence)
                if len(sequence) < len(task.alphas):
                    self._keep(sequence, max(bound, found.bound + task.later(len(sequence))))
                continue
            for u in task.following(sequence):
                self._push((*sequence, u), bound, valued=False)
            if self._spent % 64 == 0:
                task.report("beginnings of walks", self._best, min(bound, self._best))

    def _keep(self, sequence: tuple[int, ...], bound: float) -> None:
        if bound < self._limit:
            self._push(sequence, bound, valued=True)
        elif bound < self._most:
            self._left_out = min(self._left_out, bound)

    def answer(self, solver: str) -> Answer:
        """The best walk; without one, what is known of all: an infinite bound says that there is none."""
        bound = min([self._best, self._left_out, *(each[0] for each in self._open[:1])])
        return Answer((), bound, solver, models=self._models)
