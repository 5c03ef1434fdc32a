"""Diagonal shift: how much of a quadratic form over 0/1 variables is linear.

With x² = x, xᵀQx = dᵀx + xᵀ(Q − diag d)x on 0/1 points; on fractional points the right side is larger by Σ dᵤxᵤ(1 − xᵤ).
So the largest d ≥ 0 that leaves Q − diag(d) positive semidefinite gives the best relaxation:

    max wᵀd  subject to  Q − diag(d) ⪰ 0,

by Newton steps on wᵀd + μ(log det(Q − diag d) + Σ log d) with μ falling. The steps only make d good; that the rest is
positive semidefinite is checked at the end, with room for rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.set_function import EPS
from coordpath_governance.paths.patience import never

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["UNASKED", "largest_shift"]

UNASKED = 100_000_000
"""Products before the deadline is looked at: a tenth of a second, for which there is a bound worth having."""

_STEPS = 40
_WORK = 1_200_000_000
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
    for turn in range(max(4, min(_STEPS, _WORK // size**3))):
        if turn * size**3 > UNASKED and expired():
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
