"""Boxes that contain the best values in between of every chain worth a look, without inverting anything.

Given all the others, the best value of a token is a weighted mean of −B_uᵀr over the terms at which it is in between, so it
lies in the hull of those. For one special unit that bounds everything. Tokens of several units can be in between at once.

If all weights but the last are positive, a walk below the incumbent has ‖r_k‖ ≤ s at every term before the last, s² the
largest (UB − Σ_{j≠k} αⱼ·floorⱼ)/αₖ. A visit moves the residual by B_u times the difference of two values in turn, hence the
first value is within s + max(s, ‖r₀‖) of the old one, the last within s + max(s, ‖r_K‖) of the new one, and two in turn are
within 2s, whatever the others are at.

If a weight may be zero, two tokens of one coordinate each are boxed: one that is alone at a term that counts is within s of
the hull, and the other in the hull given that; if neither ever is alone, all that counts is b₁v₁ + b₂v₂, whose coordinates
are bounded by way of 1/(1 − g²).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.revisiting.skeletons import Skeleton, Spans

    Ranges = list[NDArray[np.float64]]

__all__ = ["box_values", "longest_residual"]

_WIDEST = 1e5
"""Boxes wider than this many times the longest residual are not searched: rounding would decide."""

_NARROWEST = 1e-6
"""Boxes are at least this wide, relative to the same, so that simplices have a volume and rounding is inside."""

_INDEPENDENT = 1e-6
"""Least 1 − g² for which two columns are told apart where weights are zero."""

_CONTRACTIONS = 8


def longest_residual(alphas: NDArray[np.float64], floors: NDArray[np.float64], best: float) -> float:
    """s: how long the residual can be at a term that counts and is not the last, if a walk costs no more than ``best``."""
    inner, counts = alphas[:-1], alphas[:-1] > 0
    slack = max(best - float(alphas @ floors), 0.0)
    return math.sqrt(float(np.max(slack / inner[counts] + floors[:-1][counts], initial=0.0)))


def box_values(spans: Spans, skeleton: Skeleton, longest: float, *, every: bool) -> NDArray[np.float64] | None:
    """Low and high (2 × coordinates) of the values, tokens in the order of the skeleton; None if nothing bounds them.

    ``longest`` as `longest_residual` gives it, ``every``: whether all weights but the last are positive.
    """
    hulls = _Hulls(spans, skeleton)
    if every:
        ranges = _within_reach(spans, skeleton, longest)
    elif len(skeleton.specials) == 1:
        ranges = hulls.boxes(None)
    elif hulls.sizes == [1, 1]:
        ranges = hulls.of_two(longest)
    else:
        return None
    for _ in range(_CONTRACTIONS if ranges else 0):
        ranges = [_meet(own, hull) for own, hull in zip(ranges, hulls.boxes(ranges), strict=True)]
    if not ranges:
        return None
    box = np.concatenate(ranges, axis=1)
    middle, half = box.mean(axis=0), (box[1] - box[0]) / 2
    half = np.maximum(half, 0.0) + _NARROWEST * spans.reach
    if np.max(np.abs(middle) + half, initial=0.0) > _WIDEST * spans.reach:
        return None
    return np.stack([middle - half, middle + half])


class _Hulls:
    """Hulls of −B_uᵀr for each token, over all that the units other than its own can be at."""

    def __init__(self, spans: Spans, skeleton: Skeleton) -> None:
        self.units = skeleton.tokens
        self.spans = spans
        self.sizes = [spans.bases[u].shape[1] for u in self.units]
        moves = np.array([spans.changes[u] for u in skeleton.others]).reshape(len(skeleton.others), len(spans.base))
        self.fixed = []
        for u in self.units:
            shifts = -(moves @ spans.bases[u])
            ends = np.stack([np.minimum(shifts, 0.0).sum(axis=0), np.maximum(shifts, 0.0).sum(axis=0)])
            self.fixed.append(ends - spans.base @ spans.bases[u])

    def boxes(self, ranges: Ranges | None) -> Ranges:
        """One range (2 × coordinates) a token, when other units are old, new or, if ranges are given, in between."""
        return [fixed + self._special(at, ranges) for at, fixed in enumerate(self.fixed)]

    def _special(self, at: int, ranges: Ranges | None) -> NDArray[np.float64]:
        """What the other special units add to the hull of a token."""
        basis = self.spans.bases[self.units[at]]
        total = np.zeros((2, basis.shape[1]))
        for unit in sorted(set(self.units) - {self.units[at]}):
            new = -(self.spans.changes[unit] @ basis)
            low, high = np.minimum(new, 0.0), np.maximum(new, 0.0)
            across = -(self.spans.bases[unit].T @ basis)
            for own, value in zip(self.units, ranges or [], strict=False):
                if own == unit:
                    middle, half = value.mean(axis=0) @ across, (value[1] - value[0]) / 2 @ np.abs(across)
                    low, high = np.minimum(low, middle - half), np.maximum(high, middle + half)
            total += np.stack([low, high])
        return total

    def of_two(self, longest: float) -> Ranges:
        """Ranges of two tokens of different units whatever the weights; none if their columns are too nearly parallel."""
        first, second = (self.spans.bases[u][:, 0] for u in self.units)
        g = float(first @ second)
        if 1 - g * g < _INDEPENDENT:
            return []
        alone = [own_box + np.array([[-longest], [longest]]) for own_box in self.boxes(None)]
        far = [float(np.abs(fixed).max()) for fixed in self.fixed]
        together = [(far[0] + abs(g) * far[1]) / (1 - g * g), (far[1] + abs(g) * far[0]) / (1 - g * g)]
        return [
            np.array([[min(a[0, 0], h[0, 0], -radius)], [max(a[1, 0], h[1, 0], radius)]])
            for a, h, radius in zip(alone, self.boxes(alone), together, strict=True)
        ]


def _within_reach(spans: Spans, skeleton: Skeleton, longest: float) -> Ranges:
    """Balls around the old and the new value that every token is in, as boxes."""
    changed = spans.base + sum((spans.changes[u] for u in skeleton.units), np.zeros_like(spans.base))
    first, last = (longest + max(longest, math.sqrt(float(end @ end))) for end in (spans.base, changed))
    ranges = []
    for special in skeleton.specials:
        new = spans.changes[special.unit] @ spans.bases[special.unit]
        for j in range(special.values):
            early, late = first + 2 * longest * j, last + 2 * longest * (special.values - 1 - j)
            ranges.append(np.stack([np.maximum(-early, new - late), np.minimum(early, new + late)]))
    return ranges


def _meet(first: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([np.maximum(first[0], other[0]), np.minimum(first[1], other[1])])
