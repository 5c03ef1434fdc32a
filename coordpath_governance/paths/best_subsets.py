"""Best subsets of each size by leaps and bounds: how low ‖residual + C_S x‖² can be with |S| ≤ k columns.

A node stands for all sets S with A ⊆ S ⊆ W. With B = G_W⁻¹ and x the best values on W, leaving v out adds
Δ_v = x_v²/B_vv, and leaving a set V out adds x_Vᵀ B_VV⁻¹ x_V. That is at least the largest Δ in V and, because
B_VV ⪯ diag(B_vv·h_v) with h_v = Σ_w |B_vw|/√(B_vv B_ww), at least Σ_V Δ_v/h_v. So a node costs at size k at least its own
excess plus the (|W| − k)-th smallest Δ, or the sum of the |W| − k smallest Δ/h, over W∖A.

Dependent columns never reach an inverse: a set that holds a whole circuit is as good without one of its members, so the
search begins from nodes whose W is independent, in each of which some member of every circuit is out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.projections import excess_of, excess_of_sets, find_circuit
from coordpath_governance.paths.set_function import EPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["least_by_size"]

_WORK = 60_000_000
"""Entries of B that are updated in all; about two seconds."""

_POOL = 6_000_000
"""Entries of B that wait; beyond it, the deepest nodes go first."""

_BATCH = 400_000
"""Entries of B updated at a time."""

_ROOTS = 256
"""Most nodes to begin with."""

_TIE = 1e-10
"""Improvements below this part of the whole excess are not looked for."""


def least_by_size(
    residual: NDArray[np.float64], columns: NDArray[np.float64], most: int, work: int = _WORK
) -> NDArray[np.float64]:
    """For k = 0 … most: a lower bound on ‖residual + C_S x‖² over all |S| ≤ k and x; columns have length 1 or 0.

    It is tight where the work suffices.
    """
    whole, width = excess_of(residual), columns.shape[1]
    shallow = _shallow(residual, columns, work)
    sizes = min(most, width)
    least = np.zeros(sizes + 1)
    roots = _independent_roots(columns, sizes)
    if roots is not None and sizes >= len(shallow):
        search = _Search(residual, columns, sizes, work)
        for forced, kept in roots:
            search.add_root(forced, kept)
        search.run()
        least = search.bounds()
    least = np.maximum(np.minimum.accumulate(least), 0.0)
    shallow = shallow[: sizes + 1]
    least[: len(shallow)] = shallow
    least = np.minimum.accumulate(least)
    least[0] = whole
    return np.concatenate([least, np.full(most - sizes, least[-1])])


def _shallow(residual: NDArray[np.float64], columns: NDArray[np.float64], work: int) -> NDArray[np.float64]:
    """Sizes 0, 1, 2, and 3 where the work allows: all of them are tried."""
    width = columns.shape[1]
    least = [excess_of(residual)]
    sets = np.empty((1, 0), np.int64)
    while len(least) <= min(width, 3) and len(sets) * columns.size <= work:
        least.append(min(least[-1], float(np.min(excess_of_sets(residual, columns, sets)[1]))))
        first, second = np.triu_indices(width, 1)
        sets = np.arange(width)[:, None] if len(least) == 2 else np.stack([first, second], axis=1)
    return np.array(least)


def _independent_roots(columns: NDArray[np.float64], most: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]] | None:
    """Nodes (A, W) with independent columns W that together hold a best set of every size; None if they are too many."""
    open_nodes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), tuple(range(columns.shape[1])))]
    done: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    while open_nodes:
        if len(open_nodes) + len(done) > _ROOTS:
            return None
        forced, kept = open_nodes.pop()
        circuit = find_circuit(columns[:, list(kept)])
        if circuit is None:
            done.append((forced, kept))
            continue
        for member in (kept[i] for i in circuit.tolist()):
            if member in forced:
                continue
            if len(forced) <= most:
                open_nodes.append((forced, tuple(i for i in kept if i != member)))
            forced = (*forced, member)
    return done


class _Search:
    """Nodes that wait, and the least excess known of every size."""

    def __init__(self, residual: NDArray[np.float64], columns: NDArray[np.float64], sizes: int, work: int) -> None:
        self.residual, self.columns, self.work = residual, columns, work
        self.sizes = np.arange(sizes + 1)
        self.whole = excess_of(residual)
        self.known = np.minimum.accumulate(_exchange(residual, columns, sizes))
        self.blur = 0.0
        width = columns.shape[1]
        self.inverse = np.empty((0, width, width))
        self.values = np.empty((0, width))
        self.own = np.empty(0)
        self.forced = np.empty((0, width), np.bool_)
        self.kept = np.empty((0, width), np.bool_)
        self.bound = np.empty((0, sizes + 1))

    def add_root(self, forced: tuple[int, ...], kept: tuple[int, ...]) -> None:
        """The best values on W by an orthogonal factor, so that no square of the condition enters."""
        width = self.columns.shape[1]
        inverse, values = np.zeros((1, width, width)), np.zeros((1, width))
        basis, triangle = np.linalg.qr(self.columns[:, list(kept)])
        unfold = np.linalg.inv(triangle)
        inverse[0][np.ix_(kept, kept)] = unfold @ unfold.T
        aim = basis.T @ self.residual
        values[0, list(kept)] = -unfold @ aim
        left = self.residual - basis @ aim
        self.blur = max(self.blur, float(np.trace(inverse[0])))
        member = np.zeros((2, 1, width), np.bool_)
        member[0, 0, list(forced)] = True
        member[1, 0, list(kept)] = True
        self._push(inverse, values, np.array([left @ left]), member[0], member[1], np.zeros((1, len(self.sizes))))

    def run(self) -> None:
        """Branch until nothing can be lower than what is known, or the work is done."""
        width = self.columns.shape[1]
        while len(self.own) and self.work > 0:
            batch = max(1, _BATCH // width**2)
            if self.inverse.size > _POOL:
                order = np.argsort(self.kept.sum(axis=1), kind="stable")
            else:
                order = np.argsort(np.min(self.bound - self.known, axis=1), kind="stable")
            self._branch(order[:batch], order[batch:])

    def bounds(self) -> NDArray[np.float64]:
        """For each size the least known, or what an open node may still reach."""
        least = np.minimum(self.known, np.min(self.bound, axis=0, initial=np.inf))
        lower: NDArray[np.float64] = least - (_TIE + 64 * (self.columns.shape[1] + 8) * EPS * self.blur) * self.whole
        return lower

    def _branch(self, chosen: NDArray[np.int64], waiting: NDArray[np.int64]) -> None:
        """Leave out the free members one by one, the largest Δ first; those that were passed are forced."""
        inverse, values, own = self.inverse[chosen], self.values[chosen], self.own[chosen]
        forced, kept, bound = self.forced[chosen], self.kept[chosen], self.bound[chosen]
        for name in ("inverse", "values", "own", "forced", "kept", "bound"):
            setattr(self, name, getattr(self, name)[waiting])
        rise = _rise(inverse, values, kept & ~forced, -np.inf)
        order = np.argsort(-rise, axis=1, kind="stable")
        falling = np.take_along_axis(rise, order, axis=1)
        passed = forced.sum(axis=1)[:, None] + np.arange(rise.shape[1])
        limit = self.known[np.minimum(passed, len(self.sizes) - 1)] - _TIE * self.whole
        node, place = np.nonzero((falling > -np.inf) & (passed < len(self.sizes)) & (own[:, None] + falling < limit))
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(rise.shape[1])[None, :], axis=1)
        out = order[node, place]
        forced = forced[node] | ((rank[node] < place[:, None]) & kept[node] & ~forced[node])
        left = kept[node].copy()
        left[np.arange(len(node)), out] = False
        step = max(1, _BATCH // rise.shape[1] ** 2)
        for at in range(0, len(node), step):
            part = slice(at, at + step)
            rows = np.arange(len(node[part]))
            share = inverse[node[part], :, out[part]] / inverse[node[part], out[part], out[part]][:, None]
            smaller = inverse[node[part]] - share[:, :, None] * inverse[node[part], out[part], None, :]
            moved = values[node[part]] - share * values[node[part], out[part], None]
            smaller[rows, out[part], :] = 0.0
            smaller[rows, :, out[part]] = 0.0
            moved[rows, out[part]] = 0.0
            excess = own[node[part]] + falling[node[part], place[part]]
            self._push(smaller, moved, excess, forced[part], left[part], bound[node[part]])

    def _push(
        self,
        inverse: NDArray[np.float64],
        values: NDArray[np.float64],
        own: NDArray[np.float64],
        forced: NDArray[np.bool_],
        kept: NDArray[np.bool_],
        before: NDArray[np.float64],
    ) -> None:
        """Bound new nodes, learn from those that are small, keep those that may be lower than what is known."""
        self.work -= inverse.size
        free = kept & ~forced
        rise = np.sort(_rise(inverse, values, free, np.inf), axis=1)
        root = np.sqrt(np.einsum("nii->ni", inverse))
        root[~free] = np.inf
        row = np.einsum("nij,nj->ni", np.abs(inverse), 1.0 / root) / root
        row[~free] = 1.0
        total = np.cumsum(np.sort(_rise(inverse, values, free, np.inf) / row, axis=1), axis=1)
        number = kept.sum(axis=1)
        fewer = number[:, None] - self.sizes
        at = np.clip(fewer - 1, 0, None)
        rise, total = np.take_along_axis(rise, at, axis=1), np.take_along_axis(total, at, axis=1)
        bound = np.maximum(before, own[:, None] + np.where(fewer > 0, np.maximum(rise, total), 0.0))
        bound[fewer < 0] = np.inf
        exact = np.where((fewer == 0) | (fewer == 1), bound, np.inf)
        self.known = np.minimum.accumulate(np.minimum(self.known, exact.min(axis=0)))
        bound[exact < np.inf] = np.inf
        bound[bound >= self.known - _TIE * self.whole] = np.inf
        alive = np.isfinite(bound).any(axis=1)
        self.inverse = np.concatenate([self.inverse, inverse[alive]])
        self.values = np.concatenate([self.values, values[alive]])
        self.own = np.concatenate([self.own, own[alive]])
        self.forced = np.concatenate([self.forced, forced[alive]])
        self.kept = np.concatenate([self.kept, kept[alive]])
        self.bound = np.concatenate([self.bound, bound[alive]])


def _rise(
    inverse: NDArray[np.float64], values: NDArray[np.float64], free: NDArray[np.bool_], otherwise: float
) -> NDArray[np.float64]:
    """Δ_v = x_v²/B_vv of the free members."""
    diagonal = np.where(free, np.einsum("nii->ni", inverse), 1.0)
    return np.where(free, values * values / diagonal, otherwise)


def _exchange(residual: NDArray[np.float64], columns: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Good sets of each size: add the best column, then exchange one while that lowers the excess."""
    known = np.full(most + 1, excess_of(residual))
    members: list[int] = []
    for size in range(1, most + 1):
        more = excess_of_sets(residual, columns, np.array([members], np.int64))[1][0]
        members.append(int(np.argmin(more)))
        known[size] = float(more.min())
        for _ in range(size):
            fewer = np.array([members[:i] + members[i + 1 :] for i in range(size)], np.int64).reshape(size, size - 1)
            more = excess_of_sets(residual, columns, fewer)[1]
            out, new = np.unravel_index(int(np.argmin(more)), more.shape)
            if more[out, new] >= known[size] * (1 - _TIE):
                break
            known[size] = float(more[out, new])
            members = [*fewer[int(out)].tolist(), int(new)]
    return known
