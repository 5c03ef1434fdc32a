"""How far below its arcs a front could lie: from proved bounds on weighted sums, and from what models cost at least.

A model with a loss of at most ε costs at least F(λ) − λε for every λ, where F(λ) is a lower bound on the least c + λ·loss.
A path of K steps has at least the loss t_K: what a search proves, and at least Σ_{k≤K} αₖ·floorₖ. So at a loss below
t_{K+1} the model differs from the start in at most K units and costs at least floor_K. Between two places where either bound
or the front bends, the front is convex and the bounds are straight: they are furthest apart at an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.fronts.curves import Curves
    from coordpath_governance.paths.fronts.lower_arcs import Arc

    FloatArray = NDArray[np.float64]

__all__ = ["LowerSide", "find_shortfall"]

_SAME = 1e-8
"""Part of a loss by which bounds may be rounded: where the front jumps, a step is not counted before."""


@dataclass(frozen=True, eq=False)
class LowerSide:
    """``lines``: pairs λ, F(λ). ``floors[K]``: what a model costs that K steps reach; ``losses[K − 1]``: t_K."""

    lines: Sequence[tuple[float, float]]
    floors: FloatArray
    losses: FloatArray

    def kinks(self) -> list[float]:
        """Losses at which a bound on the cost bends or jumps."""
        crossings = [
            (first - second) / (high - low) for (high, first), (low, second) in combinations(self.lines, 2) if high != low
        ]
        return [*self._begins.tolist(), *crossings]

    def at(self, loss: float, steps: int) -> float:
        """The bound at a loss that so many steps can have."""
        return max(float(self.floors[steps]), *(value - lam * loss for lam, value in self.lines))

    def steps(self, loss: float) -> int:
        """How many steps a path of this loss can have."""
        return int(np.searchsorted(self._begins, loss, side="right"))

    @property
    def _begins(self) -> FloatArray:
        """t_K, but for rounding."""
        return (1.0 + _SAME) * self.losses


def find_shortfall(curves: Curves, arcs: Sequence[Arc], lower: LowerSide, end: float) -> float:
    """At no loss up to ``end`` is the front lower than its arcs, which may have 10⁻⁸ more of the loss, by more than this."""
    kinks = {0.0, end, *(each for arc in arcs for each in (arc.begin, arc.end)), *lower.kinks()}
    places = sorted(each for each in kinks if 0.0 <= each <= end)
    most = 0.0
    for begin, stop in pairwise(places):
        middle = (begin + stop) / 2.0
        steps = lower.steps(middle)
        arc = max((each for each in arcs if each.begin <= middle), key=lambda each: each.begin)
        curve = curves[np.array([arc.curve])]
        for loss in (begin, stop):
            most = max(most, float(curve.lowest(min(loss, arc.end))[0][0]) - lower.at(loss, steps))
    return most
