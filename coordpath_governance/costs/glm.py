"""The cost of a generalised linear model: c(β) = Σ w·ℓ(y, η)/Σ w over the reference rows, η = offset + columnsᵀβ.

It is convex in β. A family with C scores a row has C coefficients a column: coordinate j·C + c is column j in class c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.accumulate import blocks, overflow, overflowing
from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from coordpath_governance.costs.families import Family
    from coordpath_governance.costs.rows import RowChunk, Rows

    FloatArray = NDArray[np.float64]

__all__ = ["GlmCost"]


class GlmCost:
    """Mean loss over rows that can be read again and again; every method but the cheap properties is a pass or several.

    ``weight`` is Σ w and ``rows_counted`` the number of rows. ``names`` are those of the columns and ``target_name`` that of
    the target, for messages.
    """

    def __init__(self, family: Family, rows: Rows, names: Sequence[str] = (), target_name: str = "the target") -> None:
        self.family = family
        self.rows = rows
        self.names = tuple(names) or tuple(f"column {j}" for j in range(rows.width))
        self.target_name = target_name
        self.size = rows.width * family.scores
        self.weight, self.rows_counted = self._first_pass()

    def _first_pass(self) -> tuple[float, int]:
        weight, count, negative, outside = 0.0, 0, 0, 0
        for chunk in self.rows:
            count += len(chunk)
            negative += int(np.count_nonzero(~(chunk.weight >= 0.0)))
            outside += int(np.count_nonzero(self.family.outside(chunk.target)))
            weight += float(np.sum(chunk.weight))
        if negative:
            raise ProblemError(f"cost.rows: {negative} of {count} weights are negative; give weights of at least zero")
        if outside:
            raise ProblemError(
                f"cost.rows: {outside} of {count} values of {self.target_name} are outside the range of the family "
                f"{self.family.kind!r}"
            )
        if not 0.0 < weight < np.inf:
            raise ProblemError(f"cost.rows: the weights of {count} rows add up to {weight:g}; give a positive finite sum")
        return weight, count

    def values(self, betas: ArrayLike) -> FloatArray:
        """The cost of every row of ``betas``, (m,), in one pass over the rows."""
        vectors = np.asarray(betas, dtype=np.float64).reshape(-1, self.size)
        total, lost = self._sums(vectors)
        if not np.isfinite(total).all():
            raise overflow(lost or self.rows_counted)
        return total / self.weight

    def _sums(self, vectors: FloatArray) -> tuple[FloatArray, int]:
        """Σ w·ℓ for every vector, and the number of rows in which a loss overflows."""
        total, lost = np.zeros(len(vectors)), 0
        with np.errstate(over="ignore", invalid="ignore"):
            for chunk in self._weighty():
                for rows in blocks(len(chunk), self.family.scores * len(vectors)):
                    part = chunk.part(rows)
                    loss = self.family.loss(part.target, self._scores(part, vectors))
                    losses = part.weight @ loss
                    total += losses
                    if not np.isfinite(losses).all():
                        lost += overflowing(loss, part.weight)
        return total, lost

    def gradient(self, beta: ArrayLike) -> tuple[float, FloatArray, FloatArray]:
        """The cost, its gradient and its matrix of second derivatives at one β, in one pass."""
        vector = np.asarray(beta, dtype=np.float64)
        value, slope, curvature = 0.0, np.zeros(self.size), np.zeros((self.size, self.size))
        with np.errstate(over="ignore", invalid="ignore"):
            for chunk in self._weighty():
                for rows in blocks(len(chunk), self.size):
                    part = chunk.part(rows)
                    score = self._scores(part, vector[None])
                    loss, slopes = self.family.loss_and_slope(part.target, score)
                    value += float(part.weight @ loss[:, 0])
                    slope += (part.columns.T @ (slopes[:, :, 0] * part.weight[:, None])).ravel()
                    curvature += self._curvature(part, score[:, :, 0])
        if not np.isfinite(value):
            raise overflow(self._sums(vector[None])[1] or self.rows_counted)
        return value / self.weight, slope / self.weight, curvature / self.weight

    def _curvature(self, chunk: RowChunk, score: FloatArray) -> FloatArray:
        """Σ w·Zᵀ(∂²ℓ/∂η²)Z over some rows."""
        scores = self.family.scores
        bend = self.family.curvature(chunk.target, score) * chunk.weight[:, None, None]
        result = np.empty((self.rows.width, scores, self.rows.width, scores))
        for c in range(scores):
            for other in range(c, scores):
                block = chunk.columns.T @ (chunk.columns * bend[:, c, other, None])
                result[:, c, :, other] = block
                result[:, other, :, c] = block
        return result.reshape(self.size, self.size)

    def _scores(self, chunk: RowChunk, vectors: FloatArray) -> FloatArray:
        """η of every row, class and vector: (n, C, m)."""
        scores = self.family.scores
        by_column = vectors.reshape(len(vectors), -1, scores).transpose(1, 2, 0).reshape(-1, scores * len(vectors))
        result: FloatArray = (chunk.columns @ by_column).reshape(-1, scores, len(vectors))
        result += chunk.offset[:, None, None]
        return result

    def _weighty(self) -> Iterator[RowChunk]:
        """The chunks without the rows that have no weight, whose loss may be infinite."""
        for chunk in self.rows:
            weighty = chunk.weight > 0.0
            yield chunk if weighty.all() else chunk.part(weighty)
