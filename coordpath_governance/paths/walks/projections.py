"""Projections: the least excess that a set of columns reaches, whatever the columns depend on.

Columns of length 1 are projected out one after the other (modified Gram–Schmidt). Along with every column its own
combination is carried, so that at each step ρ² = ‖R⁻¹‖²_F of the set is known: rounding moves the projection by at most a
few eps·ρ, and that is what each excess here gives up. A column whose remainder is at rounding level adds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["excess_of", "excess_of_all_sets", "excess_of_sets", "find_circuit", "split_circuits"]

_DEPENDENT = 1e-13
"""A remainder below this part of its combination is rounding: no coefficients in double precision could use it."""

_PAIRS = 256
"""Most pairs that circuits are split into."""

_CHUNK = 100_000
"""Numbers held at a time, few enough for the processor's cache."""


def excess_of_all_sets(residual: NDArray[np.float64], blocks: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """For every set of units (bit u of the index: unit u) a lower bound on min ‖residual + C_S x‖², tight to rounding."""
    columns = np.concatenate([*blocks, residual[:, None]], axis=1)
    width = columns.shape[1] - 1
    state = np.concatenate([columns, np.eye(width, width + 1)])[None]
    blur = np.zeros(1)
    for block in blocks:
        moved, more = state, blur
        for _ in range(block.shape[1]):
            moved, more = _project(moved, moved[:, :, 0], len(residual), more)
            moved = moved[:, :, 1:]
        state = np.concatenate([state[:, :, block.shape[1] :], moved])
        blur = np.concatenate([blur, more])
    left = state[:, : len(residual), 0]
    excess: NDArray[np.float64] = np.maximum(
        np.sum(left * left, axis=1) - _allowance(blur, width, len(residual)) * excess_of(residual), 0.0
    )
    return excess


def excess_of_sets(
    residual: NDArray[np.float64], columns: NDArray[np.float64], sets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower bounds for sets of columns (rows of ``sets``, padded with −1): of the set, and of it with each column added."""
    size = max(1, _CHUNK // ((len(residual) + sets.shape[1]) * (columns.shape[1] + 1)))
    parts = [_excess_of_some(residual, columns, sets[at : at + size]) for at in range(0, len(sets), size)]
    return np.concatenate([own for own, _ in parts]), np.concatenate([more for _, more in parts])


def _excess_of_some(
    residual: NDArray[np.float64], columns: NDArray[np.float64], sets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    (number, length), rank, width = sets.shape, len(residual), columns.shape[1]
    state = np.zeros((number, rank + length, width + 1))
    state[:, :rank, :width] = columns
    state[:, :rank, width] = residual
    row, place = np.nonzero(sets >= 0)
    state[row, rank + place, sets[row, place]] = 1.0
    blur = np.zeros(number)
    for i in range(length):
        column = np.take_along_axis(state, np.maximum(sets[:, i], 0)[:, None, None], axis=2)[:, :, 0]
        column[sets[:, i] < 0] = 0.0
        state, blur = _project(state, column, rank, blur)
    left = state[:, :rank, width]
    own = np.sum(left * left, axis=1)
    others = state[:, :rank, :width]
    slope = np.matmul(left[:, None, :], others)[:, 0]
    square = np.sum(others * others, axis=1)
    combination = 1.0 + np.sum(np.square(state[:, rank:, :width]), axis=1)
    free = square > _DEPENDENT**2 * combination
    square[~free] = np.inf
    blurs = blur[:, None] + combination / square
    whole = excess_of(residual)
    more = own[:, None] - slope * slope / square - _allowance(blurs, length + 1, rank) * whole
    return np.maximum(own - _allowance(blur, length, rank) * whole, 0.0), np.maximum(more, 0.0)


def find_circuit(columns: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Columns of which one is a combination of the others; None if all are independent."""
    rank, width = columns.shape
    state = np.concatenate([columns, np.eye(width)])[None]
    for i in range(width):
        column = state[:, :, i]
        if not _is_free(column, rank)[0]:
            combination = np.abs(column[0, rank:])
            return np.flatnonzero(combination > _DEPENDENT * combination.max() / width)
        state, _ = _project(state, column, rank, np.zeros(1))
    return None


def split_circuits(columns: NDArray[np.float64], most: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]] | None:
    """Pairs A ⊆ W of columns, W independent: some best set S of each size up to ``most`` has A ⊆ S ⊆ W for one of them.

    Of every circuit v₁, v₂, … either v₁ is out, or v₁ is in and v₂ out, and so on. None if the pairs are too many.
    """
    waiting: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), tuple(range(columns.shape[1])))]
    done: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    while waiting:
        if len(waiting) + len(done) > _PAIRS:
            return None
        forced, allowed = waiting.pop()
        circuit = find_circuit(columns[:, list(allowed)])
        if circuit is None:
            done.append((forced, allowed))
            continue
        free = [allowed[i] for i in circuit.tolist() if allowed[i] not in forced]
        for at, member in enumerate(free[: most - len(forced) + 1]):
            waiting.append(((*forced, *free[:at]), tuple(i for i in allowed if i != member)))
    return done


def excess_of(residual: NDArray[np.float64]) -> float:
    """‖residual‖²."""
    return float(residual @ residual)


def _project(
    state: NDArray[np.float64], column: NDArray[np.float64], rank: int, blur: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Every state without its part along a column of it; dependent columns change nothing. ``blur`` is ρ²."""
    free = _is_free(column, rank)
    square = np.where(free, np.sum(np.square(column[:, :rank]), axis=1), np.inf)
    share = np.matmul(column[:, None, :rank], state[:, :rank])[:, 0] / square[:, None]
    combination = np.sum(np.square(column[:, rank:]), axis=1)
    return state - column[:, :, None] * share[:, None, :], blur + combination / square


def _is_free(column: NDArray[np.float64], rank: int) -> NDArray[np.bool_]:
    combination = np.sum(np.square(column[:, rank:]), axis=1)
    free: NDArray[np.bool_] = np.sum(np.square(column[:, :rank]), axis=1) > _DEPENDENT**2 * combination
    return free


def _allowance(blur: NDArray[np.float64], width: int, rank: int) -> NDArray[np.float64]:
    """What rounding may do to an excess, as a part of the excess before anything moved: c·eps·‖R⁻¹‖."""
    return 4 * (width + 2) * (rank + width + 8) * EPS * (1.0 + np.sqrt(blur))
