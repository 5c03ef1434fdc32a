"""Floors: how low the excess can be of a model that differs from a given one in at most k units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.patience import never
from coordpath_governance.paths.walks.best_subsets import least_by_size
from coordpath_governance.paths.walks.geometry import FEW_UNITS
from coordpath_governance.paths.walks.projections import excess_of_all_sets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.walks.geometry import Walks

__all__ = ["Floors", "find_floors", "least_excess"]


@dataclass(frozen=True, eq=False)
class Floors:
    """``from_start[k]``, ``from_target[k]``: no model that differs from that end in at most k units has less excess."""

    from_start: NDArray[np.float64]
    from_target: NDArray[np.float64] | None

    def of_terms(self, terms: int) -> NDArray[np.float64]:
        """For a walk of K terms, what the excess at term k = 1 … K is at least: k units moved, K − k may still move."""
        floors = self.from_start[1 : terms + 1]
        return floors if self.from_target is None else np.maximum(floors, self.from_target[:terms][::-1])


def find_floors(walks: Walks, most: int, expired: Callable[[], bool] = never) -> Floors:
    """Floors for walks of up to ``most`` terms, with a fixed end from both sides."""
    problem = walks.problem
    target = None if problem.target is None else least_excess(walks, problem.target, most, expired)
    return Floors(least_excess(walks, problem.start, most, expired), target)


def least_excess(
    walks: Walks, beta: NDArray[np.float64], most: int, expired: Callable[[], bool] = never
) -> NDArray[np.float64]:
    """For k = 0 … most: a lower bound on the excess of any model that differs from ``beta`` in at most k units.

    All sets are tried where the units are few. Otherwise the best sets of columns are searched; k units of several columns
    are at most as many columns as the k widest units have.
    """
    residual = walks.residual(beta)
    counts = np.arange(most + 1)
    if walks.size <= FEW_UNITS:
        from_start = np.array_equal(residual, walks.base)
        excess = walks.excess_of_sets if from_start else excess_of_all_sets(residual, walks.blocks)
        sizes = sum(np.arange(len(excess)) >> u & 1 for u in range(walks.size))
        least = np.array([excess[sizes == k].min() for k in range(walks.size + 1)])
        return np.minimum.accumulate(least)[np.minimum(counts, walks.size)]
    widths = np.sort([block.shape[1] for block in walks.blocks])[::-1]
    columns = np.cumsum(np.concatenate([[0], widths]))[np.minimum(counts, walks.size)]
    least = least_by_size(residual, np.concatenate(walks.blocks, axis=1), int(columns[-1]), expired=expired)[columns]
    alone = min(float(excess_of_all_sets(residual, [block])[1]) for block in walks.blocks)
    least[1:2] = np.maximum(least[1:2], alone)
    return np.asarray(least, np.float64)
