"""What is asked of a convex cost: f(x) = c(start + Σᵤ xᵤΔᵤ) at points of the unit cube, and what was answered.

A set of moved units is a corner of the cube. Every answer is kept: two answers to one question would be a pass over the
rows for nothing, and the answers are the evidence from which a certificate is checked without the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["Evaluation", "KnownSets", "SetCosts", "corners", "is_cut"]

_SUM = 1e-9
"""What rounding may add to a sum of shares."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """f and, if it was asked for, ∇f at one point of the cube."""

    at: FloatArray
    value: float
    slopes: FloatArray | None


class SetCosts(Protocol):
    """Answers questions about f."""

    @property
    def size(self) -> int:
        """D, the number of units that change."""
        ...

    @property
    def rows(self) -> int:
        """Rows that one answer goes through; 0 where it is read from a record."""
        ...

    def curvature(self, depth: int) -> FloatArray:
        """M ⪰ 0 with ∇²f ⪰ M wherever x in the cube has Σx ≤ depth."""
        ...

    def evaluate(self, points: FloatArray, *, slopes: bool) -> list[Evaluation]:
        """The answers for all points, in one pass; `UnknownSetError` where there are no rows to ask."""
        ...


class KnownSets:
    """Asks once, and remembers in the order of asking.

    Chains are looked for among sets of up to ``depth`` units: only there the curvature holds, and what was evaluated
    beyond gives no cut.
    """

    def __init__(self, costs: SetCosts, depth: int, known: Iterable[Evaluation] = ()) -> None:
        self._costs = costs
        self.depth = depth
        self._known: dict[bytes, Evaluation] = {_key(each.at): each for each in known}
        self._curvature: FloatArray | None = None

    @property
    def size(self) -> int:
        """D."""
        return self._costs.size

    @property
    def rows(self) -> int:
        """Rows that one answer goes through."""
        return self._costs.rows

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """All there is to remember."""
        return tuple(self._known.values())

    @property
    def cuts(self) -> list[Evaluation]:
        """What bounds all sets of up to ``depth`` units: evaluations with slopes among or between them."""
        return [each for each in self._known.values() if is_cut(each, self.depth)]

    @property
    def centre(self) -> FloatArray:
        """The point in the middle of those sets."""
        return np.full(self.size, 0.5 * self.depth / self.size)

    def curvature(self) -> FloatArray:
        """M, asked once."""
        if self._curvature is None:
            self._curvature = self._costs.curvature(self.depth)
        return self._curvature

    def ask(self, points: FloatArray, *, slopes: bool = True) -> list[Evaluation]:
        """An answer for every point; those not known yet are asked for in one pass."""
        keys = [_key(point) for point in points]
        asked: dict[bytes, FloatArray] = {}
        for key, point in zip(keys, points, strict=True):
            answer = self._known.get(key)
            if answer is None or (slopes and answer.slopes is None):
                asked[key] = point
        if asked:
            answers = self._costs.evaluate(np.stack(list(asked.values())), slopes=slopes)
            self._known.update(zip(asked, answers, strict=True))
        return [self._known[key] for key in keys]


def is_cut(each: Evaluation, depth: int) -> bool:
    """Whether an evaluation bounds the cost of sets of up to ``depth`` units."""
    return each.slopes is not None and float(each.at.sum()) <= depth + _SUM


def corners(size: int, sets: Iterable[Iterable[int]]) -> FloatArray:
    """Sets of units as corners of the cube, a row each."""
    lists = [list(each) for each in sets]
    points = np.zeros((len(lists), size))
    for point, members in zip(points, lists, strict=True):
        point[members] = 1.0
    return points


def _key(point: FloatArray) -> bytes:
    return (np.asarray(point, dtype=np.float64) + 0.0).tobytes()
