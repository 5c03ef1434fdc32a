"""More than twenty steps whose gains depend on each other: a good order, and how much better one could be at most.

No order is better than the best one under an additive function that is never above the loss (`SplitLoss.minorants`), nor
than `pattern_bounds` allow. The order itself is improved by moving single units to other places, until none helps or the
work is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.paths.splits.beginnings import best_beginning
from coordpath_governance.paths.splits.pattern_bounds import pattern_bound
from coordpath_governance.paths.splits.split_loss import SplitLoss
from coordpath_governance.paths.splits.strings import best_order

__all__ = ["RoughOrder", "rough_order"]

MOST_WORK = 3_000_000
"""So many gains are added up in trying orders."""


@dataclass(frozen=True)
class RoughOrder:
    """The order of the first steps, the sum Σ α_k·F(S_k) over them, and a number that no other order's sum is below."""

    order: tuple[int, ...]
    value: float
    bound: float


def rough_order(loss: SplitLoss, alphas: NDArray[np.float64], gamma: float, steps: int) -> RoughOrder:
    """The best order found of ``steps`` units, for α_k = γᵏ; ``alphas`` has one for each step."""
    count, bound = len(loss.units), pattern_bound(loss, alphas)
    value = _Value(loss, alphas)
    begun: list[list[int]] = []
    for additive in loss.minorants:
        order = best_order(loss.units.modules, additive.gains.tolist(), gamma)
        if steps == count:
            least = float(np.dot(alphas, additive.after(order)))
        else:
            beginning = best_beginning(loss.units, additive, alphas, steps)
            least = beginning.bound
            begun.append(_completed(loss, beginning.order))
        bound = max(bound, least)
        begun.append(order)
    start, end = loss.minorants
    begun.append(best_order(loss.units.modules, ((start.gains + end.gains) / 2).tolist(), gamma))
    best = min(begun, key=value.of)
    best = _improved(loss, value, best)
    return RoughOrder(tuple(best[:steps]), value.of(best), min(float(bound), value.of(best)))


def _completed(loss: SplitLoss, order: Sequence[int]) -> list[int]:
    """The order with all other units behind it, those first that may come first."""
    done = set(order)
    return [*order, *(unit for unit in range(len(loss.units)) if unit not in done)]


class _Value:
    """Σ α_k·F(S_k) of an order's first steps, from the places of its units: each term counts while its condition holds."""

    def __init__(self, loss: SplitLoss, alphas: NDArray[np.float64]) -> None:
        self._terms = loss.terms
        self._steps = len(alphas)
        self._until = np.concatenate([[0.0], np.cumsum(alphas)])

    def of(self, order: Sequence[int]) -> float:
        """The sum for one order of all units."""
        place = {unit: position + 1 for position, unit in enumerate(order)}
        until, last, total = self._until, self._steps, 0.0
        for term in self._terms:
            begin, end = 1, last
            for unit, wanted in term.condition:
                if wanted:
                    begin = max(begin, place[unit])
                else:
                    end = min(end, place[unit] - 1)
            if begin > end:
                continue
            total += term.base * (until[end] - until[begin - 1])
            for unit, gain in term.gains:
                first = max(begin, place[unit])
                if first <= end:
                    total -= gain * (until[end] - until[first - 1])
        return float(total)


def _improved(loss: SplitLoss, value: _Value, order: list[int]) -> list[int]:
    """The order after moving one unit at a time for as long as it helps."""
    best, left, helps = value.of(order), MOST_WORK // (1 + loss.size), True
    while helps and left > 0:
        helps = False
        for unit in range(len(order)):
            without = [other for other in order if other != unit]
            lowest, highest = _room(loss, without, unit)
            for position in range(lowest, min(highest, lowest + left) + 1):
                moved = [*without[:position], unit, *without[position:]]
                left -= 1
                reached = value.of(moved)
                if reached < best - abs(best) * 1e-15:
                    order, best, helps = moved, reached, True
            if left <= 0:
                break
    return order


def _room(loss: SplitLoss, without: Sequence[int], unit: int) -> tuple[int, int]:
    """The first and the last position at which the unit may be put back."""
    before = set(loss.units.after[unit])
    lowest = max((position + 1 for position, other in enumerate(without) if other in before), default=0)
    behind = (position for position, other in enumerate(without) if unit in loss.units.after[other])
    return lowest, min(behind, default=len(without))
