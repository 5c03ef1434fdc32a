"""Walks of one number of terms: proposals by quadratics, a search that proves, and neighbours where it does not end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.paths.certificate import OPTIMAL_GAP
from coordpath_governance.paths.row_walks.beginnings import search_walks
from coordpath_governance.paths.row_walks.neighbours import WalkImprovement, at_rest
from coordpath_governance.paths.row_walks.state_table import States
from coordpath_governance.paths.solvers.protocol import ROW_WALKS, Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.row_walk_task import RowWalkTask
    from coordpath_governance.paths.row_walks.state_costs import StateCosts
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks, Walk

__all__ = ["RowWalkSearch"]

_FIRST, _TABLE, _TREE = 0.2, 0.6, 0.7
"""Parts of what is left to spend: for first walks, for the least costs of states, and for the search that proves."""

_MOST_STATES, _LISTED = 30_000, 5e-5
"""States that are listed at most, and the seconds that each of them takes."""

_PROVED = 0.1 * OPTIMAL_GAP
"""A part of Σα(c − min c) that a bound may lack."""


class RowWalkSearch:
    """Proposals and neighbours; with ``proves`` also a search over all sequences, where it can be afforded."""

    name = "sequences"
    needs = ROW_WALKS

    def __init__(self, *, proves: bool) -> None:
        self.proves = proves

    def lacks(self, _task: RowWalkTask) -> str | None:
        """Nothing: what it cannot search it bounds by floors."""
        return None

    def solve(self, task: RowWalkTask) -> Answer:
        """The best walk found, with a bound on all."""
        states = task.states if self.proves else None
        walk, bound, name = _search_length(task.walks, task.alphas, task.first, task.floor, states, task.report)
        return Answer(walk.sequence, bound, name, row_walk=walk)


def _search_length(
    walks: RowWalks,
    alphas: FloatArray,
    first: Walk,
    floor: float,
    states: StateCosts | None,
    report: Callable[[str, float, float], None],
) -> tuple[Walk, float, str]:
    """The best walk found, a bound on all (at least ``floor``), and what found it; without ``states`` nothing is proved."""
    proposed = WalkImprovement(walks.within(_FIRST), alphas, first)
    proposed.touch()
    best, bound, name = proposed.best, floor, "local"
    report("quadratics that touch the cost", best.value, bound)
    if states is not None and _affordable(walks, len(alphas), states):
        name = "sequences"
        table = States(walks.within(_TABLE), alphas, states)
        table.ask(best.value)

        def report_proved(value: float, proved: float) -> None:
            report("sequences that could be better", value, max(floor, proved))

        best, proved = search_walks(walks.within(_TREE), alphas, table, best, report_proved)
        bound = max(floor, proved)
    if best.value - bound > _PROVED * (best.value - float(alphas.sum()) * walks.costs.cost.minimum()):
        neighbours = WalkImprovement(walks, alphas, best)
        neighbours.descend(lambda value: report("neighbouring sequences", value, bound))
        best = neighbours.best
    return at_rest(walks, alphas, best), bound, name


def _affordable(walks: RowWalks, terms: int, states: StateCosts) -> bool:
    """Whether the least costs of all states can be found."""
    count = States.count(walks, terms)
    if walks.patience.left() < _LISTED * count:
        return False
    return count <= _MOST_STATES and states.price(count) <= _TABLE * (walks.limit - walks.costs.spent)
