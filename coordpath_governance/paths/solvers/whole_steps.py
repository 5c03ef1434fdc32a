"""Walks by whole steps: a first walk by beams, then every state that a better one could go through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.solvers.protocol import WHOLE_STEPS, Answer

if TYPE_CHECKING:
    from coordpath_governance.paths.whole_steps.state_search import Found
    from coordpath_governance.paths.whole_steps.whole_task import WholeTask

__all__ = ["GreedyWholeSteps", "WholeSteps"]

_BEAMS = (1, 32, 400)
"""States of a term that the searches for a first walk keep."""

_SLIGHT = 1e-10
"""Walks better by less than this part are not looked for."""


class WholeSteps:
    """``work`` is in nanoseconds as the costs count them: exact where the states that matter take no more."""

    name = "states"
    needs = WHOLE_STEPS

    def __init__(self, work: float) -> None:
        self._work = work

    def lacks(self, _task: WholeTask) -> str | None:
        """Nothing: what it cannot search it bounds."""
        return None

    def solve(self, task: WholeTask) -> Answer:
        """The best walk, and a bound that meets it unless the work or the time ran out."""
        best = _Best(task)
        for near in (True, False):
            for width in _BEAMS:
                best.take(task.search.run(best.limit, most=width, near=near))
                task.report("a first walk", best.value, -np.inf)
        bound = task.search.floor
        if self._work and best.limit > bound and not task.patience.expired():
            work = np.inf if task.patience.timed else self._work
            searched = task.search.run(best.limit, work=work, tell=best.tell)
            best.take(searched)
            bound = max(bound, min(searched.left_out, best.value))
        return best.answer(min(bound, best.value), self.name)


class GreedyWholeSteps:
    """At each term the step that leaves the least total."""

    name = "greedy"
    needs = WHOLE_STEPS

    def lacks(self, _task: WholeTask) -> str | None:
        """Nothing: it takes any number of features."""
        return None

    def solve(self, task: WholeTask) -> Answer:
        """That walk with a bound on all."""
        best = _Best(task)
        for near in (True, False):
            best.take(task.search.run(best.limit, most=1, near=near))
        return best.answer(min(task.search.floor, best.value), self.name)


class _Best:
    """The best walk so far; to begin with the one that rests, where the start is an end."""

    def __init__(self, task: WholeTask) -> None:
        self._task = task
        moves = task.search.moves
        self._states = None
        self.value = np.inf
        if moves.goal is None or not moves.goal.any():
            self._states = np.zeros((len(task.alphas), moves.size), dtype=np.int64)
            self.value = float(task.alphas.sum() * task.search.value_of(self._states[:1])[0])

    @property
    def limit(self) -> float:
        """What a walk worth looking for costs less than."""
        return self.value - _SLIGHT * abs(self.value) if np.isfinite(self.value) else np.inf

    def take(self, found: Found) -> None:
        """Keep a walk if it is better."""
        if found.states is not None and found.value < self.value:
            self._states, self.value = found.states, found.value

    def tell(self, bound: float) -> None:
        """How far the search has come."""
        self._task.report("states that could be better", self.value, min(bound, self.value))

    def answer(self, bound: float, solver: str) -> Answer:
        """Its models; without a walk, what is known of all: an infinite bound says that there is none."""
        models = None if self._states is None else self._task.search.moves.models(self._states)
        return Answer((), bound, solver, models=models)
