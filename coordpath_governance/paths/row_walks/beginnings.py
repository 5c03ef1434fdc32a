"""The best walk, proved: beginnings of walks with their best values, and what every state still costs at least.

The first k terms of a walk cost no less than their own best values allow, and the others no less than the programme over
states says. Beginnings for which that is no better than the best walk known are not followed; the others are, the
most promising first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.row_walks.walks_on_rows import Walk
from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.state_table import States
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks

__all__ = ["search_walks"]

_TOGETHER = 64
"""Beginnings that are followed at once."""

_WORTH = 1e-9
"""Walks that are better by less than this part of Σα(c − min c) are not looked for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Beginning:
    """Visits up to a term, whether each goes to the target, and what the open ones reach.

    ``value`` is what the terms cost so, ``lower`` what they cost at least, ``state`` where they lead.
    """

    sequence: tuple[int, ...]
    closed: tuple[bool, ...]
    x: FloatArray
    value: float
    lower: float
    state: int


def search_walks(
    walks: RowWalks, alphas: FloatArray, states: States, best: Walk, report: Callable[[float, float], None]
) -> tuple[Walk, float]:
    """The best walk and a bound on all; where the work or the time ends first, what is known until then."""
    tree = _Tree(walks, alphas, states, best)
    while tree.waiting and not walks.over():
        tree.follow([heapq.heappop(tree.waiting)[2] for _ in range(min(_TOGETHER, len(tree.waiting)))])
        report(tree.best.value, tree.bound)
    return tree.best, tree.bound


class _Tree:
    def __init__(self, walks: RowWalks, alphas: FloatArray, states: States, best: Walk) -> None:
        self.walks, self.alphas, self.states, self.best = walks, alphas, states, best
        self.to_go = states.to_go()
        self.dropped = np.inf
        self.waiting: list[tuple[float, int, _Beginning]] = []
        self._count = 0
        self._floor = float(alphas.sum()) * walks.costs.cost.minimum()
        self._wait(_Beginning(sequence=(), closed=(), x=np.zeros(0), value=0.0, lower=0.0, state=0), float(self.to_go[0, 0]))

    @property
    def bound(self) -> float:
        """No walk costs less."""
        return min(self.dropped, self.best.value, self.waiting[0][0] if self.waiting else np.inf)

    @property
    def _limit(self) -> float:
        return self.best.value - _WORTH * (self.best.value - self._floor)

    def follow(self, beginnings: list[_Beginning]) -> None:
        """Add every move to each; fit those whose values that changes, all of them together."""
        children = []
        for beginning in beginnings:
            for move in range(*self.states.begin[beginning.state : beginning.state + 2]):
                child, bound = self._child(beginning, move)
                if bound < self._limit:
                    children.append(child)
                else:
                    self.dropped = min(self.dropped, bound)
        fits = [child for child in children if self._moves_values(child)]
        layouts = [self.walks.layout(child.sequence, child.closed, self.alphas[: len(child.sequence)]) for child in fits]
        fitted = iter(self.walks.fit(layouts, [child.x for child in fits]))
        for child in children:
            if self._moves_values(child):
                fit = next(fitted)
                self._keep(replace(child, x=fit.x, value=fit.value, lower=max(fit.lower, child.lower)))
            else:
                self._keep(child)

    def _child(self, beginning: _Beginning, move: int) -> tuple[_Beginning, float]:
        """A beginning with one more move, and its bound as far as that is known without a fit."""
        k, states = len(beginning.sequence), self.states
        unit, closes, goal = int(states.unit[move]), bool(states.closes[move]), int(states.goal[move])
        reached = self.walks.models(beginning.sequence, beginning.closed, beginning.x)
        beta = reached[-1] if k else self.walks.problem.start
        more = beta[self.walks.members[unit]] if unit != REST and not closes else np.zeros(0)
        cost = float(self.alphas[k]) * float(states.least[goal])
        child = _Beginning(
            sequence=(*beginning.sequence, unit),
            closed=(*beginning.closed, closes),
            x=np.concatenate([beginning.x, more]),
            value=beginning.value + cost,
            lower=beginning.lower + cost,
            state=goal,
        )
        return child, child.lower + float(self.to_go[k + 1, goal])

    def _moves_values(self, child: _Beginning) -> bool:
        """Whether the last term depends on values, or its state's cost is not known; otherwise it costs what that does."""
        settled = self.states.idle[child.state] and self.states.is_known[child.state]
        return not settled and bool(self.alphas[len(child.sequence) - 1] > 0.0)

    def _keep(self, child: _Beginning) -> None:
        k = len(child.sequence)
        bound = child.lower + float(self.to_go[k, child.state])
        if k == len(self.alphas):
            self.dropped = min(self.dropped, child.lower)
            if child.value < self.best.value:
                models = self.walks.models(child.sequence, child.closed, child.x)
                self.best = Walk(child.sequence, models, child.value)
        elif bound < self._limit:
            self._wait(child, bound)
        else:
            self.dropped = min(self.dropped, bound)

    def _wait(self, beginning: _Beginning, bound: float) -> None:
        self._count += 1
        heapq.heappush(self.waiting, (bound, self._count, beginning))
