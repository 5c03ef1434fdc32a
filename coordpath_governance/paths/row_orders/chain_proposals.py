"""Good orders under a convex cost, on its rows: quadratic models of f propose chains, exchanges improve the best of them.

A model has the true ∇²f at one point, and is solved with all that is known of quadratics; the next one expands f in the
middle of the chain found. At the sets S_k of a chain f is known with its slopes, so taking r out of S_k and a into it
changes f by about

    ∇f(S_k)_a − ∇f(S_k)_r + ½(H_aa + H_rr − 2H_ar).

Every swap and insertion makes such exchanges along a run of sets; the most promising ones are tried, and all swaps of
neighbours, in one pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.set_function import SetFunction
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers.improvement import first_polish
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.protocol import ChainTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.row_orders.evaluated_sets import FloatArray
    from coordpath_governance.paths.row_orders.evaluated_task import Inquiry

__all__ = ["find_chain", "set_function"]

_MODELS = 4
_WORK = 500_000
"""States times units of the search for a model's best chain."""

_TRIALS = 12
"""Promising exchanges tried in one pass."""

_LITTLE = 1e-3
"""A model that lowers the sum by less than this part is the last; exchanges do the rest."""

_GAIN = 1e-12
_DIAGONAL = 0.25


def set_function(matrix: FloatArray, linear: FloatArray) -> SetFunction:
    """½xᵀMx + linearᵀx + e₀ on 0/1 points, as the square of a length.

    There x² = x, so a diagonal s > 0 may be added to M/2 and taken off the linear part: M may be singular.
    """
    scale = max(float(np.abs(linear).max()), float(np.abs(matrix).max())) or 1.0
    diagonal = _DIAGONAL * np.abs(linear) + 1e-6 * scale
    root = np.linalg.cholesky(matrix / 2.0 + np.diag(diagonal))
    base = np.linalg.solve(root, (linear - diagonal) / 2.0)
    return SetFunction(base, np.ascontiguousarray(root.T, dtype=np.float64))


def find_chain(inquiry: Inquiry) -> tuple[int, ...]:
    """The best order that models and exchanges find."""
    task = inquiry.task
    point, best, value = task.sets.centre, tuple(range(task.sets.size)), np.inf
    if task.patience.expired():
        return best
    for _ in range(_MODELS):
        matrix = inquiry.hessian(point)
        model = set_function(matrix, inquiry.slopes(point[None, :])[0] - matrix @ point)
        order = _best_order(ChainTask(model, task.alphas, task.seed, Patience(task.patience.expired)))
        reached = float(task.alphas @ inquiry.values(task.chain(order)))
        converged = reached > value - _LITTLE * abs(value)
        if reached < value:
            best, value, point = order, reached, task.alphas @ task.chain(order) / float(task.alphas.sum())
        if converged or inquiry.over():
            break
    return _exchange(inquiry, best, matrix)


def _best_order(model: ChainTask) -> tuple[int, ...]:
    return Levels(_WORK).solve(replace(model, first=first_polish(model)[0])).order


def _exchange(inquiry: Inquiry, best: tuple[int, ...], matrix: FloatArray) -> tuple[int, ...]:
    """Take the best of the most promising exchanges, and all that concern other sets, while they lower the sum."""
    task = inquiry.task
    while not inquiry.over():
        trials = _promising(best, task.alphas, inquiry.slopes(task.chain(best)), matrix)
        sets = np.concatenate([task.chain(best), *(task.chain(order) for order in trials)])
        value, *values = inquiry.values(sets).reshape(len(trials) + 1, -1) @ task.alphas
        better = [i for i in np.argsort(values, kind="stable") if values[i] < value - _GAIN * abs(value)]
        if not better:
            break
        best = _together(best, [trials[i] for i in better])
    return best


def _together(order: tuple[int, ...], others: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The first of the other orders, with what the following ones change elsewhere."""
    joined, taken = np.array(order), np.zeros(len(order), dtype=bool)
    for other in others:
        changed = np.flatnonzero(np.array(other) != np.array(order))
        places = slice(changed[0], changed[-1] + 1)
        if not taken[places].any():
            joined[places] = other[places]
            taken[places] = True
    return tuple(joined.tolist())


def _promising(order: Sequence[int], alphas: FloatArray, slopes: FloatArray, matrix: FloatArray) -> list[tuple[int, ...]]:
    """Orders that one swap or insertion makes: those that seem to lower the sum most, and all swaps of neighbours."""
    size, depth = len(order), len(alphas)
    placed = matrix[np.ix_(order, order)]
    apart = (np.diag(placed)[:, None] + np.diag(placed)) / 2.0 - placed
    weights = np.concatenate([[0.0], alphas, np.zeros(size - depth - 1)])  # of S₀ … S_{D−1}
    pull = np.zeros((size, size))
    pull[1 : depth + 1] = alphas[:, None] * slopes[:, list(order)]
    # [k, p]: the unit at place p leaves S_k and the one at place k joins it; or it joins and the one at place k − 1 leaves.
    later = weights[:, None] * apart + np.diag(pull)[:, None] - pull
    earlier = np.zeros((size, size))
    earlier[1:] = weights[1:, None] * apart[:-1] + pull[1:] - np.diag(pull[1:])[:, None]
    later, earlier, pulled, total = (np.cumsum(terms, axis=0) for terms in (later, earlier, pull, weights))
    forward = np.less.outer(np.arange(size), np.arange(size))
    insertion = np.where(forward, (later - np.diag(later)).T, (np.diag(earlier) - earlier).T)
    own = np.diag(pulled)
    swap = own + own[:, None] - pulled - pulled.T + (total - total[:, None]) * apart
    changes = np.stack([insertion, np.where(forward, swap, 0.0)])
    promising = np.argsort(changes, axis=None, kind="stable")[:_TRIALS]
    moves = [tuple(int(place) for place in np.unravel_index(at, changes.shape)) for at in promising]
    moves += [(1, k, k + 1) for k in range(min(depth, size - 1))]
    orders = dict.fromkeys(_moved(order, *move) for move in moves)
    orders.pop(tuple(order), None)
    return list(orders)


def _moved(order: Sequence[int], kind: int, i: int, j: int) -> tuple[int, ...]:
    """An order after one insertion, or one swap."""
    other = list(order)
    if kind == 0:
        other.insert(j, other.pop(i))
    else:
        other[i], other[j] = other[j], other[i]
    return tuple(other)
