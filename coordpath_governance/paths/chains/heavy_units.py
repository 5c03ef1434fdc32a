"""Units that no good chain can move early: put aside before a solver starts, they cost it no digits.

If Σαₖ e(S_k) ≤ B then ‖r_k‖² = e(S_k) ≤ B/αₖ, and the unit u that moves at step k has

    ‖p_u‖ = ‖r_k − r_{k−1}‖ ≤ ‖r_k‖ + ‖r_{k−1}‖.

A unit longer than that for every k is not among the first n of any chain as good as one already known. Two columns that
are almost one, with large opposite changes, are such units; left in, they would drown all differences in their rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.solvers.listed import forward_order

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["light_units"]

_MARGIN = 1.0 + 1e-6


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
