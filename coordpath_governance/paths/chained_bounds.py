"""Bounds on the rest of a chain, with the largest units integral and chained, the others relaxed level by level.

Let I be the units with the largest Q_uu. For a level k and a set x ⊆ I, b(k, x) ≤ e(S) for every S with |S| = k and
S ∩ I = x: a relaxation over the other units with Σy = k − |x|. Then

    T(k, x) = min over x' = x or x ∪ {i}, i ∈ I∖x, of α_{k+1} b(k+1, x') + T(k+1, x')

is a lower bound on Σ_{j>k} αⱼ e(S_j) for every chain that passes through S_k with S_k ∩ I = x. On collinear data it is
the chain that matters, and level bounds alone leave a third of the excess open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.relaxation import LevelBounds, descend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.set_function import SetFunction

__all__ = ["ChainedBounds", "bound_chains", "largest_units", "no_chains"]

_STAGES = (15, 30, 60)
_ELEMENTS = 400_000
"""Numbers a batch of relaxations may have: it sets how many units stay integral."""


@dataclass(frozen=True, eq=False)
class ChainedBounds:
    """``after[k, x]`` = T(k, x) for levels 0 … n and sets x of the first ``integral`` units as bit masks."""

    integral: int
    after: NDArray[np.float64]


def largest_units(function: SetFunction) -> list[int]:
    """All units, those with the largest Q_uu first."""
    lengths = np.sum(function.columns * function.columns, axis=0)
    return [int(u) for u in np.argsort(-lengths, kind="stable")]


def no_chains(depth: int) -> ChainedBounds:
    """The bound that knows nothing: zero after every level."""
    return ChainedBounds(0, np.zeros((depth + 1, 1)))


def bound_chains(function: SetFunction, alphas: NDArray[np.float64], levels: LevelBounds, best: float) -> ChainedBounds:
    """T for a function whose first units are the ones to keep integral; ``best`` is the sum of a known chain.

    Relaxations whose level alone already brings the sum to ``best`` are not refined further.
    """
    depth, size = len(alphas), function.size
    integral = max(1, min(12, size - 1, int(np.log2(_ELEMENTS / (depth * size)))))
    words = np.arange(1 << integral)
    bits = (words[:, None] >> np.arange(integral) & 1).astype(np.float64)
    counts = bits.sum(axis=1).astype(np.int64)
    level_of, word_of = np.nonzero(
        (np.arange(1, depth + 1)[:, None] >= counts) & (np.arange(1, depth + 1)[:, None] - counts <= size - integral)
    )
    others = float(alphas @ levels.values) - alphas * levels.values
    with np.errstate(divide="ignore", invalid="ignore"):
        enough = np.where(alphas > 0, (best - others) / alphas, 0.0)
    table = np.full((depth, 1 << integral), np.inf)
    table[level_of, word_of] = _relaxed(function, bits, integral, level_of + 1 - counts[word_of], word_of, enough[level_of])
    table = np.maximum(table, levels.values[:, None])
    after = np.zeros((depth + 1, 1 << integral))
    for k in range(depth - 1, -1, -1):
        entering = (
            alphas[k] * table[k] + after[k + 1] if alphas[k] > 0 else np.where(np.isinf(table[k]), np.inf, after[k + 1])
        )
        after[k] = entering
        for i in range(integral):
            without = words[words >> i & 1 == 0]
            after[k, without] = np.minimum(after[k, without], entering[without | 1 << i])
    return ChainedBounds(integral, after)


def _relaxed(
    function: SetFunction,
    bits: NDArray[np.float64],
    integral: int,
    sums: NDArray[np.int64],
    words: NDArray[np.int64],
    enough: NDArray[np.float64],
) -> NDArray[np.float64]:
    """B for every pair of a number of relaxed units and a word, batched; rows that reach ``enough`` stop early."""
    columns = function.columns[:, integral:]
    product = columns.T @ columns
    steepness = max(2.0 * float(np.linalg.eigvalsh(product)[-1]), np.finfo(np.float64).tiny)
    residual = function.base + bits @ function.columns[:, :integral].T
    constant = np.sum(residual * residual, axis=1)[words]
    slope = 2.0 * (residual @ columns)[words]
    bounds = np.zeros(len(words))
    rows = np.arange(len(words))
    point = np.repeat(sums[:, None] / columns.shape[1], columns.shape[1], axis=1)
    for rounds in _STAGES:
        point = descend(point, slope[rows], product, sums[rows], steepness, rounds)
        quadratic = point @ product
        ordered = np.sort(slope[rows] + 2.0 * quadratic, axis=1)
        smallest = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(ordered, axis=1)], axis=1)
        value = constant[rows] - np.sum(quadratic * point, axis=1) + smallest[np.arange(len(rows)), sums[rows]]
        bounds[rows] = np.maximum(bounds[rows], value)
        open_rows = bounds[rows] < enough[rows]
        rows, point = rows[open_rows], point[open_rows]
    return bounds
