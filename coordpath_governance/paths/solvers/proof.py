"""A bound for orders that were not found by proving anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.chained_bounds import Refinement
from coordpath_governance.paths.chains.relaxation import bound_levels
from coordpath_governance.paths.solvers.lattice import Lattice

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["bound_chain"]

_EXACT_UP_TO = 16
"""Up to here the subset programme takes milliseconds, so the bound is the optimum itself."""


def bound_chain(task: ChainTask) -> float:
    """A number below which no chain goes: the optimum for few units, otherwise the better of two relaxations."""
    if task.function.size <= _EXACT_UP_TO and task.function.lifts is None:
        return Lattice().solve(task).bound
    levels = float(task.alphas @ bound_levels(task.function, task.depth, task.expired).values)
    steps = Refinement(task.function, task.alphas, np.inf, 1, task.expired).bounds() if task.depth else None
    return levels if steps is None else max(levels, steps.root)
