"""More terms than changed units: the best walk over all sequences and all values in between, with a proof.

Every walk of K = D + r terms follows a chain through one of the skeletons. For the shapes of skeletons that are few and
small enough the values in between are searched by bounds on simplices; where there are few sequences, those are listed
instead. What is not proved within a fixed amount of work keeps the bound it has reached.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.set_function import EPS
from coordpath_governance.paths.solvers.incumbent import Incumbent
from coordpath_governance.paths.solvers.protocol import Found
from coordpath_governance.paths.solvers.sequence_search import SequenceSearch
from coordpath_governance.paths.solvers.simplex_search import SimplexSearch
from coordpath_governance.paths.solvers.skeletons import Skeleton, Spans, count_skeletons, list_skeletons
from coordpath_governance.paths.solvers.token_costs import TokenCosts
from coordpath_governance.paths.solvers.value_boxes import box_values, longest_residual
from coordpath_governance.paths.solvers.walk_improvement import improve_walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["Revisits"]

_SEQUENCES = 20_000
"""Up to here all sequences are listed: about a second if nothing is pruned."""

_SKELETONS = 2_000

_COEFFICIENTS = 20_000_000
"""Numbers in the tables of all skeletons together: 160 MB."""

_COORDINATES = 4
"""Most values in between for which simplices are searched: a box is cut into n! of them."""

_SETTLED = 1e-9
"""A first walk that is within this part of its floor needs no search."""


class Revisits:
    """Branch and bound over the values at which units stop on their way; ``work`` is about a nanosecond each."""

    name = "revisits"

    def __init__(self, work: int = 4_000_000_000) -> None:
        self.work = work

    def lacks(self, task: WalkTask) -> str | None:
        """A fixed end; how many terms does not matter."""
        return "needs a target, where every unit ends" if task.walks.changes is None else None

    def solve(self, task: WalkTask) -> Found:
        """The best walk, or the best known with the bound that the search reached."""
        spans = Spans.of(task.walks)
        rounding = 64 * (task.terms + 8) * EPS * float(task.alphas.sum()) * spans.reach**2
        incumbent = Incumbent(task, self.work, rounding)
        bound = task.floor
        if bound < incumbent.value * (1 - _SETTLED):
            bound = max(bound, _search(task, spans, incumbent))
            if bound < incumbent.threshold:
                incumbent.offer(improve_walk(task)[0])
        return Found(incumbent.walk, bound, self.name)


def _search(task: WalkTask, spans: Spans, incumbent: Incumbent) -> float:
    """A bound of all walks by the search that suits the task; −∞ if none does."""
    few = task.terms * math.log(task.walks.size) <= math.log(_SEQUENCES)
    searches = None if few and task.spare > 2 else _prepare(task, spans, incumbent)
    if searches is not None:
        return _search_simplices(task, searches, incumbent)
    return SequenceSearch(task, spans, incumbent).run() if few else -math.inf


def _search_simplices(task: WalkTask, searches: list[SimplexSearch], incumbent: Incumbent) -> float:
    """Round by round over all shapes until no simplex is open, or the work or the time is used up."""
    for search in searches:
        search.begin()
    while True:
        for search in searches:
            search.prune()
        bound = min(incumbent.threshold, *(search.bound for search in searches))
        task.report("revisits", incumbent.value, bound)
        pending = [search for search in searches if search.pending]
        if not pending or incumbent.stopped():
            return bound
        for search in pending:
            search.advance()


def _prepare(task: WalkTask, spans: Spans, incumbent: Incumbent) -> list[SimplexSearch] | None:
    """One search for every shape of skeleton; None if they are too many or too large, or if nothing bounds the values."""
    skeletons = _affordable(task, spans, incumbent)
    longest = longest_residual(task.alphas, task.floors.of_terms(task.terms), incumbent.value)
    every = bool((task.alphas[:-1] > 0).all())
    shapes: dict[tuple[tuple[int, ...], int], tuple[list[TokenCosts], list[NDArray[np.float64]]]] = {}
    for skeleton in skeletons:
        box = box_values(spans, skeleton, longest, every=every)
        if box is None:
            return None
        members, boxes = shapes.setdefault((skeleton.lengths, box.shape[1]), ([], []))
        members.append(TokenCosts(spans, skeleton, task.alphas))
        boxes.append(box)
    return [SimplexSearch(members, boxes, incumbent) for members, boxes in shapes.values()] or None


def _affordable(task: WalkTask, spans: Spans, incumbent: Incumbent) -> list[Skeleton]:
    """All skeletons if their tables fit and the corners of their boxes can be evaluated; otherwise none."""
    changed = task.walks.changed
    unchanged = tuple(u for u in range(task.walks.size) if u not in changed and spans.bases[u].size)
    if count_skeletons(len(changed), len(unchanged), task.spare) > _SKELETONS:
        return []
    skeletons = list_skeletons(changed, unchanged, task.spare)
    numbers = work = 0
    for skeleton in skeletons:
        states = math.prod(skeleton.lengths)
        size = sum(special.values * spans.bases[special.unit].shape[1] for special in skeleton.specials)
        if size > _COORDINATES:
            return []
        numbers += states * (size + 1) * (size + 2) // 2
        work += states * len(skeleton.lengths) << size
    return [] if numbers > _COEFFICIENTS or work > incumbent.left else skeletons
