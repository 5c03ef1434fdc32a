"""More units than a table holds: a good chain from models, points where minorants touch, then proofs and what they ask for.

A proof (`Surrogate.prove`) either shows that no chain is better than the best one known, or gives one of which more must be
known. Its sets are evaluated, in one pass over the rows, which lifts the minorants there; and again. What is reported
is proved from the evaluations alone, as it will be from a record of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import UnknownSetError
from coordpath_governance.paths.chains.set_function import order_chain
from coordpath_governance.paths.convex.chain_search import find_chain
from coordpath_governance.paths.convex.minorants import EPS
from coordpath_governance.paths.convex.set_costs import is_set
from coordpath_governance.paths.convex.surrogates import Surrogate
from coordpath_governance.paths.convex.task import Inquiry
from coordpath_governance.paths.convex.touching import touching_points
from coordpath_governance.paths.solvers.protocol import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.convex.set_costs import Evaluation, FloatArray
    from coordpath_governance.paths.convex.task import ConvexTask

__all__ = ["best_known_chain", "quick_bound", "solve_many"]


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
    effort = _EFFORTS[solver]
    inquiry = Inquiry(task)
    inquiry.ask(task.first_points)
    try:
        order = find_chain(inquiry)
        inquiry.ask(task.chain(order))
        if not task.patience.expired():
            inquiry.ask(touching_points(inquiry, order))
        task.known.aim = _close(inquiry, effort)
        cuts = inquiry.cuts
    except UnknownSetError:
        cuts = task.known.cuts
    order, value = best_known_chain(task, cuts)
    bound = Surrogate(task, task.known.curvature(cuts), cuts).prove(order, value, effort.most, task.known.aim).bound
    if task.patience.expired():
        bound = max(bound, task.known.aim)
    return Found(order, min(bound, value), task.name)


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
        proved = Surrogate(task, inquiry.curvature(), cuts).prove(order, value, work, aim)
        bound, spent = max(bound, proved.bound), spent + proved.work + _ROUND
        aim = bound + _PART * (value - bound)
        task.report("quadratics below the cost", value, min(bound, value))
        if proved.order is not None:
            inquiry.ask(task.chain(proved.order))
        elif proved.closed or work >= effort.most:
            break
        else:
            work *= 4
    return bound


def best_known_chain(task: ConvexTask, evaluations: Sequence[Evaluation]) -> tuple[tuple[int, ...], float]:
    """The best order whose sets are all known, and its sum; the listed one, and infinity, if there is none.

    Among equals the unit listed last moves last.
    """
    values = {_number(each.at): each.value for each in evaluations if is_set(each)}
    totals: list[dict[int, float]] = [{0: 0.0}]
    for k, alpha in enumerate(task.alphas.tolist(), start=1):
        sets = [number for number in values if number.bit_count() == k]
        least = {number: min(_before(totals[-1], number).values(), default=np.inf) for number in sets}
        totals.append({number: total + alpha * values[number] for number, total in least.items() if total < np.inf})
    if not totals[-1]:
        return tuple(range(task.known.size)), np.inf
    tie = 4.0 * EPS * float(task.alphas.sum()) * max(map(abs, values.values()))
    number = min(_least(totals[-1], tie))
    chain = [number]
    for before in totals[-2::-1]:
        number = _least(_before(before, number), tie)[0]
        chain.append(number)
    order = [(one ^ other).bit_length() - 1 for one, other in zip(chain[::-1], chain[-2::-1], strict=False)]
    return order_chain(order, task.known.size), float(task.alphas @ [values[number] for number in chain[-2::-1]])


def _number(at: FloatArray) -> int:
    """Σ_{u∈S} 2^u."""
    return int.from_bytes(np.packbits(at > 0.0, bitorder="little").tobytes(), "little")


def _before(totals: dict[int, float], number: int) -> dict[int, float]:
    """The sets that lack one unit of a set, the unit listed last first."""
    units = [u for u in range(number.bit_length() - 1, -1, -1) if number >> u & 1]
    return {number ^ 1 << u: totals[number ^ 1 << u] for u in units if number ^ 1 << u in totals}


def _least(totals: dict[int, float], tie: float) -> list[int]:
    """The sets with the least total, as good as equal ones included."""
    least = min(totals.values())
    return [number for number, total in totals.items() if total <= least + tie]
