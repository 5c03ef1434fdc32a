"""Walks by whole steps, term by term: of every state that some walk has reached, the least sum so far.

A state's *total* is its sum so far plus what the terms to come cost at least: for i = 1, 2, … what a model that differs from
it in i more steps costs at least, times that term's weight. States with a total of no less than the best walk known are
dropped. Where a term has more states than there is work for, those with the largest totals are left out, and no walk through
them costs less than the least of these totals.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np

from coordpath_governance.paths.orders.masks import group_sets
from coordpath_governance.paths.whole_steps.whole_moves import FARTHEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.whole_steps.whole_moves import FloatArray, IntArray, WholeMoves

__all__ = ["Around", "Found", "StateCosts", "StateSearch"]

_AT_ONCE = 1 << 10
"""States whose steps are made together."""

_MERGE = 1 << 20
"""Steps after which states that were reached twice become one."""

_CAP = 64
"""Spacings beyond start and goal to which a feature goes where nothing else limits it."""

_MOST = 3_000_000
"""States of a term for which there is memory."""


_PART = 0.5
"""Part of a term's share of the work that goes to looking at states, the others to steps from them."""

_PACE = 5e8
"""Work of a second that is counted on, where there is a deadline."""

_LOOKED_AT = 20
"""States that a beam looks at for each that it keeps."""

_STEPS = 8
"""Steps of a feature from a state, about."""


def _nobody(_bound: float) -> None:
    """Nobody listens."""


class Around(Protocol):
    """What steps of one feature cost from some states."""

    def interval(self, feature: int, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By how many spacings the feature may move from each state, at least and at most, to cost less than its limit."""
        ...

    def moved(self, feature: int, rows: IntArray, spacings: IntArray) -> FloatArray:
        """What it costs to move the feature so far from the state in each of these rows."""
        ...


class StateCosts(Protocol):
    """What a kind of cost tells of states, in units of its own."""

    idle: frozenset[int]
    ceiling: float

    def values(self, states: IntArray) -> FloatArray:
        """What each state costs."""
        ...

    def around(self, states: IntArray) -> Around:
        """What steps from there cost."""
        ...

    def later(self, states: IntArray, steps: int) -> FloatArray:
        """For i = 1 … steps (columns), what a state costs at least that i more steps lead to."""
        ...

    def reach(self, limit: float) -> tuple[FloatArray, FloatArray]:
        """Least and largest spacings of every feature in states that cost no more than a limit."""
        ...

    def work(self, states: int, children: int) -> float:
        """What so many states take, and so many steps from them."""
        ...


@dataclass(frozen=True, eq=False)
class _Reached:
    """States that were reached, with the sum so far, what they cost, a bound on whole walks, and the row they come from.

    The last columns of ``keys`` say which of the features that others wait for have moved.
    """

    keys: IntArray
    g: FloatArray
    value: FloatArray
    total: FloatArray
    parent: IntArray

    def take(self, rows: IntArray) -> Self:
        """Some of them."""
        return type(self)(*(getattr(self, each.name)[rows] for each in fields(self)))

    @classmethod
    def none(cls, like: _Reached) -> _Reached:
        """No states, of as many features."""
        return _Reached(like.keys[:0], like.g[:0], like.value[:0], like.total[:0], like.parent[:0])


@dataclass(frozen=True, eq=False)
class _Level(_Reached):
    """The same after a look at each; ``after`` is the part of the total after the next term."""

    after: FloatArray


_ReachedT = TypeVar("_ReachedT", bound=_Reached)


@dataclass(frozen=True, eq=False)
class Found:
    """The states of a better walk, one for every term (None: there is none), and the least total of what was left out."""

    states: IntArray | None
    value: float
    left_out: float


class StateSearch:
    """One number of terms: ``floors`` are what each costs at least. ``farthest``: how far from the start it has looked."""

    def __init__(
        self, moves: WholeMoves, costs: StateCosts, alphas: FloatArray, floors: FloatArray, patience: Patience
    ) -> None:
        self.moves, self._costs, self._alphas, self._floors = moves, costs, alphas, floors
        self._patience = patience
        self._low, self._high = moves.low, moves.high
        self.spent = 0.0
        self._beyond = np.inf
        self.farthest = np.zeros(moves.size, dtype=np.int64)

    @property
    def floor(self) -> float:
        """No walk costs less."""
        return float(self._alphas @ self._floors)

    def value_of(self, states: IntArray) -> FloatArray:
        """What states cost."""
        return self._costs.values(states)

    def run(
        self,
        limit: float,
        *,
        most: int | None = None,
        work: float = np.inf,
        near: bool = False,
        tell: Callable[[float], None] = _nobody,
    ) -> Found:
        """A walk that costs less than ``limit``: of every term the ``most`` promising states, or what the work allows.

        ``near``: features move straight to the goal, or by one spacing. ``tell`` hears the bounds on the way.
        """
        moves, terms, begun = self.moves, len(self._alphas), self.spent
        self._low, self._high = self._limits(limit)
        keys = np.zeros((1, moves.size + len(moves.watched)), dtype=np.int64)
        nothing = np.zeros(1)
        begin = _Reached(keys, nothing, self._costs.values(keys[:, : moves.size]), nothing, np.zeros(1, dtype=np.int64))
        level = self._valued(begin, 0)
        history = [level]
        self._beyond, left_out = np.inf, np.inf
        for k in range(terms):
            allowed = min(work - (self.spent - begun), _PACE * self._patience.left())
            share = max(allowed, 0.0) / (terms - k)
            looked_at = int(min(_PART * share / self._costs.work(1, 0), _LOOKED_AT * most if most else _MOST)) + 1
            width = most or int(min(share / self._costs.work(1, _STEPS * moves.size), _MOST)) + 1
            following = self._next(level, k, limit, width, looked_at, share, near=near)
            if following is None:
                return Found(None, np.inf, min(left_out, float(level.total.min())))
            level, dropped = following
            left_out = min(left_out, dropped, self._beyond)
            tell(min(left_out, float(level.total.min(initial=np.inf))))
            history.append(level)
            if len(level.g) == 0:
                return Found(None, np.inf, left_out)
        best = int(np.argmin(level.g))
        return Found(_backtrack(history, best)[:, : moves.size], float(level.g[best]), left_out)

    def _limits(self, limit: float) -> tuple[IntArray, IntArray]:
        """How far features may go: not beyond what a term of a better walk may cost.

        Where a term has no weight nothing but the next one that has one says so: a value that is gone by then need not have
        been there, unless others wait for the feature.
        """
        alphas, moves = self._alphas, self.moves
        if not np.isfinite(limit) or moves.watched:
            return moves.low, moves.high
        weighty = alphas > 0
        dearest = float(np.max((limit - self.floor) / alphas[weighty] + self._floors[weighty]))
        if np.isfinite(self._costs.ceiling):
            dearest = max(dearest, self._costs.ceiling)
        low, high = self._costs.reach(dearest)
        ends = (np.zeros(moves.size), np.zeros(moves.size) if moves.goal is None else moves.goal)
        low, high = np.minimum(low, np.minimum(*ends)), np.maximum(high, np.maximum(*ends))
        low, high = (np.clip(each, -FARTHEST, FARTHEST) for each in (np.floor(low) - 1, np.ceil(high) + 1))
        return np.maximum(moves.low, low.astype(np.int64)), np.minimum(moves.high, high.astype(np.int64))

    def _next(
        self, level: _Level, k: int, limit: float, most: int, looked_at: int, allowance: float, *, near: bool
    ) -> tuple[_Level, float] | None:
        """The states of term k + 1, the most promising of them, and the least total of the others; None if it is late.

        Only so many are ``looked_at`` closely, by what is known of the states they come from, and steps from the most
        promising states are made until the ``allowance`` of work is used up.
        """
        reached, least = _Reached.none(level), np.inf
        waiting: list[_Reached] = []
        order, last = np.argsort(level.total, kind="stable"), self.spent + allowance
        for begin in range(0, len(order), _AT_ONCE):
            if self._patience.expired():
                return None
            rows = order[begin : begin + _AT_ONCE]
            waiting += self._children(level.take(rows), rows, k, limit, near=near)
            over = self.spent >= last and begin + _AT_ONCE < len(order)
            if over:
                least = min(least, float(level.total[order[begin + _AT_ONCE]]))
            if over or sum(len(part.g) for part in waiting) > max(_MERGE, len(reached.g)) or begin + _AT_ONCE >= len(order):
                reached, dropped = _narrowed(_merged([reached, *waiting]), looked_at)
                waiting, least = [], min(least, dropped)
            if over:
                break
        following = self._valued(reached, k + 1)
        following = following.take(np.flatnonzero(following.total < limit))
        kept, dropped = _narrowed(following, most)
        return kept, min(least, dropped)

    def _children(self, level: _Level, parents: IntArray, k: int, limit: float, *, near: bool) -> Iterator[_Reached]:
        """What one step leads to, feature by feature, after the rest."""
        moves, costs, alpha = self.moves, self._costs, float(self._alphas[k])
        left = len(self._alphas) - k - 1
        states = level.keys[:, : moves.size]
        fewest = moves.fewest(states)
        away = np.minimum(fewest, FARTHEST).sum(axis=1)
        g = level.g + alpha * level.value
        good = np.flatnonzero((away <= left) & (g + level.after < limit))
        yield _Reached(level.keys[good], g[good], level.value[good], (g + level.after)[good], parents[good])
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = np.where(alpha > 0, (limit - level.g - level.after) / alpha, np.inf)
        limits = np.minimum(limits, costs.ceiling)
        here = costs.around(states)
        self.spent += costs.work(len(states), 0)
        for j in moves.movable.tolist():
            ready = np.all([level.keys[:, moves.size + moves.watched.index(a)] for a in moves.waits[j]], axis=0)
            ready = ready & (away - fewest[:, j] <= left)
            rows, spacings = self._spacings(level, j, here, limits, ready, near=near)
            values = here.moved(j, rows, spacings)
            self.spent += costs.work(0, len(rows))
            keys = level.keys[rows]
            keys[:, j] += spacings
            reaches = away[rows] - fewest[rows, j] + moves.fewest(keys[:, : moves.size])[:, j] <= left
            g = level.g[rows] + alpha * values
            total = g + level.after[rows]
            good = np.flatnonzero(reaches & (values <= costs.ceiling) & (total < limit))
            keys = keys[good]
            if j in moves.watched:
                keys[:, moves.size + moves.watched.index(j)] = 1
            yield _Reached(keys, g[good], values[good], total[good], parents[rows[good]])

    def _spacings(
        self, level: _Level, j: int, here: Around, limits: FloatArray, ready: IntArray, *, near: bool
    ) -> tuple[IntArray, IntArray]:
        """Rows and by how many spacings feature j moves from there: every step that may lead to a better walk."""
        moves, at = self.moves, level.keys[:, j]
        low, high = np.maximum(self._low[j] - at, -moves.down), np.minimum(self._high[j] - at, moves.up)
        goal = at * 0 if moves.goal is None else moves.goal[j] - at
        if j in self._costs.idle or near:
            steps = [np.clip(goal, -moves.down, moves.up)]
            if moves.goal is None or near:
                steps += [np.maximum(low, 1), np.minimum(high, -1)]
        else:
            ends = here.interval(j, limits)
            low = np.maximum(low, np.maximum(np.floor(ends[0]), -FARTHEST).astype(np.int64))
            high = np.minimum(high, np.minimum(np.ceil(ends[1]), FARTHEST).astype(np.int64))
            nearest, farthest = np.minimum(goal, 0) - _CAP, np.maximum(goal, 0) + _CAP
            endless = ~(np.isfinite(ends[0]) & np.isfinite(ends[1]))
            if (endless & ready & ((low < nearest) | (high > farthest))).any():
                self._beyond = min(self._beyond, self.floor)
            low, high = np.where(endless, np.maximum(low, nearest), low), np.where(endless, np.minimum(high, farthest), high)
            counts = np.where(ready, np.maximum(high - low + 1, 0), 0)
            rows = np.repeat(np.arange(len(at)), counts)
            spacings = low[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            moving = spacings != 0
            return rows[moving], spacings[moving]
        rows = np.tile(np.arange(len(at)), len(steps))
        spacings = np.concatenate(steps)
        fits = np.tile(ready, len(steps)) & (spacings != 0) & (spacings >= low[rows]) & (spacings <= high[rows])
        return rows[fits], spacings[fits]

    def _valued(self, reached: _Reached, k: int) -> _Level:
        """States after k terms with what the later ones cost at least."""
        states = reached.keys[:, : self.moves.size]
        left = len(self._alphas) - k
        self.spent += self._costs.work(len(states), 0)
        self.farthest = np.maximum(self.farthest, np.abs(states).max(axis=0, initial=0))
        later = np.maximum(self._costs.later(states, left), self._floors[k:])
        weighted = later * self._alphas[k:]
        total = reached.g + weighted.sum(axis=1)
        return _Level(reached.keys, reached.g, reached.value, total, reached.parent, weighted[:, 1:].sum(axis=1))


def _merged(parts: list[_Reached]) -> _Reached:
    """Every state once, with the least sum; the first among equals."""
    names = [each.name for each in fields(_Reached)]
    every = _Reached(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    if len(every.g) == 0:
        return every
    order, first = group_sets(every.keys)
    g = every.g[order]
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(g))))
    least = np.flatnonzero(g == np.minimum.reduceat(g, first)[group])
    one = least[np.searchsorted(group[least], np.arange(len(first)))]
    return every.take(order[one])


def _narrowed(states: _ReachedT, most: int) -> tuple[_ReachedT, float]:
    """Those with the least totals, the first among equals, and the least total of the others."""
    if len(states.g) <= most:
        return states, np.inf
    order = np.argsort(states.total, kind="stable")
    return states.take(np.sort(order[:most])), float(states.total[order[most]])


def _backtrack(history: list[_Level], row: int) -> IntArray:
    states = []
    for level in history[:0:-1]:
        states.append(level.keys[row])
        row = int(level.parent[row])
    return np.array(states[::-1])
