"""States of chains, level by level: a set S with g, the least Σ_{k≤|S|} αₖ e(S_k) of a chain that ends there.

A state's *total* is g plus a lower bound on the rest of the chain. States with a total of no less than what is aimed at are
dropped. Where a level has more states than there is work for, those with the largest totals are left out: no chain through
them costs less than the least of these totals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.masks import add_unit, empty_set, find_set, group_sets, members, remove_unit
from coordpath_governance.paths.chains.set_function import order_chain, positive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.chains.chained_bounds import ChainedBounds
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["Searched", "beam_order", "search_chains"]

_PART = 12
"""A level may take this part of the work that is left: mostly the first levels are the widest."""

_NONE = np.zeros(1, dtype=np.int64)
"""The word of no integral unit."""

_CHUNK = 1 << 20
_MERGE = 1 << 20
_SORTING = 4e-7
"""Seconds to merge a state, on a slow day."""


@dataclass(frozen=True, eq=False)
class _Level:
    """States of one level; ``total`` is g plus the bound on the rest."""

    masks: NDArray[np.int64]
    g: NDArray[np.float64]
    excess: NDArray[np.float64]
    total: NDArray[np.float64]


@dataclass(frozen=True)
class Searched:
    """A chain better than the one known, if any, and a bound; ``complete`` if no chain was left unexamined."""

    order: list[int] | None
    bound: float
    work: int
    complete: bool


def search_chains(task: ChainTask, known: list[ChainedBounds], best: float, work: int) -> Searched:
    """A chain better than ``best`` if there is one, and a bound on all chains; units are ordered as the last bounds say."""
    units = known[-1].units
    aim = min(best - task.rounding, *(bounds.reach for bounds in known))
    proves = aim >= best - task.rounding
    inner = replace(task, function=task.function.restrict((), units))
    rests = [_Rest.of(bounds, units) for bounds in known]
    level = _first_level(inner)
    history = [(level.masks, level.g)]
    left, least = work // len(units), np.inf
    for k in range(task.depth):
        left -= len(level.g)
        most = left // min(_PART, task.depth - k)
        following = None if most <= 0 or task.expired() else _expand(inner, rests, level, k, min(aim, least), most)
        if following is None:
            return Searched(None, min(aim, least, float(level.total.min())), work, complete=False)
        level, dropped = following
        least = min(least, dropped)
        if len(level.g) == 0:
            complete = proves and least >= best
            return Searched(None, min(least, best if proves else aim), work - left * len(units), complete=complete)
        task.report(f"orders up to step {k + 1}", best, min(least, float(level.total.min())))
        history.append((level.masks, level.g))
    order, value = _backtrack(inner, history), float(level.g.min())
    spent = work - left * len(units)
    return Searched([units[u] for u in order], min(least, value), spent, complete=least >= value)


def beam_order(task: ChainTask, bounds: ChainedBounds, width: int) -> tuple[int, ...] | None:
    """A good order: of every level only the ``width`` most promising states go on. None if the deadline has come."""
    units = bounds.units
    inner = replace(task, function=task.function.restrict((), units))
    rests = [_Rest.of(bounds, units)]
    level = _first_level(inner)
    history = [(level.masks, level.g)]
    for k in range(task.depth):
        following = None if task.expired() else _expand(inner, rests, level, k, np.inf, width)
        if following is None:
            return None
        level, _ = following
        history.append((level.masks, level.g))
    return order_chain([units[u] for u in _backtrack(inner, history)], len(units))


def _first_level(task: ChainTask) -> _Level:
    """The empty set."""
    start = np.zeros(1)
    return _Level(empty_set(task.function.size), start, np.array([task.function.e0]), start)


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
    quadratic = 2.0 * task.function.quadratic
    own = task.function.linear + np.diag(quadratic) / 2.0
    first, *others = rests
    merged = _Level(level.masks[:0], level.g[:0], level.g[:0], level.g[:0])
    parts: list[_Level] = []
    waiting, least = 0, np.inf
    rows_at_once = max(1, _CHUNK // size)
    for begin in range(0, len(level.g), rows_at_once):
        chunk = slice(begin, begin + rows_at_once)
        masks, here, so_far = level.masks[chunk], level.excess[chunk], level.g[chunk]
        member = members(masks, size)
        inside = member.astype(np.float64)
        change = inside @ quadratic
        change += own
        weight = alpha - first.before[k + 1]
        total = weight * change
        total += first.slopes[k + 1]
        total += (so_far + weight * here + inside @ first.slopes[k + 1] + first.after(k + 1, _NONE)[0])[:, None]
        total[member] = np.inf
        rows, units = np.nonzero(total < aim)
        totals = total[rows, units]
        excess = here[rows] + change[rows, units]
        g = so_far[rows] + alpha * excess
        children = add_unit(masks[rows], units)
        if task.function.lifts is not None:
            raised = alpha * _lifted(task.function.lifts.counting(k + 1), inside, rows, units)
            g, totals = g + raised, totals + raised
            left = totals < aim
            totals, excess, g, children, rows, units = (part[left] for part in (totals, excess, g, children, rows, units))
        for bound in others:
            slopes = bound.slopes[k + 1]
            rest = (inside @ slopes)[rows] + slopes[units] - bound.before[k + 1] * excess
            totals = np.maximum(totals, g + rest + bound.after(k + 1, children[:, 0] & bound.low))
            left = totals < aim
            totals, excess, g, children, rows, units = (part[left] for part in (totals, excess, g, children, rows, units))
        parts.append(_Level(children, g, excess, totals))
        waiting += len(rows)
        if waiting > _MERGE:
            if task.patience.left() < _SORTING * (len(merged.g) + waiting):
                return None
            merged, dropped = _narrow(_merge([merged, *parts]), most)
            parts, waiting = [], 0
            least = min(least, dropped)
            aim = min(aim, least)
        if task.expired():
            return None
    if task.patience.left() < _SORTING * (len(merged.g) + waiting):
        return None
    merged, dropped = _narrow(_merge([merged, *parts]), most)
    return merged, min(least, dropped)


def _narrow(level: _Level, most: int) -> tuple[_Level, float]:
    """The states with the least totals, at most ``most``, and the least total of the others."""
    if len(level.g) <= most:
        return level, np.inf
    least = float(np.partition(level.total, most)[most])
    kept = level.total < least
    return _Level(level.masks[kept], level.g[kept], level.excess[kept], level.total[kept]), least


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


def _merge(parts: list[_Level]) -> _Level:
    """One state for every set: the one with the least g."""
    masks = np.concatenate([part.masks for part in parts])
    if len(masks) == 0:
        return parts[0]
    order, first = group_sets(masks)
    g, excess, total = (np.concatenate([getattr(part, name) for part in parts])[order] for name in ("g", "excess", "total"))
    return _Level(masks[order[first]], np.minimum.reduceat(g, first), excess[first], np.minimum.reduceat(total, first))


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
