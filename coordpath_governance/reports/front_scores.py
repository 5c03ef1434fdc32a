"""Models of a front scored on reference data: what each costs, and how it differs from the champion, row by row.

A model is the champion's own score plus what its coordinates differ by, as weights of the design columns. So whatever the
fit data did not exercise stays as the champion has it. The standard error of a mean difference d̄ is

    sqrt( n/(n−1) · Σ wᵢ² (dᵢ − d̄)² ) / Σ wᵢ,

and that of a share of the candidate's gain, R = d̄/ē, is the same for dᵢ − R·eᵢ, divided by |ē|.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.row_columns import RowColumns
from coordpath_governance.costs.families import Family
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reference.encode import EncodedRows
from coordpath_governance.reference.moments import Moments

__all__ = ["DesignScores", "Scored", "score_on_moments", "score_on_rows"]

Array = NDArray[np.float64]

_CELLS = 4_000_000
"""Scores that are held at a time."""

_TWO_ERRORS = 2.0


@dataclass(frozen=True)
class Scored:
    """A model on the reference data; ± figures are None where only moments are known, shares where there are none."""

    cost: float
    difference: float
    difference_se: float | None = None
    share: float | None = None
    share_se: float | None = None


@dataclass(frozen=True, eq=False)
class DesignScores:
    """Models as weights of the design columns, (models, classes, columns), and constants, (models, classes)."""

    weights: Array
    constants: Array

    @classmethod
    def of(cls, pair: ModelPair, columns: Sequence[DesignColumn], of_change: RowColumns, changes: Array) -> DesignScores:
        """Champion and candidate, then the champion with each row of ``changes`` added to the coordinates of a change."""
        classes = len(pair.scores)
        width = len(columns)
        ends, constants = np.zeros((2, classes, width)), np.zeros((2, classes))
        for c, scores in enumerate(pair.scores):
            constants[:, c] = scores.intercepts
            for j, column in enumerate(columns):
                ends[:, c, j] = [value or 0.0 for value in scores.coefficients(column)]
        turned, offset = _in_design(of_change, width)
        moved = changes.reshape(len(changes), -1, classes).transpose(0, 2, 1)
        weights = ends[0] + moved @ turned
        return cls(np.concatenate([ends, weights]), np.concatenate([constants, constants[0] + moved @ offset]))

    def scores(self, design: Array) -> Array:
        """Rows × classes × models."""
        flat = design @ self.weights.reshape(-1, design.shape[1]).T
        every: Array = flat.reshape(len(design), *self.constants.shape).transpose(0, 2, 1) + self.constants.T
        return every


def _in_design(of_change: RowColumns, width: int) -> tuple[Array, Array]:
    """Coordinates as weights of design columns and a constant: (coordinates, columns) and (coordinates,)."""
    turned, offset = np.zeros((of_change.width, width)), np.zeros(of_change.width)
    if of_change.has_baseline:
        offset[0] = 1.0
    slopes = turned[int(of_change.has_baseline) :]
    slopes[np.arange(len(of_change.picked)), of_change.picked] = 1.0
    slopes[of_change.merged] = of_change.sums
    offset[int(of_change.has_baseline) :] -= of_change.centres
    return turned, offset


class _Sums:
    """Sums over rows of differences from the champion; they are taken from their first means, so that no digits are lost."""

    def __init__(self, models: int) -> None:
        self.rows, self.weight = 0, 0.0
        self.loss, self.moved = 0.0, np.zeros(models)
        self._first: Array | None = None
        self._squares = 0.0
        self._once, self._own, self._with_candidate = np.zeros(models), np.zeros(models), np.zeros(models)

    def add(self, loss: Array, weight: Array) -> None:
        """Rows × models, the champion first and the candidate second."""
        apart = loss - loss[:, :1]
        if self._first is None and weight.any():
            self._first = weight @ apart / weight.sum()
        from_first = apart - (0.0 if self._first is None else self._first)
        square = weight**2
        self.rows += len(weight)
        self.weight += float(weight.sum())
        self.loss += float(weight @ loss[:, 0])
        self.moved += weight @ apart
        self._squares += float(square.sum())
        self._once += square @ from_first
        self._own += square @ from_first**2
        self._with_candidate += (square * from_first[:, 1]) @ from_first

    def result(self, *, shares: bool) -> tuple[Scored, ...]:
        """Champion, candidate, and all others."""
        mean = self.moved / self.weight
        shift = mean - (0.0 if self._first is None else self._first)
        own = self._own - 2 * shift * self._once + shift**2 * self._squares
        both = self._with_candidate - shift * self._once[1] - shift[1] * self._once + shift * shift[1] * self._squares
        errors = self._error(own)
        gain = float(mean[1])
        shown = shares and -gain > _TWO_ERRORS * float(errors[1])
        ratio = mean / gain + 0.0 if shown else np.zeros(len(mean))
        ratio_errors = self._error(own - 2 * ratio * both + ratio**2 * own[1]) / abs(gain) if shown else ratio
        champion = self.loss / self.weight
        return tuple(
            Scored(champion + d, d, e, r if shown else None, re if shown else None)
            for d, e, r, re in zip(mean.tolist(), errors.tolist(), ratio.tolist(), ratio_errors.tolist(), strict=True)
        )

    def _error(self, squares: Array) -> Array:
        error: Array = np.sqrt(self.rows / (self.rows - 1) * np.maximum(squares, 0.0)) / self.weight
        return error


def score_on_rows(models: DesignScores, rows: Iterable[EncodedRows], family: Family, *, shares: bool) -> tuple[Scored, ...]:
    """Champion, candidate and all other models on the rows, paired row by row."""
    count, classes = models.constants.shape
    sums = _Sums(count)
    step = max(1, _CELLS // (count * classes))
    for chunk in rows:
        for start in range(0, len(chunk.target), step):
            part = slice(start, start + step)
            score = models.scores(chunk.design[part]) + chunk.offset[part, None, None]
            sums.add(family.loss(chunk.target[part], score), chunk.weight[part])
    return sums.result(shares=shares)


def score_on_moments(models: DesignScores, moments: Moments) -> tuple[Scored, ...]:
    """The mean squared error of models with one score; what rows alone can tell is left out."""
    weights = np.column_stack([-models.weights[:, 0], np.ones(len(models.weights))])
    bias = weights @ moments.mean - models.constants[:, 0]
    costs = np.einsum("mi,ij,mj->m", weights, moments.covariance, weights) + bias**2
    return tuple(Scored(cost, cost - float(costs[0])) for cost in costs.tolist() if math.isfinite(cost))
