"""Lazy subset programme: few sets are evaluated, and what is known of them bounds all the others.

The programme V(S) = α_|S| b(S) + min_{u∈S} V(S∖u) over the bounds b gives a chain that no other can beat even if every set
that was not evaluated is as good as its bound allows. Its sets are evaluated, all in one pass over the rows, which lifts the
bounds of their neighbours; and again, until the best chain has nothing but evaluated sets: then its sum is the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import UnknownSetError
from coordpath_governance.paths.orders.masks import units_of
from coordpath_governance.paths.row_orders.evaluated_sets import corners
from coordpath_governance.paths.row_orders.evaluated_task import best_evaluated_chain
from coordpath_governance.paths.row_orders.minorants import SetBounds, tie_of
from coordpath_governance.paths.solvers.lattice import read_order
from coordpath_governance.paths.solvers.protocol import EVALUATED_SETS, Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.row_orders.evaluated_sets import FloatArray
    from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask

__all__ = ["LARGEST", "SetProgramme"]

LARGEST = 18
"""Most units whose 2^D bounds are kept."""


class SetProgramme:
    """Exact for up to `LARGEST` units; ``work`` is how many rows times sets may be gone through."""

    name = "cuts"
    needs = EVALUATED_SETS

    def __init__(self, work: float) -> None:
        self.work = work

    def lacks(self, task: EvaluatedTask) -> str | None:
        """Its table has 2^D numbers."""
        return None if task.sets.size <= LARGEST else f"takes up to {LARGEST} units"

    def solve(self, task: EvaluatedTask) -> Answer:
        """The best chain, proved; where the work or the time ends first, the best known and what the bounds leave open."""
        if task.depth == 0 or not (task.alphas.any() or task.rules):
            return Answer(tuple(range(task.sets.size)), 0.0, self.name)
        order, bound = _best_order(task.within(self.work))
        return Answer(order, bound, self.name)


def _best_order(task: EvaluatedTask) -> tuple[tuple[int, ...], float]:
    evaluated = task.sets
    evaluated.ask(task.first_points)
    curvature, cuts = evaluated.curvature(), evaluated.cuts
    bounds = SetBounds(curvature)
    levels = _levels(evaluated.size, task.depth)
    while True:
        bounds.add(cuts)
        values = bounds.values
        if task.rules:
            values = np.where(task.rules.forbid(np.arange(len(values)), values), np.inf, values)
        bound, chain = _best_chain(values, task.alphas, levels)
        if bound == np.inf:
            return (), bound
        order, value = best_evaluated_chain(task, evaluated.cuts)
        if value < np.inf:
            task.report("sets that could be better", value, min(bound, value))
        missing = [units_of(int(number)) for number in chain if not bounds.exact[number]]
        if not missing or task.over():
            break
        try:
            cuts = evaluated.ask(corners(evaluated.size, missing))
        except UnknownSetError:
            break
    return order, min(bound, value)


def _best_chain(values: FloatArray, alphas: FloatArray, levels: list[NDArray[np.int64]]) -> tuple[float, NDArray[np.int64]]:
    """The least Σ αₖ values(S_k) over chains, and the sets S₁ ⊂ … ⊂ S_n of the first chain that has it."""
    size = len(values).bit_length() - 1
    total = np.full(len(values), np.inf)
    total[0] = 0.0
    for alpha, chain in zip(alphas.tolist(), levels, strict=True):
        before = np.full(len(chain), np.inf)
        for u in range(size):
            np.minimum(before, total[chain ^ (1 << u)], out=before)
        allowed = values[chain] < np.inf  # what is forbidden is so at a weight of zero, too
        total[chain] = np.where(allowed, before + alpha * np.where(allowed, values[chain], 0.0), np.inf)
    ends = total[levels[-1]]
    tie = tie_of(float(ends.min()))
    order = read_order(total, int(levels[-1][np.flatnonzero(ends <= ends.min() + tie)[0]]), tie)
    return float(ends.min()), np.cumsum([1 << u for u in order], dtype=np.int64)


def _levels(size: int, depth: int) -> list[NDArray[np.int64]]:
    """The sets of 1, 2, … n units."""
    counts = np.zeros(1, dtype=np.int64)
    for _ in range(size):
        counts = np.concatenate([counts, counts + 1])
    return [np.flatnonzero(counts == k) for k in range(1, depth + 1)]
