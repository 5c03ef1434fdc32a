"""Convex relaxations over 0 ≤ y ≤ 1, Σy = σ, many at once, and what they say about e(S) over all sets of k units.

At any y the tangent of a convex f minimised over the relaxed points is a valid bound,

    f(x) ≥ f(y) − ∇ᵀy + min {∇ᵀx : 0 ≤ x ≤ 1, Σx = σ},

and forcing xᵤ = 1 adds at least the reduced cost (∇ᵤ − λ)⁺, where λ is the largest slope the minimum takes. The
minimisation only makes the bound good, never valid, so it runs in single precision for a fixed number of rounds.

The *diagonal shift* says how much of a quadratic form over 0/1 variables is linear. With x² = x, xᵀQx = dᵀx +
xᵀ(Q − diag d)x on 0/1 points; on fractional points the right side is larger by Σ dᵤxᵤ(1 − xᵤ). So the largest d ≥ 0 that
leaves Q − diag(d) positive semidefinite gives the best relaxation:

    max wᵀd  subject to  Q − diag(d) ⪰ 0,

by Newton steps on wᵀd + μ(log det(Q − diag d) + Σ log d) with μ falling. The steps only make d good. That the rest is
positive semidefinite is checked at the end, with room for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.patience import never

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.orders.set_function import SetFunction

__all__ = ["LevelBounds", "bound_levels", "descend", "largest_shift", "least_slopes"]

_UNASKED = 100_000_000
"""Products before the deadline is looked at: a tenth of a second, for which there is a bound worth having."""

_SHIFT_STEPS = 40
_SHIFT_WORK = 1_200_000_000
"""Steps times D³: past a few hundred units, steps are saved, down to 4."""

_BARRIER_FALL = 0.25
_BARRIER_END = 3e-3
_SHORTEST = 1e-6


def largest_shift(
    quadratic: NDArray[np.float64], weights: NDArray[np.float64], expired: Callable[[], bool] = never
) -> NDArray[np.float64]:
    """The d ≥ 0 with Q − diag(d) ⪰ 0 and wᵀd about as large as it can be, w > 0; zero if Q leaves no room.

    When the deadline comes, it is as large as has been reached.
    """
    shift = np.zeros(len(quadratic))
    moving = np.flatnonzero(np.diag(quadratic) > 0.0)
    lengths = np.sqrt(np.diag(quadratic)[moving])
    correlation = quadratic[np.ix_(moving, moving)] / np.outer(lengths, lengths)
    room = float(np.linalg.eigvalsh(correlation)[0]) if len(moving) else 0.0
    margin = 64 * len(moving) ** 2 * EPS
    if room > 4 * margin:
        worth = weights[moving] * lengths**2
        worth = worth + 1e-3 * worth.max()
        inner = np.full(len(moving), 0.5 * room)
        outer = _central_path(correlation, worth / worth.sum(), inner, expired)
        outer = outer + max(0.0, float(np.linalg.eigvalsh(correlation - np.diag(outer))[0]) - 2 * margin)
        safe = np.linalg.eigvalsh(correlation - np.diag(outer))[0] >= margin
        shift[moving] = (outer if safe else inner) * lengths**2
    return shift


def _central_path(
    correlation: NDArray[np.float64],
    worth: NDArray[np.float64],
    shift: NDArray[np.float64],
    expired: Callable[[], bool],
) -> NDArray[np.float64]:
    """Newton steps from a point inside; every point it passes leaves a positive definite rest."""
    size = len(correlation)
    barrier = 1.0 / size
    for turn in range(max(4, min(_SHIFT_STEPS, _SHIFT_WORK // size**3))):
        if turn * size**3 > _UNASKED and expired():
            break
        inverse = np.linalg.inv(correlation - np.diag(shift))
        slope = worth / barrier - np.diag(inverse) + 1.0 / shift
        step = np.linalg.solve(inverse * inverse + np.diag(shift**-2), slope)
        length = 1.0
        while not _inside(correlation, shift + length * step) and length > _SHORTEST:
            length /= 2.0
        if length <= _SHORTEST:
            break
        shift = shift + (1.0 if length == 1.0 else 0.9 * length) * step
        if slope @ step < 1.0:
            barrier *= _BARRIER_FALL
            if barrier * size < _BARRIER_END:
                break
    return shift


def _inside(correlation: NDArray[np.float64], shift: NDArray[np.float64]) -> bool:
    if shift.min() <= 0.0:
        return False
    try:
        np.linalg.cholesky(correlation - np.diag(shift))
    except np.linalg.LinAlgError:
        return False
    return True


_ROUNDS = 300
_ELEMENTS = 20_000_000
"""Numbers updated in all: past this, rounds are saved, down to 40."""

_STILL = 1e-5
"""A move below this in every unit is the end."""

_SMALLEST = 0.01
"""Steps of units with less than this part of the largest Q_uu are scaled as if they had it."""

_NEWTON_FIRST, _NEWTON = 12, 3


@dataclass(frozen=True, eq=False)
class LevelBounds:
    """For levels 1 … n: ``values[k−1]`` ≤ e(S) for |S| = k, and ``reduced[k−1, i]`` to add when unit i is in S."""

    values: NDArray[np.float64]
    reduced: NDArray[np.float64]


def bound_levels(function: SetFunction, depth: int, expired: Callable[[], bool] = never) -> LevelBounds:
    """Bounds for every level up to ``depth``, from e(S) = e₀ + (a + d)ᵀx + xᵀ(Q − diag d)x."""
    size = function.size
    levels = np.arange(1, depth + 1, dtype=np.float64)
    shift = largest_shift(function.quadratic, np.ones(size), expired)
    rest = function.quadratic - np.diag(shift)
    slope, lowest = np.broadcast_to(function.linear + shift, (depth, size)), np.full(depth, function.e0)
    if function.lifts is not None:
        constants, slopes = function.lifts.steps()
        slope, lowest = slope + slopes[1:], lowest + constants[1:]
    rounds = max(40, min(_ROUNDS, _ELEMENTS // max(1, depth * size)))
    point = descend(
        np.repeat(levels[:, None] / size, size, axis=1),
        slope=slope,
        quadratic=rest,
        sums=levels,
        rounds=rounds,
        expired=expired,
    )
    product = point @ rest
    gradient = slope + 2.0 * product
    smallest, largest = least_slopes(gradient, levels)
    values = lowest - np.sum(product * point, axis=1) + smallest
    reduced = np.where(values[:, None] > 0.0, np.maximum(gradient - largest[:, None], 0.0), 0.0)
    return LevelBounds(np.maximum(values, 0.0), reduced)


def least_slopes(
    gradient: NDArray[np.float64], sums: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each row the least ∇ᵀx over 0 ≤ x ≤ 1, Σx = σ, and the largest slope it takes (the least of all if σ = 0)."""
    ordered = np.sort(gradient, axis=1)
    rows, whole = np.arange(len(gradient)), np.floor(sums).astype(np.int64)
    part = sums - whole
    last = np.clip(np.where(part > 0, whole, whole - 1), 0, gradient.shape[1] - 1)
    largest = ordered[rows, last]
    np.cumsum(ordered, axis=1, out=ordered)
    smallest = np.where(whole > 0, ordered[rows, np.maximum(whole - 1, 0)], 0.0) + part * largest
    return smallest, largest


def descend(
    point: NDArray[np.float64],
    *,
    slope: NDArray[np.float64],
    quadratic: NDArray[np.float64],
    sums: NDArray[np.float64],
    rounds: int,
    expired: Callable[[], bool] = never,
) -> NDArray[np.float64]:
    """Accelerated projected gradient steps on slopeᵀy + yᵀQy, one problem per row, until little moves or the deadline comes.

    Steps are scaled by Q_uu, so that units of different size settle alike. A row whose momentum points uphill starts
    again from rest.
    """
    diagonal = np.diag(quadratic)
    if rounds == 0 or point.size == 0 or not diagonal.max() > 0.0:
        return point
    lengths = np.sqrt(np.maximum(diagonal, _SMALLEST * diagonal.max()))
    steepness = 2.0 * float(np.linalg.eigvalsh(quadratic / np.outer(lengths, lengths))[-1]) * lengths**2
    relative = np.ldexp(steepness, -int(np.frexp(steepness.max())[1]))  # single precision holds no costs of 1e39
    inverse = (1.0 / relative).astype(np.float32)
    form = np.ascontiguousarray(2.0 * quadratic / steepness, dtype=np.float32)
    pull = (slope / steepness).astype(np.float32)
    total = sums.astype(np.float32)
    position = point.astype(np.float32)
    metric = relative.astype(np.float32)
    ahead, momentum = position, np.ones(len(position), dtype=np.float32)
    shift = np.zeros(len(position), dtype=np.float32)
    for turn in range(rounds):
        if turn % 4 == 0 and turn * point.size * len(quadratic) > _UNASKED and expired():
            break
        wanted = ahead - pull
        wanted -= ahead @ form
        step, shift = _nearest_with_sum(
            wanted, inverse=inverse, sums=total, shift=shift, rounds=_NEWTON_FIRST if turn == 0 else _NEWTON
        )
        moved = step - position
        ahead -= step
        ahead *= moved
        momentum[ahead @ metric > 0] = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = moved * ((momentum - 1.0) / following)[:, None]
        ahead += step
        position, momentum = step, following
        if turn % 8 == 7 and float(np.abs(moved).max()) < _STILL:
            break
    return position.astype(np.float64)


def _nearest_with_sum(
    points: NDArray[np.float32],
    *,
    inverse: NDArray[np.float32],
    sums: NDArray[np.float32],
    shift: NDArray[np.float32],
    rounds: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rows of ``points`` moved to about the nearest y with 0 ≤ y ≤ 1 and the given sums, y = clip(points − shift/steepness).

    Newton steps on the shift, which is close from the round before, kept inside a shrinking bracket.
    """
    nearest, clipped = np.empty_like(points), np.empty_like(points)
    ones, least = np.ones_like(inverse), inverse.min()
    np.divide(points, inverse, out=nearest)
    high = nearest.max(axis=1)
    np.subtract(nearest, 1.0 / inverse, out=nearest)
    low = nearest.min(axis=1)
    for _ in range(rounds):
        np.multiply(shift[:, None], inverse, out=nearest)
        np.subtract(points, nearest, out=nearest)
        np.clip(nearest, 0.0, 1.0, out=clipped)
        over = clipped @ ones - sums
        np.equal(clipped, nearest, out=nearest)
        low, high = np.where(over > 0, shift, low), np.where(over > 0, high, shift)
        newton = shift + over / np.maximum(nearest @ inverse, least)
        shift = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2.0)
    np.multiply(shift[:, None], inverse, out=nearest)
    np.subtract(points, nearest, out=nearest)
    np.clip(nearest, 0.0, 1.0, out=nearest)
    return nearest, shift
