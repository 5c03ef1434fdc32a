"""The loss of every tree between two trees, from sums over the reference rows.

A row that lies between the old and the new threshold of a split goes one way or the other, depending on whether that
threshold has moved; apart from such conditions every unit adds its gain. So with S the units that are done

    F(S) = Σ_t [the condition of t holds for S]·(base_t − Σ_{u ∈ S} gain_tu).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.splits.split_units import MOVE, SplitUnits

__all__ = ["Additive", "SplitLoss", "Term", "additive_part"]

Condition = tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Term:
    """Rows that go the same way: where each unit of ``condition`` is done (True) or not, outermost first."""

    condition: Condition
    base: float
    gains: tuple[tuple[int, float], ...] = ()

    def holds(self, done: Collection[int]) -> bool:
        """Whether the rows go this way when these units are done."""
        return all((unit in done) is wanted for unit, wanted in self.condition)


@dataclass(frozen=True)
class Additive:
    """start − Σ gains of the units that are done."""

    start: float
    gains: NDArray[np.float64]

    def after(self, order: Sequence[int]) -> NDArray[np.float64]:
        """The loss after each step of an order."""
        along: NDArray[np.float64] = self.start - np.cumsum(self.gains[list(order)])
        return along


@dataclass(frozen=True)
class SplitLoss:
    """The units and the terms of their loss. Raises `ProblemError` for terms that are none of two trees."""

    units: SplitUnits
    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        count = len(self.units)
        for term in self.terms:
            inside = [unit for unit, _ in (*term.condition, *term.gains)]
            if any(not 0 <= unit < count for unit in inside) or len(set(inside)) != len(inside):
                raise ProblemError("splits: a term of the loss names a unit twice, or one that there is not")
            if any(self.units.kinds[unit] != MOVE for unit, _ in term.condition):
                raise ProblemError("splits: a condition of the loss is about a unit that moves no threshold")
            if not all(math.isfinite(value) for value in (term.base, *(gain for _, gain in term.gains))):
                raise ProblemError("splits: a term of the loss is not finite")

    def value(self, done: Collection[int]) -> float:
        """F(S) of one set of units."""
        return math.fsum(
            part
            for term in self.terms
            if term.holds(done)
            for part in (term.base, *(-gain for unit, gain in term.gains if unit in done))
        )

    def along(self, order: Sequence[int]) -> list[float]:
        """F before the first step of an order, and after each."""
        if self.additive is not None:
            return [self.additive.start, *self.additive.after(order).tolist()]
        return [self.value(frozenset(order[:count])) for count in range(len(order) + 1)]

    @cached_property
    def size(self) -> int:
        """How many numbers the terms hold."""
        return sum(1 + len(term.condition) + len(term.gains) for term in self.terms)

    @cached_property
    def additive(self) -> Additive | None:
        """The gains if none depends on another unit: where a condition decides over one base or another, and no more."""
        if any(len(term.condition) > 1 or (term.condition and term.gains) for term in self.terms):
            return None
        return additive_part(self, (), (), from_start=True)

    @cached_property
    def minorants(self) -> tuple[Additive, Additive]:
        """Two additive functions that are at most F everywhere: one equal to it where nothing is done, one at the end."""
        return additive_part(self, (), (), from_start=True), additive_part(self, (), (), from_start=False)

    def order_free(self) -> list[float]:
        """The change of F that each unit makes on average over all orders of the units, whatever has to come first.

        Its Shapley value, in closed form: a product over p units that must be done and q that must not, of n = p + q, gives
        (p − 1)!·q!/n! to each of the former and −p!·(q − 1)!/n! to each of the latter.
        """
        values = [0.0] * len(self.units)
        for term in self.terms:
            done = [unit for unit, wanted in term.condition if wanted]
            undone = [unit for unit, wanted in term.condition if not wanted]
            for amount, more in ((term.base, ()), *((-gain, (unit,)) for unit, gain in term.gains)):
                both = [*done, *more]
                p, q = len(both), len(undone)
                if both:
                    share = amount * math.factorial(p - 1) * math.factorial(q) / math.factorial(p + q)
                    for unit in both:
                        values[unit] += share
                if undone:
                    share = amount * math.factorial(p) * math.factorial(q - 1) / math.factorial(p + q)
                    for unit in undone:
                        values[unit] -= share
        return values

    def table(self) -> NDArray[np.float64]:
        """F of all sets of units, by the number whose bits are the units that are done."""
        count = len(self.units)
        everything = np.zeros(1 << count)
        for condition, terms in self._by_condition().items():
            part = np.full(1, math.fsum(term.base for term in terms))
            gains = np.zeros(count)
            for term in terms:
                for unit, gain in term.gains:
                    gains[unit] += gain
            for gain in gains.tolist():
                part = np.concatenate([part, part - gain])
            if not condition:
                everything += part
                continue
            numbers = np.arange(1 << count)
            care = sum(1 << unit for unit, _ in condition)
            wanted = sum(1 << unit for unit, done in condition if done)
            active = (numbers & care) == wanted
            everything[active] += part[active]
        return everything

    def _by_condition(self) -> Mapping[Condition, list[Term]]:
        found: dict[Condition, list[Term]] = {}
        for term in self.terms:
            found.setdefault(term.condition, []).append(term)
        return found


def additive_part(loss: SplitLoss, asked: Collection[int], done: Collection[int], *, from_start: bool) -> Additive:
    """A function that is at most F wherever of the units ``asked`` those in ``done`` are done and the others are not.

    Of two such functions ``from_start`` chooses, as in `SplitLoss.minorants`; without conditions on other units it is F.
    """
    left = [
        (tuple(entry for entry in term.condition if entry[0] not in asked), term)
        for term in loss.terms
        if all((unit in done) is wanted for unit, wanted in term.condition if unit in asked)
    ]
    start, gains = _minorant(left, from_start=from_start)
    dense = np.zeros(len(loss.units))
    for unit, gain in gains.items():
        if unit in asked:
            start -= gain * (unit in done)
        else:
            dense[unit] = gain
    return Additive(start, dense)


def _minorant(terms: Sequence[tuple[Condition, Term]], *, from_start: bool) -> tuple[float, dict[int, float]]:
    """An additive function that is at most the sum of the terms; each comes with what is left of its condition.

    Rows that the outermost unit r sends to A(S) = a₀ − Σ aᵤ before it is done and to B(S) = b₀ − Σ bᵤ afterwards lose at
    least a₀ − (a₀ − b₀)[r] − Σ max(aᵤ, 0)[u] − Σ max(bᵤ, 0)[u], which is A(∅) where nothing is done, and at least
    c₀ − (c₀ − b₀)[r] − Σ bᵤ[u] with c₀ = a₀ − Σ max(aᵤ, 0) − Σ max(−bᵤ, 0), which is B(S) where r is done.
    """
    start, gains = 0.0, dict[int, float]()
    sides: dict[int, tuple[list[tuple[Condition, Term]], list[tuple[Condition, Term]]]] = {}

    def add(unit: int, gain: float) -> None:
        gains[unit] = gains.get(unit, 0.0) + gain

    for condition, term in terms:
        if condition:
            (unit, done), *inner = condition
            sides.setdefault(unit, ([], []))[done].append((tuple(inner), term))
            continue
        start += term.base
        for unit, gain in term.gains:
            add(unit, gain)
    for unit, (before, afterwards) in sides.items():
        first, first_gains = _minorant(before, from_start=from_start)
        second, second_gains = _minorant(afterwards, from_start=from_start)
        if not from_start:
            first -= math.fsum(max(gain, 0.0) for gain in first_gains.values())
            first -= math.fsum(max(-gain, 0.0) for gain in second_gains.values())
        start += first
        add(unit, first - second)
        for inner_unit, gain in second_gains.items():
            add(inner_unit, max(gain, 0.0) if from_start else gain)
        for inner_unit, gain in first_gains.items() if from_start else ():
            add(inner_unit, max(gain, 0.0))
    return start, gains
