"""What a solver of convex chains is given: what is known of f, and how much may be asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.convex.set_costs import corners
from coordpath_governance.paths.patience import FOREVER, Patience

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.convex.set_costs import FloatArray, KnownSets

__all__ = ["ConvexTask", "diagonal"]

_NODES = 8
"""Points on the diagonal of the cube: enough for integrals along it to ten digits, and cuts near sets of every size."""


def diagonal(size: int) -> tuple[FloatArray, FloatArray]:
    """Gauss's points on the cube's diagonal, with their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.repeat(((nodes + 1.0) / 2.0)[:, None], size, axis=1), weights / 2.0


@dataclass(frozen=True, eq=False)
class ConvexTask:
    """Choose S₁ ⊂ … ⊂ S_n so that Σ αₖ f(S_k) is least; ``work`` is how many rows times sets may be gone through."""

    known: KnownSets
    alphas: FloatArray
    work: float
    seed: int = 0
    patience: Patience = field(default=FOREVER, repr=False)
    name: str = "cuts"

    @property
    def depth(self) -> int:
        """N."""
        return len(self.alphas)

    @property
    def best_known(self) -> list[int]:
        """An order to begin with: the listed one."""
        return list(range(self.known.size))

    @property
    def first_points(self) -> FloatArray:
        """Start and target, points between them, and points between the start and the largest sets of a chain."""
        ends = corners(self.known.size, [(), range(self.known.size)])
        points, _ = diagonal(self.known.size)
        near = points * (self.depth / self.known.size)
        return np.concatenate([ends, points, *([near] if self.depth < self.known.size - 1 else [])])

    def evaluate(self, order: Sequence[int]) -> float:
        """Σ αₖ f(S_k) along an order, from the rows where it is not known."""
        sets = corners(self.known.size, [order[:k] for k in range(1, self.depth + 1)])
        return float(self.alphas @ [each.value for each in self.known.ask(sets)]) if self.depth else 0.0

    def over(self) -> bool:
        """Whether to stop and tell what there is."""
        return self.patience.expired() or self.known.rows * len(self.known.evaluations) > self.work

    def report(self, stage: str, value: float, bound: float) -> None:
        """Tell whoever listens how far it has come."""
        if self.patience.progress is not None:
            self.patience.progress(stage, value, bound)
