"""Many models in one pass over the rows: the cost of each, with slope and curvature in the coordinates that are open in it.

With zᵢ the columns of row i, the curvature in coordinates (j, c) and (l, e), column j in class c and l in e, is

    Σᵢ wᵢ ℓ''ᵢ[c, e] zᵢⱼ zᵢₗ / Σw,

so one product of the matrices (zᵢⱼzᵢₗ) and (wᵢℓ''ᵢ) serves all models, with a column for every pair that any of them needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.combinations import move_scores
from coordpath_governance.costs.mean_loss import MeanLoss
from coordpath_governance.costs.rows import by_column, weighty_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.costs import GlmCost

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

__all__ = ["Expansion", "ModelCosts"]

_TOGETHER = 512
"""Pairs of columns that are multiplied at once."""

_EACH = 4000
"""The time of a model in addition to that of its rows, in rows."""

_QUICK = 20
"""Models for which a pair of columns takes as long as one loss."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A model's cost, slope and curvature; where the cost overflows, none of them is a number to go by."""

    value: float
    slope: FloatArray
    curvature: FloatArray


class ModelCosts:
    """A cost on rows that counts what it is asked: ``spent`` is rows times models or so, about ten nanoseconds each."""

    def __init__(self, cost: GlmCost) -> None:
        self.cost = cost
        self.spent = 0.0
        self._loss = MeanLoss(cost.family, cost.rows, cost.weight)
        self._evaluated: dict[bytes, float] = {}

    def price(self, models: int, pairs: int = 0) -> float:
        """What a pass takes for so many models, and pairs of columns that are open together in one of them."""
        numbers = models * self.cost.family.scores**2
        return float(self.cost.rows_counted) * (numbers + pairs * (1.0 + numbers / _QUICK)) + _EACH * models

    def values(self, betas: FloatArray) -> FloatArray:
        """The cost of every model, infinite where it overflows; those not asked before in one pass."""
        keys = [beta.tobytes() for beta in betas]
        missing = {key: beta for key, beta in zip(keys, betas, strict=True) if key not in self._evaluated}
        if missing:
            self.spent += self.price(len(missing))
            values = self._loss.values(np.stack(list(missing.values())))
            values[np.isnan(values)] = np.inf
            self._evaluated.update(zip(missing, values.tolist(), strict=True))
        return np.array([self._evaluated[key] for key in keys])

    def expand(self, betas: FloatArray, opened: Sequence[IntArray]) -> list[Expansion]:
        """Every model's expansion in the coordinates that are open in it, all in one pass."""
        family, count = self.cost.family, len(betas)
        layout = _Pairs.of(opened, family.scores, self.cost.rows.width)
        self.spent += self.price(count, len(layout.first))
        models = by_column(betas, family.scores)
        values: FloatArray = np.zeros(count)
        slopes: FloatArray = np.zeros((len(layout.columns), family.scores * count))
        bends: FloatArray = np.zeros((len(layout.first), count * family.scores**2))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in weighty_blocks(self.cost.rows, max(family.scores**2 * count, min(len(layout.first), _TOGETHER))):
                score = (part.columns @ models).reshape(-1, family.scores, count) + part.offset[:, None, None]
                loss, slope = family.loss_and_slope(part.target, score)
                values += part.weight @ loss
                columns = part.columns[:, layout.columns]
                slopes += columns.T @ (slope * part.weight[:, None, None]).reshape(len(part), -1)
                flat = score.transpose(0, 2, 1).reshape(-1, family.scores)
                bend = family.curvature(np.repeat(part.target, count), flat).reshape(len(part), -1)
                bend *= part.weight[:, None]
                for begin in range(0, len(bends), _TOGETHER):
                    block = slice(begin, begin + _TOGETHER)
                    bends[block] += (columns[:, layout.first[block]] * columns[:, layout.second[block]]).T @ bend
            values, slopes, bends = (total / self.cost.weight for total in (values, slopes, bends))
        slopes = slopes.reshape(-1, family.scores, count)
        bends = bends.reshape(-1, count, family.scores, family.scores)
        return [
            layout.expansion(float(values[i]), slopes[:, :, i], bends[:, i], coordinates)
            for i, coordinates in enumerate(opened)
        ]

    def around(self, beta: FloatArray) -> Expansion:
        """One model's expansion in all coordinates."""
        return self.expand(beta[None, :], [np.arange(self.cost.size)])[0]

    def move_scores(self, directions: FloatArray) -> NDArray[np.bool_]:
        """Whether each direction of the coefficients moves any row's scores by more than rounding, in one pass."""
        self.spent += self.price(2 * len(directions))
        return move_scores(self.cost.rows, directions.reshape(len(directions), -1, self.cost.family.scores))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The columns that are open anywhere, and the pairs of them that are open together; ``number`` finds a pair."""

    scores: int
    columns: IntArray
    first: IntArray
    second: IntArray
    place: IntArray
    number: IntArray

    @classmethod
    def of(cls, opened: Sequence[IntArray], scores: int, width: int) -> _Pairs:
        by_model = [np.unique(coordinates // scores) for coordinates in opened]
        columns = np.unique(np.concatenate(by_model))
        place = np.zeros(width, dtype=np.int64)
        place[columns] = np.arange(len(columns))
        together = np.zeros((len(columns), len(columns)), dtype=bool)
        for model_columns in by_model:
            together[place[model_columns][:, None], place[model_columns]] = True
        first, second = np.nonzero(np.triu(together))
        number = np.zeros(together.shape, dtype=np.int64)
        number[first, second] = number[second, first] = np.arange(len(first))
        return cls(scores, columns, first, second, place, number)

    def expansion(self, value: float, slopes: FloatArray, bends: FloatArray, opened: IntArray) -> Expansion:
        """One model's, from its slopes by column and class and its curvature by pair and classes."""
        column, score = self.place[opened // self.scores], opened % self.scores
        pairs = self.number[column[:, None], column]
        return Expansion(value, slopes[column, score], bends[pairs, score[:, None], score])
