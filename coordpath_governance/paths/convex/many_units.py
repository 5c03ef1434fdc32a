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
from coordpath_governance.paths.convex.chain_search import find_chain
from coordpath_governance.paths.convex.known_chains import best_known_chain
from coordpath_governance.paths.convex.surrogates import Surrogate
from coordpath_governance.paths.convex.task import Inquiry
from coordpath_governance.paths.convex.touching import touching_points
from coordpath_governance.paths.how_far import NO_BOUND
from coordpath_governance.paths.solvers.protocol import Found

if TYPE_CHECKING:
    from coordpath_governance.paths.convex.task import ConvexTask

__all__ = ["quick_bound", "solve_many"]


@dataclass(frozen=True)
class _Effort:
    """Work of one search at first and at most, and of all before the last proof, in states times units."""

    first: int
    most: int
    total: float


_EFFORTS = {
    "local": _Effort(0, 0, 0.0),
    "auto": _Effort(2_000_000, 8_000_000, 6e7),
    "exact": _Effort(8_000_000, 128_000_000, 1e9),
}
_PART = 0.125
"""Of what is open: so much more is looked for when more is known."""

_ROUND = 800_000
"""What a proof takes beside its searches."""


def solve_many(task: ConvexTask, solver: str) -> Found:
    """The best chain found, with a bound on all."""
    inquiry, late = Inquiry(task), task.patience.expired
    effort = _EFFORTS["exact" if solver == "auto" and task.patience.timed else solver]
    inquiry.ask(task.first_points)
    proved = -np.inf
    try:
        proved = task.known.aim = _investigate(inquiry, effort)
        curvature, cuts = inquiry.proof if inquiry.proof and late() else (inquiry.curvature(), inquiry.cuts)
        order, value = best_known_chain(task, inquiry.cuts)
    except UnknownSetError:
        curvature, cuts = task.known.curvature(), task.known.cuts
        order, value = best_known_chain(task, cuts)
    aim = -np.inf if late() else task.known.aim  # a hint where to begin, for whoever has time to look
    bound = Surrogate(task, curvature, cuts).prove(order, effort.most, aim).bound
    if late():
        bound = max(bound, proved)
    return Found(order, min(bound, value), task.name)


def _investigate(inquiry: Inquiry, effort: _Effort) -> float:
    """Ask what helps to find a good chain, and what helps to prove it; the best bound on the way."""
    task = inquiry.task
    order = find_chain(inquiry)
    inquiry.ask(task.chain(order))
    task.report("a first order", best_known_chain(task, inquiry.cuts)[1], NO_BOUND)
    touching = touching_points(inquiry, order)
    if not task.patience.expired():
        inquiry.ask(touching)
    return _close(inquiry, effort)


def quick_bound(task: ConvexTask) -> float:
    """A bound on all chains for orders that were not found by proving anything."""
    if not task.alphas.any():
        return 0.0
    inquiry = Inquiry(task)
    inquiry.ask(task.first_points)
    return Surrogate(task, inquiry.curvature(), inquiry.cuts).first_bound()


def _close(inquiry: Inquiry, effort: _Effort) -> float:
    """Ask for what proofs need until nothing is open or the work is over; the best bound on the way."""
    task, bound, aim, spent, work = inquiry.task, -np.inf, -np.inf, 0, effort.first
    while not inquiry.over() and (task.patience.timed or spent < effort.total):
        cuts = inquiry.cuts
        order, value = best_known_chain(task, cuts)
        tell = partial(_tell, task, value)
        proved = Surrogate(task, inquiry.curvature(), cuts).prove(order, work, aim, tell)
        tell(proved.bound)
        bound, spent = max(bound, proved.bound), spent + proved.work + _ROUND
        aim = bound + _PART * (value - bound)
        if proved.order is not None:
            inquiry.ask(task.chain(proved.order))
        elif proved.closed or work >= effort.most:
            break
        else:
            work *= 4
    return bound


def _tell(task: ConvexTask, value: float, bound: float) -> None:
    task.report("quadratics below the cost", value, min(bound, value))
