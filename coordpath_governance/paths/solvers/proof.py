"""A bound for orders that were not found by proving anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.paths.relaxation import bound_levels
from coordpath_governance.paths.solvers.lattice import Lattice

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["bound_chain"]

_EXACT_UP_TO = 16
"""Up to here the subset programme takes milliseconds, so the bound is the optimum itself."""


def bound_chain(task: ChainTask) -> float:
    """A number below which no chain goes: the optimum for few units, otherwise Σ αₖ·(level bound k)."""
    if task.function.size <= _EXACT_UP_TO:
        return Lattice().solve(task).bound
    return float(task.alphas @ bound_levels(task.function, task.depth).values)
