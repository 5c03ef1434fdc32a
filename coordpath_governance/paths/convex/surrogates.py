"""Surrogates: one quadratic below f, solved with all that is known of quadratics, for more units than a table holds.

A minorant ½xᵀMx + bᵀx + constant is put into the form ‖r + Σp‖² of a `SetFunction`. On 0/1 points x² = x, so a diagonal
s > 0 may be added to M/2 and taken off b: then there is an r even where M is singular. The minorant that touches f at the
mean of a chain's own sets, weighted as they are, is off least along that chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import UnknownSetError
from coordpath_governance.paths.chains.set_function import Lifts, SetFunction, order_chain
from coordpath_governance.paths.convex.minorants import linear_parts, rounding_of
from coordpath_governance.paths.convex.set_costs import corners
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.proof import bound_chain
from coordpath_governance.paths.solvers.protocol import ChainTask, Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.convex.set_costs import Evaluation, FloatArray
    from coordpath_governance.paths.convex.task import ConvexTask

__all__ = ["quick_bound", "solve_surrogates"]

_ROUNDS = 12
_MOVING = 3
"""Rounds in which the point moves to where the best chain is; after that only cuts are added."""

_PROGRESS = 0.02
"""A round that closes less than this part of the gap is the last."""

_WORK = {"auto": 8_000_000, "local": 1_000_000, "exact": 110_000_000}
"""States times units of one round's search."""

_DIAGONAL = 0.25


def solve_surrogates(task: ConvexTask, solver: str) -> Found:
    """The best chain of a few surrogates, with the best bound of them.

    Each is lifted by all cuts known so far, and touches f in the middle of the best chain of those before.
    """
    known = task.known
    known.ask(task.first_points)
    best, value, bound = task.best_known, np.inf, -np.inf
    point = known.centre
    for at in range(_ROUNDS):
        open_before = value - bound
        try:
            chain, constant = _surrogate(task, known.ask(point[None, :])[0])
            found = Levels(_WORK[solver]).solve(chain)
            bound = max(bound, found.bound - chain.rounding + constant)
            reached = task.evaluate(found.order)
        except UnknownSetError:
            break
        if reached < value:
            best, value = list(found.order), reached
        task.report("quadratics below the cost", value, min(bound, value))
        closed = value - bound <= 2.0 * chain.rounding
        if closed or task.over() or (at >= _MOVING and value - bound > (1.0 - _PROGRESS) * open_before):
            break
        if at < _MOVING:
            point = _middle(task, best)
    return Found(order_chain(best, known.size), min(bound, value), task.name)


def quick_bound(task: ConvexTask) -> float:
    """A bound on all chains from one surrogate, for orders that were not found by proving anything."""
    task.known.ask(task.first_points)
    chain, constant = _surrogate(task, task.known.ask(task.known.centre[None, :])[0])
    return bound_chain(chain) - chain.rounding + constant


def _surrogate(task: ConvexTask, cut: Evaluation) -> tuple[ChainTask, float]:
    """The chain task of the minorant that touches f at one point, and what to add to its sums."""
    curvature = task.known.curvature()
    constants, slopes = linear_parts(curvature, [cut])
    linear = slopes[0]
    scale = max(float(np.abs(linear).max()), float(np.abs(curvature).max()), np.finfo(np.float64).tiny)
    diagonal = _DIAGONAL * np.abs(linear) + 1e-6 * scale
    root = np.linalg.cholesky(curvature / 2.0 + np.diag(diagonal))
    base = np.linalg.solve(root, (linear - diagonal) / 2.0)
    other_constants, other_slopes = linear_parts(curvature, task.known.cuts)
    lifts = Lifts(other_constants - constants[0], other_slopes - slopes[0])
    function = SetFunction(base, np.ascontiguousarray(root.T, dtype=np.float64), lifts=lifts)
    rounding = rounding_of(curvature, task.known.evaluations)
    constant = float(task.alphas.sum()) * (float(constants[0]) - function.e0 - rounding)
    return ChainTask(function, task.alphas, task.seed, task.patience), constant


def _middle(task: ConvexTask, order: Sequence[int]) -> FloatArray:
    """The mean of the sets along an order, weighted as their terms are."""
    sets = corners(task.known.size, [order[:k] for k in range(1, task.depth + 1)])
    total = float(task.alphas.sum())
    return task.alphas @ sets / total if total > 0 else task.known.centre
