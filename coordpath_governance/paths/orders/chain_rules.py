"""What constraints forbid a chain: sets not closed under a required order, units out of place, sets dearer than the start.

A unit that another one with a place waits for has a *deadline*. A set may only go on to the next step if, for every step d,
the units with a deadline of at most d that it lacks are no more than the steps up to d: so a search by levels sees early
which sets lead nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.conflicts import unit_orders, unit_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["LATE", "NO_RULES", "ChainRules", "chain_rules"]

LATE = 1 << 30
"""The place of a unit that moves with the rest."""


@dataclass(frozen=True)
class ChainRules:
    """(a, b) in ``before``: no set holds unit b without unit a. No set may cost more than the ``ceiling``.

    (u, k) in ``places``: unit u is in the sets of k or more units, and in no smaller one; k is `LATE` if it moves with
    the rest.
    """

    before: tuple[tuple[int, int], ...] = ()
    ceiling: float = np.inf
    places: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.before) or bool(self.places) or self.ceiling < np.inf

    def among(self, units: Sequence[int]) -> ChainRules:
        """The same where all units are listed in another order, or those that are left out move with the rest."""
        place = {u: i for i, u in enumerate(units)}
        before = tuple((place[a], place[b]) for a, b in self.before if b in place)
        return ChainRules(before, self.ceiling, tuple((place[u], k) for u, k in self.places if u in place))

    def leading(self) -> tuple[int, ...]:
        """The units that have the first places, as far as these follow each other; none if a ceiling or order binds them."""
        unit_at = {k: u for u, k in self.places}
        first: list[int] = []
        while self.ceiling == np.inf and len(first) + 1 in unit_at:
            first.append(unit_at[len(first) + 1])
        return tuple(first) if all(a in first[: first.index(b)] for a, b in self.before if b in first) else ()

    def resting(self, depth: int) -> frozenset[int]:
        """Units that are not among the first ``depth``, if no other unit waits for one of them."""
        resting = frozenset(u for u, k in self.places if k > depth)
        return frozenset() if any(a in resting and b not in resting for a, b in self.before) else resting

    def closed(self, sets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which sets, Σ_{u∈S} 2^u each, hold no unit without those that it waits for, and every unit from its place on."""
        closed = np.ones(sets.shape, dtype=bool)
        for a, b in self.before:
            closed &= ((sets >> b) & ~(sets >> a) & 1) == 0
        if self.places:
            counts = np.bitwise_count(sets).astype(np.int64)
            for u, k in self.places:
                closed &= (sets >> u & 1) == (counts >= k)
        return closed

    def forbid(self, sets: NDArray[np.int64], costs: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which sets no chain may go through, if they cost so much or more."""
        forbidden: NDArray[np.bool_] = ~self.closed(sets) | (costs > self.ceiling)
        return forbidden

    def ready(self, inside: NDArray[np.float64], rows: NDArray[np.intp], units: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether each of some units may move after the set in its row of ``inside`` (1 for each of the set's units)."""
        ready = np.ones(len(units), dtype=bool)
        for a, b in self.before:
            ready &= (units != b) | (inside[rows, a] > 0)
        if self.places:
            steps = inside.sum(axis=1)[rows] + 1.0
            for u, k in self.places:
                ready &= (units == u) == (steps == k)
            for deadline, due in self._due(inside.shape[1]):
                ready &= due.sum() - (inside @ due)[rows] - due[units] <= np.maximum(deadline - steps, 0.0)
        return ready

    def allows(self, order: Sequence[int], costs: Sequence[float]) -> bool:
        """Whether a chain may begin with these units, if its sets cost so much."""
        place = {u: i for i, u in enumerate(order)}
        late = len(place)
        waits = all(place.get(a, late) <= place.get(b, late) for a, b in self.before)
        placed = all(order[k - 1] == u if k <= late else u not in place for u, k in self.places)
        return waits and placed and all(cost <= self.ceiling for cost in costs)

    def following(self, order: Sequence[int], size: int) -> list[int]:
        """Units that may move after those of ``order``, whatever that costs."""
        inside = np.zeros((1, size))
        inside[0, list(order)] = 1.0
        units = np.flatnonzero(inside[0] == 0)
        allowed: list[int] = units[self.ready(inside, np.zeros(len(units), dtype=np.intp), units)].tolist()
        return allowed

    def _due(self, size: int) -> list[tuple[int, NDArray[np.float64]]]:
        """(d, 1 for every unit that must have moved by step d), for every d that is the deadline of a unit."""
        deadlines = self._deadlines
        rows: list[tuple[int, NDArray[np.float64]]] = []
        for deadline in sorted(set(deadlines.values())):
            due = np.zeros(size)
            due[[u for u, d in deadlines.items() if d <= deadline]] = 1.0
            rows.append((deadline, due))
        return rows

    @cached_property
    def _deadlines(self) -> dict[int, int]:
        deadlines = {u: k for u, k in self.places if k < LATE}
        for _ in self.before:
            for a, b in self.before:
                if b in deadlines:
                    deadlines[a] = min(deadlines.get(a, deadlines[b]), deadlines[b] - 1)
        return deadlines


NO_RULES = ChainRules()


def chain_rules(problem: PathProblem, ceiling: float) -> ChainRules:
    """The rules of a problem in which every unit moves once, for indices into ``problem.changed``.

    ``ceiling`` is what the start costs, and a little for rounding: it counts only if the problem asks for it.
    """
    changed = {unit.label: u for u, unit in enumerate(problem.changed)}
    labels = [unit.label for unit in problem.units]
    pairs = ((labels[a], labels[b]) for a, b, _ in unit_orders(problem))
    before = sorted({(changed[a], changed[b]) for a, b in pairs if a in changed and b in changed})
    places = sorted({(u, place.step or LATE) for u, place in unit_places(problem)})
    return ChainRules(tuple(before), ceiling if problem.constraints.monotone else np.inf, tuple(places))
