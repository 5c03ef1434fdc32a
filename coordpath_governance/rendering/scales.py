"""Axes: where a value falls on the paper, and round numbers to mark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Scale", "decimals_of", "padded_domain", "round_ticks"]


@dataclass(frozen=True)
class Scale:
    """A straight line from values ``low``…``high`` to places ``left``…``right``; beyond them it stops at the edge."""

    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        """The place of ``value``."""
        return self.left + (self.right - self.left) * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def holds(self, value: float) -> bool:
        """Whether ``value`` lies within the axis."""
        return self.low <= value <= self.high


def padded_domain(values: Sequence[float], padding: float = 0.06) -> tuple[float, float]:
    """The range of ``values`` and a little more; not below zero when no value is; never empty."""
    low, high = min(values), max(values)
    span = high - low
    if span <= 1e-12 * max(abs(low), abs(high)):
        span = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = low - span / 2, high + span / 2
    floor = 0.0 if min(values) >= 0 else -math.inf
    return max(low - padding * span, floor), high + padding * span


def round_ticks(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """At least two and about ``wanted`` round numbers (steps of 1, 2, 5 times a power of ten) from ``low`` to ``high``."""
    ticks: tuple[float, ...] = ()
    while len(ticks) < 2:
        ticks = _multiples(low, high, wanted)
        wanted += 1
    return ticks


def _multiples(low: float, high: float, wanted: int) -> tuple[float, ...]:
    raw = (high - low) / max(wanted, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(index * step for index in range(first, last + 1))


def decimals_of(ticks: Sequence[float]) -> int:
    """How many decimals tell neighbouring ticks apart."""
    if len(ticks) < 2:
        return 4
    return max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
