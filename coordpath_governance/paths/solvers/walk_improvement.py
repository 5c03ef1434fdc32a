"""Good walks of any length: from a known walk by changes, moves, swaps, exchanges and pairs, with seeded perturbations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.sequence_values import SequenceValues
from coordpath_governance.paths.walks import REST

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask

    Sequences = NDArray[np.int64]

__all__ = ["WalkSearch", "improve_walk", "tidy"]

_ROUNDS = 6
"""Perturbations, each followed by small and larger steps; pairs are tried once, in the end."""

_WORK = 150_000_000
"""Operations of the evaluator in all (see `SequenceValues.work`): about half a second, on every machine alike."""

_PAIRS = 20_000
"""Pairs of entries are tried where there are no more of them than this."""

_TOGETHER = 1000
"""Sequences ranked before the best of them is taken: enough to keep the arithmetic in large blocks."""

_GAIN = 1e-9
"""A step to a better walk must gain this part of its value; less may be the evaluator's ridge."""


def improve_walk(task: WalkTask, rounds: int = _ROUNDS) -> tuple[tuple[int, ...], float]:
    """A walk no worse than ``task.first`` and its value; the same for the same task unless the deadline cuts it short."""
    search = WalkSearch(task)
    best = np.array(task.first, dtype=np.int64)
    value = task.evaluate(task.first)
    random = np.random.default_rng(task.seed)
    for at in range(rounds + 2):
        start = search.perturb(best, random, anew=at % 3 == 0) if 0 < at <= rounds else best
        candidate = search.descend(start, pairs=at > rounds)
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
        self.evaluator = SequenceValues(task.walks, task.alphas)
        self.left = max(work // self.evaluator.work, 1)
        self.entries = np.arange(REST, task.walks.size)
        self.changed = np.array(task.walks.changed, dtype=np.int64)

    def spent(self) -> bool:
        """Whether the budget or the time is used up."""
        return self.left <= 0 or self.task.expired()

    def descend(self, sequence: Sequences, *, pairs: bool) -> Sequences:
        """Small steps until none helps, then larger ones; back to the small ones whenever one helped."""
        current, value = sequence, float(self.evaluator.values(sequence[None, :])[0])
        kinds: list[Callable[[Sequences, int], Sequences]] = [self.near, self.exchanged]
        if pairs and (self.task.terms * len(self.entries)) ** 2 <= 2 * _PAIRS:
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
            found, reached = self.best(np.concatenate([current[None, :], *waiting]))
            waiting = []
            if reached < value - _GAIN * abs(value):
                current, value = found, reached
            if self.spent():
                break
        return current, value

    def best(self, candidates: Sequences) -> tuple[Sequences, float]:
        """The best of some sequences that may end as they must; the first among equals."""
        allowed = self.allowed(candidates)
        best, value = candidates[0], np.inf
        for begin in range(0, len(allowed), self.evaluator.rows):
            some = allowed[begin : begin + self.evaluator.rows]
            values = self.evaluator.values(some)
            self.left -= len(some)
            at = int(np.argmin(values))
            if values[at] < value:
                best, value = some[at], float(values[at])
            if self.spent():
                break
        return best, value

    def allowed(self, candidates: Sequences) -> Sequences:
        """Those that visit every unit that the end changes."""
        kept = np.ones(len(candidates), dtype=bool)
        for u in self.changed:
            kept &= (candidates == u).any(axis=1)
        return candidates[kept]

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
        one, other = (grid.ravel() for grid in np.meshgrid(self.entries, self.entries, indexing="ij"))
        pairs = np.repeat(sequence[None, :], len(one) * len(later), axis=0).reshape(len(later), len(one), self.task.terms)
        for at, j in enumerate(later):
            pairs[at, :, i], pairs[at, :, j] = one, other
        return pairs.reshape(-1, self.task.terms)

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
