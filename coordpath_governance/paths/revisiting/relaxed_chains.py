"""A bound for a whole skeleton: at every state the values in between are the best for that state alone.

w(x) = α_{|x|}·min over z of ‖r + B_T z‖², the length of r outside the span of the tokens in between. The best chain under
these costs is a bound of the skeleton, and with its values fitted often a very good walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.set_function import EPS
from coordpath_governance.paths.revisiting.chain_table import build_chain_table
from coordpath_governance.paths.revisiting.skeletons import orthonormal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.revisiting.chain_table import ChainTable
    from coordpath_governance.paths.revisiting.incumbent import Incumbent
    from coordpath_governance.paths.revisiting.skeletons import Skeleton, Spans

__all__ = ["least_costs", "promising_states", "relax_skeletons"]

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
