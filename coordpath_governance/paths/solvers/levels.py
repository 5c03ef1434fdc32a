"""Pruned level programme: the subset programme level by level, keeping only sets that can still lead to a better chain.

A state is a set S with g = least Σ_{k≤|S|} αₖ e(S_k) of a chain that ends there. It is dropped when g plus a lower bound on
the rest of the chain is no less than the best chain known. The bounds (`chained_bounds`) are refined until the states that
are left are few enough. Where a level has more states than there is work for, those with the largest totals are left out:
no chain through them costs less than the least of these totals, and a good chain is found all the same. It stops at a fixed
amount of work, not of seconds, so that the same problem gives the same answer on every machine; with a deadline it goes on
until then. Few units that resist get all their sets (`halves`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coordpath_governance.paths.orders.chained_bounds import Refinement
from coordpath_governance.paths.orders.relaxation import LevelBounds, bound_levels
from coordpath_governance.paths.orders.set_function import forward_order, order_chain
from coordpath_governance.paths.solvers.chain_states import Searched, beam_order, search_chains
from coordpath_governance.paths.solvers.halves import Halves, meet_in_the_middle
from coordpath_governance.paths.solvers.improvement import first_polish, polish, shuffle
from coordpath_governance.paths.solvers.protocol import SET_FUNCTION, Answer, ChainTask

__all__ = ["Levels"]

_QUICK_WORK = 4_000_000
"""What is tried with the first bounds alone: where they suffice, refined ones cost more than the search."""

_CAPACITY = 2_000_000
"""Numbers a refinement keeps at first."""

_SEARCH_FIRST = 4_000_000
"""Work of a refinement before a search is tried with as much; then again whenever the work has doubled."""

_SETS_FIRST = 1 << 26
"""Up to so many sets, two seconds' work, all of them are looked at before bounds are refined."""

_PARTS = (0.5, 0.5, 0.7)
"""Parts of what is open that attempts aim at before they aim at all of it."""

_ALL_FIRST = 12_000_000
"""Work of an attempt at all of it before those, where a deadline leaves time for both."""

_BEFORE_SETS = 110_000_000
"""Work before more sets than that are looked at."""

_BEAMS = (100, 400, 1600)
"""States a level of the beams that look for a first good order: the widest is mostly the best of them, not always."""

_WIDE_UP_TO = 64
"""Units beyond which the last beam is left out."""

_MOST_WORK, _MOST_CAPACITY = 300_000_000, 20_000_000
"""What fits into memory; a deadline may allow more than the first attempt."""

_FIRST = "a first order"


class _Run:
    """The best chain and the best bound so far; with a deadline the first bound comes before anything that takes time.

    ``complete``: whether the last search left no chain unexamined. ``refined``: the work of the refinement whose bounds it
    used.
    """

    def __init__(self, task: ChainTask, aim: float) -> None:
        self.task = task
        self.complete = False
        self.spent = 0
        self.refined = 0
        self.bound = 0.0
        self.levels: LevelBounds | None = None
        if task.depth < task.function.size - 1:
            self.levels = bound_levels(task.function, task.depth, task.expired)
            self.bound = float(task.alphas @ self.levels.values)
        if task.patience.timed:
            first = Refinement(task.function, task.alphas, target=np.inf, capacity=_CAPACITY, expired=task.expired).bounds()
            self.bound = max(self.bound, first.root if first is not None else 0.0)
        self.incumbent, self.best = self._greedy() if task.first is None else (task.first, task.evaluate(task.first))
        self.best = min(self.best, aim)
        self.bound = min(self.bound, self.best)

    def _greedy(self) -> tuple[tuple[int, ...], float]:
        """The better greedy order, polished. With many units that takes long, so the plain order is reported before."""
        if self.task.patience.progress is not None:
            plain = self.task.evaluate(forward_order(self.task.function))
            self.task.report(_FIRST, plain, min(self.bound, plain))
        return first_polish(self.task)

    @property
    def proved(self) -> bool:
        """Whether no better chain is left: none was left unexamined, or the bound meets the best."""
        return self.complete or self.bound >= self.best - self.task.rounding

    def improve(self, turn: int = 0) -> None:
        """Start again from a beam, and shuffle the incumbent, unless it was given."""
        if self.task.first is not None:
            return
        if turn == 0:
            self._start_from_beams()
        self.incumbent, self.best = shuffle(self.task, self.incumbent, self.best, turn)
        self._keep(*polish(self.task, self.incumbent, wide=True))

    def _start_from_beams(self) -> None:
        """Beams from the start and, where every unit moves, from the end: now and then far better than greedy orders."""
        task = self.task
        ends = [(task, 1)]
        if task.depth == task.function.size - 1 and task.function.lifts is None:
            ends.append((replace(task, function=task.function.complement(), alphas=task.alphas[::-1]), -1))
        for from_end, direction in ends:
            bounds = Refinement(
                from_end.function, from_end.alphas, target=np.inf, capacity=_CAPACITY, expired=task.expired
            ).bounds()
            for width in _BEAMS if task.function.size <= _WIDE_UP_TO else _BEAMS[:-1]:
                order = beam_order(from_end, bounds, width) if bounds is not None else None
                if order is None:
                    return
                self._keep(*polish(task, order[::direction]))

    def _keep(self, order: tuple[int, ...], value: float) -> None:
        """Take an order if it is better."""
        if value < self.best - self.task.tie:
            self.incumbent, self.best = order, value

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

    def take(self, candidates: list[int], searched: Searched) -> None:
        """What a search among some units found."""
        if searched.order is not None:
            self.incumbent = order_chain([candidates[u] for u in searched.order], self.task.function.size)
            self.best = min(self.best, self.task.evaluate(self.incumbent))
        self.bound = max(self.bound, searched.bound)
        self.spent += searched.work
        self.complete = searched.complete

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

    Units that cannot be among the first n are put aside first. Up to ``most_units`` that resist get all their sets;
    by default as many as have no more sets than ``work``.
    Only chains below ``aim`` are looked for. If there is no such chain, ``aim`` is the bound.
    """

    name = "levels"
    needs = SET_FUNCTION

    def __init__(self, work: int = 90_000_000, aim: float = np.inf, most_units: int | None = None) -> None:
        self.work, self.aim = work, aim
        self.halves = Halves(work.bit_length() - 1 if most_units is None else most_units)

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Answer:
        """The best chain known, proved or with the bound at which the work stopped."""
        if task.depth == 0:
            return Answer(tuple(range(task.function.size)), 0.0, self.name)
        run = _Run(task, self.aim)
        run.lift(run.bound, _FIRST)
        if not task.expired():
            self._attempt(run, min(_QUICK_WORK, self.work), _CAPACITY, refine=False)
        few = self.halves.lacks(task) is None
        if not run.proved and not (few and 1 << task.function.size <= _SETS_FIRST):
            run.improve()
            run.lift(run.bound, "a better order")
            if not task.expired():
                work = min(self.work, _BEFORE_SETS) if few else self.work
                self._attempt(run, min(work, _ALL_FIRST) if task.patience.timed else work, _CAPACITY)
        if few and not (run.proved or task.expired()):
            answer = meet_in_the_middle(task, run.incumbent, task.evaluate(run.incumbent))
            if answer is not None:
                return answer
        if task.patience.timed:
            self._go_on(run)
        elif not run.proved:
            self._attempt(run, self.work, _CAPACITY, _PARTS[0])
        return Answer(run.incumbent, run.bound, self.name, work=run.spent)

    def _go_on(self, run: _Run) -> None:
        """Attempts at more and more of what is open, until the chain is proved or the deadline has come."""
        capacity, parts = _CAPACITY, iter(_PARTS)
        while not (run.proved or run.task.expired()):
            part = next(parts, 1.0)
            self._attempt(run, _MOST_WORK, capacity, part)
            if capacity >= _MOST_CAPACITY and part >= 1.0 and not run.proved:
                run.improve_until_late()
            capacity = min(2 * capacity, _MOST_CAPACITY)

    def _attempt(self, run: _Run, work: int, capacity: int, part: float = 1.0, *, refine: bool = True) -> None:
        """Refine bounds with up to so much work, and search with as much, until so much of what is open is proved.

        To close a part of the gap takes far fewer states than to close all of it.
        """
        candidates = run.candidates()
        task = replace(run.task, function=run.task.function.restrict((), candidates))
        target = run.bound + part * (run.best - run.bound) - task.rounding
        refinement = Refinement(task.function, task.alphas, target=target, capacity=capacity, expired=task.expired)
        bounds = refinement.bounds()
        quick_bounds = [bounds] if bounds is not None else []
        searching = max(_SEARCH_FIRST, run.refined)
        while bounds is not None:
            run.lift(bounds.root, "closer bounds")
            last = not refine or refinement.work >= work or bounds.nodes == 0 or refinement.full
            if last or refinement.work >= searching:
                share = work if last else refinement.work // 3
                searching, run.refined = 2 * refinement.work, refinement.work
                run.take(candidates, search_chains(task, [*quick_bounds, bounds], run.best, share))
            if last or run.proved or run.bound >= target:
                run.spent += refinement.work
                return
            refinement.split()
            bounds = refinement.bounds()
