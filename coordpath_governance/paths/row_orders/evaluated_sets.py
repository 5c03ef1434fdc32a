"""What is asked of a convex cost: f(x) = c(start + Σᵤ xᵤΔᵤ) at points of the unit cube, and what was answered.

A set of moved units is a corner of the cube. Every answer is kept: two answers to one question would be a pass over the
rows for nothing, and the answers are the evidence from which a certificate is checked without the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = [
    "EvaluatedSets",
    "Evaluation",
    "SetEvaluator",
    "corners",
    "greedy_units",
    "is_cut",
    "is_set",
    "key_of",
    "set_number",
    "slopes_of",
]

_SUM = 1e-9
"""What rounding may add to a sum of shares."""

_SUMMED = 1e-12
"""Of a cost: what the order of adding may change; costs that differ by less are equal."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """f and, if it was asked for, ∇f at one point of the cube."""

    at: FloatArray
    value: float
    slopes: FloatArray | None


class SetEvaluator(Protocol):
    """Answers questions about f; `UnknownSetError` where there are no rows to ask."""

    @property
    def size(self) -> int:
        """D, the number of units that change."""
        ...

    @property
    def rows(self) -> int:
        """Rows that one answer goes through; 0 where it is read from a record."""
        ...

    def evaluate(self, points: FloatArray, *, slopes: bool) -> list[Evaluation]:
        """The answers for all points, in one pass."""
        ...

    def hessian(self, point: FloatArray) -> FloatArray:
        """∇²f at one point."""
        ...

    def curvature(self, depth: int, cuts: FloatArray | None) -> FloatArray:
        """M ⪰ 0 with f(x) ≥ f(t) + ∇f(t)ᵀ(x − t) + ½(x − t)ᵀM(x − t) wherever x in the cube has Σx ≤ depth.

        For the points t that are given, or for all that have Σt ≤ depth too.
        """
        ...


class EvaluatedSets:
    """Asks once, and remembers in the order of asking.

    Chains are looked for among sets of up to ``depth`` units: only there the curvature holds, and what was evaluated
    beyond gives no cut. ``aim`` proves nothing: it is the sum below which a proof from all this should begin to look.
    """

    def __init__(
        self, costs: SetEvaluator, depth: int, evaluations: Iterable[Evaluation] = (), aim: float = -np.inf
    ) -> None:
        self._costs = costs
        self.depth = depth
        self.aim = aim
        self._evaluated: dict[bytes, Evaluation] = {key_of(evaluation.at): evaluation for evaluation in evaluations}
        self._curvatures: dict[frozenset[bytes] | None, FloatArray] = {}

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
        return tuple(self._evaluated.values())

    @property
    def cuts(self) -> list[Evaluation]:
        """What bounds all sets of up to ``depth`` units: evaluations with slopes among or between them."""
        return [evaluation for evaluation in self._evaluated.values() if is_cut(evaluation, self.depth)]

    @property
    def centre(self) -> FloatArray:
        """The point in the middle of those sets."""
        return np.full(self.size, 0.5 * self.depth / self.size)

    def curvature(self, cuts: Sequence[Evaluation] | None = None) -> FloatArray:
        """M for these cuts alone, or else for any; only what was asked last is kept."""
        which = None if cuts is None else frozenset(key_of(cut.at) for cut in cuts)
        if which not in self._curvatures:
            points = None if cuts is None else np.stack([cut.at for cut in cuts])
            self._curvatures = {which: self._costs.curvature(self.depth, points)}
        return self._curvatures[which]

    def proof(self) -> tuple[FloatArray, tuple[Evaluation, ...]]:
        """The curvature asked last and all evaluations, without the slopes of cuts for which it does not hold."""
        if not self._curvatures:
            self.curvature()
        ((cuts, curvature),) = self._curvatures.items()
        if cuts is None:
            return curvature, self.evaluations
        return curvature, tuple(
            evaluation if key in cuts or not is_cut(evaluation, self.depth) else replace(evaluation, slopes=None)
            for key, evaluation in self._evaluated.items()
        )

    def hessian(self, point: FloatArray) -> FloatArray:
        """∇²f at one point."""
        return self._costs.hessian(point)

    def ask(self, points: FloatArray, *, slopes: bool = True) -> list[Evaluation]:
        """An answer for every point; those not known yet are asked for in one pass."""
        answers = self.look(points, slopes=slopes)
        self._evaluated |= {key_of(evaluation.at): evaluation for evaluation in answers}
        return answers

    def look(self, points: FloatArray, *, slopes: bool = True) -> list[Evaluation]:
        """The same, without remembering the answers."""
        keys = [key_of(point) for point in points]
        answers: dict[bytes, Evaluation] = {}
        missing: dict[bytes, FloatArray] = {}
        for key, point in zip(keys, points, strict=True):
            answer = self._evaluated.get(key)
            if answer is None or (slopes and answer.slopes is None):
                missing[key] = point
            else:
                answers[key] = answer
        if missing:
            answers |= zip(missing, self._costs.evaluate(np.stack(list(missing.values())), slopes=slopes), strict=True)
        return [answers[key] for key in keys]


def is_cut(evaluation: Evaluation, depth: int) -> bool:
    """Whether an evaluation bounds the cost of sets of up to ``depth`` units."""
    return evaluation.slopes is not None and float(evaluation.at.sum()) <= depth + _SUM


def is_set(evaluation: Evaluation) -> bool:
    """Whether it is at a set, not between sets."""
    return bool(np.isin(evaluation.at, (0.0, 1.0)).all())


def set_number(at: FloatArray) -> int:
    """Σ_{u∈S} 2^u of a set S."""
    return int.from_bytes(np.packbits(at > 0.0, bitorder="little").tobytes(), "little")


def slopes_of(evaluations: Sequence[Evaluation]) -> FloatArray:
    """∇f of the evaluations that have it, one row per evaluation."""
    return np.stack([evaluation.slopes for evaluation in evaluations if evaluation.slopes is not None])


def corners(size: int, sets: Iterable[Iterable[int]]) -> FloatArray:
    """Sets of units as corners of the cube, one row per set."""
    lists = [list(members) for members in sets]
    points = np.zeros((len(lists), size))
    for point, members in zip(points, lists, strict=True):
        point[members] = 1.0
    return points


def key_of(point: FloatArray) -> bytes:
    """Bytes that are the same for equal points."""
    return (np.asarray(point, dtype=np.float64) + 0.0).tobytes()


def greedy_units(sets: EvaluatedSets, steps: int) -> tuple[int, ...]:
    """At each of some steps the unit that lowers the cost most, the first listed among equals; then the others."""
    order: list[int] = []
    for _ in range(steps):
        left = [u for u in range(sets.size) if u not in order]
        evaluated = sets.ask(corners(sets.size, [[*order, u] for u in left]), slopes=False)
        values = np.array([evaluation.value for evaluation in evaluated])
        order.append(left[int(np.argmax(values <= values.min() * (1.0 + _SUMMED)))])
    return (*order, *(u for u in range(sets.size) if u not in order))
