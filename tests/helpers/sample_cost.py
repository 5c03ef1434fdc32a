"""The cost behind the sample documents, by plain arithmetic: every figure fits every other, on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["NOISE", "RENT", "ROWS", "Coefficient", "Evidence", "correlation", "long_correlation", "many"]

ROWS = 12_480
NOISE = 9.1


@dataclass(frozen=True)
class Coefficient:
    label: str
    unit: str
    sd: float
    old: float  # standardised
    new: float  # standardised
    kind: str = "numeric"
    exercised: bool = True


RENT = (
    Coefficient("baseline", "baseline", 1.0, 14.2, 14.62, "baseline"),
    Coefficient("floor_area_m2", "floor_area_m2", 28.4, 0.74, 0.38),
    Coefficient("rooms", "rooms", 1.13, -0.17, 0.29),
    Coefficient("year_built", "year_built", 24.0, 0.48, 0.83),
    Coefficient("distance_to_centre_km", "distance_to_centre_km", 3.42, -1.31, -1.05),
    Coefficient("energy_use_kwh_per_m2", "energy_use_kwh_per_m2", 61.0, 0.0, -0.38),
    Coefficient("floor", "floor", 2.1, 0.14, 0.20),
    Coefficient("balcony", "balcony", 0.48, 0.21, 0.21),
    Coefficient("district=Centre", "district", 0.43, 0.52, 0.66, "level"),
    Coefficient("district=North", "district", 0.47, -0.22, -0.30, "level"),
    Coefficient("district=Harbour", "district", 0.31, 0.0, 0.24, "level"),
    Coefficient("district=South", "district", 0.49, -0.18, -0.22, "level"),
    Coefficient("heated_pool", "heated_pool", 0.0, 0.0, 0.0, exercised=False),
)
CORRELATIONS = {(1, 2): 0.93, (3, 5): -0.62, (1, 4): 0.2, (8, 9): -0.35, (8, 11): -0.3, (9, 11): -0.4, (4, 8): -0.33}


def correlation(i: int, j: int) -> float:
    return 1.0 if i == j else CORRELATIONS.get((i, j), CORRELATIONS.get((j, i), 0.0))


def long_correlation(i: int, j: int) -> float:
    return 0.5 ** min(abs(i - j), 40)


def many(size: int) -> tuple[Coefficient, ...]:
    """Coefficients whose changes fall off quickly, by a little generator of our own."""
    state = 12345
    made = [Coefficient("baseline", "baseline", 1.0, 2.0, 2.1, "baseline")]
    for index in range(1, size):
        state = (1103515245 * state + 12345) % 2**31
        draw = state / 2**31 - 0.5
        made.append(
            Coefficient(f"feature_{index:03d}", f"feature_{index:03d}", 1 + index % 7, draw, draw + 1.5 * draw / index)
        )
    return tuple(made)


class Evidence:
    """The quadratic cost over units: c(S) = noise + squared distance of the mixed model from the best one."""

    def __init__(self, coefficients: tuple[Coefficient, ...], correlate: Callable[[int, int], float]) -> None:
        self.coefficients = coefficients
        self.units = tuple(dict.fromkeys(c.unit for c in coefficients if c.old != c.new))
        size = range(len(coefficients))
        self.best = [c.new + 0.04 * ((i * 7) % 5 - 2) * (c.sd > 0) for i, c in enumerate(coefficients)]
        self.gram = [[correlate(i, j) for j in size] for i in size]
        start = [c.old - b for c, b in zip(coefficients, self.best, strict=True)]
        places = [[i for i in size if coefficients[i].unit == unit] for unit in self.units]
        move = [c.new - c.old for c in coefficients]
        images = [[sum(row[i] * move[i] for i in place) for row in self.gram] for place in places]
        pull = [sum(g * s for g, s in zip(row, start, strict=True)) for row in self.gram]
        self.start = NOISE + sum(s * p for s, p in zip(start, pull, strict=True))
        self.linear = [2 * sum(move[i] * pull[i] for i in place) for place in places]
        self.quadratic = [[sum(move[i] * image[i] for i in place) for image in images] for place in places]
        self.shapley = [a + sum(row) for a, row in zip(self.linear, self.quadratic, strict=True)]

    def delta(self, moved: frozenset[int], unit: int) -> float:
        return self.linear[unit] + self.quadratic[unit][unit] + 2 * sum(self.quadratic[unit][j] for j in moved)

    def best_order(self) -> list[int]:
        """The dynamic programme over subsets."""
        everything = range(len(self.units))
        table: dict[frozenset[int], tuple[float, float, list[int]]] = {frozenset(): (0.0, self.start, [])}
        for _ in everything:
            following: dict[frozenset[int], tuple[float, float, list[int]]] = {}
            for moved, (total, cost, order) in table.items():
                for unit in set(everything) - moved:
                    after = cost + self.delta(moved, unit)
                    found = (total + after, after, [*order, unit])
                    key = moved | {unit}
                    following[key] = min(following.get(key, found), found)
            table = following
        return table[frozenset(everything)][2]

    def greedy_order(self, most: int) -> list[int]:
        order: list[int] = []
        while len(order) < min(most, len(self.units)):
            left = [unit for unit in range(len(self.units)) if unit not in order]
            order.append(min(left, key=lambda unit: self.delta(frozenset(order), unit)))
        return order

    def costs(self, order: list[int]) -> list[float]:
        costs = [self.start]
        for k, unit in enumerate(order):
            costs.append(costs[-1] + self.delta(frozenset(order[:k]), unit))
        return costs[1:]

    def error(self, units: list[int]) -> float:
        return math.sqrt(4 * NOISE * sum(self.quadratic[i][j] for i in units for j in units) / ROWS)
