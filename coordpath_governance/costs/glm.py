"""The cost of a generalised linear model: c(β) = Σ w·ℓ(y, η)/Σ w over the reference rows, η = offset + columnsᵀβ.

It is convex in β. A family with C scores per row has C coefficients per column: coordinate j·C + c is column j in class c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.combinations import CombinedRows, distinct_combinations
from coordpath_governance.costs.mean_loss import MeanLoss
from coordpath_governance.costs.newton import Lowest, Search
from coordpath_governance.costs.rows import RowChunk, overflow
from coordpath_governance.costs.separation import ClassRanges
from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from coordpath_governance.costs.families import Family
    from coordpath_governance.costs.rows import Rows

    FloatArray = NDArray[np.float64]

__all__ = ["GlmCost"]

_EXACT = 1e-14
_ROUNDING = 1e-16
_NOTHING = 1e-290
"""A search ends at a decrement that is this part of what is explained, or this part of the cost, or this much."""

_HELD = 1 << 25
"""Numbers that combinations of columns may take in memory; more are combined again in every pass."""

_SEPARATED = 1e-6
"""Where the loss falls below this part of a constant score's, complete separation is looked for."""


class GlmCost:
    """Mean loss over rows that can be read again and again; every method is a pass over them or several.

    ``weight`` is Σ w and ``rows_counted`` the number of rows. For messages: ``names`` of the columns, ``target_name``, the
    ``classes`` by label, and ``centres``, which were taken off the columns.
    """

    def __init__(
        self,
        family: Family,
        rows: Rows,
        *,
        names: Sequence[str] = (),
        target_name: str = "the target",
        classes: Sequence[str] = (),
        centres: ArrayLike | None = None,
    ) -> None:
        if rows.width == 0:
            raise ProblemError("cost.rows: have no columns; a cost needs at least one coordinate")
        if names and len(names) != rows.width:
            raise ProblemError(f"cost.rows: have {rows.width} columns, but there are {len(names)} names; give one for each")
        self.family = family
        self.rows = rows
        self.size = rows.width * family.scores
        self.names = tuple(names) or tuple(f"column {j}" for j in range(rows.width))
        self.target_name = target_name
        self.classes = tuple(classes) or tuple(str(c) for c in range(max(family.scores, 2)))
        self.centres = np.zeros(rows.width) if centres is None else np.asarray(centres, dtype=np.float64)
        self._facts = _facts(family, rows, target_name)
        self.weight = self._facts.weight
        self.rows_counted = self._facts.count
        self._loss = MeanLoss(family, rows, self.weight)
        self._least_reached = np.inf

    def values(self, betas: ArrayLike) -> FloatArray:
        """The cost of every row of ``betas``, (m,), in one pass."""
        vectors = np.asarray(betas, dtype=np.float64).reshape(-1, self.size)
        values = self._loss.values(vectors)
        if not np.isfinite(values).all():
            raise overflow(self._loss.lost(vectors))
        return values

    def gradient(self, beta: ArrayLike) -> tuple[float, FloatArray, FloatArray]:
        """The cost, its gradient and its matrix of second derivatives at one β, in one pass."""
        vector = np.asarray(beta, dtype=np.float64)
        value, slope, curvature = self._loss.expansion(vector)
        if not np.isfinite(value):
            raise overflow(self._loss.lost(vector[None]))
        return value, slope, curvature

    def reach(self, beta: ArrayLike) -> float:
        """No row has a score further from its offset than this: Σ max|column|·|β|."""
        return float((self._sizes @ np.abs(np.asarray(beta, dtype=np.float64).reshape(self.rows.width, -1))).max())

    def minimum(self) -> float:
        """Least cost over all β, or what it comes down to where coefficients run away; computed once.

        It is 0 where some combination of the columns separates the classes completely.
        """
        return min(self._least[0], self._least_reached)

    def never_negative(self) -> bool:
        """Whether no model costs less than 0."""
        return self.minimum() >= 0.0

    def expect_best_model(self) -> None:
        """Raises `ReferenceDataError` if the classes are separated completely: larger coefficients are always better."""
        influence = self._least[1]
        if influence is not None:
            ranges = ClassRanges(self.rows, len(self.classes))
            raise ranges.refusal(
                target=self.target_name, names=self.names, labels=self.classes, centres=self.centres, influence=influence
            )

    def has_reached(self, value: float) -> None:
        """Some model has this cost, so the least is no higher, whatever rounding hid from the search."""
        self._least_reached = min(self._least_reached, value)

    def constant_cost(self) -> float:
        """Least cost of scores that differ by the offset only, one constant per class; computed once."""
        return self._constant[1]

    @property
    def _sizes(self) -> FloatArray:
        """The largest number of every column."""
        sizes: FloatArray = np.maximum(np.abs(self._facts.low), np.abs(self._facts.high))
        return sizes

    @cached_property
    def _least(self) -> tuple[float, FloatArray | None]:
        """The least cost, and how much each column helps to separate the classes if they are separated completely."""
        scores, cost = self._constant
        even = np.flatnonzero((self._facts.low == self._facts.high) & (self._facts.low != 0.0))
        matrix = distinct_combinations(self.rows, self._sizes)
        if matrix is None:
            rows, matrix, ones = self.rows, np.eye(self.rows.width), np.zeros(self.rows.width)
            ones[even[:1]] = 1.0 / self._facts.low[even[:1]]
        else:
            combined = CombinedRows(self.rows, matrix)
            ones = combined.mean() * bool(len(even))
            rows = combined.held() if self.rows_counted * combined.width <= _HELD else combined
        loss = MeanLoss(self.family, rows, self.weight)
        watch = partial(self._look_for_separation, loss, matrix)
        try:
            return _floor(_search(loss, np.outer(ones, scores).ravel(), cost, watch).run()), None
        except _SeparatedError as separated:
            return 0.0, separated.influence

    @cached_property
    def _constant(self) -> tuple[FloatArray, float]:
        """The best constant scores and their cost."""
        loss = MeanLoss(self.family, _Ones(self.rows), self.weight)
        start = self.family.link(self._facts.mean) - self._facts.offset
        reached = _search(loss, start, 0.0, lambda _beta, _value: None).run()
        return reached.beta, reached.value

    def _look_for_separation(self, loss: MeanLoss, matrix: FloatArray, beta: FloatArray, value: float) -> None:
        """Look at a point of a search; ``matrix`` makes coefficients of the columns from those that it moves."""
        if not self.family.classifies or value >= _SEPARATED * self.constant_cost() or not loss.least_margin(beta) > 0.0:
            return
        by_class = matrix @ beta.reshape(matrix.shape[1], -1)
        strength = np.abs(by_class - by_class.mean(axis=1, keepdims=True) * (self.family.scores > 1)).max(axis=1)
        raise _SeparatedError(strength * (self._facts.high - self._facts.low))


class _SeparatedError(Exception):
    """Ends a search at a point that separates the classes."""

    def __init__(self, influence: FloatArray) -> None:
        super().__init__()
        self.influence = influence


@dataclass(frozen=True, eq=False, kw_only=True)
class _Facts:
    """What the first pass finds: Σ w, rows, mean target (multinomial: one share per class), mean offset, columns' ranges."""

    weight: float
    count: int
    mean: FloatArray
    offset: float
    low: FloatArray
    high: FloatArray


def _facts(family: Family, rows: Rows, target_name: str) -> _Facts:
    weight, count, negative, outside, offset = 0.0, 0, 0, 0, 0.0
    target, low, high = np.zeros(family.scores), np.full(rows.width, np.inf), np.full(rows.width, -np.inf)
    for chunk in rows:
        count += len(chunk)
        negative += int(np.count_nonzero(~(chunk.weight >= 0.0)))
        weighty = chunk.weight != 0.0
        part = chunk if weighty.all() else chunk.part(weighty)
        outside += int(np.count_nonzero(family.outside(part.target)))
        if negative or outside:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            weight += float(np.sum(part.weight))
            offset += float(part.weight @ part.offset)
            if family.scores == 1:
                target += part.weight @ part.target
            else:
                target += np.bincount(part.target.astype(np.intp), part.weight, family.scores)
        low = np.minimum(low, part.columns.min(axis=0, initial=np.inf))
        high = np.maximum(high, part.columns.max(axis=0, initial=-np.inf))
    if negative:
        raise ProblemError(f"cost.rows: {negative} of {count} weights are negative; give weights of at least zero")
    if outside:
        raise ProblemError(
            f"cost.rows: {outside} of {count} values of {target_name} are outside the range of the family {family.kind!r}"
        )
    if not 0.0 < weight < np.inf:
        raise ProblemError(f"cost.rows: the weights of {count} rows add up to {weight:g}; give a positive finite sum")
    return _Facts(weight=weight, count=count, mean=target / weight, offset=offset / weight, low=low, high=high)


@dataclass(frozen=True)
class _Ones:
    """Rows with a single column, which is one everywhere."""

    rows: Rows
    width: int = 1

    def __iter__(self) -> Iterator[RowChunk]:
        for chunk in self.rows:
            yield RowChunk(np.ones((len(chunk), 1)), chunk.target, chunk.weight, chunk.offset)


def _search(loss: MeanLoss, start: FloatArray, constant: float, watch: Callable[[FloatArray, float], None]) -> Search:
    """A search that ends when the decrement is negligible against what is explained, or against the rounding of the cost."""
    return Search(
        loss,
        start,
        tolerance=lambda value: _EXACT * abs(constant - value) + _ROUNDING * value + _NOTHING,
        watch=watch,
    )


def _floor(reached: Lowest) -> float:
    """No cost is lower; no loss is negative."""
    return max(reached.value - reached.decrement, 0.0)
