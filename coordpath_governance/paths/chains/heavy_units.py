"""Units that every good chain moves first, or none moves early: put aside before a solver starts, they cost it no digits.

If Σαₖ e(S_k) ≤ B then ‖r_k‖² = e(S_k) ≤ B/αₖ, and the unit u that moves at step k has

    ‖p_u‖ = ‖r_k − r_{k−1}‖ ≤ ‖r_k‖ + ‖r_{k−1}‖.

A unit longer than that for every k is not among the first n of any chain as good as one already known. Two columns that
are almost one, with large opposite changes, are such units; left in, they would drown all differences in their rounding.
And where α₁·e({u}) > B for all units but one, that one moves first: a start that is far off drowns them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.solvers.listed import forward_order

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["first_unit", "light_units"]

_MARGIN = 1.0 + 1e-6
_FAR = 1e3
"""How many times the sum along a good chain the excess of the start must be, to matter."""


def first_unit(task: ChainTask) -> int | None:
    """The unit that every chain as good as the greedy one moves first, if the start is far off and there is one."""
    function = task.function
    if task.depth == 0 or float(task.alphas[0]) <= 0.0:
        return None
    known = task.evaluate(forward_order(function)) + 2.0 * task.rounding
    if function.e0 <= _FAR * known:
        return None
    alone = function.e0 + function.linear + np.diag(function.quadratic)
    possible = np.flatnonzero(task.alphas[0] * alone <= _MARGIN * known)
    return int(possible[0]) if len(possible) == 1 else None


def light_units(task: ChainTask) -> list[int]:
    """All units but those that are certainly moved after the first n; all of them if that leaves too few."""
    function = task.function
    everything = list(range(function.size))
    if task.depth == 0 or float(task.alphas.min()) <= 0.0:
        return everything
    known = task.evaluate(forward_order(function))
    reach = np.sqrt(known / task.alphas)
    before = np.concatenate([[np.sqrt(function.e0)], reach[:-1]])
    limit = _MARGIN * float((reach + before).max())
    lengths = np.sqrt(np.sum(function.columns * function.columns, axis=0))
    light = [u for u in everything if lengths[u] <= limit]
    return light if len(light) >= task.depth else everything
