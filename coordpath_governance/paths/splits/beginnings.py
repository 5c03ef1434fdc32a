"""The best m steps before all the rest, where every step has a gain of its own.

A beginning of the best full order need not be the best beginning, nor are the m steps of the largest gains: the search goes
through sets that may be done, one step longer at a time. The gain of any j further steps is at most the upper envelope of
the strings of what is left (`strings`, γ = 1): j steps of them, densest first, a part of a string at its mean.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.paths.splits.split_loss import Additive
from coordpath_governance.paths.splits.split_units import Module, SplitUnits
from coordpath_governance.paths.splits.strings import String, StringMaker, in_series, module_strings, subtree_strings

__all__ = ["Beginning", "best_beginning"]

MOST_SETS = 400
MOST_WAYS = 10_000
"""So many sets of one size are followed, and so many ways to make each of them longer; those with the best bounds."""


@dataclass(frozen=True)
class Beginning:
    """The order found, the sum Σ α_k·F_k over it, and a number that no other order's sum is below."""

    order: tuple[int, ...]
    value: float
    bound: float


class _Left:
    """What is left of each module after some of its units were done: its strings, computed once for each such set."""

    def __init__(self, units: SplitUnits, gains: Sequence[float]) -> None:
        self._modules = units.modules
        self._home = {unit: place for place, module in enumerate(self._modules) for unit in module.units}
        self._of_growth = [subtree_strings(module, gains) for module in self._modules]
        self._members = [sum(1 << unit for unit in module.units) for module in self._modules]
        whole = [(place, string) for place, module in enumerate(self._modules) for string in module_strings(module, gains)]
        self._whole = sorted(whole, key=lambda entry: -entry[1].density)
        self._known: dict[tuple[int, int], list[String]] = {}
        self._made = StringMaker(gains, 1.0)
        self._fallen: dict[tuple[int, int], list[String]] = {}
        self._below: dict[int, int] = {}
        self._children: dict[int, list[int]] = {}
        for module in self._modules:
            for unit, follower in module.collapse:
                self._below[unit] = self._below.get(unit, 0) | 1 << unit
                if follower is not None:
                    self._below[follower] = self._below.get(follower, 0) | self._below[unit]
                    self._children.setdefault(follower, []).append(unit)

    def strings(self, done: int, places: Sequence[int]) -> Iterator[String]:
        """The strings of everything not done, densest first; ``places`` are those of which something is done."""
        found: list[Iterable[String]] = [(string for place, string in self._whole if place not in places)]
        for place in places:
            key = (place, done & self._members[place])
            if key not in self._known:
                self._known[key] = self._within(self._modules[place], place, key[1])
            found.append(self._known[key])
        return heapq.merge(*found, key=_thinness)

    def place(self, unit: int) -> int:
        """The module of a unit."""
        return self._home[unit]

    def _standing(self, module: Module, done: int) -> list[String]:
        """The strings of what has not collapsed yet, densest first; each subtree once for what is done of it."""
        strings: list[String] = []
        for unit, _ in module.collapse:
            if done >> unit & 1:
                continue
            key = (unit, done & self._below[unit])
            if key not in self._fallen:
                self._fallen[key] = self._subtree(unit, done)
            strings = self._fallen[key]
        return strings[::-1]

    def _subtree(self, unit: int, done: int) -> list[String]:
        """The strings of a subtree that collapses, thinnest first: its root takes up those no denser than itself."""
        children = (child for child in self._children.get(unit, ()) if not done >> child & 1)
        waiting = [string for child in children for string in self._fallen[child, done & self._below[child]]]
        waiting.sort(key=_density)
        string, taken = self._made.single(unit), 0
        while taken < len(waiting) and waiting[taken].density <= string.density:
            string = self._made.join(waiting[taken], string)
            taken += 1
        return sorted([string, *waiting[taken:]], key=_density)

    def _within(self, module: Module, place: int, done: int) -> list[String]:
        if module.collapse and not done >> module.collapse[-1][0] & 1:
            return in_series(self._standing(module, done), self._of_growth[place][None], self._made)
        free = [unit for unit, before in module.grow if not done >> unit & 1 and (before is None or done >> before & 1)]
        return list(heapq.merge(*(self._of_growth[place][unit] for unit in free), key=_thinness))


def best_beginning(units: SplitUnits, loss: Additive, alphas: NDArray[np.float64], steps: int) -> Beginning:
    """The best order of ``steps`` units, counted by Σ α_k·F_k over these steps; 0 < steps < all units."""
    gains, left = loss.gains.tolist(), _Left(units, loss.gains.tolist())
    followers: list[list[int]] = [[] for _ in gains]
    for unit, before in enumerate(units.after):
        for other in before:
            followers[other].append(unit)
    weights = alphas.tolist()
    first = frozenset(unit for unit, before in enumerate(units.after) if not before)
    level: dict[int, _State] = {0: _State(0.0, 0.0, (), first, ())}
    incumbent = _followed(units, loss, weights, steps, left)
    dropped = np.inf
    for size in range(1, steps + 1):
        reached: dict[int, _State] = {}
        for done, state in level.items():
            for unit in state.free:
                longer = done | 1 << unit
                gained = state.gained + gains[unit]
                value = state.value + weights[size - 1] * (loss.start - gained)
                if longer in reached and reached[longer].value <= value:
                    continue
                free = state.free - {unit} | {
                    next_unit
                    for next_unit in followers[unit]
                    if all(longer >> other & 1 for other in units.after[next_unit])
                }
                places = tuple(sorted({*state.places, left.place(unit)}))
                reached[longer] = _State(value, gained, (*state.order, unit), free, places)
        bounded = sorted(
            (
                state.value + _least_later(left.strings(done, state.places), loss.start - state.gained, weights[size:steps]),
                done,
            )
            for done, state in reached.items()
        )
        kept = [(bound, done) for bound, done in bounded if bound < incumbent.value]
        followed = max(1, min(MOST_SETS, MOST_WAYS // max((len(state.free) for state in reached.values()), default=1)))
        if len(kept) > followed:
            dropped = min(dropped, kept[followed][0])
        level = {done: reached[done] for _, done in kept[:followed]}
    for state in level.values():
        if state.value < incumbent.value:
            incumbent = Beginning(state.order, state.value, state.value)
    return Beginning(incumbent.order, incumbent.value, min(incumbent.value, float(dropped)))


@dataclass(frozen=True)
class _State:
    """The best way to do one set of units: Σ α_k·F_k over it, the sum of its gains, and what may be done next."""

    value: float
    gained: float
    order: tuple[int, ...]
    free: frozenset[int]
    places: tuple[int, ...]


def _followed(units: SplitUnits, loss: Additive, weights: Sequence[float], steps: int, left: _Left) -> Beginning:
    """A first order: always a unit that leads to the densest string that still fits, or the densest of all."""
    done, order = 0, list[int]()
    while len(order) < steps:
        everything = left.strings(done, tuple(sorted({left.place(unit) for unit in order})))
        strings = [each for each in everything if all(done >> other & 1 for other in units.after[each.units[0]])]
        fitting = [string for string in strings if len(string.units) <= steps - len(order)] or strings
        order.append(fitting[0].units[0])
        done |= 1 << order[-1]
    value = float(np.dot(weights[:steps], loss.after(order)))
    return Beginning(tuple(order), value, value)


def _least_later(strings: Iterator[String], loss: float, weights: Sequence[float]) -> float:
    """At least Σ α·F over the steps to come, from this loss on: no j steps gain more than the envelope does."""
    total = 0.0
    steps = (string.density for string in strings for _ in string.units)
    for weight, gain in zip(weights, steps, strict=False):
        loss -= gain
        total += weight * loss
    return total


def _density(string: String) -> float:
    return string.density


def _thinness(string: String) -> float:
    return -string.density
