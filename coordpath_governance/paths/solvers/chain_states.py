"""States of chains, level by level: a set S with g, the least Σ_{k≤|S|} αₖ e(S_k) of a chain that ends there.

A state's *total* is g plus a lower bound on the rest of the chain. States with a total of no less than what is aimed at are
dropped. Where a level has more states than there is work for, those with the largest totals are left out: no chain through
them costs less than the least of these totals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.masks import add_unit, empty_set, find_set, group_sets, members, remove_unit
from coordpath_governance.paths.orders.set_function import order_chain, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.orders.chained_bounds import ChainedBounds
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["Searched", "beam_order", "search_chains"]

_PART = 6
"""A level may take this part of the work that is left: mostly the first levels are the widest."""

_NONE = np.zeros(1, dtype=np.int64)
"""The word of no integral unit."""

_TRIAL, _SHARE = 5000, 0.8
"""States after which the pace is known, and the part of the time left that is counted on."""

_MOST_NUMBERS = 30_000_000
"""States of a level times units, for which there is memory."""

_CHUNK = 1 << 17
_MERGE = 1 << 20
_SORTING = 4e-7
"""Seconds to merge a state, on a slow day."""


@dataclass(frozen=True, eq=False)
class _Level:
    """States of one level.

    ``total`` is g plus the bound on the rest; ``slopes`` are e(S ∪ u) − e(S), infinite for u in S.
    """

    masks: NDArray[np.int64]
    g: NDArray[np.float64]
    excess: NDArray[np.float64]
    total: NDArray[np.float64]
    slopes: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Children:
    """States of the next level, by the row of a parent and the unit that moves."""

    masks: NDArray[np.int64]
    g: NDArray[np.float64]
    excess: NDArray[np.float64]
    total: NDArray[np.float64]
    parents: NDArray[np.int64]
    units: NDArray[np.int64]

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> _Children:
        return _Children(*(part[chosen] for part in vars(self).values()))


@dataclass(frozen=True)
class Searched:
    """A chain better than the one known, if any, and a bound; ``complete`` if no chain was left unexamined."""

    order: list[int] | None
    bound: float
    work: int
    complete: bool


def search_chains(task: ChainTask, all_bounds: list[ChainedBounds], best: float, work: int) -> Searched:
    """A chain better than ``best`` if there is one, and a bound on all chains; units are ordered as the last bounds say."""
    units = all_bounds[-1].units
    aim = min(best - task.rounding, *(bounds.reach for bounds in all_bounds))
    proves = aim >= best - task.rounding
    inner = replace(task, function=task.function.restrict((), units), rules=task.rules.among(units))
    rests = [_Rest.of(bounds, units) for bounds in all_bounds]
    level = _first_level(inner)
    history = [(level.masks, level.g)]
    left, least = work // len(units), np.inf
    pace = _Pace(task)
    for k in range(task.depth):
        left = pace.allow(left - len(level.g), len(level.g))
        most = left // min(_PART, task.depth - k)
        following = None if most <= 0 or task.expired() else _expand(inner, rests, level, k, min(aim, least), most)
        if following is None:
            return Searched(None, min(aim, least, float(level.total.min())), work, complete=False)
        level, dropped = following
        least = min(least, dropped)
        if len(level.g) == 0:
            complete = proves and least >= best
            return Searched(None, min(least, best if proves else aim), pace.work, complete=complete)
        task.report(f"orders up to step {k + 1}", best, min(least, float(level.total.min())))
        history.append((level.masks, level.g))
    order, value = _backtrack(inner, history), float(level.g.min())
    return Searched([units[u] for u in order], min(least, value), pace.work, complete=least >= value)


class _Pace:
    """How many states there is time for, where there is a deadline; ``work`` is what has been done."""

    def __init__(self, task: ChainTask) -> None:
        self._task = task
        self._began = task.patience.left()
        self._states = 0

    @property
    def work(self) -> int:
        """States expanded, times units."""
        return self._states * self._task.function.size

    def allow(self, left: int, states: int) -> int:
        """``left``, or as many states as the time that is left allows at the pace so far; ``states`` are expanded now."""
        before, self._states = self._states, self._states + states
        if before < _TRIAL or not self._task.patience.timed:
            return left
        seconds = self._task.patience.left()
        return min(left, int(_SHARE * seconds * before / max(self._began - seconds, 1e-9)))


def beam_order(task: ChainTask, bounds: ChainedBounds, width: int) -> tuple[int, ...] | None:
    """A good order: of every level only the ``width`` most promising states go on.

    None if the deadline has come, or the task's rules let none of them go on.
    """
    units = bounds.units
    inner = replace(task, function=task.function.restrict((), units), rules=task.rules.among(units))
    rests = [_Rest.of(bounds, units)]
    level = _first_level(inner)
    history = [(level.masks, level.g)]
    for k in range(task.depth):
        following = None if task.expired() else _expand(inner, rests, level, k, np.inf, width)
        if following is None or len(following[0].g) == 0:
            return None
        level, _ = following
        history.append((level.masks, level.g))
    return order_chain([units[u] for u in _backtrack(inner, history)], len(units))


def _first_level(task: ChainTask) -> _Level:
    """The empty set."""
    start = np.zeros(1)
    slopes = task.function.linear + np.diag(task.function.quadratic)
    return _Level(empty_set(task.function.size), start, np.array([task.function.e0]), start, slopes[None])


@dataclass(frozen=True, eq=False)
class _Rest:
    """Bounds on the rest of a chain for sets in a given order of units."""

    low: np.int64
    after: Callable[[int, NDArray[np.int64]], NDArray[np.float64]]
    slopes: NDArray[np.float64]
    before: NDArray[np.float64]

    @classmethod
    def of(cls, bounds: ChainedBounds, units: list[int]) -> _Rest:
        """The same bounds with units listed otherwise; those that are integral stay first."""
        place = {u: i for i, u in enumerate(bounds.units)}
        low = (np.int64(1) << bounds.integral) - 1
        return cls(low, bounds.after, bounds.slopes[:, [place[u] for u in units]], bounds.before)


def _expand(
    task: ChainTask, rests: list[_Rest], level: _Level, k: int, aim: float, most: int
) -> tuple[_Level, float] | None:
    """Children of level k that can still lead below ``aim``, each set once: the most promising, at most ``most``.

    Also the least total of those that were left out for that reason. None if the deadline has come.
    """
    size, alpha = task.function.size, float(task.alphas[k])
    most = max(1, min(most, _MOST_NUMBERS // size))
    first, *others = rests
    weight = alpha - first.before[k + 1]
    merged: _Children | None = None
    parts: list[_Children] = []
    waiting, least = 0, np.inf
    rows_at_once = max(1, _CHUNK // size)
    for begin in range(0, len(level.g), rows_at_once):
        chunk = slice(begin, begin + rows_at_once)
        masks, parent_excess, so_far, change = level.masks[chunk], level.excess[chunk], level.g[chunk], level.slopes[chunk]
        inside = np.isinf(change).astype(np.float64)
        with np.errstate(invalid="ignore"):  # a weight of zero times an infinite slope: no child
            total = weight * change
        total += first.slopes[k + 1]
        total += (so_far + weight * parent_excess + inside @ first.slopes[k + 1] + first.after(k + 1, _NONE)[0])[:, None]
        rows, units = np.nonzero(total < aim)
        excess = parent_excess[rows] + change[rows, units]
        g = so_far[rows] + alpha * excess
        children = _Children(add_unit(masks[rows], units), g, excess, total[rows, units], rows + begin, units)
        if task.rules:
            allowed = task.rules.ready(inside, rows, units) & (excess <= task.rules.ceiling)
            children, rows, units = children.take(allowed), rows[allowed], units[allowed]
        if task.function.lifts is not None:
            raised = alpha * _lifted(task.function.lifts.counting(k + 1), inside, rows, units)
            children = replace(children, g=children.g + raised, total=children.total + raised)
            children = children.take(children.total < aim)
        for bound in others:
            children = _bounded(children, bound, k, inside, begin)
            children = children.take(children.total < aim)
        parts.append(children)
        waiting += len(children.g)
        if waiting > _MERGE:
            if task.patience.left() < _SORTING * waiting:
                return None
            merged, dropped = _narrow(_merge(parts if merged is None else [merged, *parts]), most)
            parts, waiting = [], len(merged.g)
            least = min(least, dropped)
            aim = min(aim, least)
        if task.expired():
            return None
    if task.patience.left() < _SORTING * waiting:
        return None
    merged, dropped = _narrow(_merge(parts if merged is None else [merged, *parts]), most)
    slopes = _slopes_after(level.slopes, merged, 2.0 * task.function.quadratic)
    return _Level(merged.masks, merged.g, merged.excess, merged.total, slopes), min(least, dropped)


def _slopes_after(before: NDArray[np.float64], children: _Children, quadratic: NDArray[np.float64]) -> NDArray[np.float64]:
    """e(S ∪ {u, v}) − e(S ∪ u) = e(S ∪ v) − e(S) + 2Q_uv; in chunks: large temporary arrays cost more than the sums."""
    slopes = np.empty((len(children.g), before.shape[1]))
    rows_at_once = max(1, _CHUNK // before.shape[1])
    for begin in range(0, len(slopes), rows_at_once):
        chunk = slice(begin, begin + rows_at_once)
        part, units = slopes[chunk], children.units[chunk]
        np.take(before, children.parents[chunk], axis=0, out=part, mode="clip")
        part += quadratic[units]
        part[np.arange(len(part)), units] = np.inf
    return slopes


def _bounded(children: _Children, bound: _Rest, k: int, inside: NDArray[np.float64], begin: int) -> _Children:
    """Children with one bound more on what follows them."""
    slopes = bound.slopes[k + 1]
    rest = (inside @ slopes)[children.parents - begin] + slopes[children.units] - bound.before[k + 1] * children.excess
    total = children.g + rest + bound.after(k + 1, children.masks[:, 0] & bound.low)
    return replace(children, total=np.maximum(children.total, total))


def _narrow(children: _Children, most: int) -> tuple[_Children, float]:
    """The ``most`` states with the least totals, the first among equals, and the least total of the others."""
    if len(children.g) <= most:
        return children, np.inf
    least = float(np.partition(children.total, most)[most])
    chosen = children.total < least
    chosen[np.flatnonzero(children.total == least)[: most - np.count_nonzero(chosen)]] = True
    return children.take(chosen), least


def _lifted(
    lifts: tuple[NDArray[np.float64], NDArray[np.float64]],
    inside: NDArray[np.float64],
    rows: NDArray[np.intp],
    units: NDArray[np.intp],
) -> NDArray[np.float64]:
    """What the sets of ``rows`` with one of ``units`` more are lifted by."""
    constants, slopes = lifts
    before = constants[:, None] + slopes @ inside.T
    return positive(before[:, rows] + slopes[:, units])


def _merge(parts: list[_Children]) -> _Children:
    """One state for every set: the one with the least g."""
    masks, g, excess, total, parents, units = (
        np.concatenate([getattr(part, name) for part in parts]) for name in _Children.__dataclass_fields__
    )
    if len(g) == 0:
        return parts[0]
    order, first = group_sets(masks)
    representative = order[first]
    least_g, least_total = (np.minimum.reduceat(values[order], first) for values in (g, total))
    return _Children(
        masks[representative], least_g, excess[representative], least_total, parents[representative], units[representative]
    )


def _backtrack(task: ChainTask, history: list[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> list[int]:
    """The order that ends at the best state of the last level."""
    last_masks, last_g = history[-1]
    mask = last_masks[int(np.argmin(last_g))]
    order: list[int] = []
    for masks, g in reversed(history[:-1]):
        befores = {int(u): remove_unit(mask, int(u)) for u in np.flatnonzero(members(mask[None], task.function.size)[0])}
        rows = {u: find_set(masks, before) for u, before in befores.items()}
        chosen = min((float(g[row]), u) for u, row in rows.items() if row is not None)[1]
        order.append(chosen)
        mask = befores[chosen]
    return order[::-1]
