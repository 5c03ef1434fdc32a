"""Walks to begin with: an order spread over more terms, and the stagewise walk of a free end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.walks.geometry import REST, Walks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.outcome import Stop
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["place", "stagewise", "stagewise_increments", "visited"]


def place(along: NDArray[np.float64], alphas: NDArray[np.float64], order: Sequence[int]) -> tuple[int, ...]:
    """When to make each step of an order so that the weighted sum with rests is least; among equals, early.

    ``along[j]`` is the excess after j steps. D(k, j) = αₖ·along[j] + min(D(k−1, j), D(k−1, j−1)).
    """
    terms, steps = len(alphas), len(order)
    table = np.full((terms + 1, steps + 1), np.inf)
    table[0, 0] = 0.0
    for k in range(1, terms + 1):
        stepped = np.concatenate([[np.inf], table[k - 1, :-1]])
        table[k] = alphas[k - 1] * along + np.minimum(table[k - 1], stepped)
    walk = [REST] * terms
    j = steps
    for k in range(terms, 0, -1):
        if j and table[k - 1, j] > table[k - 1, j - 1]:
            j -= 1
            walk[k - 1] = order[j]
    return tuple(walk)


def stagewise(walks: Walks, terms: int) -> tuple[int, ...]:
    """Forward stagewise: at each term the unit whose best value lowers the cost most, the first listed among equals."""
    residual = walks.base.copy()
    bases = np.zeros((walks.size, max(block.shape[1] for block in walks.blocks), len(residual)))
    for u, basis in enumerate(walks.bases):
        bases[u, : basis.shape[1]] = basis.T
    walk: list[int] = []
    for _ in range(terms):
        along = bases @ residual
        chosen = int(np.argmax(np.sum(along * along, axis=1)))
        residual -= along[chosen] @ bases[chosen]
        walk.append(chosen)
    return tuple(walk)


def stagewise_increments(walks: Walks, walk: Sequence[int]) -> tuple[NDArray[np.float64], ...]:
    """What each step of a walk moves if it only looks at the cost right after it: min ‖r + C_u δ‖."""
    residual = walks.base.copy()
    increments: list[NDArray[np.float64]] = []
    for u in walk:
        increments.append(np.asarray(np.linalg.lstsq(walks.blocks[u], -residual, rcond=None)[0], np.float64))
        residual = residual + walks.blocks[u] @ increments[-1]
    return tuple(increments)


def visited(problem: PathProblem, stops: tuple[Stop, ...]) -> list[int]:
    """The unit that moved at each stop, as an index into ``problem.units``."""
    owner = {i: u for u, unit in enumerate(problem.units) for i in unit.members}
    before = problem.start
    units: list[int] = []
    for stop in stops:
        units.append(owner[int(np.flatnonzero(stop.beta != before)[0])])
        before = stop.beta
    return units
