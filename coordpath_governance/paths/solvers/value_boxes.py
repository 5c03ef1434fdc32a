"""Boxes that contain the best values in between of every chain worth a look, without inverting anything.

Given all the others, the best value of a token is a weighted mean of −B_uᵀr over the terms at which it is in between, so it
lies in the hull of those. Alone that needs no more. Tokens of several units can be in between at once; then

- at the term k at which a token enters, αₖ‖r_k‖² ≤ UB − Σ_{j≠k} αⱼ·floorⱼ, which holds it within a distance of −B_uᵀr given
  the tokens that entered before;
- the one that enters last is in the hull given all the others.

If the weight of a term may be zero, only two tokens of one coordinate each are boxed: one that is alone at a term that
counts is held as above; if neither ever is, all that counts is b₁v₁ + b₂v₂, whose coordinates are bounded by 1/(1 − g²).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.skeletons import Skeleton, Spans

    Ranges = list[NDArray[np.float64]]

__all__ = ["box_values", "entry_distance"]

_WIDEST = 1e5
"""Boxes wider than this many times the longest residual are not searched: rounding would decide."""

_NARROWEST = 1e-6
"""Boxes are at least this wide, so that simplices have a volume."""

_INDEPENDENT = 1e-6
"""Least 1 − g² for which two columns are told apart where weights are zero."""

_CONTRACTIONS = 8


def entry_distance(alphas: NDArray[np.float64], floors: NDArray[np.float64], best: float) -> float:
    """How long the residual can be at a term that counts and is not the last: max over k of √((UB − floor)/αₖ + floorₖ)."""
    inner, counts = alphas[:-1], alphas[:-1] > 0
    slack = max(best - float(alphas @ floors), 0.0)
    return float(np.sqrt(np.max(slack / inner[counts] + floors[:-1][counts], initial=0.0)))


def box_values(spans: Spans, skeleton: Skeleton, distance: float, *, every: bool) -> NDArray[np.float64] | None:
    """Low and high (2 × coordinates) of the values, tokens in the order of the skeleton; None if nothing bounds them.

    ``distance`` as `entry_distance` gives it, ``every``: whether all weights but the last are positive.
    """
    hulls = _Hulls(spans, skeleton)
    tokens = sum(special.values for special in skeleton.specials)
    ranges = hulls.given(None)
    if len(skeleton.specials) > 1:
        if not (every or (tokens == 2 and hulls.sizes == [1, 1])):
            return None
        together = None if every else hulls.together()
        ranges = _widen(ranges, distance)
        for _ in range(tokens - 2):
            ranges = _widen(hulls.given(ranges), distance)
        ranges = _hull(ranges, hulls.given(ranges))
        if not every:
            if together is None:
                return None
            ranges = _hull(ranges, together)
        for _ in range(_CONTRACTIONS):
            ranges = [_meet(own, hull) for own, hull in zip(ranges, hulls.given(ranges), strict=True)]
    boxes = [own for special, own in zip(skeleton.specials, ranges, strict=True) for _ in range(special.values)]
    box = np.concatenate(boxes, axis=1)
    middle, half = box.mean(axis=0), (box[1] - box[0]) / 2
    half = np.maximum(half * (1 + 1e-9), _NARROWEST * spans.reach)
    if np.max(np.abs(middle) + half, initial=0.0) > _WIDEST * spans.reach:
        return None
    return np.stack([middle - half, middle + half])


class _Hulls:
    """Hulls of −B_uᵀr for each special unit u, over all that the other units can be at."""

    def __init__(self, spans: Spans, skeleton: Skeleton) -> None:
        self.bases = [spans.bases[special.unit] for special in skeleton.specials]
        self.changes = [spans.changes[special.unit] for special in skeleton.specials]
        self.sizes = [basis.shape[1] for basis in self.bases]
        self.fixed = []
        moves = np.array([spans.changes[u] for u in skeleton.others]).reshape(len(skeleton.others), len(spans.base))
        for basis in self.bases:
            shifts = -(moves @ basis)
            centre = -(spans.base @ basis)
            self.fixed.append(np.stack([np.minimum(shifts, 0).sum(axis=0), np.maximum(shifts, 0).sum(axis=0)]) + centre)

    def given(self, ranges: Ranges | None) -> Ranges:
        """One range (2 × coordinates) a unit, when the others are old, new or, if ranges are given, in between."""
        hulls = []
        for i, basis in enumerate(self.bases):
            hull = self.fixed[i].copy()
            for j, change in enumerate(self.changes):
                if j != i:
                    low, high = _ends(-(change @ basis)[None, :])
                    if ranges is not None:
                        across = -(self.bases[j].T @ basis)
                        middle, half = ranges[j].mean(axis=0) @ across, (ranges[j][1] - ranges[j][0]) / 2 @ np.abs(across)
                        low, high = np.minimum(low, middle - half), np.maximum(high, middle + half)
                    hull += np.stack([low, high])
            hulls.append(hull)
        return hulls

    def together(self) -> Ranges | None:
        """Two tokens always in between together, the others old or new: v = (1, −g; −g, 1)·hulls/(1 − g²)."""
        g = float(self.bases[0][:, 0] @ self.bases[1][:, 0])
        room = 1 - g * g
        if room < _INDEPENDENT:
            return None
        far = [float(np.abs(fixed).max()) for fixed in self.fixed]
        reach = [(far[0] + abs(g) * far[1]) / room, (far[1] + abs(g) * far[0]) / room]
        return [np.array([[-radius], [radius]]) for radius in reach]


def _ends(shift: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.minimum(shift, 0)[0], np.maximum(shift, 0)[0]


def _widen(ranges: Ranges, distance: float) -> Ranges:
    return [each + np.array([[-distance], [distance]]) for each in ranges]


def _hull(one: Ranges, other: Ranges) -> Ranges:
    return [np.stack([np.minimum(a[0], b[0]), np.maximum(a[1], b[1])]) for a, b in zip(one, other, strict=True)]


def _meet(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([np.maximum(one[0], other[0]), np.minimum(one[1], other[1])])
