"""LocalImprovement: the paper's Algorithm 1, a few entries of a walk at a time changed to the best of everything.

In each iteration q of the K entries are drawn at random and all dᵠ ways to fill them are tried, with the best values along
each. It goes on from the walk reached, as the paper's text says (its listing returns to the first walk every time).
The analogue for orders, where every unit moves once, permutes the units of q places; `Improvement` covers it: it tries all
swaps, all insertions and all permutations of ten neighbouring places.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import UsageError
from coordpath_governance.paths.solvers.protocol import LEAST_SQUARES, Answer
from coordpath_governance.paths.solvers.walk_improvement import GAIN, WalkSearch, improve_walk, tidy
from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["LocalImprovement"]

_TRIES = 200_000
"""Most ways to fill a batch."""

_TOGETHER = 2500
"""Ways to fill batches that are valued in one go, of at most a quarter of the batches that there are."""

_ENTRIES = 500_000
"""Entries of walks that are held at once."""


class LocalImprovement:
    """Random batches of ``batch`` entries, ``iterations`` of them from the first walk and from each perturbed best one.

    With a fixed end an entry may also become a rest, and every unit that the end changes stays visited. ``polish`` lets
    `improve_walk` go on from the result, with few sequences where the walk is short.
    """

    name = "local"
    needs = LEAST_SQUARES

    def __init__(self, batch: int = 2, iterations: int = 200, restarts: int = 3, *, polish: bool = False) -> None:
        if batch < 1 or iterations < 1 or restarts < 0:
            raise UsageError(f"batch {batch}, iterations {iterations}, restarts {restarts}: give at least 1, 1 and 0")
        self.batch, self.iterations, self.restarts, self.polish = batch, iterations, restarts, polish

    def lacks(self, task: WalkTask) -> str | None:
        """Batches that can be filled in a number of ways that can be tried."""
        if self._fillings(task) <= _TRIES:
            return None
        return f"cannot try all ways to fill {self.batch} entries with {task.walks.size} units; give a smaller batch"

    def solve(self, task: WalkTask) -> Answer:
        """The best walk of all starts, with the floors as its bound."""
        random = np.random.default_rng(task.seed)
        search = WalkSearch(task)
        best, value = task.first, task.evaluate(task.first)
        for at in range(self.restarts + 1):
            start = np.array(best, dtype=np.int64)
            start = search.perturb(start, random, anew=False) if at else start
            candidate = tidy(task, self._improve(search, start, random))
            reached = task.evaluate(candidate)
            if reached < value:
                best, value = candidate, reached
            task.report("local improvement", value, task.floor)
            if search.spent():
                break
        if self.polish:
            best, value = improve_walk(replace(task, first=best), most=task.terms**2 * task.walks.size)
            task.report("local improvement", value, task.floor)
        return Answer(best, task.floor, self.name)

    def _fillings(self, task: WalkTask) -> int:
        return int((task.walks.size + (task.walks.changes is not None)) ** min(self.batch, task.terms))

    def _improve(self, search: WalkSearch, start: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Algorithm 1 from one start, a few batches at a time; those without a gain are not tried again until one has."""
        task = search.task
        size = min(self.batch, task.terms)
        entries = np.arange(0 if task.walks.changes is None else REST, task.walks.size)
        fillings = np.stack(np.meshgrid(*[entries] * size, indexing="ij"), axis=-1).reshape(-1, size)
        current, value = search.best(start[None, :])
        batches, tried = math.comb(task.terms, size), set[tuple[int, ...]]()
        together = max(1, min(_TOGETHER // len(fillings), batches // 4))
        for turn in range(0, self.iterations, together):
            lots = random.random((min(together, self.iterations - turn), task.terms))
            drawn = {tuple(batch) for batch in np.sort(np.argsort(lots, axis=1)[:, :size], axis=1).tolist()}
            best, reached = current, value
            for batch in _parts(current, sorted(drawn - tried), fillings):
                candidate, worth = search.best(batch)
                if worth < reached:
                    best, reached = candidate, worth
                if search.spent():
                    break
            tried |= drawn
            if reached < value - GAIN * abs(value):
                current, value = best, reached
                tried.clear()
            if search.spent() or len(tried) == batches:
                break
        return current


def _parts(
    current: NDArray[np.int64], batches: list[tuple[int, ...]], fillings: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """The walk with every batch filled in every way: all in one array, unless that is large."""
    step = max(1, _ENTRIES // len(current))
    waiting: list[NDArray[np.int64]] = []
    for batch in batches:
        for begin in range(0, len(fillings), step):
            filled = np.repeat(current[None, :], len(fillings[begin : begin + step]), axis=0)
            filled[:, batch] = fillings[begin : begin + step]
            waiting.append(filled)
            if sum(map(len, waiting)) >= step:
                yield np.concatenate(waiting)
                waiting = []
    if waiting:
        yield np.concatenate(waiting)
