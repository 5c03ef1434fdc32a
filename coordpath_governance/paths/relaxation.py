"""Level bounds: how low e(S) can be over all sets of k units, from the convex relaxation 0 ≤ y ≤ 1, Σy = k.

At any y the tangent minimised over 0/1 points is a valid bound:

    e(S) ≥ e(y) − ∇ᵀy + Σ (k smallest ∇ᵢ),   ∇ = a + 2Qy,

and a unit forced into S that is not among the k smallest adds at least its reduced cost (∇ᵢ − k-th smallest)⁺. The
minimisation only makes the bound good, never valid, so it stops after a fixed number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.set_function import SetFunction

__all__ = ["LevelBounds", "bound_levels", "descend"]

_ROUNDS = 400
_ELEMENTS = 20_000_000
"""Numbers updated in all: past this, rounds are saved, down to 40."""

_STILL = 1e-7


@dataclass(frozen=True, eq=False)
class LevelBounds:
    """For levels 1 … n: ``values[k−1]`` ≤ e(S) for |S| = k, and ``reduced[k−1, i]`` to add when unit i is in S."""

    values: NDArray[np.float64]
    reduced: NDArray[np.float64]


def bound_levels(function: SetFunction, depth: int) -> LevelBounds:
    """Bounds for every level up to ``depth``; batched accelerated projected gradients."""
    size = function.size
    levels = np.arange(1, depth + 1)
    linear, quadratic = function.linear, function.quadratic
    steepness = 2.0 * float(np.linalg.eigvalsh(quadratic)[-1]) if depth else 0.0
    point = np.repeat(levels[:, None] / size, size, axis=1)
    if steepness > 0:
        rounds = max(40, min(_ROUNDS, _ELEMENTS // (depth * size)))
        point = descend(point, np.broadcast_to(linear, point.shape), quadratic, levels, steepness, rounds)
    return _tangent_bounds(function, point, levels)


def _tangent_bounds(function: SetFunction, point: NDArray[np.float64], levels: NDArray[np.int64]) -> LevelBounds:
    """Tangents at the rows of ``point`` minimised over sets of each size; never below zero, since e ≥ 0."""
    residual = function.base + point @ function.columns.T
    gradient = 2.0 * (residual @ function.columns)
    ordered = np.sort(gradient, axis=1)
    rows = np.arange(len(levels))
    smallest = np.cumsum(ordered, axis=1)[rows, levels - 1]
    kth = ordered[rows, levels - 1]
    values = np.sum(residual * residual, axis=1) - np.sum(gradient * point, axis=1) + smallest
    return LevelBounds(np.maximum(values, 0.0), np.maximum(gradient - kth[:, None], 0.0))


def descend(
    point: NDArray[np.float64],
    slope: NDArray[np.float64],
    quadratic: NDArray[np.float64],
    sums: NDArray[np.int64],
    steepness: float,
    rounds: int,
) -> NDArray[np.float64]:
    """Accelerated projected gradient steps on slopeᵀy + yᵀQy, one problem a row, until nothing moves any more.

    A row whose momentum points uphill starts again from rest.
    """
    ahead, momentum = point, np.ones(len(point))
    for _ in range(rounds):
        step = _nearest_with_sum(ahead - (slope + 2.0 * (ahead @ quadratic)) / steepness, sums)
        moved = step - point
        momentum[np.sum((ahead - step) * moved, axis=1) > 0] = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = step + ((momentum - 1.0) / following)[:, None] * moved
        point, momentum = step, following
        if np.max(np.abs(moved), initial=0.0) < _STILL:
            break
    return point


def _nearest_with_sum(points: NDArray[np.float64], sums: NDArray[np.int64], rounds: int = 6) -> NDArray[np.float64]:
    """Rows of ``points`` moved to about the nearest y with 0 ≤ y ≤ 1 and the given sums: clip(points − shift).

    The shift of a row is found by Newton steps kept inside a shrinking bracket.
    """
    low = points.min(axis=1) - 1.0
    high = points.max(axis=1)
    shift = np.clip(points.mean(axis=1) - sums / points.shape[1], low, high)
    for _ in range(rounds):
        clipped = np.clip(points - shift[:, None], 0.0, 1.0)
        over = clipped.sum(axis=1) - sums
        inside = np.count_nonzero((clipped > 0.0) & (clipped < 1.0), axis=1)
        low = np.where(over > 0, shift, low)
        high = np.where(over > 0, high, shift)
        newton = shift + over / np.maximum(inside, 1)
        shift = np.where((newton > low) & (newton < high), newton, (low + high) / 2.0)
    nearest: NDArray[np.float64] = np.clip(points - shift[:, None], 0.0, 1.0)
    return nearest
