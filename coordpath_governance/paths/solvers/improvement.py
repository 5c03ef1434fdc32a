"""Improvement: good orders at any D, from greedy starts by insertions, swaps, exact windows and seeded shuffles.

For an order with prefixes S_k, let m_k(u) = a_u + 2(Q·1_{S_k})_u. Adding u to S_k costs m_k(u) + Q_uu, taking it out
−m_k(u) + Q_uu. Every insertion and swap changes a run of prefixes by one unit, so cumulative sums of αₖ times these give
all D² of each kind in O(D²).

`bound_chain` bounds all chains for orders that were not found by a proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.chained_bounds import Refinement
from coordpath_governance.paths.orders.relaxation import bound_levels
from coordpath_governance.paths.orders.set_function import backward_order, forward_order
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.protocol import SET_FUNCTION, Answer, ChainTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["Improvement", "bound_chain", "first_polish", "improve", "polish", "shuffle"]

_WINDOW, _STRIDE = 10, 4
_WIDE = 16, 6
"""Window and stride of the last polish."""

_SHUFFLES = 24
_ELEMENTS = 400_000_000
"""Insertions and swaps weighed in all, so that a thousand units end as surely as ten, on every machine alike."""


class _Effort:
    """Passes left; ``spent`` also when the deadline has come."""

    def __init__(self, task: ChainTask) -> None:
        self.left = max(60, _ELEMENTS // max(1, task.function.size) ** 2)
        self.task = task

    def spend(self) -> bool:
        """Take one pass; False when none is left."""
        self.left -= 1
        return self.left >= 0 and not self.task.expired()


class Improvement:
    """Any number of units; the bound is proved separately."""

    name = "local"
    needs = SET_FUNCTION

    def lacks(self, _task: ChainTask) -> str | None:
        """Nothing: it takes any number of units."""
        return None

    def solve(self, task: ChainTask) -> Answer:
        """The best order of several improved starts."""
        order, _ = improve(task)
        return Answer(order, bound_chain(task), self.name)


def improve(task: ChainTask) -> tuple[tuple[int, ...], float]:
    """A good order and its weighted sum; the same for the same task unless the deadline cuts it short."""
    return shuffle(task, *first_polish(task))


def first_polish(task: ChainTask) -> tuple[tuple[int, ...], float]:
    """The better of the two greedy orders, polished: nearly always a good order, and quickly."""
    effort = _Effort(task)
    orders = [_polish(task, start(task.function), effort) for start in (forward_order, backward_order)]
    forward, backward = (task.evaluate(order) for order in orders)
    return (tuple(orders[1]), backward) if backward < forward - task.tie else (tuple(orders[0]), forward)


def polish(task: ChainTask, order: tuple[int, ...], *, wide: bool = False) -> tuple[tuple[int, ...], float]:
    """An order no worse than the given one and its weighted sum; with ``wide`` windows it takes ten times as long."""
    window = _WIDE if wide else (_WINDOW, _STRIDE)
    better = _polish(task, list(order), _Effort(task), *window)
    return tuple(better), task.evaluate(better)


def shuffle(task: ChainTask, order: tuple[int, ...], value: float, turn: int = 0) -> tuple[tuple[int, ...], float]:
    """Seeded shuffles of segments, each polished, the best kept; other ones in every turn."""
    effort = _Effort(task)
    best = list(order)
    random = np.random.default_rng([task.seed, turn] if turn else task.seed)
    for _ in range(_shuffles(task)):
        candidate = _polish(task, _shuffle_segment(best, task.depth, random), effort)
        if task.evaluate(candidate) < value - task.tie:
            best, value = candidate, task.evaluate(candidate)
    return tuple(best), value


def _shuffles(task: ChainTask) -> int:
    """Rounds of shuffling: none where one window holds all, so that the order is already the best."""
    if task.depth == 0 or task.function.size <= _WINDOW:
        return 0
    return _SHUFFLES if task.function.size <= 64 else _SHUFFLES // 4


def _shuffle_segment(order: list[int], depth: int, random: np.random.Generator) -> list[int]:
    """A random segment in random order, one of its units exchanged for any other."""
    changed = list(order)
    length = min(8, len(order))
    begin = int(random.integers(0, min(depth, len(order) - length) + 1))
    changed[begin : begin + length] = [changed[begin + int(i)] for i in random.permutation(length)]
    i, j = begin + int(random.integers(0, length)), int(random.integers(0, len(order)))
    changed[i], changed[j] = changed[j], changed[i]
    return changed


def _polish(task: ChainTask, order: list[int], effort: _Effort, window: int = _WINDOW, stride: int = _STRIDE) -> list[int]:
    """Insertions and swaps until none helps, then windows; again while windows help."""
    current = _best_moves(task, order, effort)
    while effort.spend():
        better = _windows(task, current, window, stride)
        if better == current:
            break
        current = _best_moves(task, better, effort)
    return current


def _best_moves(task: ChainTask, order: list[int], effort: _Effort) -> list[int]:
    """Apply the best insertion or swap while it lowers the sum."""
    current = list(order)
    linear, quadratic, weights = task.function.linear, task.function.quadratic, task.padded()
    while effort.spend():
        value, kind, i, j = _best_move(task, linear, quadratic, weights, current)
        if value >= -task.tie:
            break
        if kind == 0:
            current.insert(j, current.pop(i))
        else:
            current[i], current[j] = current[j], current[i]
    return current


def _best_move(
    task: ChainTask,
    linear: NDArray[np.float64],
    quadratic: NDArray[np.float64],
    weights: NDArray[np.float64],
    order: list[int],
) -> tuple[float, int, int, int]:
    """(change of the sum, 0 insertion or 1 swap, from, to) of the best move; positions from 0."""
    size = len(order)
    q = quadratic[np.ix_(order, order)]
    diagonal = np.diag(q)
    excess = np.concatenate([[task.function.e0], task.function.prefix_excess(order)])
    sums = np.vstack([np.zeros(size), np.cumsum(q, axis=0)])
    slope = linear[order] + 2.0 * sums  # slope[k, i] = m_k(unit at position i)
    position = np.arange(size)

    # Position i moved later, to j > i: prefixes k = i+1 … j become S_{k+1} without the unit.
    later = weights[: size - 1, None] * (excess[2:, None] - slope[2:] + diagonal - excess[1:size, None])
    forward = np.vstack([np.zeros(size), np.cumsum(later, axis=0)])
    forward = (forward - forward[position, position]).T  # [i, j]
    # Position i moved earlier, to j < i: prefixes k = j+1 … i become S_{k−1} with the unit.
    earlier = weights[:, None] * (excess[:-1, None] + slope[:-1] + diagonal - excess[1:, None])
    backward = np.vstack([np.zeros(size), np.cumsum(earlier, axis=0)])
    backward = (backward[position, position] - backward[:size]).T  # [i, j]
    insertion = np.where(position[:, None] < position, forward, np.where(position[:, None] > position, backward, 0.0))

    # Swap i < j: prefixes k = i+1 … j lose the unit at i and gain the one at j.
    total = np.concatenate([[0.0], np.cumsum(weights)])
    lose = np.vstack([np.zeros(size), np.cumsum(weights[:, None] * (diagonal - slope[1:]), axis=0)])
    gain = np.vstack([np.zeros(size), np.cumsum(weights[:, None] * (diagonal + slope[1:]), axis=0)])
    out = (lose[:size] - lose[position, position]).T  # [i, j]
    into = gain[position, position][None, :] - gain[:size]  # [i, j]
    swap = out + into - 2.0 * q * (total[None, :size] - total[:size, None])
    swap = np.where(position[:, None] < position, swap, 0.0)

    best_insertion, best_swap = int(np.argmin(insertion)), int(np.argmin(swap))
    if insertion.flat[best_insertion] <= swap.flat[best_swap]:
        return float(insertion.flat[best_insertion]), 0, best_insertion // size, best_insertion % size
    return float(swap.flat[best_swap]), 1, best_swap // size, best_swap % size


def _windows(task: ChainTask, order: list[int], length: int, stride: int) -> list[int]:
    """The exact programme on windows of positions, everything outside left as it is."""
    current = list(order)
    weights = task.padded()
    for begin in range(0, max(1, min(task.depth, len(order) - length + stride)), stride):
        if task.expired():
            break
        window = current[begin : begin + length]
        part = task.function.restrict(current[:begin], window)
        inner = ChainTask(part, weights[begin : begin + len(window) - 1])
        best = [window[u] for u in Lattice().solve(inner).order]
        if inner.evaluate(_positions(window, best)) < inner.evaluate(range(len(window))) - task.tie:
            current[begin : begin + length] = best
    return current


def _positions(window: list[int], order: list[int]) -> list[int]:
    return [window.index(u) for u in order]


_EXACT_UP_TO = 16
"""Up to here the subset programme takes milliseconds, so the bound is the optimum itself."""


def bound_chain(task: ChainTask) -> float:
    """A number below which no chain goes: the optimum for few units, otherwise the better of two relaxations."""
    if task.function.size <= _EXACT_UP_TO and task.function.lifts is None:
        return Lattice().solve(task).bound
    levels = float(task.alphas @ bound_levels(task.function, task.depth, task.expired).values)
    steps = (
        Refinement(task.function, task.alphas, target=np.inf, capacity=1, expired=task.expired).bounds()
        if task.depth
        else None
    )
    return levels if steps is None else max(levels, steps.root)
