"""Good walks of any length: from a known walk by changes, moves, swaps, exchanges and pairs, with seeded perturbations."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.sequence_values import value_sequences

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask

    Sequences = NDArray[np.int64]

__all__ = ["GAIN", "WalkSearch", "improve_walk", "tidy"]

_ROUNDS = 8
"""Perturbations, each followed by a descent."""

_WORK = 1_500_000_000
"""Work of the evaluator in all (see `SequenceValues.work`): one or two seconds."""

_PAIRS, _DOUBLES = 5000, 20_000
"""Two entries are changed, or exchanged, at once where there are no more ways than this."""

_ALL = 5000
"""Up to so many sequences all are valued."""

_TOGETHER = 1000
"""Sequences ranked before the best of them is taken: enough to keep the arithmetic in large blocks."""

GAIN = 1e-9
"""A step to a better walk must gain this part of its value; less may be the evaluator's ridge."""


def improve_walk(task: WalkTask, rounds: int = _ROUNDS, most: int | None = None) -> tuple[tuple[int, ...], float]:
    """A walk no worse than ``task.first`` and its value; the same for the same task unless the deadline cuts it short.

    ``most``: sequences that are valued at most.
    """
    search = WalkSearch(task)
    search.left = search.left if most is None else min(search.left, most)
    best = np.array(task.first, dtype=np.int64)
    value = task.evaluate(task.first)
    random = np.random.default_rng(task.seed)
    few = len(search.entries) ** task.terms <= min(_ALL, search.left)
    for at in range(1 if few else rounds + 1):
        start = best if at == 0 else search.perturb(best, random, anew=at % 3 == 0)
        candidate = search.best(search.everything())[0] if few else search.descend(start)
        reached = task.evaluate(tidy(task, candidate))
        if reached < value:
            best, value = candidate, reached
        if search.spent():
            break
    return tidy(task, best), value


def tidy(task: WalkTask, sequence: Sequences) -> tuple[int, ...]:
    """The same walk with a rest for every visit that cannot move: the only one of a unit that ends where it began."""
    units: list[int] = [int(u) for u in sequence]
    if task.walks.changes is None:
        return tuple(units)
    changed = set(task.walks.changed)
    return tuple(u if u in changed or units.count(u) > 1 else REST for u in units)


class WalkSearch:
    """Neighbours of a walk, ranked in large batches within a budget of work."""

    def __init__(self, task: WalkTask, work: int = _WORK) -> None:
        self.task = task
        self.evaluator = value_sequences(task.walks, task.alphas)
        self.left = max(work // self.evaluator.work, 1)
        self.entries = np.arange(REST, task.walks.size)
        self.changed = np.array(task.walks.changed, dtype=np.int64)

    def spent(self) -> bool:
        """Whether the budget or the time is used up."""
        return self.left <= 0 or self.task.expired()

    def descend(self, sequence: Sequences) -> Sequences:
        """Small steps until none helps, then larger ones; back to the small ones whenever one helped."""
        current, value = sequence, float(self.evaluator.values(sequence[None, :])[0])
        pairs = (self.task.terms * len(self.entries)) ** 2 // 2
        spare = self.task.spare
        kinds: list[Callable[[Sequences, int], Sequences]] = [self.near, self.exchanged]
        if pairs * spare * (spare - 1) // 2 <= _DOUBLES:
            kinds.append(self.doubled)
        elif pairs <= _PAIRS:
            kinds.append(self.paired)
        at = 0
        while at < len(kinds) and not self.spent():
            following, reached = self._sweep(kinds[at], current, value)
            at = 0 if reached < value else at + 1
            current, value = following, reached
        return current

    def _sweep(
        self, kind: Callable[[Sequences, int], Sequences], current: Sequences, value: float
    ) -> tuple[Sequences, float]:
        """One pass over all entries; the best of every batch of neighbours is taken if it gains."""
        waiting: list[Sequences] = []
        for i in range(self.task.terms):
            waiting.append(kind(current, i))
            if sum(map(len, waiting)) < _TOGETHER and i < self.task.terms - 1:
                continue
            best, reached = self.best(np.concatenate([current[None, :], *waiting]))
            waiting = []
            if reached < value - GAIN * abs(value):
                current, value = best, reached
            if self.spent():
                break
        return current, value

    def best(self, candidates: Sequences) -> tuple[Sequences, float]:
        """The best of some sequences that may end as they must; the first among equals."""
        allowed = self.allowed(candidates)
        best, value = candidates[0], np.inf
        for begin in range(0, len(allowed), self.evaluator.rows):
            block = allowed[begin : begin + self.evaluator.rows]
            values = self.evaluator.values(block)
            self.left -= len(block)
            at = int(np.argmin(values))
            if values[at] < value:
                best, value = block[at], float(values[at])
            if self.spent():
                break
        return best, value

    def allowed(self, candidates: Sequences) -> Sequences:
        """Those that visit every unit that the end changes."""
        visited = np.zeros((len(candidates), len(self.entries)), dtype=bool)
        visited[np.arange(len(candidates))[:, None], candidates] = True
        return candidates[visited[:, self.changed].all(axis=1)]

    def everything(self) -> Sequences:
        """All sequences there are."""
        grids = np.meshgrid(*[self.entries] * self.task.terms, indexing="ij")
        return np.stack(grids, axis=-1).reshape(-1, self.task.terms)

    def near(self, sequence: Sequences, i: int) -> Sequences:
        """Entry i changed to anything, moved anywhere, or swapped with a later one."""
        changed = np.repeat(sequence[None, :], len(self.entries), axis=0)
        changed[:, i] = self.entries
        swapped = np.repeat(sequence[None, :], self.task.terms - i, axis=0)
        later = np.arange(i, self.task.terms)
        swapped[later - i, later] = sequence[i]
        swapped[:, i] = sequence[i:]
        return np.concatenate([changed, self._inserted(sequence, i, sequence[i : i + 1]), swapped])

    def exchanged(self, sequence: Sequences, i: int) -> Sequences:
        """Entry i taken out and anything put in anywhere; nothing where the end needs entry i."""
        needed = sequence[i] in self.changed and np.count_nonzero(sequence == sequence[i]) == 1
        return self._inserted(sequence, i, self.entries[:0] if needed else self.entries)

    def paired(self, sequence: Sequences, i: int) -> Sequences:
        """Entry i and every later one changed to anything."""
        later = range(i + 1, self.task.terms)
        return np.concatenate([sequence[None, :], *(self._filled(np.delete(sequence, [i, j]), i, j) for j in later)])

    def doubled(self, sequence: Sequences, i: int) -> Sequences:
        """Entry i and a later one taken out, and any two put in anywhere; nothing where the end needs those taken out."""
        made = [sequence[None, :]]
        for j in range(i + 1, self.task.terms):
            others = np.delete(sequence, [i, j])
            if np.isin(self.changed, others).all():
                made += [self._filled(others, *places) for places in itertools.combinations(range(self.task.terms), 2)]
        return np.concatenate(made)

    def _filled(self, others: Sequences, i: int, j: int) -> Sequences:
        """Any two entries put in among the others, so that they come to stand at i < j."""
        one, other = np.repeat(self.entries, len(self.entries)), np.tile(self.entries, len(self.entries))
        made = np.repeat(np.insert(others, [i, j - 1], REST)[None, :], len(one), axis=0)
        made[:, i], made[:, j] = one, other
        return made

    def _inserted(self, sequence: Sequences, i: int, entries: Sequences) -> Sequences:
        """Entry i taken out, and each of some entries put in at every place."""
        others = np.delete(sequence, i)
        places = np.arange(self.task.terms)
        source = places[None, :] - (places[None, :] > places[:, None])
        made = np.concatenate([others, [REST]])[source]
        made = np.repeat(made[None], len(entries), axis=0)
        made[:, places, places] = entries[:, None]
        return made.reshape(-1, self.task.terms)

    def perturb(self, sequence: Sequences, random: np.random.Generator, *, anew: bool) -> Sequences:
        """Some entries shuffled and some changed, or a new walk altogether; it still may end as it must."""
        terms = self.task.terms
        if anew:
            spare = random.integers(0, self.task.walks.size, terms - len(self.changed))
            return random.permutation(np.concatenate([self.changed, spare]))
        made = sequence.copy()
        chosen = random.permutation(terms)[: max(2, terms // 4)]
        made[chosen] = made[random.permutation(chosen)]
        for i in chosen:
            before = int(made[i])
            made[i] = random.integers(0, self.task.walks.size)
            if not len(self.allowed(made[None, :])):
                made[i] = before
        return made
