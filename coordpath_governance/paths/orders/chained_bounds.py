"""Bounds on the rest of a chain, with some units integral and chained and the others relaxed step by step.

Let I be some units and J the others. For a step from level k with S_k ∩ I = x that moves a unit of J, or i ∈ I∖x, let
c(k, x) and cᵢ(k, x) be what it costs at least (`RelaxedSteps`). Then

    T(k, x) = min( c(k, x) + T(k+1, x),  min over i ∈ I∖x of cᵢ(k, x) + T(k+1, x ∪ i) )

bounds the rest of every chain through S_k with S_k ∩ I = x. With F(k, x), the same from the start, F + T bounds all chains
through (k, x): where it is no less than what is aimed at, (k, x) is given up. So I can grow unit by unit, each node that is
left becoming two; the relaxed points of a node are where those of its halves begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.masks import NodeIndex
from coordpath_governance.paths.orders.steps import RelaxedSteps, pair_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.orders.set_function import SetFunction

__all__ = ["ChainedBounds", "Refinement"]

_MOST_INTEGRAL, _MOST_CROWDED = 60, 16
"""Most integral units; and where there are more nodes than are kept, so that the aim had to be lowered."""

_FIRST_ROUNDS, _ROUNDS = 300, 10
_ELEMENT_ROUNDS = 20_000_000
"""Numbers times rounds the first time: past this, rounds are saved."""

_NEAR = 0.005
"""Bounds of nodes that are this part of the target apart differ in weight by a factor e."""

_CHUNK = 1 << 15
"""Numbers of a batch: it stays in the cache, and the deadline is looked at after each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainedBounds:
    """On Σ_{j>k} αⱼ e(S_j): after(k, x) + Σ_{u∈S} slopes[k, u] − before[k]·e(S), with x = S ∩ I as a bit mask.

    ``units`` lists I and then J; bits and slopes follow that list. Only for chains below ``reach``: all others count as
    given up. ``root`` bounds all chains. ``nodes`` is how many (k, x) are left. ``rest``: after(k, x) by rows of ``index``,
    the last for pairs that were given up.
    """

    units: list[int]
    integral: int
    index: NodeIndex
    rest: NDArray[np.float64]
    slopes: NDArray[np.float64]
    before: NDArray[np.float64]
    root: float
    reach: float
    nodes: int

    def after(self, level: int, words: NDArray[np.int64]) -> NDArray[np.float64]:
        """The constant for level k and some x, infinite where (k, x) was given up."""
        rest: NDArray[np.float64] = self.rest[self.index.find(level, words)]
        return rest


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Pairs (level, word of I) that are left, with a relaxed point for the units of J."""

    level: NDArray[np.int64]
    word: NDArray[np.int64]
    point: NDArray[np.float64]

    def take(self, chosen: NDArray[np.bool_]) -> _Nodes:
        return _Nodes(self.level[chosen], self.word[chosen], self.point[chosen])

    @property
    def moved(self) -> NDArray[np.int64]:
        """How many units of J have moved."""
        return self.level - np.bitwise_count(self.word).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Costs:
    """C(k, x) and cᵢ(k, x) of the nodes, infinite where there is no such step, and the points found for c(k, x)."""

    stay: NDArray[np.float64]
    enter: NDArray[np.float64]
    point: NDArray[np.float64]
    reduced: NDArray[np.float64]


class Refinement:
    """Bounds that get better as more units become integral.

    Aims at chains below ``target``. If more than ``capacity`` numbers would be kept, it aims lower, at as many nodes as fit.
    ``work`` counts numbers times rounds.
    """

    def __init__(
        self,
        function: SetFunction,
        alphas: NDArray[np.float64],
        *,
        target: float,
        capacity: int,
        expired: Callable[[], bool],
    ) -> None:
        self.function, self.target, self.capacity, self.expired = function, target, capacity, expired
        self.pairs = pair_steps(alphas, whole=len(alphas) == function.size - 1)
        self.steps = len(self.pairs.weight)
        self.integral: list[int] = []
        self.relaxed = list(range(function.size))
        self.lengths = np.sum(function.columns * function.columns, axis=0)
        level = np.arange(self.steps)
        start = np.repeat(np.minimum((level + self.pairs.share) / function.size, 1.0)[:, None], function.size, axis=1)
        self.nodes = _Nodes(level, np.zeros(self.steps, dtype=np.int64), start)
        self.nearness: NDArray[np.float64] | None = None
        self.work = 0
        self.crowded = False

    def bounds(self) -> ChainedBounds | None:
        """Bounds with the present I, giving up all nodes that they can.

        None if the deadline came; but the first bounds are always given, from points as they are.
        """
        fraction = self.steps * np.mean(self.nodes.point * (1.0 - self.nodes.point), axis=0)
        worth = np.maximum(fraction - 0.25, 0.01)
        steps = RelaxedSteps(
            self.function, self.pairs, integral=self.integral, relaxed=self.relaxed, worth=worth, expired=self.expired
        )
        end = 0.0
        if self.pairs.whole:
            excess = self.function.lifted_excess(range(self.function.size))
            end = self.pairs.charge_whole * float(np.trace(steps.rest)) - self.pairs.after[-1] * excess
        costs = self._costs(steps)
        if costs is None:
            return None
        reach, after = self._chain(costs, end)
        reduced = np.full((self.steps, len(self.relaxed)), np.inf)
        if self.integral:
            if not self._settle_entries(steps, costs, self._open_entries(costs, end, reach, after), reduced):
                return None
            reach, after = self._chain(costs, end)
        level, word = self.nodes.level, self.nodes.word
        staying = reach[:-1] + costs.stay + self._following(after, end, level, word) < self.target
        _lower(reduced, level[staying], costs.reduced[staying])
        return self._give_up(steps, costs.point, np.where(np.isinf(reduced), 0.0, reduced), reach, after)

    @property
    def full(self) -> bool:
        """Whether no more units can become integral."""
        most = _MOST_CROWDED if self.crowded else _MOST_INTEGRAL
        return len(self.integral) >= min(most, self.function.size - 1)

    def split(self) -> None:
        """Make one more unit integral: the one whose relaxed moves hide most where chains may still be best."""
        nodes = self.nodes
        hidden = np.average(nodes.point * (1.0 - nodes.point), axis=0, weights=self.nearness) * self.lengths[self.relaxed]
        place = int(np.argmax(hidden))
        bit = np.int64(1) << len(self.integral)
        self.integral.append(self.relaxed.pop(place))
        point = np.delete(nodes.point, place, axis=1)
        halves = _Nodes(
            np.concatenate([nodes.level, nodes.level]),
            np.concatenate([nodes.word, nodes.word | bit]),
            np.concatenate([point, point]),
        )
        self.nodes = halves.take((halves.moved >= 0) & (halves.moved <= len(self.relaxed)))

    def _inside(self, word: NDArray[np.int64]) -> NDArray[np.float64]:
        return (word[:, None] >> np.arange(len(self.integral)) & 1).astype(np.float64)

    def _chunks(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        at_once = max(1, _CHUNK // max(1, len(self.relaxed)))
        return [rows[begin : begin + at_once] for begin in range(0, len(rows), at_once)]

    def _costs(self, steps: RelaxedSteps) -> _Costs | None:
        """Steps that move a unit of J from settled points, steps that move one of I from points in between."""
        nodes, count, width = self.nodes, len(self.nodes.level), len(self.relaxed)
        rounds = _ROUNDS
        if not self.integral:
            rounds = max(_ROUNDS, min(_FIRST_ROUNDS, _ELEMENT_ROUNDS // nodes.point.size))
        self.work += rounds * nodes.point.size
        sums = np.minimum(nodes.moved + self.pairs.share[nodes.level], float(width))
        stay, point, reduced = np.empty(count), np.empty((count, width)), np.empty((count, width))
        for turn, rows in enumerate(self._chunks(np.arange(count))):
            if (turn > 0 or self.integral) and self.expired():
                if self.integral:
                    return None
                rounds = 0
            level, inside = nodes.level[rows], self._inside(nodes.word[rows])
            point[rows] = steps.settle(level, inside, nodes.point[rows], sums[rows], rounds)
            stay[rows], reduced[rows] = steps.tangent(level, inside, point[rows], sums[rows])
        closing = (nodes.level == self.steps - 1) & (not self.pairs.whole)
        stay[(nodes.moved >= width) & ~closing] = np.inf
        enter = np.full((count, len(self.integral)), np.inf)
        index = self._index()
        for i in range(len(self.integral)):
            to = nodes.word | (1 << i)
            present = index.find(nodes.level + 1, to) < index.missing
            if self.pairs.whole:
                present |= (nodes.level + 1 == self.steps) & (to == self._everything)
            free = np.flatnonzero((nodes.word >> i & 1 == 0) & present)
            for rows in self._chunks(free):
                if self.expired():
                    return None
                between, inside = self._between(index, point, rows, np.full(len(rows), i))
                enter[rows, i], _ = self._entry(steps, rows, i, inside, between)
        return _Costs(stay, enter, point, reduced)

    def _index(self) -> NodeIndex:
        """Where every node is listed."""
        return NodeIndex(self.nodes.level, self.nodes.word, self.steps, len(self.integral))

    @property
    def _everything(self) -> int:
        """The word of all units of I."""
        return (1 << len(self.integral)) - 1

    def _following(
        self, after: NDArray[np.float64], end: float, level: NDArray[np.int64] | int, word: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """T(k + 1, x): from the table, or ``end`` after the last step."""
        rest = after[self._index_now.find(np.add(level, 1), word)]
        last = np.equal(level, self.steps - 1)
        closing = np.where(word == self._everything, end, np.inf) if self.pairs.whole else end
        following: NDArray[np.float64] = np.where(last, closing, rest)
        return following

    def _between(
        self, index: NodeIndex, point: NDArray[np.float64], rows: NDArray[np.int64], units: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Halfway through steps that move a unit of I: a point of J between those of (k, x) and (k, x ∪ i), and x̄."""
        level, word = self.nodes.level[rows], self.nodes.word[rows]
        paired = index.find(level, word | (np.int64(1) << units))
        share = self.pairs.share[level]
        mix = np.where(paired < index.missing, share, 0.0)[:, None]
        paired = np.minimum(paired, index.missing - 1)
        inside = self._inside(word)
        inside[np.arange(len(rows)), units] = share
        return (1.0 - mix) * point[rows] + mix * point[paired], inside

    def _entry(
        self,
        steps: RelaxedSteps,
        rows: NDArray[np.int64],
        units: NDArray[np.int64] | int,
        inside: NDArray[np.float64],
        point: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        level = self.nodes.level[rows]
        value, adds = steps.tangent(level, inside, point, self.nodes.moved[rows].astype(np.float64))
        return value + self.pairs.jump[level] * np.diag(steps.block)[units], adds

    def _settle_entries(
        self, steps: RelaxedSteps, costs: _Costs, open_steps: NDArray[np.bool_], reduced: NDArray[np.float64]
    ) -> bool:
        """Better points for the steps that move a unit of I and are still open; False if the deadline came."""
        rows_all, units_all = np.nonzero(open_steps)
        self.work += _ROUNDS * len(rows_all) * len(self.relaxed)
        index = self._index()
        for places in self._chunks(np.arange(len(rows_all))):
            if self.expired():
                return False
            rows, units = rows_all[places], units_all[places]
            point, inside = self._between(index, costs.point, rows, units)
            moved = self.nodes.moved[rows].astype(np.float64)
            point = steps.settle(self.nodes.level[rows], inside, point, moved, _ROUNDS)
            costs.enter[rows, units], adds = self._entry(steps, rows, units, inside, point)
            _lower(reduced, self.nodes.level[rows], adds)
        return True

    def _chain(self, costs: _Costs, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """F and T of the nodes, and infinity for all others; F starts from −before[0]·e₀, T from ``end``."""
        nodes = self.nodes
        self._index_now = index = self._index()
        bits = np.int64(1) << np.arange(len(self.integral))
        rows_of = np.split(
            np.argsort(nodes.level, kind="stable"), np.searchsorted(np.sort(nodes.level), range(1, self.steps))
        )
        after = np.full(index.missing + 1, np.inf)
        for k in range(self.steps - 1, -1, -1):
            rows, word = rows_of[k], nodes.word[rows_of[k]]
            entering = costs.enter[rows] + self._following(after, end, k, word[:, None] | bits)
            staying = costs.stay[rows] + self._following(after, end, k, word)
            after[rows] = np.minimum(staying, np.min(entering, axis=1, initial=np.inf))
        reach = np.full(index.missing + 1, np.inf)
        reach[index.find(0, np.zeros(1, dtype=np.int64))] = -self.pairs.before[0] * self.function.lifted_excess(())
        reach[-1] = np.inf
        for k in range(self.steps - 1):
            rows, word = rows_of[k], nodes.word[rows_of[k]]
            so_far = reach[rows]
            to = index.find(k + 1, word)
            reach[to] = so_far + costs.stay[rows]
            for i, bit in enumerate(bits):
                free = word & bit == 0
                to = index.find(k + 1, word[free] | bit)
                reach[to] = np.minimum(reach[to], so_far[free] + costs.enter[rows[free], i])
            reach[-1] = np.inf
        return reach, after

    def _open_entries(
        self, costs: _Costs, end: float, reach: NDArray[np.float64], after: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Steps that move a unit of I on chains that may lie below what is aimed at."""
        bits = np.int64(1) << np.arange(len(self.integral))
        following = self._following(after, end, self.nodes.level[:, None], self.nodes.word[:, None] | bits)
        below: NDArray[np.bool_] = reach[:-1, None] + costs.enter + following < self.target
        return below

    def _give_up(
        self,
        steps: RelaxedSteps,
        point: NDArray[np.float64],
        reduced: NDArray[np.float64],
        reach: NDArray[np.float64],
        after: NDArray[np.float64],
    ) -> ChainedBounds:
        nodes, pairs, integral = self.nodes, self.pairs, len(self.integral)
        index = self._index_now
        through = reach[:-1] + after[:-1]
        first = int(index.find(0, np.zeros(1, dtype=np.int64))[0])
        root = min(self.target, float(reach[first] + after[first]))
        most = max(self.steps, self.capacity // max(1, len(self.relaxed)))
        if np.count_nonzero(through < self.target) > most:
            self.target, self.crowded = float(np.partition(through, most)[most]), True
        left = through < self.target
        after[:-1][~left] = np.inf
        self.nodes = _Nodes(nodes.level, nodes.word, point).take(left)
        self.nearness = np.exp((root - through[left]) / (_NEAR * self.target)) if np.isfinite(self.target) else None
        slopes = np.zeros((self.steps, self.function.size))
        slopes[:, integral:] = np.cumsum(reduced[::-1], axis=0)[::-1] - pairs.jump[:, None] * np.diag(steps.rest)
        before = pairs.before.copy()
        units = [*self.integral, *self.relaxed]
        if self.function.lifts is not None:
            own_constants, own_slopes = self.function.lifts.steps()
            after[:-1] -= (before * own_constants)[nodes.level]
            slopes -= before[:, None] * own_slopes[:, units]
        after[:-1][(nodes.level == self.steps - 1) & np.isfinite(after[:-1])] = 0.0
        slopes[-1], before[-1] = 0.0, 0.0
        return ChainedBounds(
            units=units,
            integral=integral,
            index=index,
            rest=after,
            slopes=slopes,
            before=before,
            root=root,
            reach=self.target,
            nodes=int(np.count_nonzero(left)),
        )


def _lower(least: NDArray[np.float64], level: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
    """Lower every row of ``least`` to the least of the rows of its level."""
    if len(level) == 0:
        return
    order = np.argsort(level, kind="stable")
    first = np.flatnonzero(np.diff(level[order], prepend=-1))
    own = level[order[first]]
    least[own] = np.minimum(least[own], np.minimum.reduceat(rows[order], first, axis=0))
