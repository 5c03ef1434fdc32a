"""The costs behind the samples of generalised linear models, by plain arithmetic over rows of our own making."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from helpers.sample_cost import Coefficient

__all__ = ["CREDIT", "FREQUENCY", "ROUTING", "GlmEvidence", "Story"]

ROWS = 400
SLOPE = 1e-5


@dataclass(frozen=True)
class Story:
    """A family with its coefficients, standardised, as (name, sd, old by class, new by class); levels share a unit."""

    family: str
    columns: tuple[tuple[str, float, tuple[float, ...], tuple[float, ...]], ...]
    classes: tuple[str, ...] = ()
    exposed: bool = False


CREDIT = Story(
    "binomial",
    (
        ("(baseline)", 1.0, (-1.62,), (-1.38,)),
        ("utilisation", 0.27, (0.71,), (0.94,)),
        ("months_on_book", 31.0, (-0.22,), (-0.41,)),
        ("enquiries", 1.9, (0.18,), (0.52,)),
        ("income_log", 0.6, (0.12,), (-0.26,)),
        ("region = north", 0.46, (0.1,), (0.16,)),
        ("region = south", 0.49, (-0.06,), (-0.21,)),
    ),
    ("good", "bad"),
)
FREQUENCY = Story(
    "poisson",
    (
        ("(baseline)", 1.0, (-1.1,), (-0.92,)),
        ("driver_age", 14.2, (-0.31,), (-0.19,)),
        ("vehicle_power", 2.1, (0.0,), (0.12,)),
        ("bonus_malus", 15.6, (0.22,), (0.47,)),
        ("area = city", 0.48, (0.14,), (0.2,)),
        ("area = country", 0.43, (-0.08,), (-0.17,)),
    ),
    exposed=True,
)
ROUTING = Story(
    "multinomial",
    (
        ("(baseline)", 1.0, (0.3, 0.1, -0.4), (0.5, 0.0, -0.5)),
        ("words", 61.0, (0.2, -0.3, 0.1), (0.1, -0.6, 0.5)),
        ("prior_contacts", 1.4, (0.4, -0.2, -0.2), (0.7, -0.1, -0.6)),
        ("by_phone", 0.5, (0.0, 0.2, -0.2), (0.1, 0.4, -0.5)),
    ),
    ("billing", "delivery", "other | rest"),
)


def draws() -> Iterator[float]:
    """Numbers between 0 and 1 by a little generator of our own, the same on every machine."""
    state = 2024
    while True:
        state = (1103515245 * state + 12345) % 2**31
        yield state / 2**31


class GlmEvidence:
    """Rows of a story, and everything that a document says of the models in between; units are numbered as they come."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.scores = max(len(story.columns[0][2]), 1)
        self.coefficients = tuple(self._coefficients())
        self.units = tuple(dict.fromkeys(c.unit for c in self.coefficients if c.old != c.new))
        self._unit = [c.unit for c in self.coefficients[:: self.scores]]
        random = draws()
        width = len(story.columns) - 1
        self.rows = [
            [1.0, *(sum(next(random) for _ in range(6)) * math.sqrt(2) - 3 * math.sqrt(2) for _ in range(width))]
            for _ in range(ROWS)
        ]
        self.exposure = [0.2 + 0.8 * next(random) if story.exposed else 1.0 for _ in range(ROWS)]
        truth = [[0.9 * new + 0.05 for new in column[3]] for column in story.columns]
        self.target = [self._draw(self._predict(row, truth, i), next(random)) for i, row in enumerate(self.rows)]
        self._known: dict[frozenset[int], list[float]] = {}
        self.start = self.cost(frozenset())
        self.shapley = self._together()

    def _coefficients(self) -> Iterator[Coefficient]:
        for name, sd, old, new in self.story.columns:
            unit, _, level = name.partition(" = ")
            kind = "baseline" if name == "(baseline)" else "level" if level else "numeric"
            for c, (before, after) in enumerate(zip(old, new, strict=True)):
                label = f"{name} [{self.story.classes[c]}]" if self.scores > 1 else name
                yield Coefficient(label, unit, sd, before, after, kind)

    def model(self, moved: frozenset[int] | None) -> list[list[float]]:
        """Coefficients by column and class with these units moved; None: all of them."""
        done = set(self.units) if moved is None else {self.units[u] for u in moved}
        return [
            list(column[3] if unit in done else column[2])
            for column, unit in zip(self.story.columns, self._unit, strict=True)
        ]

    def score(self, row: list[float], model: list[list[float]]) -> list[float]:
        return [sum(x * b[c] for x, b in zip(row, model, strict=True)) for c in range(self.scores)]

    def _predict(self, row: list[float], model: list[list[float]], i: int) -> list[float]:
        scores = self.score(row, model)
        if self.story.family == "poisson":
            return [self.exposure[i] * math.exp(scores[0])]
        if self.story.family == "binomial":
            return [1.0 / (1.0 + math.exp(-scores[0]))]
        shares = [math.exp(score) for score in scores]
        return [share / sum(shares) for share in shares]

    def _draw(self, prediction: list[float], draw: float) -> int:
        if self.story.family == "binomial":
            return int(draw < prediction[0])
        if self.story.family == "multinomial":
            return sum(draw > part for part in itertools.accumulate(prediction[:-1]))
        k, chance = 0, math.exp(-prediction[0])
        while draw > chance:
            draw, k = draw - chance, k + 1
            chance *= prediction[0] / k
        return k

    def loss(self, prediction: list[float], target: int) -> float:
        if self.story.family == "multinomial":
            return -math.log(prediction[target])
        mean = prediction[0]
        if self.story.family == "binomial":
            return -math.log(mean if target else 1.0 - mean)
        return 2.0 * ((target * math.log(target / mean) if target else 0.0) - target + mean)

    def losses(self, moved: frozenset[int]) -> list[float]:
        """The loss of every row with these units moved."""
        if moved not in self._known:
            predictions = self.predictions(self.model(moved))
            self._known[moved] = [self.loss(p, y) for p, y in zip(predictions, self.target, strict=True)]
        return self._known[moved]

    def predictions(self, model: list[list[float]]) -> list[list[float]]:
        return [self._predict(row, model, i) for i, row in enumerate(self.rows)]

    def cost(self, moved: frozenset[int]) -> float:
        return sum(self.losses(moved)) / ROWS

    def constant_cost(self) -> float:
        """The cost of the best constant."""
        counts = [self.target.count(c) for c in range(max(len(self.story.classes), 1))]
        if self.story.family == "poisson":
            rate = sum(self.target) / sum(self.exposure)
            return sum(self.loss([rate * e], y) for e, y in zip(self.exposure, self.target, strict=True)) / ROWS
        return -sum(n * math.log(n / ROWS) for n in counts) / ROWS

    def delta(self, moved: frozenset[int], unit: int) -> float:
        return self.cost(moved | {unit}) - self.cost(moved)

    def costs(self, order: list[int]) -> list[float]:
        return [self.cost(frozenset(order[: k + 1])) for k in range(len(order))]

    def best_order(self) -> list[int]:
        every = range(len(self.units))
        return list(min(itertools.permutations(every), key=lambda order: (sum(self.costs(list(order))), order)))

    def greedy_order(self, _most: int) -> list[int]:
        order: list[int] = []
        while len(order) < len(self.units):
            left = [unit for unit in range(len(self.units)) if unit not in order]
            order.append(min(left, key=lambda unit: self.delta(frozenset(order), unit)))
        return order

    def error(self, units: list[int], before: frozenset[int] = frozenset()) -> float:
        """Standard error of what moving these units changes."""
        pairs = zip(self.losses(before), self.losses(before | set(units)), strict=True)
        differences = [after - before for before, after in pairs]
        mean = sum(differences) / ROWS
        return math.sqrt(sum((d - mean) ** 2 for d in differences) / (ROWS - 1) / ROWS)

    def _together(self) -> list[float]:
        """Aumann–Shapley values: the slope in each unit's direction, averaged along the straight line (midpoints)."""
        parts = 8
        return [sum(self._slope(unit, (k + 0.5) / parts) for k in range(parts)) / parts for unit in range(len(self.units))]

    def _slope(self, unit: int, along: float) -> float:
        ends = []
        for side in (-SLOPE, SLOPE):
            share = [along + (side if u == self.units[unit] else 0.0) for u in self._unit]
            model = [
                [(1 - s) * a + s * b for a, b in zip(column[2], column[3], strict=True)]
                for s, column in zip(share, self.story.columns, strict=True)
            ]
            both = zip(self.predictions(model), self.target, strict=True)
            ends.append(sum(self.loss(p, y) for p, y in both) / ROWS)
        return (ends[1] - ends[0]) / (2 * SLOPE)
