"""Pruned level programme: the subset programme level by level, keeping only sets that can still lead to a better chain.

A state is a set S as a bit mask with g = least Σ_{k≤|S|} αₖ e(S_k) of a chain that ends there. It is dropped when g plus a
lower bound on the rest of the chain is no less than the best chain known. The bound is the larger of the level
relaxations (one dot product a state) and the chained relaxation (one look-up). It stops at a fixed number of states,
not of seconds, so that the same problem gives the same answer on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chained_bounds import ChainedBounds, bound_chains, largest_units, no_chains
from coordpath_governance.paths.relaxation import LevelBounds, bound_levels
from coordpath_governance.paths.set_function import order_chain
from coordpath_governance.paths.solvers.improvement import first_polish, shuffle
from coordpath_governance.paths.solvers.protocol import ChainTask, Found

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WIDEST", "Levels"]

WIDEST = 62
"""Most units a 64-bit mask holds."""

_QUICK_WORK = 10_000_000
"""What is tried with the level bounds alone: where they suffice, the chained ones cost more than the search."""

_CHUNK = 1 << 20
_MERGE = 1 << 21


@dataclass(frozen=True, eq=False)
class _Level:
    """States of one level, masks ascending; ``total`` is g plus the bound on the rest."""

    masks: NDArray[np.int64]
    g: NDArray[np.float64]
    excess: NDArray[np.float64]
    total: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Rest:
    """Both bounds on the rest of a chain, for children of a level."""

    constant: NDArray[np.float64]
    slopes: NDArray[np.float64]
    chained: ChainedBounds


@dataclass(frozen=True)
class _Searched:
    """A chain better than the one known, if any, and a bound; ``complete`` if no chain was left unexamined."""

    order: list[int] | None
    bound: float
    complete: bool


class Levels:
    """Exact when what survives pruning stays within ``work`` (states times units); otherwise a bound from where it stopped.

    Units that cannot be among the first n are put aside first; if more than `WIDEST` are left, there is only a bound.
    """

    name = "levels"

    def __init__(self, work: int = 90_000_000) -> None:
        self.work = work

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Found:
        """The best chain known, proved or with the bound at which the work stopped."""
        incumbent, best = first_polish(task)
        if task.depth == 0:
            return Found(incumbent, 0.0, self.name)
        levels = bound_levels(task.function, task.depth)
        task.report("first order", best, float(task.alphas @ levels.values))
        candidates, inner, inner_levels = _narrow(task, levels, best)
        if len(candidates) <= WIDEST:
            rest = _Rest(*_linear_rest(task.alphas, inner_levels), no_chains(task.depth))
            quick = self._search(inner, rest, best, min(_QUICK_WORK, self.work))
            if quick.complete:
                return _found(task, candidates, incumbent, quick, quick.bound)
        incumbent, best = shuffle(task, incumbent, best)
        task.report("improvement", best, float(task.alphas @ levels.values))
        candidates, inner, inner_levels = _narrow(task, levels, best)
        linear = _linear_rest(task.alphas, inner_levels)
        chained = bound_chains(inner.function, inner.alphas, inner_levels, best)
        bound = min(best, max(float(task.alphas @ levels.values), float(chained.after[0, 0])))
        if len(candidates) > WIDEST:
            return Found(incumbent, bound, self.name)
        searched = self._search(inner, _Rest(*linear, chained), best, self.work)
        return _found(task, candidates, incumbent, searched, max(bound, searched.bound))

    def _search(self, task: ChainTask, rest: _Rest, best: float, work: int) -> _Searched:
        """A chain better than ``best`` if there is one, and a bound on all chains."""
        target = best - task.rounding
        start = np.zeros(1)
        level = _Level(np.zeros(1, dtype=np.int64), start, np.array([task.function.e0]), start)
        history = [(level.masks, level.g)]
        left = work // task.function.size
        for k in range(task.depth):
            left -= len(level.masks)
            following = None if left < 0 or task.expired() else _expand(task, rest, level, k, target, left)
            if following is None:
                return _Searched(None, min(best, float(level.total.min())), complete=False)
            level = following
            if len(level.masks) == 0:
                return _Searched(None, best, complete=True)
            task.report(f"level {k + 1}", best, float(level.total.min()))
            history.append((level.masks, level.g))
        return _Searched(_backtrack(history, int(np.argmin(level.g))), float(level.g.min()), complete=True)


def _found(task: ChainTask, candidates: list[int], incumbent: tuple[int, ...], searched: _Searched, bound: float) -> Found:
    """The chain that a search among the candidates found, or else the incumbent."""
    if searched.order is not None:
        incumbent = order_chain([candidates[u] for u in searched.order], task.function.size)
    return Found(incumbent, bound, Levels.name)


def _narrow(task: ChainTask, levels: LevelBounds, best: float) -> tuple[list[int], ChainTask, LevelBounds]:
    """The candidates of a chain better than ``best``, and task and bounds of only these."""
    candidates = _candidates(task, levels, best)
    inner = ChainTask(task.function.restrict((), candidates), task.alphas, task.seed, task.expired, task.progress)
    return candidates, inner, LevelBounds(levels.values, levels.reduced[:, candidates])


def _candidates(task: ChainTask, levels: LevelBounds, best: float) -> list[int]:
    """Units that may be among the first n of a better chain, the largest first."""
    forced = float(task.alphas @ levels.values) + task.alphas[-1] * levels.reduced[-1]
    possible = forced < best - task.rounding
    if np.count_nonzero(possible) <= task.depth:
        possible[:] = True
    return [u for u in largest_units(task.function) if possible[u]]


def _linear_rest(alphas: NDArray[np.float64], levels: LevelBounds) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """After level k: Σ_{j>k} αⱼ·(level bound), and what every unit already moved adds to it."""
    constant = np.concatenate([np.cumsum((alphas * levels.values)[::-1])[::-1], [0.0]])
    slopes = np.vstack(
        [np.cumsum((alphas[:, None] * levels.reduced)[::-1], axis=0)[::-1], np.zeros(levels.reduced.shape[1])]
    )
    return constant, slopes


def _expand(task: ChainTask, rest: _Rest, level: _Level, k: int, target: float, most: int) -> _Level | None:
    """All children of level k that can still beat ``target``, each set once; None if they are more than ``most``."""
    size, alpha = task.function.size, float(task.alphas[k])
    quadratic = task.function.quadratic
    own = task.function.linear + np.diag(quadratic)
    bit = np.int64(1) << np.arange(size, dtype=np.int64)
    low = (np.int64(1) << rest.chained.integral) - 1
    nothing = np.empty(0)
    merged = _Level(np.empty(0, dtype=np.int64), nothing, nothing, nothing)
    parts: list[_Level] = []
    waiting = 0
    rows_at_once = max(1, _CHUNK // size)
    for begin in range(0, len(level.masks), rows_at_once):
        chunk = slice(begin, begin + rows_at_once)
        masks = level.masks[chunk]
        member = (masks[:, None] & bit) != 0
        inside = member.astype(np.float64)
        excess = level.excess[chunk, None] + (own + 2.0 * (inside @ quadratic))
        g = level.g[chunk, None] + alpha * excess
        linear = (rest.constant[k + 1] + inside @ rest.slopes[k + 1])[:, None] + rest.slopes[k + 1]
        total = g + np.maximum(linear, rest.chained.after[k + 1][(masks[:, None] | bit) & low])
        rows, units = np.nonzero((total < target) & ~member)
        parts.append(_Level(masks[rows] | bit[units], g[rows, units], excess[rows, units], total[rows, units]))
        waiting += len(rows)
        if waiting > _MERGE:
            merged, parts, waiting = _merge([merged, *parts]), [], 0
            if len(merged.masks) > most or task.expired():
                return None
    return _merge([merged, *parts])


def _merge(parts: list[_Level]) -> _Level:
    """One state for every set: the one with the least g."""
    masks = np.concatenate([part.masks for part in parts])
    if len(masks) == 0:
        return parts[0]
    order = np.argsort(masks, kind="stable")
    ordered = masks[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    g, excess, total = (np.concatenate([getattr(part, name) for part in parts])[order] for name in ("g", "excess", "total"))
    return _Level(ordered[first], np.minimum.reduceat(g, first), excess[first], np.minimum.reduceat(total, first))


def _backtrack(history: list[tuple[NDArray[np.int64], NDArray[np.float64]]], last: int) -> list[int]:
    """The order that ends at a state of the last level."""
    mask = int(history[-1][0][last])
    order: list[int] = []
    for masks, g in reversed(history[:-1]):
        units = [u for u in range(mask.bit_length() - 1, -1, -1) if mask >> u & 1]
        befores = np.array([mask ^ (1 << u) for u in units], dtype=np.int64)
        places = np.minimum(np.searchsorted(masks, befores), len(masks) - 1)
        values = np.where(masks[places] == befores, g[places], np.inf)
        chosen = units[int(np.argmin(values))]
        order.append(chosen)
        mask ^= 1 << chosen
    return order[::-1]
