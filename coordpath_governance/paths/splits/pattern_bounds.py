"""A bound for steps whose gains depend on which thresholds have moved: by all patterns of moved thresholds.

Once it is said which thresholds have moved, the gains of all other steps are fixed (or, where there are more thresholds
than patterns are listed for, at most those of `SplitLoss.minorants`). Then the loss after k steps, p of them moves, is at
least F₀ of that pattern less the envelope of its strings at k − p. On the way every threshold moves once, one at a step: the
least sum over all such sequences of patterns bounds every order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.paths.splits.split_loss import Additive, SplitLoss, additive_part
from coordpath_governance.paths.splits.split_units import Module
from coordpath_governance.paths.splits.strings import module_strings

__all__ = ["MOST_MOVES", "pattern_bound"]

MOST_MOVES = 8
MOST_WORK = 200_000
"""Patterns of so many thresholds are listed, those whose rows matter most; fewer where there are many steps."""


def pattern_bound(loss: SplitLoss, alphas: NDArray[np.float64]) -> float:
    """At most Σ α_k·F(S_k) of every order, over as many steps as there are ``alphas``."""
    moves = _weightiest(loss)
    modules = [module for module in loss.units.modules if not set(module.units) <= set(moves)]
    least: dict[frozenset[int], float] = {frozenset(): 0.0}
    floors = {
        frozenset(pattern): _floor(loss, modules, moves, frozenset(pattern), len(alphas))
        for size in range(len(moves) + 1)
        for pattern in combinations(moves, size)
    }
    for k, alpha in enumerate(alphas.tolist(), start=1):
        reached: dict[frozenset[int], float] = {}
        for pattern, floor in floors.items():
            others = k - len(pattern)
            before = [least.get(pattern, math.inf), *(least.get(pattern - {unit}, math.inf) for unit in pattern)]
            if 0 <= others < len(floor) and min(before) < math.inf:
                reached[pattern] = min(before) + alpha * floor[others]
        least = reached
    return min(least.values())


def _weightiest(loss: SplitLoss) -> tuple[int, ...]:
    """The moves on which most of the loss and its gains depend."""
    weights: dict[int, float] = {}
    for term in loss.terms:
        for unit, _ in term.condition:
            weights[unit] = weights.get(unit, 0.0) + abs(term.base) + math.fsum(abs(gain) for _, gain in term.gains)
    affordable = max(0, int(math.log2(MOST_WORK / (1 + loss.size))))
    heaviest = sorted(weights, key=lambda unit: (-weights[unit], unit))[: min(MOST_MOVES, affordable)]
    return tuple(sorted(heaviest))


def _floor(
    loss: SplitLoss, modules: Sequence[Module], moves: Sequence[int], pattern: frozenset[int], steps: int
) -> NDArray[np.float64]:
    """For j = 0, 1, … other steps at most the loss after them and the moves of the pattern."""
    floors = [
        _envelope(additive, modules, steps)
        for additive in (additive_part(loss, moves, pattern, from_start=side) for side in (True, False))
    ]
    tightest: NDArray[np.float64] = np.maximum(*floors)
    return tightest


def _envelope(additive: Additive, modules: Sequence[Module], steps: int) -> NDArray[np.float64]:
    gains = additive.gains.tolist()
    strings = [string for module in modules for string in module_strings(module, gains)]
    strings.sort(key=lambda string: -string.density)
    along = np.array([string.density for string in strings for _ in string.units][:steps])
    floor: NDArray[np.float64] = additive.start - np.concatenate([[0.0], np.cumsum(along)])
    return floor
