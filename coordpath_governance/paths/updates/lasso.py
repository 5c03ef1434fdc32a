"""LASSO: in which order min ‖r₀ + Σ cⱼxⱼ‖² + 2λ Σ|xⱼ| takes columns in as λ falls, by following its solution.

Between two events the solution is linear in λ: with A the columns that are in and s the signs of their slopes,
dx_A/dλ = −(C_AᵀC_A)⁻¹s. At an event a column comes in, whose slope reaches λ, or one goes, whose value returns to 0.
The slope of a combination of columns that are in falls as λ does, so it never comes in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["entry_order"]

_SAME = 1e-12
"""Part of the first λ within which events are one, and below which nothing more happens."""

_EVENTS = 20
"""Events per column after which no more are followed."""


def entry_order(residual: FloatArray, columns: FloatArray) -> tuple[int, ...]:
    """Columns (of length 1 or 0) in the order in which they first come in."""
    gram, pull = columns.T @ columns, -(columns.T @ residual)
    size = len(pull)
    values, inside = np.zeros(size), np.zeros(size, dtype=bool)
    usable = np.diag(gram) > 0.5
    lam = first = float(np.max(np.abs(pull), initial=0.0, where=usable))
    order: list[int] = []
    came = int(np.argmax(np.where(usable, np.abs(pull), -1.0))) if first > 0 else -1
    for _ in range(_EVENTS * size):
        if came >= 0:
            inside[came] = True
            order += [came] if came not in order else []
        if lam <= _SAME * first or not inside.any():
            break
        at = np.flatnonzero(inside)
        slopes = pull - gram @ values
        direction = np.asarray(np.linalg.lstsq(gram[np.ix_(at, at)], np.sign(slopes[at]), rcond=None)[0], np.float64)
        along = gram[:, at] @ direction
        step, came, went = _next_event(lam, slopes, along, (values, direction, at), usable & ~inside, _SAME * first)
        values[at] += step * direction
        lam -= step
        if went >= 0:
            values[went], inside[went] = 0.0, False
    return tuple(order)


def _next_event(
    lam: float,
    slopes: FloatArray,
    along: FloatArray,
    moving: tuple[FloatArray, FloatArray, NDArray[np.intp]],
    waiting: NDArray[np.bool_],
    same: float,
) -> tuple[float, int, int]:
    """How far λ falls until something happens, the column that then comes in, and the one that goes (−1: none)."""
    values, direction, at = moving
    best, came, went = lam, -1, -1
    for j in np.flatnonzero(waiting).tolist():
        for sign in (1.0, -1.0):
            closing = 1.0 - sign * float(along[j])
            step = (lam - sign * float(slopes[j])) / closing if closing > _SAME else np.inf
            if max(step, 0.0) < best - same:
                best, came = max(step, 0.0), j
    for i, moved in zip(at.tolist(), direction.tolist(), strict=True):
        step = -float(values[i]) / moved if values[i] * moved < 0 else np.inf
        if step < best:
            best, came, went = step, -1, i
    return best, came, went
