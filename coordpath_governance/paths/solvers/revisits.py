"""More terms than changed units: the best walk over all sequences and all values in between, with a proof.

Every walk of K = D + r terms follows a chain through one of the skeletons, and the values in between are searched by bounds
on simplices; where values are many, or sequences few, the sequences are searched instead. What is not proved within a
fixed amount of work keeps the bound it has reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.revisiting.incumbent import Incumbent
from coordpath_governance.paths.revisiting.sequence_search import SequenceSearch
from coordpath_governance.paths.revisiting.skeleton_search import SkeletonSearch
from coordpath_governance.paths.revisiting.skeletons import Spans
from coordpath_governance.paths.solvers.protocol import LEAST_SQUARES, Answer
from coordpath_governance.paths.solvers.walk_improvement import improve_walk

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["Revisits"]

_FEW_VALUES = 2
"""Up to so many values in between simplices are quicker than sequences; one more is tried with half of the work."""

_FEW_SEQUENCES = 300
"""Up to here sequences are quicker for any number of values."""

_FADING = 50
"""Where the first weight is so many times the last but one, the beginnings of sequences tell nearly everything."""

_SETTLED = 1e-9
"""A first walk that is within this part of its floor needs no search."""


class Revisits:
    """Branch and bound over the values at which units stop on their way; ``work`` is about a nanosecond each."""

    name = "revisits"
    needs = LEAST_SQUARES

    def __init__(self, work: int = 4_000_000_000) -> None:
        self.work = work

    def lacks(self, task: WalkTask) -> str | None:
        """A fixed end; how many terms does not matter."""
        return "needs a target, where every unit ends" if task.walks.changes is None else None

    def solve(self, task: WalkTask) -> Answer:
        """The best walk, or the best known with the bound that the search reached."""
        spans = Spans.of(task.walks)
        rounding = 64 * (task.terms + 8) * EPS * float(task.alphas.sum()) * spans.reach**2
        incumbent = Incumbent(task, self.work, rounding)
        bound = task.floor
        if bound < incumbent.value * (1 - _SETTLED):
            bound = max(bound, _search(task, spans, incumbent))
            if not incumbent.proved_by(bound):
                incumbent.offer(improve_walk(task)[0])
        return Answer(incumbent.walk, bound, self.name)


def _search(task: WalkTask, spans: Spans, incumbent: Incumbent) -> float:
    """A bound of all walks by the search that suits the task, and by the other if work is left and it is not proved."""
    skeletons, sequences = SkeletonSearch(task, spans, incumbent), SequenceSearch(task, spans, incumbent)
    fading = task.terms > 1 and task.alphas[0] > _FADING * task.alphas[-2]
    if task.spare <= _FEW_VALUES and not fading and task.walks.size**task.terms > _FEW_SEQUENCES:
        bound = skeletons.run()
        return bound if incumbent.proved_by(bound) else max(bound, sequences.run())
    bound = sequences.run(incumbent.left // 2 if task.spare <= _FEW_VALUES + 1 else 0)
    return bound if incumbent.proved_by(bound) else max(bound, skeletons.run())
