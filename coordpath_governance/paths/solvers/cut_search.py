"""More units than a table holds: a good chain from models, points where minorants touch, then proofs and what they ask for.

A proof (`Surrogate.prove`) either shows that no chain is better than the best one known, or gives one of which more must be
known. Its sets are evaluated, in one pass over the rows, which lifts the minorants there; and again. What is reported
is proved from the evaluations alone, as it will be from a record of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import UnknownSetError
from coordpath_governance.paths.patience import NO_BOUND
from coordpath_governance.paths.row_orders.chain_proposals import find_chain
from coordpath_governance.paths.row_orders.evaluated_task import Inquiry, best_evaluated_chain
from coordpath_governance.paths.row_orders.surrogates import Surrogate, touching_points
from coordpath_governance.paths.solvers.protocol import EVALUATED_SETS, Answer

if TYPE_CHECKING:
    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask

__all__ = ["CutSearch", "Effort"]


@dataclass(frozen=True)
class Effort:
    """Work of one search at first and at most, and of all before the last proof, in states times units."""

    first: int
    most: int
    total: float


_PART = 0.125
"""Of what is open: so much more is looked for when more is known."""

_ROUND = 800_000
"""Work of a proof in addition to its searches."""


class CutSearch:
    """Any number of units; ``work`` is how many rows times sets may be gone through, ``effort`` what a proof may take."""

    name = "cuts"
    needs = EVALUATED_SETS

    def __init__(self, work: float, effort: Effort) -> None:
        self.work, self.effort = work, effort

    def lacks(self, _task: EvaluatedTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: EvaluatedTask) -> Answer:
        """The best chain found, with a bound on all."""
        if not task.alphas.any():
            return Answer(tuple(range(task.sets.size)), 0.0, self.name)
        order, bound = _solve(task.within(self.work), self.effort)
        return Answer(order, bound, self.name)


def _solve(task: EvaluatedTask, effort: Effort) -> tuple[tuple[int, ...], float]:
    inquiry, late = Inquiry(task), task.patience.expired
    inquiry.ask(task.first_points)
    proved = -np.inf
    try:
        proved = task.sets.aim = _investigate(inquiry, effort)
        curvature, cuts = inquiry.proof if inquiry.proof and late() else (inquiry.curvature(), inquiry.cuts)
        order, value = best_evaluated_chain(task, inquiry.cuts)
    except UnknownSetError:
        curvature, cuts = task.sets.curvature(), task.sets.cuts
        order, value = best_evaluated_chain(task, cuts)
    aim = -np.inf if late() else task.sets.aim  # where to begin, if there is time to search
    bound = Surrogate(task, curvature, cuts).prove(order, effort.most, aim).bound
    if late():
        bound = max(bound, proved)
    return order, min(bound, value)


def _investigate(inquiry: Inquiry, effort: Effort) -> float:
    """Ask what helps to find a good chain, and what helps to prove it; the best bound on the way."""
    task = inquiry.task
    order = find_chain(inquiry)
    inquiry.ask(task.chain(order))
    task.report("a first order", best_evaluated_chain(task, inquiry.cuts)[1], NO_BOUND)
    touching = touching_points(inquiry, order)
    if not task.patience.expired():
        inquiry.ask(touching)
    return _close(inquiry, effort)


def _close(inquiry: Inquiry, effort: Effort) -> float:
    """Ask for what proofs need until nothing is open or the work is over; the best bound on the way."""
    task, bound, aim, spent, work = inquiry.task, -np.inf, -np.inf, 0, effort.first
    while not inquiry.over() and (task.patience.timed or spent < effort.total):
        cuts = inquiry.cuts
        order, value = best_evaluated_chain(task, cuts)
        report_bound = partial(_report, task, value)
        proved = Surrogate(task, inquiry.curvature(), cuts).prove(order, work, aim, report_bound)
        report_bound(proved.bound)
        bound, spent = max(bound, proved.bound), spent + proved.work + _ROUND
        aim = bound + _PART * (value - bound)
        if proved.order is not None:
            inquiry.ask(task.chain(proved.order))
        elif proved.closed or work >= effort.most:
            break
        else:
            work *= 4
    return bound


def _report(task: EvaluatedTask, value: float, bound: float) -> None:
    task.report("quadratics below the cost", value, min(bound, value))
