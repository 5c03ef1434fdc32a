"""The best order where every step has a gain of its own: Lawler's strings, Horn's rule for single trees.

With F after k steps = F₀ − Σ gains, the best order for Σ γᵏ·F_k puts units into strings that stay together in it, and
strings by falling density ρ = (Σᵢ γⁱ⁻¹·gᵢ) / |1 − γ^length|, for γ = 1 the mean gain. Where one unit must come first, it
takes up the densest strings behind it for as long as they are denser than itself, and likewise from behind. That is exact
for series-parallel precedence (Lawler 1978; Horn 1972 for trees), with n log n comparisons.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from coordpath_governance.paths.splits.split_units import Module

__all__ = ["String", "StringMaker", "best_order", "in_series", "module_strings", "subtree_strings"]


@dataclass(frozen=True)
class String:
    """Units that stand together, in their order; ``weighted`` is Σᵢ γⁱ⁻¹·gᵢ over them."""

    density: float
    weighted: float
    units: tuple[int, ...]


class StringMaker:
    """Strings of one γ: made, joined and merged."""

    def __init__(self, gains: Sequence[float], gamma: float) -> None:
        self._gains, self._gamma = gains, gamma

    def single(self, unit: int) -> String:
        """One unit."""
        return self._made(self._gains[unit], (unit,))

    def join(self, first: String, second: String) -> String:
        """Both, one behind the other."""
        weighted = first.weighted + self._gamma ** len(first.units) * second.weighted
        return self._made(weighted, first.units + second.units)

    def _made(self, weighted: float, units: tuple[int, ...]) -> String:
        scale = len(units) if self._gamma == 1 else abs(1 - self._gamma ** len(units))
        return String(weighted / scale, weighted, units)


def best_order(modules: Sequence[Module], gains: Sequence[float], gamma: float = 1.0) -> list[int]:
    """All units in the order with the least Σ γᵏ·F_k; ``gains`` by unit, γ > 0. Of equal orders always the same one."""
    strings = [string for module in modules for string in module_strings(module, gains, gamma)]
    strings.sort(key=lambda string: -string.density)
    return [unit for string in strings for unit in string.units]


def module_strings(module: Module, gains: Sequence[float], gamma: float = 1.0) -> list[String]:
    """The strings of one module, densest first; any units that are left of a module after some were done are one, too."""
    made = StringMaker(gains, gamma)
    return in_series(_in_tree(module.collapse, made), _out_tree(module.grow, made)[None], made)


def in_series(before: Sequence[String], behind: Sequence[String], made: StringMaker) -> list[String]:
    """The strings of both, densest first, where all of the former come before all of the latter."""
    first, second = list(before), list(behind)
    if first and second and first[-1].density <= second[0].density:
        middle = made.join(first.pop(), second.pop(0))
        while True:
            if first and first[-1].density <= middle.density:
                middle = made.join(first.pop(), middle)
            elif second and second[0].density >= middle.density:
                middle = made.join(middle, second.pop(0))
            else:
                break
        first.append(middle)
    return first + second


def subtree_strings(module: Module, gains: Sequence[float]) -> dict[int | None, list[String]]:
    """For each unit that grows the strings of itself and of what grows from it, for γ = 1, densest first; None: of all."""
    return _out_tree(module.grow, StringMaker(gains, 1.0), each=True)


_Heap = list[tuple[float, int, String]]


def _in_tree(collapse: Sequence[tuple[int, int | None]], made: StringMaker) -> list[String]:
    """Each unit after those that it follows: it takes up the thinnest strings before it that are no denser than itself."""
    waiting: dict[int | None, _Heap] = {}
    for unit, follower in collapse:
        heap, string = waiting.pop(unit, []), made.single(unit)
        while heap and heap[0][0] <= string.density:
            string = made.join(heapq.heappop(heap)[2], string)
        heapq.heappush(heap, (string.density, unit, string))
        _merge(waiting, follower, heap)
    return [string for _, _, string in sorted(waiting.get(None, []), key=lambda entry: -entry[0])]


def _out_tree(
    grow: Sequence[tuple[int, int | None]], made: StringMaker, *, each: bool = False
) -> dict[int | None, list[String]]:
    """Each unit before those that it leads to: it takes up the densest strings behind it that are no thinner than itself."""
    waiting: dict[int | None, _Heap] = {}
    strings: dict[int | None, list[String]] = {}
    for unit, parent in reversed(grow):
        heap, string = waiting.pop(unit, []), made.single(unit)
        while heap and -heap[0][0] >= string.density:
            string = made.join(string, heapq.heappop(heap)[2])
        heapq.heappush(heap, (-string.density, unit, string))
        if each:
            strings[unit] = _falling(heap)
        _merge(waiting, parent, heap)
    strings[None] = _falling(waiting.get(None, []))
    return strings


def _falling(heap: _Heap) -> list[String]:
    return [string for _, _, string in sorted(heap, key=lambda entry: entry[0])]


def _merge(waiting: dict[int | None, _Heap], key: int | None, heap: _Heap) -> None:
    """The smaller of two heaps into the larger one."""
    small, large = sorted((heap, waiting.get(key, [])), key=len)
    if len(small) * max(1.0, math.log2(len(large) + 1)) < len(large):
        for entry in small:
            heapq.heappush(large, entry)
    else:
        large = [*large, *small]
        heapq.heapify(large)
    waiting[key] = large
