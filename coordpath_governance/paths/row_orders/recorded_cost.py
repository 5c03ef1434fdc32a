"""RecordedCost: a convex cost as far as it was evaluated, enough to find the path again and to prove it, without rows.

What the rows said is taken as it stands, but not if it contradicts itself: every value must lie above every tangent and,
where the curvature holds, every minorant, and no value below the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.families import kind_of
from coordpath_governance.errors import ProblemError, UnknownSetError
from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation, is_cut, key_of
from coordpath_governance.paths.row_orders.minorants import best_minorant

if TYPE_CHECKING:
    from coordpath_governance.costs import FamilyKind, GlmCost
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.row_orders.evaluated_sets import FloatArray

__all__ = ["RecordedCost", "RecordedSets", "recorded"]

_DEFINITENESS = 1e-10
_ROUNDING = 1e-12
"""Of a value: what summing it in another order may do."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedCost:
    """What rows said of f over the units that change.

    ``least`` is the minimum of c, ``curvature`` M for sets of up to ``depth`` units and the cuts among them, and ``aim``
    where a proof should begin to look (`EvaluatedSets`).
    """

    kind: FamilyKind
    size: int
    depth: int
    least: float
    curvature: FloatArray
    evaluations: tuple[Evaluation, ...]
    aim: float = -np.inf

    def __post_init__(self) -> None:
        curvature = self.curvature
        scale = max(float(np.abs(curvature).max(initial=0.0)), np.finfo(np.float64).tiny)
        if np.abs(curvature - curvature.T).max(initial=0.0) > _DEFINITENESS * scale:
            raise ProblemError("cost.record.curvature: is not symmetric")
        if len(curvature) and np.linalg.eigvalsh(curvature / scale)[0] < -_DEFINITENESS:
            raise ProblemError("cost.record.curvature: is not positive semi-definite; it bounds that of a convex cost")
        if not self.evaluations:
            raise ProblemError("cost.record.evaluations: is empty; nothing is known of the cost")
        keys: set[bytes] = set()
        for i, evaluation in enumerate(self.evaluations):
            if key_of(evaluation.at) in keys:
                raise ProblemError(f"cost.record.evaluations[{i}]: is there twice; give every evaluation once")
            keys.add(key_of(evaluation.at))
        values = np.array([evaluation.value for evaluation in self.evaluations])
        if min(self.least, float(values.min())) < 0.0:
            raise ProblemError("cost.record: has a negative cost; no loss of these kinds is negative")
        points = np.stack([evaluation.at for evaluation in self.evaluations])
        tangents = [evaluation for evaluation in self.evaluations if evaluation.slopes is not None]
        cuts = [evaluation for evaluation in tangents if is_cut(evaluation, self.depth)]
        with np.errstate(over="ignore", invalid="ignore"):
            below = np.maximum(best_minorant(np.zeros_like(curvature), tangents, points), self.least)
            bent = np.where(points.sum(axis=1) <= self.depth, best_minorant(curvature, cuts, points), self.least)
        wrong = np.flatnonzero(~(np.maximum(below, bent) <= values * (1.0 + _ROUNDING)))
        if len(wrong):
            raise ProblemError(
                f"cost.record.evaluations[{wrong[0]}]: contradicts the minimum or the slopes of another one; "
                "no convex cost has them all"
            )

    def minimum(self) -> float:
        """Least c over all β, as the rows gave it."""
        return self.least

    def never_negative(self) -> bool:
        """Whether no model costs less than 0: the record says so."""
        return self.least >= 0.0


def recorded(problem: PathProblem, cost: GlmCost) -> RecordedCost:
    """What was asked of a cost on rows, in place of it: the same path is found and proved from that alone."""
    sets = problem.sets
    curvature, evaluations = sets.proof()
    return RecordedCost(
        kind=kind_of(cost.family),
        size=cost.size,
        depth=sets.depth,
        least=cost.minimum(),
        curvature=curvature,
        evaluations=evaluations,
        aim=sets.aim,
    )


class RecordedSets:
    """Answers nothing beyond the record."""

    rows = 0

    def __init__(self, cost: RecordedCost) -> None:
        self._cost = cost

    @property
    def size(self) -> int:
        """D."""
        return len(self._cost.curvature)

    def curvature(self, depth: int, cuts: FloatArray | None) -> FloatArray:  # noqa: ARG002 - it holds for all that are recorded
        """M, as it was recorded for these sets."""
        if depth > self._cost.depth:
            raise UnknownSetError(f"cost.record.depth: is {self._cost.depth}, but sets of up to {depth} units are needed")
        return self._cost.curvature

    def evaluate(self, points: FloatArray, *, slopes: bool) -> list[Evaluation]:
        """Only what was recorded is known, and that is never asked for."""
        raise _lacking(f"the {'slopes' if slopes else 'values'} of {len(points)} sets")

    def hessian(self, point: FloatArray) -> FloatArray:  # noqa: ARG002
        """Nobody needs it to prove what was found."""
        raise _lacking("second derivatives")


def _lacking(missing: str) -> UnknownSetError:
    return UnknownSetError(f"cost.record: lacks {missing} that are needed; give the rows, or make the report again")
