"""Every skeleton of a task: first as a whole, then by simplices of its values in between.

A bound for a whole skeleton: at every state the values in between are the best for that state alone,
w(x) = α_{|x|}·min over z of ‖r + B_T z‖², the length of r outside the span of the tokens in between. The best chain under
these costs is a bound of the skeleton, and with its values fitted often a very good walk.

Small tables of one shape are searched together, so that one batch serves many skeletons. Large ones are searched one
skeleton after the other, without the states that no chain below the incumbent passes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.revisiting.chain_table import build_chain_table
from coordpath_governance.paths.revisiting.simplex_search import SimplexSearch
from coordpath_governance.paths.revisiting.skeletons import Skeleton, Spans, count_skeletons, list_skeletons, orthonormal
from coordpath_governance.paths.revisiting.token_costs import TokenCosts
from coordpath_governance.paths.revisiting.value_boxes import box_values, longest_residual

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.revisiting.chain_table import ChainTable
    from coordpath_governance.paths.revisiting.incumbent import Incumbent
    from coordpath_governance.paths.revisiting.skeletons import Skeleton, Spans
    from coordpath_governance.paths.solvers.protocol import WalkTask

    Rooted = list[tuple[Skeleton, float]]

__all__ = ["SkeletonSearch", "least_costs", "promising_states", "relax_skeletons"]

_TOGETHER = 1 << 19
"""Numbers in one table of costs."""

_OFFERED = 3
"""Chains of a batch whose values are fitted."""


def relax_skeletons(spans: Spans, skeletons: list[Skeleton], incumbent: Incumbent) -> NDArray[np.float64] | None:
    """A bound for each skeleton, less rounding; None if there is no time. The best chains are offered."""
    alphas = incumbent.task.alphas
    weights = np.concatenate([[0.0], alphas])
    roots = np.empty(len(skeletons))
    shapes: dict[tuple[int, ...], list[int]] = {}
    for at, skeleton in enumerate(skeletons):
        shapes.setdefault(skeleton.lengths, []).append(at)
    for lengths, members in shapes.items():
        table = build_chain_table(lengths)
        step = max(1, _TOGETHER // table.size)
        for start in range(0, len(members), step):
            if incumbent.stopped():
                return None
            batch = members[start : start + step]
            incumbent.spend(table.edges * len(batch))
            costs = np.stack([least_costs(spans, skeletons[at])[table.order] for at in batch], axis=1)
            costs *= weights[table.levels][:, None]
            roots[batch] = table.accumulate(costs)
            for place in np.argsort(costs[-1], kind="stable")[:_OFFERED].tolist():
                units = skeletons[batch[place]].units
                incumbent.offer(tuple(units[i] for i in table.trace(costs[:, place])))
    return roots - 16 * (len(spans.bases) + 8) * EPS * float(alphas.sum()) * spans.reach**2


def promising_states(spans: Spans, skeleton: Skeleton, incumbent: Incumbent) -> ChainTable:
    """The table of a skeleton without the states that no chain below the incumbent passes."""
    table = build_chain_table(skeleton.lengths)
    weights = np.concatenate([[0.0], incumbent.task.alphas])
    through = table.through(least_costs(spans, skeleton)[table.order] * weights[table.levels])
    incumbent.spend(4 * table.edges)
    return table.restrict(through < incumbent.threshold + incumbent.rounding)


def least_costs(spans: Spans, skeleton: Skeleton) -> NDArray[np.float64]:
    """The least ‖r + B_T z‖² of every state, the last unit counting fastest."""
    outside: dict[tuple[int, ...], NDArray[np.float64]] = {}
    costs = []
    for residual, active in skeleton.states(spans):
        units = tuple(skeleton.tokens[token] for token in active)
        if units not in outside:
            outside[units] = orthonormal(
                np.concatenate([np.zeros((len(spans.base), 0)), *(spans.bases[u] for u in units)], axis=1)
            )
        inside = residual @ outside[units]
        costs.append(np.maximum(np.sum(residual * residual, axis=1) - np.sum(inside * inside, axis=1), 0.0))
    return np.concatenate(costs)


_SKELETONS = 2_000
"""Most skeletons for which a programme is run."""

_STATES = 1 << 19
"""Most states of one table."""

_SHARED = 10_000
"""Most states of a table that several skeletons share."""

_COORDINATES = 4
"""Most values in between for which simplices are searched: a box is cut into n! of them."""


class SkeletonSearch:
    """The skeletons of a task; what is proved of all of them is proved of all walks."""

    def __init__(self, task: WalkTask, spans: Spans, incumbent: Incumbent) -> None:
        self.task, self.spans, self.incumbent = task, spans, incumbent
        self.every = bool((task.alphas[:-1] > 0).all())

    def run(self) -> float:
        """A bound of all walks: the incumbent's threshold if the search comes to its end; −∞ if it cannot begin."""
        skeletons = self._list()
        roots = relax_skeletons(self.spans, skeletons, self.incumbent) if skeletons else None
        if roots is None:
            return -math.inf
        rooted = sorted(zip(skeletons, roots.tolist(), strict=True), key=lambda rooted_skeleton: rooted_skeleton[1])
        batches = [[rooted_skeleton] for rooted_skeleton in rooted if math.prod(rooted_skeleton[0].lengths) > _SHARED]
        shared = [rooted_skeleton for rooted_skeleton in rooted if math.prod(rooted_skeleton[0].lengths) <= _SHARED]
        batches = [shared, *batches] if shared else batches
        for at, batch in enumerate(batches):
            later = min([math.inf, *(root for following in batches[at + 1 :] for _, root in following)])
            bound = self._search(batch, later)
            if bound < self.incumbent.threshold:
                return bound
        return self.incumbent.threshold

    def _list(self) -> list[Skeleton]:
        """All skeletons if one programme can be run for each, otherwise none."""
        task = self.task
        changed = task.walks.changed
        unchanged = tuple(u for u in range(task.walks.size) if u not in changed and self.spans.bases[u].size)
        if count_skeletons(len(changed), len(unchanged), task.spare) > _SKELETONS:
            return []
        skeletons = list_skeletons(changed, unchanged, task.spare)
        sizes = [math.prod(skeleton.lengths) for skeleton in skeletons]
        return [] if max(sizes, default=0) > _STATES or sum(sizes) * task.terms > self.incumbent.left else skeletons

    def _search(self, batch: Rooted, later: float) -> float:
        """Round by round until no simplex is open, or the work or the time is used up.

        A bound of these skeletons and of those to come, which ``later`` bounds: the threshold if these are done with.
        """
        incumbent = self.incumbent
        batch = [(skeleton, root) for skeleton, root in batch if root < incumbent.threshold]
        searches = [] if incumbent.stopped() else self._prepare(batch)
        if batch and not searches:
            return min(later, *(root for _, root in batch))
        for search in searches:
            search.begin()
        while True:
            for search in searches:
                search.prune()
            searches = [search for search in searches if search.pending or search.bound < incumbent.threshold]
            bound = min([incumbent.threshold, *(search.bound for search in searches)])
            self.task.report("values in between", incumbent.value, min(bound, later))
            pending = [search for search in searches if search.pending]
            if not pending:
                return bound
            if incumbent.stopped():
                return min(bound, later)
            for search in pending:
                search.advance()

    def _prepare(self, batch: Rooted) -> list[SimplexSearch]:
        """One search for every shape of skeleton; none if there are too many values, or if nothing bounds them."""
        task, spans = self.task, self.spans
        longest = longest_residual(task.alphas, task.floors.of_terms(task.terms), self.incumbent.value)
        shapes: dict[tuple[tuple[int, ...], int], tuple[list[TokenCosts], list[NDArray[np.float64]], list[float]]] = {}
        for skeleton, root in batch:
            size = sum(spans.bases[unit].shape[1] for unit in skeleton.tokens)
            box = box_values(spans, skeleton, longest, every=self.every) if size <= _COORDINATES else None
            if box is None:
                return []
            members, boxes, roots = shapes.setdefault((skeleton.lengths, size), ([], [], []))
            large = math.prod(skeleton.lengths) > _SHARED
            table = promising_states(spans, skeleton, self.incumbent) if large else build_chain_table(skeleton.lengths)
            members.append(TokenCosts(spans, skeleton, table, task.alphas))
            boxes.append(box)
            roots.append(root)
        return [SimplexSearch(*shape, self.incumbent) for shape in shapes.values()]
