"""φ(z): the best chain of a skeleton when its values in between are z, for many z at once.

Every w(x) = α_{|x|}‖r(x)‖² is a quadratic in z, so the costs of all states are one product of their coefficients with the
features 1, zᵢ, zᵢzⱼ of each point. A chain's Hessian is Σ αₖ M_{Tₖ}, M_T the Gram matrix of the tokens in between at a term;
`majorant` gives an L with LᵀL above all of them, so that φ(z) − ‖Lz‖² is a minimum of concave functions.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.revisiting.chain_table import ChainTable
    from coordpath_governance.paths.revisiting.skeletons import Skeleton, Spans

__all__ = ["TokenCosts", "features", "majorant"]

_SAFE = 1 + 1e-9

_RIDGES = (0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 3.0, 10.0, 100.0)


class TokenCosts:
    """The programme of one skeleton under given weights."""

    def __init__(self, spans: Spans, skeleton: Skeleton, table: ChainTable, alphas: NDArray[np.float64]) -> None:
        self.skeleton, self.table = skeleton, table
        self.bases = [spans.bases[unit] for unit in skeleton.tokens]
        self.size = sum(basis.shape[1] for basis in self.bases)
        self.metric = majorant(spans, skeleton, float(alphas[:-1].sum()))
        natural = _coefficients(spans, skeleton, self.bases)
        weights = np.concatenate([[0.0], alphas])[self.table.levels]
        self.coefficients = natural[self.table.order] * weights[:, None]
        self._reach = spans.reach
        self._unit_rounding = 16 * (len(skeleton.units) + 8) * EPS * float(alphas.sum())

    def rounding(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """What floating point may do to φ and to the bounds made of it, at each point."""
        lengths: NDArray[np.float64] = self._reach + np.abs(points).sum(axis=-1)
        return self._unit_rounding * np.square(lengths)

    def sequence(self, values: NDArray[np.float64]) -> tuple[int, ...]:
        """The units that move along the best chain; ``values`` is one column of the programme."""
        units = self.skeleton.units
        return tuple(units[i] for i in self.table.trace(values))


def features(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """1, zᵢ and zᵢzⱼ (i ≤ j) of points (point × coordinate): feature × point."""
    first, second = np.triu_indices(points.shape[1])
    return np.concatenate([np.ones((len(points), 1)), points, points[:, first] * points[:, second]], axis=1).T


def majorant(spans: Spans, skeleton: Skeleton, weight: float) -> NDArray[np.float64]:
    """L with LᵀL ⪰ weight·M_T for every set T of tokens of different units, hence above Σ αₖ M_{Tₖ} if Σ αₖ ≤ weight.

    Of M + c·1 for several c, M the Gram matrix of all tokens, each multiplied by what it takes to be above all M_T, the one
    of least determinant: the flatter, the fewer simplices.
    """
    bases = [spans.bases[unit] for unit in skeleton.tokens]
    widths = [basis.shape[1] for basis in bases]
    columns = np.concatenate([np.zeros((len(spans.base), 0)), *bases], axis=1)
    if columns.shape[1] == 0:
        return np.zeros((0, 0))
    gram = columns.T @ columns
    parts = np.array([gram * np.outer(*[np.repeat(active, widths)] * 2) for active in _overlaps(skeleton)])
    values, vectors = np.linalg.eigh(gram)
    best, least = np.eye(len(gram)), np.inf
    for ridge in _RIDGES:
        diagonal = np.maximum(values, 0.0) + ridge
        whiten = vectors / np.sqrt(diagonal)
        needed = float(np.linalg.eigvalsh(whiten.T @ parts @ whiten).max())
        volume = float(np.log(needed * diagonal).sum())
        if volume < least:
            best, least = np.sqrt(needed * diagonal)[:, None] * vectors.T, volume
    return best * math.sqrt(weight * _SAFE)


def _overlaps(skeleton: Skeleton) -> list[NDArray[np.bool_]]:
    """The sets T: which tokens are in between when every special unit is at one of its values or at none."""
    ranks = itertools.product(*(range(special.values + 1) for special in skeleton.specials))
    values = [special.values for special in skeleton.specials]
    return [
        np.concatenate([np.arange(1, count + 1) == rank for rank, count in zip(at, values, strict=True)])
        for at in ranks
        if any(at)
    ]


def _coefficients(spans: Spans, skeleton: Skeleton, bases: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """‖r(x)‖² as coefficients of the features: state × feature, the last unit counting fastest."""
    starts = np.concatenate([[0], np.cumsum([basis.shape[1] for basis in bases])]).astype(int)
    size = int(starts[-1])
    first, second = np.triu_indices(size)
    place = {(int(i), int(j)): 1 + size + k for k, (i, j) in enumerate(zip(first, second, strict=True))}
    states = list(skeleton.states(spans))
    coefficients = np.zeros((len(states), len(states[0][0]), 1 + size + len(first)))
    for row, (residual, active) in zip(coefficients, states, strict=True):
        row[:, 0] = np.einsum("sr,sr->s", residual, residual)
        for t in active:
            row[:, 1 + starts[t] : 1 + starts[t + 1]] = 2 * (residual @ bases[t])
            for c in range(starts[t], starts[t + 1]):
                row[:, place[c, c]] = 1.0
        for t, s in itertools.combinations(active, 2):
            across = 2 * (bases[t].T @ bases[s])
            for i, j in np.ndindex(across.shape):
                row[:, place[starts[t] + i, starts[s] + j]] = across[i, j]
    return coefficients.reshape(-1, coefficients.shape[2])
