"""Subset programme: V(S) = α_|S| e(S) + min_{u∈S} V(S∖u) over all subsets, exact.

Layout: a set is (high word, low word), V is a matrix of high × low words. High words are taken by their number of bits;
minima over high bits run along rows, minima over low bits along the columns of a transposed chunk, and the weights of a
whole chunk are one matrix product. Only V is kept; the order is read backwards from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.set_function import order_chain
from coordpath_governance.paths.solvers.protocol import SET_FUNCTION, Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.solvers.protocol import ChainTask

__all__ = ["Lattice", "bit_rows", "read_order"]

_LARGEST = 26
"""Most units whose table of 2^D numbers is made (650 MB)."""

_CHUNK = 1 << 21


class Lattice:
    """Exact for up to 26 units."""

    name = "lattice"
    needs = SET_FUNCTION

    def __init__(self, most_units: int = _LARGEST) -> None:
        self.most_units = most_units

    def lacks(self, task: ChainTask) -> str | None:
        """Its table has 2^D numbers, of a quadratic."""
        if task.function.lifts is not None:
            return "takes quadratic costs only"
        return None if task.function.size <= self.most_units else f"takes up to {self.most_units} units"

    def solve(self, task: ChainTask) -> Answer:
        """An order that no other beats; a deadline is not looked at, since little time is needed.

        Its sum is infinite where the task's rules forbid them all.
        """
        size, depth = task.function.size, task.depth
        if depth == 0:
            return Answer(tuple(range(size)), 0.0, self.name)
        low = max(1, size // 2 - 1)
        table = _fill(task, low)
        best, last = _best_set(table, depth, low, task.tie)
        order = read_order(table.reshape(-1), last, task.tie)
        task.report("all orders", best, best)
        return Answer(order_chain(order, size), best, self.name)


def _fill(task: ChainTask, low: int) -> NDArray[np.float64]:
    """V over (high word, low word) for all sets whose high word has at most n bits."""
    function, size = task.function, task.function.size
    high = size - low
    alphas = np.zeros(size + 1)
    alphas[1 : task.depth + 1] = task.alphas
    linear, quadratic = function.linear, function.quadratic
    low_bits, high_bits = (bit_rows(np.arange(1 << count), count) for count in (low, high))
    low_count, high_count = low_bits.sum(axis=1).astype(np.int64), high_bits.sum(axis=1).astype(np.int64)
    low_value = low_bits @ linear[:low] + np.sum((low_bits @ quadratic[:low, :low]) * low_bits, axis=1)
    high_value = function.e0 + high_bits @ linear[low:] + np.sum((high_bits @ quadratic[low:, low:]) * high_bits, axis=1)
    left = np.column_stack([low_bits, np.ones(1 << low), low_value])
    right = np.column_stack([high_bits @ (2.0 * quadratic[low:, :low]), high_value, np.ones(1 << high)])
    predecessors = [[word ^ (1 << i) for i in range(low) if word >> i & 1] for word in range(1 << low)]

    table = np.empty((1 << high, 1 << low))
    rows_at_once = max(1, _CHUNK >> low)
    for count in range(min(high, task.depth) + 1):
        words = np.flatnonzero(high_count == count)
        weighted = alphas[count + low_count][:, None] * left
        for begin in range(0, len(words), rows_at_once):
            chunk = words[begin : begin + rows_at_once]
            least = np.empty((len(chunk), 1 << low))
            for row, word in zip(least, chunk.tolist(), strict=True):
                _least_row(table, word, high, row)
            across = np.ascontiguousarray(least.T)
            weights = weighted @ right[chunk].T
            if task.rules:
                sets = chunk << low | np.arange(1 << low)[:, None]
                weights[task.rules.forbid(sets, left @ right[chunk].T) & (sets > 0)] = np.inf
            across[0] += weights[0]
            for word in range(1, 1 << low):
                row = across[word]
                for before in predecessors[word]:
                    np.minimum(row, across[before], out=row)
                row += weights[word]
            table[chunk] = across.T
    return table


def _least_row(table: NDArray[np.float64], word: int, high: int, out: NDArray[np.float64]) -> None:
    """Least over the set bits j of ``word`` of V[word ∖ j]; the empty word starts from V(∅) = 0."""
    if word == 0:
        out.fill(np.inf)
        out[0] = 0.0
        return
    rest = [word ^ (1 << j) for j in range(high) if word >> j & 1]
    out[:] = table[rest[0]]
    for before in rest[1:]:
        np.minimum(out, table[before], out=out)


def _best_set(table: NDArray[np.float64], depth: int, low: int, tie: float) -> tuple[float, int]:
    """The least V over sets of n units, and the first such set (units listed first are preferred)."""
    low_count = bit_rows(np.arange(1 << low), low).sum(axis=1).astype(np.int64)
    columns = [np.flatnonzero(low_count == count) for count in range(low + 1)]
    candidates: list[tuple[float, int]] = []
    for word in range(table.shape[0]):
        need = depth - word.bit_count()
        if 0 <= need <= low:
            values = table[word, columns[need]]
            first = int(np.flatnonzero(values <= values.min() + tie)[0])
            candidates.append((float(values.min()), word << low | int(columns[need][first])))
    best = min(value for value, _ in candidates)
    return best, min(mask for value, mask in candidates if value <= best + tie)


def read_order(values: NDArray[np.float64], last: int, tie: float) -> list[int]:
    """The order that ends at a set; among equals the unit listed last moves last."""
    order: list[int] = []
    mask = last
    while mask:
        units = [u for u in range(mask.bit_length() - 1, -1, -1) if mask >> u & 1]
        before = values[[mask ^ (1 << u) for u in units]]
        chosen = units[int(np.flatnonzero(before <= before.min() + tie)[0])]
        order.append(chosen)
        mask ^= 1 << chosen
    return order[::-1]


def bit_rows(words: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Words of ``count`` bits as rows of zeros and ones, lowest bit first."""
    return (words[:, None] >> np.arange(count) & 1).astype(np.float64)
