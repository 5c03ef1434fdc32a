"""What a solver of orders on rows is given, what it asks, and the best chain among the sets that were evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.chain_rules import NO_RULES, ChainRules
from coordpath_governance.paths.orders.set_function import order_chain
from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.row_orders.evaluated_sets import corners, is_cut, is_set, key_of, set_number, slopes_of
from coordpath_governance.paths.row_orders.minorants import tie_of
from coordpath_governance.paths.solvers.protocol import EVALUATED_SETS, RULED_EVALUATED_SETS, Offer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.row_orders.evaluated_sets import EvaluatedSets, Evaluation, FloatArray

__all__ = ["EvaluatedTask", "Inquiry", "best_evaluated_chain", "diagonal"]

_NODES = 8
"""Points on the diagonal of the cube: enough for integrals along it to ten digits, and cuts near sets of every size."""

_PASS = 8
"""A pass takes as much time as evaluating this many sets, in addition to the sets it evaluates."""


def diagonal(size: int) -> tuple[FloatArray, FloatArray]:
    """Gauss's points on the cube's diagonal, with their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.repeat(((nodes + 1.0) / 2.0)[:, None], size, axis=1), weights / 2.0


@dataclass(frozen=True, eq=False)
class EvaluatedTask:
    """Choose S₁ ⊂ … ⊂ S_n so that Σ αₖ f(S_k) is least; ``work`` is how many rows times sets a solver goes through.

    ``rules`` forbid some sets.
    """

    sets: EvaluatedSets
    alphas: FloatArray
    work: float = np.inf
    seed: int = 0
    patience: Patience = field(default=FOREVER, repr=False)
    rules: ChainRules = NO_RULES

    @property
    def offers(self) -> Offer:
        """Sets, and whether some of them are forbidden."""
        return RULED_EVALUATED_SETS if self.rules else EVALUATED_SETS

    @property
    def depth(self) -> int:
        """N."""
        return len(self.alphas)

    @property
    def first_points(self) -> FloatArray:
        """Start and target, points between them, and points between the start and the largest sets of a chain."""
        ends = corners(self.sets.size, [(), range(self.sets.size)])
        points, _ = diagonal(self.sets.size)
        near = points * (self.depth / self.sets.size)
        return np.concatenate([ends, points, *([near] if self.depth < self.sets.size - 1 else [])])

    def chain(self, order: Sequence[int]) -> FloatArray:
        """S₁ ⊂ … ⊂ S_n along an order."""
        return corners(self.sets.size, [order[:k] for k in range(1, self.depth + 1)])

    def within(self, work: float) -> EvaluatedTask:
        """The same with so much work to spend, or, where a time limit ends it, any."""
        return replace(self, work=np.inf if self.patience.timed else work)

    def over(self) -> bool:
        """Whether to stop and return the best answer so far."""
        return self.patience.expired() or self.sets.rows * len(self.sets.evaluations) > self.work

    def report(self, stage: str, value: float, bound: float) -> None:
        """Report a stage, the best value so far and a bound on all values, if anybody listens."""
        self.patience.report(stage, value, bound)


class Inquiry:
    """What one search has asked, which alone decides what it does next; what was known before only saves passes.

    ``proof``: the last M, and the cuts for which it holds.
    """

    def __init__(self, task: EvaluatedTask) -> None:
        self.task = task
        self._sets = task.sets
        self._own: dict[bytes, Evaluation] = {}
        self._spent = 0
        self.proof: tuple[FloatArray, list[Evaluation]] | None = None

    @property
    def cuts(self) -> list[Evaluation]:
        """What bounds all sets of a chain."""
        return [evaluation for evaluation in self._own.values() if is_cut(evaluation, self._sets.depth)]

    def over(self) -> bool:
        """Whether to stop and return the best answer so far."""
        return self.task.patience.expired() or self._sets.rows * self._spent > self.task.work

    def ask(self, points: FloatArray) -> None:
        """Evaluations with slopes, to prove from."""
        self._spent += len(points) + _PASS
        self._own |= {key_of(evaluation.at): evaluation for evaluation in self._sets.ask(points)}

    def values(self, points: FloatArray) -> FloatArray:
        """F at points that are only tried."""
        self._spent += len({key_of(point) for point in points}) + _PASS
        return np.array([evaluation.value for evaluation in self._sets.look(points, slopes=False)])

    def slopes(self, points: FloatArray) -> FloatArray:
        """∇f at points that are only tried."""
        self._spent += len(points) + _PASS
        return slopes_of(self._sets.look(points))

    def hessian(self, point: FloatArray) -> FloatArray:
        """∇²f at a point."""
        self._spent += 2 * _PASS
        return self._sets.hessian(point)

    def curvature(self) -> FloatArray:
        """M for the cuts so far; both are the ``proof`` from now on."""
        self._spent += len(self._own) // 2 + 2 * _PASS
        cuts = self.cuts
        curvature = self._sets.curvature(cuts)
        self.proof = curvature, cuts
        return curvature


def best_evaluated_chain(task: EvaluatedTask, evaluations: Sequence[Evaluation]) -> tuple[tuple[int, ...], float]:
    """The best order whose sets are all evaluated, and its sum; without any, the listed order and infinity.

    Among equals the unit listed last moves last.
    """
    values = {set_number(evaluation.at): evaluation.value for evaluation in evaluations if is_set(evaluation)}
    if task.rules:
        forbidden = task.rules.forbid(np.array(list(values)), np.array(list(values.values())))
        values = {number: value for (number, value), out in zip(values.items(), forbidden, strict=True) if not out}
    totals: list[dict[int, float]] = [{0: 0.0}]
    for k, alpha in enumerate(task.alphas.tolist(), start=1):
        sets = [number for number in values if number.bit_count() == k]
        least = {number: min(_before(totals[-1], number).values(), default=np.inf) for number in sets}
        totals.append({number: total + alpha * values[number] for number, total in least.items() if total < np.inf})
    if not totals[-1]:
        return tuple(range(task.sets.size)), np.inf
    tie = tie_of(min(totals[-1].values()))
    number = min(_least(totals[-1], tie))
    chain = [number]
    for before in totals[-2::-1]:
        number = _least(_before(before, number), tie)[0]
        chain.append(number)
    order = [(one ^ other).bit_length() - 1 for one, other in zip(chain[::-1], chain[-2::-1], strict=False)]
    return order_chain(order, task.sets.size), float(task.alphas @ [values[number] for number in chain[-2::-1]])


def _before(totals: dict[int, float], number: int) -> dict[int, float]:
    """The sets that lack one unit of a set, the unit listed last first."""
    units = [u for u in range(number.bit_length() - 1, -1, -1) if number >> u & 1]
    return {number ^ 1 << u: totals[number ^ 1 << u] for u in units if number ^ 1 << u in totals}


def _least(totals: dict[int, float], tie: float) -> list[int]:
    """The sets with the least total, as good as equal ones included."""
    least = min(totals.values())
    return [number for number, total in totals.items() if total <= least + tie]
