"""Floors: how low the excess can be of a model that differs from a given one in at most k units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.walks import Walks

__all__ = ["Floors", "find_floors", "least_excess"]

_WHOLE_TABLE = 12
"""Most units for which every subset is tried; 2^12 projections take a moment."""

_SAFETY = 1e-9
"""What a bound gives up, relative to the excess it starts from: projections on nearly dependent columns are not exact."""


@dataclass(frozen=True, eq=False)
class Floors:
    """``from_start[k]``, ``from_target[k]``: no model that differs from that end in at most k units has less excess."""

    from_start: NDArray[np.float64]
    from_target: NDArray[np.float64] | None

    def of_terms(self, terms: int) -> NDArray[np.float64]:
        """For a walk of K terms, what the excess at term k = 1 … K is at least: k units moved, K − k may still move."""
        floors = self.from_start[1 : terms + 1]
        return floors if self.from_target is None else np.maximum(floors, self.from_target[:terms][::-1])


def find_floors(walks: Walks, most: int) -> Floors:
    """Floors for walks of up to ``most`` terms, with a fixed end from both sides."""
    problem = walks.problem
    target = None if problem.target is None else least_excess(walks, problem.target, most)
    return Floors(least_excess(walks, problem.start, most), target)


def least_excess(walks: Walks, beta: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """For k = 0 … most: a lower bound on the excess of any model that differs from ``beta`` in at most k units."""
    residual = np.ldexp(walks.problem.cost.residual(beta), -walks.shift)
    own = float(residual @ residual)
    least = np.full(len(walks.blocks) + 1, np.inf)
    least[0] = own
    depth = len(walks.blocks) if len(walks.blocks) <= _WHOLE_TABLE else 1
    _descend(residual, list(walks.blocks), 0, depth, least)
    least = np.minimum.accumulate(least)
    if depth == 1:
        least[2:] = 0.0
    least[1:] = np.maximum(least[1:] - _SAFETY * own, 0.0)
    return np.concatenate([least, np.full(max(0, most + 1 - len(least)), least[-1])])[: most + 1]


def _descend(
    residual: NDArray[np.float64], blocks: list[NDArray[np.float64]], count: int, depth: int, least: NDArray[np.float64]
) -> None:
    """Depth first over subsets: project one more block out of the residual and of the blocks after it."""
    least[count] = min(least[count], float(residual @ residual))
    if count == depth:
        return
    for i, block in enumerate(blocks):
        lengths = np.sqrt(np.sum(block * block, axis=0))
        basis = np.linalg.qr(block[:, lengths > 0] / lengths[lengths > 0])[0]
        inner = residual - basis @ (basis.T @ residual)
        later = [other - basis @ (basis.T @ other) for other in blocks[i + 1 :]] if count + 1 < depth else []
        _descend(inner, later, count + 1, depth, least)
