"""Pruned level programme: the subset programme level by level, keeping only sets that can still lead to a better chain.

A state is a set S with g = least Σ_{k≤|S|} αₖ e(S_k) of a chain that ends there. It is dropped when g plus a lower bound on
the rest of the chain is no less than the best chain known. The bounds (`chained_bounds`) are refined until the states that
are left are few enough. It stops at a fixed amount of work, not of seconds, so that the same problem gives the same answer
on every machine; with a deadline it goes on until then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.chained_bounds import ChainedBounds, Refinement
from coordpath_governance.paths.chains.masks import add_unit, empty_set, find_set, group_sets, members, remove_unit
from coordpath_governance.paths.chains.relaxation import LevelBounds, bound_levels
from coordpath_governance.paths.chains.set_function import order_chain, positive
from coordpath_governance.paths.solvers.improvement import first_polish, shuffle
from coordpath_governance.paths.solvers.lattice import LARGEST, best_chain
from coordpath_governance.paths.solvers.listed import forward_order
from coordpath_governance.paths.solvers.protocol import ChainTask, Found

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Levels"]

_QUICK_WORK = 4_000_000
"""What is tried with the first bounds alone: where they suffice, refined ones cost more than the search."""

_CAPACITY = 2_000_000
"""Numbers a refinement keeps at first."""

_SEARCH_AT = (6, 10, 14)
"""Integral units with which a search is tried, with as much work as the refinement has taken."""

_NONE = np.zeros(1, dtype=np.int64)
"""The word of no integral unit."""

_MOST_WORK, _MOST_CAPACITY = 300_000_000, 20_000_000
"""What fits into memory; a deadline may allow more than the first attempt."""

_FIRST = "a first order"
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
class _Searched:
    """A chain better than the one known, if any, and a bound; ``complete`` if no chain was left unexamined."""

    order: list[int] | None
    bound: float
    work: int
    complete: bool


class _Run:
    """The best chain and the best bound so far; with a deadline the first bound comes before anything that takes time."""

    def __init__(self, task: ChainTask, aim: float) -> None:
        self.task = task
        self.proved = False
        self.spent = 0
        self.bound = 0.0
        self.levels: LevelBounds | None = None
        if task.depth < task.function.size - 1:
            self.levels = bound_levels(task.function, task.depth, task.expired)
            self.bound = float(task.alphas @ self.levels.values)
        if task.patience.timed:
            first = Refinement(task.function, task.alphas, np.inf, _CAPACITY, task.expired).bounds()
            self.bound = max(self.bound, first.root if first is not None else 0.0)
        self.incumbent, self.best = self._greedy() if task.first is None else (task.first, task.evaluate(task.first))
        self.best = min(self.best, aim)
        self.bound = min(self.bound, self.best)

    def _greedy(self) -> tuple[tuple[int, ...], float]:
        """The better greedy order, polished; with many units that takes long, so the plain one is told before."""
        if self.task.patience.progress is not None:
            plain = self.task.evaluate(forward_order(self.task.function))
            self.task.report(_FIRST, plain, min(self.bound, plain))
        return first_polish(self.task)

    def improve(self, turn: int = 0) -> None:
        """Shuffle the incumbent, unless it was given."""
        if self.task.first is None:
            self.incumbent, self.best = shuffle(self.task, self.incumbent, self.best, turn)

    def improve_until_late(self) -> None:
        """No larger search fits into memory: look for a better order, with which the same one may prove more."""
        before, turn = self.best, 0
        while self.task.first is None and self.best >= before and not self.task.expired():
            turn += 1
            self.improve(turn)

    def lift(self, bound: float, stage: str) -> None:
        """A bound on all chains."""
        self.bound = max(self.bound, min(self.best, bound))
        self.task.report(stage, self.best, self.bound)

    def take(self, candidates: list[int], searched: _Searched) -> None:
        """What a search among some units found."""
        if searched.order is not None:
            self.incumbent = order_chain([candidates[u] for u in searched.order], self.task.function.size)
            self.best = min(self.best, self.task.evaluate(self.incumbent))
        self.bound = max(self.bound, searched.bound)
        self.spent += searched.work
        self.proved = searched.complete

    def candidates(self) -> list[int]:
        """Units that may be among the first n of a better chain."""
        task = self.task
        if self.levels is None:
            return list(range(task.function.size))
        forced = float(task.alphas @ self.levels.values) + task.alphas[-1] * self.levels.reduced[-1]
        possible = forced < self.best - task.rounding
        if np.count_nonzero(possible) <= task.depth:
            possible[:] = True
        return [int(u) for u in np.flatnonzero(possible)]


class Levels:
    """Exact when what survives pruning stays within ``work`` (states times units); otherwise a bound from where it stopped.

    Units that cannot be among the first n are put aside first. Few units that resist the first bounds get the whole table.
    Only chains below ``aim`` are looked for: where there is none, that is the bound.
    """

    name = "levels"

    def __init__(self, work: int = 90_000_000, aim: float = np.inf) -> None:
        self.work, self.aim = work, aim

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Found:
        """The best chain known, proved or with the bound at which the work stopped."""
        if task.depth == 0:
            return Found(tuple(range(task.function.size)), 0.0, self.name)
        run = _Run(task, self.aim)
        run.lift(run.bound, _FIRST)
        if not task.expired():
            self._attempt(run, min(_QUICK_WORK, self.work), _CAPACITY, 0)
        small = task.function.lifts is None and task.function.size <= LARGEST and 1 << task.function.size <= self.work
        if not run.proved and small:
            found = best_chain(task)
            if found is not None:
                return found
        if not run.proved:
            run.improve()
            run.lift(run.bound, "a better order")
        work, capacity = self.work, _CAPACITY
        while not (run.proved or task.expired()):
            self._attempt(run, work, capacity, work)
            if not task.patience.timed:
                break
            if work >= _MOST_WORK and capacity >= _MOST_CAPACITY:
                run.improve_until_late()
            work, capacity = min(4 * work, _MOST_WORK), min(4 * capacity, _MOST_CAPACITY)
        return Found(run.incumbent, run.bound, self.name, work=run.spent)

    def _attempt(self, run: _Run, work: int, capacity: int, refining: int) -> None:
        """Refine bounds with as much work as ``refining``, and search with ``work`` in all."""
        candidates = run.candidates()
        task = replace(run.task, function=run.task.function.restrict((), candidates))
        refinement = Refinement(task.function, task.alphas, run.best - task.rounding, capacity, task.expired)
        bounds = refinement.bounds()
        known = [bounds] if bounds is not None else []
        while bounds is not None:
            run.lift(bounds.root, "closer bounds")
            last = refinement.work >= refining or bounds.nodes == 0 or refinement.full
            if last or bounds.integral in _SEARCH_AT:
                share = work if last else min(work // 4, refinement.work)
                work -= share
                run.take(candidates, _search(task, [*known, bounds], run.best, share))
            if last or run.proved:
                run.spent += refinement.work
                return
            refinement.split()
            bounds = refinement.bounds()


def _search(task: ChainTask, known: list[ChainedBounds], best: float, work: int) -> _Searched:
    """A chain better than ``best`` if there is one, and a bound on all chains; units are ordered as the last bounds say."""
    units = known[-1].units
    aim = min(best - task.rounding, *(bounds.reach for bounds in known))
    proves = aim >= best - task.rounding
    inner = replace(task, function=task.function.restrict((), units))
    rests = [_Rest.of(bounds, units) for bounds in known]
    start = np.zeros(1)
    level = _Level(empty_set(len(units)), start, np.array([task.function.e0]), start)
    history = [(level.masks, level.g)]
    left = work // len(units)
    for k in range(task.depth):
        left -= len(level.g)
        following = None if left < 0 or task.expired() else _expand(inner, rests, level, k, aim, left)
        if following is None:
            return _Searched(None, min(aim, float(level.total.min())), work, complete=False)
        if len(following.g) == 0:
            return _Searched(None, best if proves else aim, work - left * len(units), complete=proves)
        level = following
        task.report(f"orders up to step {k + 1}", best, float(level.total.min()))
        history.append((level.masks, level.g))
    order = _backtrack(inner, history)
    return _Searched([units[u] for u in order], float(level.g.min()), work - left * len(units), complete=True)


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


def _expand(task: ChainTask, rests: list[_Rest], level: _Level, k: int, aim: float, most: int) -> _Level | None:
    """All children of level k that can still lead below ``aim``, each set once; None if they are more than ``most``."""
    size, alpha = task.function.size, float(task.alphas[k])
    quadratic = 2.0 * task.function.quadratic
    own = task.function.linear + np.diag(quadratic) / 2.0
    first, *others = rests
    merged = _Level(level.masks[:0], level.g[:0], level.g[:0], level.g[:0])
    parts: list[_Level] = []
    waiting = 0
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
            merged, parts, waiting = _merge([merged, *parts]), [], 0
        if len(merged.g) > most or task.expired():
            return None
    return None if task.patience.left() < _SORTING * (len(merged.g) + waiting) else _merge([merged, *parts])


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
