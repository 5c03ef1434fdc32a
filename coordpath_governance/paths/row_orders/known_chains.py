"""The best chain of which everything is known: a programme over the sets that were evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.set_function import order_chain
from coordpath_governance.paths.row_orders.evaluated_sets import is_set, set_number
from coordpath_governance.paths.row_orders.minorants import tie_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.row_orders.evaluated_sets import Evaluation
    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask

__all__ = ["best_known_chain"]


def best_known_chain(task: EvaluatedTask, evaluations: Sequence[Evaluation]) -> tuple[tuple[int, ...], float]:
    """The best order whose sets are all known, and its sum; the listed one, and infinity, if there is none.

    Among equals the unit listed last moves last.
    """
    values = {set_number(each.at): each.value for each in evaluations if is_set(each)}
    totals: list[dict[int, float]] = [{0: 0.0}]
    for k, alpha in enumerate(task.alphas.tolist(), start=1):
        sets = [number for number in values if number.bit_count() == k]
        least = {number: min(_before(totals[-1], number).values(), default=np.inf) for number in sets}
        totals.append({number: total + alpha * values[number] for number, total in least.items() if total < np.inf})
    if not totals[-1]:
        return tuple(range(task.known.size)), np.inf
    tie = tie_of(min(totals[-1].values()))
    number = min(_least(totals[-1], tie))
    chain = [number]
    for before in totals[-2::-1]:
        number = _least(_before(before, number), tie)[0]
        chain.append(number)
    order = [(one ^ other).bit_length() - 1 for one, other in zip(chain[::-1], chain[-2::-1], strict=False)]
    return order_chain(order, task.known.size), float(task.alphas @ [values[number] for number in chain[-2::-1]])


def _before(totals: dict[int, float], number: int) -> dict[int, float]:
    """The sets that lack one unit of a set, the unit listed last first."""
    units = [u for u in range(number.bit_length() - 1, -1, -1) if number >> u & 1]
    return {number ^ 1 << u: totals[number ^ 1 << u] for u in units if number ^ 1 << u in totals}


def _least(totals: dict[int, float], tie: float) -> list[int]:
    """The sets with the least total, as good as equal ones included."""
    least = min(totals.values())
    return [number for number, total in totals.items() if total <= least + tie]
