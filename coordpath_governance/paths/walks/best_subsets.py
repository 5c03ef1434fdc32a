"""Best subsets of each size by leaps and bounds: how low ‖residual + C_S x‖² can be with |S| ≤ k columns.

A node stands for all sets S with A ⊆ S ⊆ W. With B = G_W⁻¹ and x the best values on W, leaving v out adds
Δ_v = x_v²/B_vv, and leaving a set V out adds x_Vᵀ B_VV⁻¹ x_V. That is at least the largest Δ in V and, because
B_VV ⪯ diag(B_vv·h_v) with h_v = Σ_w |B_vw|/√(B_vv B_ww), at least Σ_V Δ_v/h_v. So a node costs at size k at least its own
excess plus the (|W| − k)-th smallest Δ, or the sum of the |W| − k smallest Δ/h, over W∖A.

Dependent columns never reach an inverse: a set that holds a whole circuit is as good without one of its members, so the
search begins from nodes whose W is independent, in each of which some member of every circuit is out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.patience import never
from coordpath_governance.paths.walks.projections import excess_of, excess_of_sets, split_circuits
from coordpath_governance.paths.walks.sparse_relaxation import relaxed_by_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["BestSubsets", "best_by_size", "least_by_size"]

_WORK = 25_000_000
"""Entries of B that are updated in all; about a second."""

_WIDEST = 64
"""Most columns that are searched: beyond, the work would be done before the search has got anywhere."""

_POOL = 3_000_000
"""Entries of B that wait; beyond it, the deepest nodes go first."""

_BATCH, _CHUNK = 400_000, 50_000
"""Entries of B in the nodes that are branched together, and in those that are updated together."""

_TIE = 1e-10
"""Improvements below this part of the whole excess are not looked for."""


@dataclass(frozen=True, eq=False)
class BestSubsets:
    """By size k = 0 … most: a lower bound on ‖residual + C_S x‖² over all |S| ≤ k and x, and the best such S known."""

    least: NDArray[np.float64]
    sets: tuple[tuple[int, ...], ...]


def least_by_size(
    residual: NDArray[np.float64],
    columns: NDArray[np.float64],
    most: int,
    *,
    work: int = _WORK,
    expired: Callable[[], bool] = never,
) -> NDArray[np.float64]:
    """The bounds of `best_by_size` alone."""
    return best_by_size(residual, columns, most, work=work, expired=expired, named=False).least


def best_by_size(
    residual: NDArray[np.float64],
    columns: NDArray[np.float64],
    most: int,
    *,
    work: int = _WORK,
    expired: Callable[[], bool] = never,
    named: bool = True,
) -> BestSubsets:
    """The best subsets of each size; columns have length 1 or 0.

    The bounds are tight where the work suffices and the deadline does not come first. Unless they are to be ``named``, the
    sets may be left out where only bounds are found.
    """
    width = columns.shape[1]
    shallow = _shallow(residual, columns, work, expired)
    sizes = min(most, width)
    least, sets = np.zeros(sizes + 1), list(shallow.sets[: sizes + 1])
    if sizes >= len(shallow.sets):
        deep = _deep(residual, columns, sizes, work, expired, named=named)
        least = deep.least.copy()
        sets += deep.sets[len(sets) :]
    exact = shallow.least[: sizes + 1]
    least[: len(exact)] = exact
    least = np.minimum.accumulate(least)
    more = most - sizes
    return BestSubsets(np.concatenate([least, np.full(more, least[-1])]), (*sets, *[sets[-1]] * more))


def _deep(
    residual: NDArray[np.float64],
    columns: NDArray[np.float64],
    sizes: int,
    work: int,
    expired: Callable[[], bool],
    *,
    named: bool,
) -> BestSubsets:
    """All sizes, by the search; by the relaxation too, where the search does not end, and alone where it cannot.

    The relaxation knows no sets: they are found beside it if they are to be ``named``.
    """
    if columns.shape[1] > _WIDEST or expired():
        sets = _exchange(residual, columns, sizes, work, expired)[1] if named else [()] * (sizes + 1)
        return BestSubsets(relaxed_by_size(residual, columns, sizes, expired), tuple(sets))
    search = _Search(residual, columns, sizes, work, expired)
    roots = split_circuits(columns, sizes)
    if roots is None or not all(search.add_root(forced, allowed) for forced, allowed in roots):
        return BestSubsets(np.zeros(sizes + 1), search.sets)
    search.run()
    least = np.maximum(search.bounds(), 0.0)
    if len(search.open):
        least = np.maximum(least, relaxed_by_size(residual, columns, sizes, expired))
    return BestSubsets(least, search.sets)


def _shallow(
    residual: NDArray[np.float64], columns: NDArray[np.float64], work: int, expired: Callable[[], bool]
) -> BestSubsets:
    """Sizes 0, 1, 2, and 3 where the work and the time allow: all of them are tried."""
    width = columns.shape[1]
    least: list[float] = [excess_of(residual)]
    best: list[tuple[int, ...]] = [()]
    sets = np.empty((1, 0), np.int64)
    while len(least) <= min(width, 3) and len(sets) * columns.size <= work and not (len(least) > 2 and expired()):
        more = excess_of_sets(residual, columns, sets)[1]
        row, new = np.unravel_index(int(np.argmin(more)), more.shape)
        lower = bool(more[row, new] < least[-1])
        best.append((*sets[int(row)].tolist(), int(new)) if lower else best[-1])
        least.append(float(more[row, new]) if lower else least[-1])
        first, second = np.triu_indices(width, 1)
        sets = np.arange(width)[:, None] if len(least) == 2 else np.stack([first, second], axis=1)
    return BestSubsets(np.array(least), tuple(best))


@dataclass(frozen=True, eq=False)
class _Nodes:
    """All sets A ⊆ S ⊆ W: B = G_W⁻¹, the best values on W, its excess, A, W, and for every size what S costs at least."""

    inverse: NDArray[np.float64]
    values: NDArray[np.float64]
    own: NDArray[np.float64]
    forced: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    bounds: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, rows: NDArray[np.int64]) -> _Nodes:
        return _Nodes(*(part[rows] for part in self.parts()))

    def joined(self, others: Sequence[_Nodes]) -> _Nodes:
        """These and the others."""
        together = zip(self.parts(), *(other.parts() for other in others), strict=True)
        return _Nodes(*(np.concatenate(parts) for parts in together))

    def parts(self) -> tuple[NDArray[Any], ...]:
        """All arrays; each has one row per node."""
        return self.inverse, self.values, self.own, self.forced, self.allowed, self.bounds

    def without(self, rows: NDArray[np.int64], out: NDArray[np.int64], rise: NDArray[np.float64]) -> _Nodes:
        """Nodes ``rows`` with one member less each: B − B_v B_vᵀ/B_vv, x − B_v x_v/B_vv."""
        nodes = self[rows]
        every = np.arange(len(rows))
        column = nodes.inverse[every, :, out]
        share = column / column[every, out][:, None]
        inverse = nodes.inverse - share[:, :, None] * column[:, None, :]
        values = nodes.values - share * nodes.values[every, out][:, None]
        inverse[every, out, :] = 0.0
        inverse[every, :, out] = 0.0
        values[every, out] = 0.0
        nodes.allowed[every, out] = False
        return _Nodes(inverse, values, nodes.own + rise, nodes.forced, nodes.allowed, nodes.bounds)


class _Search:
    """Nodes that wait, and the least excess known of every size."""

    def __init__(
        self,
        residual: NDArray[np.float64],
        columns: NDArray[np.float64],
        sizes: int,
        work: int,
        expired: Callable[[], bool],
    ) -> None:
        self.residual, self.columns, self.work, self.expired = residual, columns, work, expired
        self.sizes = np.arange(sizes + 1)
        self.whole = excess_of(residual)
        self.reached, self._known = _exchange(residual, columns, sizes, work, expired)
        self._settle()
        width = columns.shape[1]
        none = np.empty((0, width))
        member = np.empty((0, width), np.bool_)
        self.open = _Nodes(np.empty((0, width, width)), none, none[:, 0], member, member, np.empty((0, sizes + 1)))

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The best sets known of at most 0, 1, … columns."""
        return tuple(self._known)

    def _settle(self) -> None:
        """What a smaller set reaches, a larger size reaches too."""
        for size in range(1, len(self._known)):
            if self.reached[size] >= self.reached[size - 1]:
                self.reached[size], self._known[size] = self.reached[size - 1], self._known[size - 1]

    def add_root(self, forced: tuple[int, ...], allowed: tuple[int, ...]) -> bool:
        """The best values on W by an orthogonal factor; False if the columns are too nearly dependent for an inverse.

        An error of c·d·eps·‖B‖ in B moves an excess by at most ‖B‖·‖G‖ times as much, and all nodes below give that up.
        """
        width = self.columns.shape[1]
        inverse, values = np.zeros((1, width, width)), np.zeros((1, width))
        basis, triangle = np.linalg.qr(self.columns[:, list(allowed)])
        unfold = np.linalg.inv(triangle)
        inverse[0][np.ix_(allowed, allowed)] = unfold @ unfold.T
        aim = basis.T @ self.residual
        values[0, list(allowed)] = -unfold @ aim
        left = self.residual - basis @ aim
        blur = float(np.linalg.norm(triangle, 2)) ** 2 * float(np.linalg.norm(unfold, 2)) ** 4
        allowance = 8 * (width + 8) * EPS * blur
        own = left @ left - allowance * self.whole
        member = np.zeros((2, 1, width), np.bool_)
        member[0, 0, list(forced)] = True
        member[1, 0, list(allowed)] = True
        root = _Nodes(inverse, values, np.array([own]), member[0], member[1], np.zeros((1, len(self.sizes))))
        if allowance >= 1.0:
            return False
        self.open = self.open.joined([self._bounded(root)])
        return True

    def run(self) -> None:
        """Branch until nothing can be lower than what is known, or the work is done."""
        batch = max(1, _BATCH // self.columns.shape[1] ** 2)
        while len(self.open) and self.work > 0 and not self.expired():
            if self.open.inverse.size > _POOL:
                order = np.argsort(self.open.allowed.sum(axis=1), kind="stable")
            else:
                order = np.argsort(np.min(self.open.bounds - self.reached, axis=1), kind="stable")
            children = self._branch(self.open[order[:batch]])
            self.open = self.open[order[batch:]].joined(children)

    def bounds(self) -> NDArray[np.float64]:
        """For each size the least known, or what an open node may still reach."""
        least = np.minimum(self.reached, np.min(self.open.bounds, axis=0, initial=np.inf))
        lower: NDArray[np.float64] = least - _TIE * self.whole
        return lower

    def _branch(self, nodes: _Nodes) -> list[_Nodes]:
        """Leave out the free members one by one, the largest Δ first; those that were passed are forced."""
        free = nodes.allowed & ~nodes.forced
        rise = np.where(free, _rise(nodes), -np.inf)
        order = np.argsort(-rise, axis=1, kind="stable")
        falling = np.take_along_axis(rise, order, axis=1)
        passed = nodes.forced.sum(axis=1)[:, None] + np.arange(rise.shape[1])
        limit = self.reached[np.minimum(passed, len(self.sizes) - 1)] - _TIE * self.whole
        worth = (falling > -np.inf) & (passed < len(self.sizes)) & (nodes.own[:, None] + falling < limit)
        node, place = np.nonzero(worth)
        rank = np.argsort(order, axis=1, kind="stable")
        step = max(1, _CHUNK // rise.shape[1] ** 2)
        parts = []
        for at in range(0, len(node), step):
            group, places = node[at : at + step], place[at : at + step]
            child = nodes.without(group, order[group, places], falling[group, places])
            child.forced[(rank[group] < places[:, None]) & free[group]] = True
            parts.append(self._bounded(child))
        return parts

    def _bounded(self, nodes: _Nodes) -> _Nodes:
        """Bound new nodes, learn from those that are small, keep those that may be lower than what is known."""
        self.work -= nodes.inverse.size
        free = nodes.allowed & ~nodes.forced
        rise = np.where(free, _rise(nodes), np.inf)
        root = np.sqrt(np.einsum("nii->ni", nodes.inverse))
        root[~free] = np.inf
        spread = np.matmul(np.abs(nodes.inverse), (1.0 / root)[:, :, None])[:, :, 0] / root
        spread[~free] = 1.0
        total = np.cumsum(np.sort(rise / spread, axis=1), axis=1)
        fewer = nodes.allowed.sum(axis=1)[:, None] - self.sizes
        at = np.clip(fewer - 1, 0, None)
        added = np.maximum(np.take_along_axis(np.sort(rise, axis=1), at, axis=1), np.take_along_axis(total, at, axis=1))
        bounds = np.maximum(nodes.bounds, nodes.own[:, None] + np.where(fewer > 0, added, 0.0))
        bounds[fewer < 0] = np.inf
        self._learn(nodes, np.where(free, nodes.own[:, None] + rise, np.inf))
        bounds[(fewer == 0) | (fewer == 1) | (bounds >= self.reached - _TIE * self.whole)] = np.inf
        return replace(nodes, bounds=bounds)[np.flatnonzero(np.isfinite(bounds).any(axis=1))]

    def _learn(self, nodes: _Nodes, one_fewer: NDArray[np.float64]) -> None:
        """Project the sets of an asked size that may be lower than what is known: W, and W without one member."""
        number = nodes.allowed.sum(axis=1)
        for size in np.unique(number[number < len(self.sizes) + 1]).tolist():
            group = np.flatnonzero(number == size)
            sets = []
            if size < len(self.sizes):
                sets.append(nodes.allowed[group[nodes.own[group] < self.reached[size]]])
            row, out = np.nonzero(one_fewer[group] < self.reached[size - 1] - _TIE * self.whole)
            sets.append(nodes.allowed[group[row]])
            sets[-1][np.arange(len(row)), out] = False
            for allowed in sets:
                if len(allowed):
                    members = np.nonzero(allowed)[1].reshape(len(allowed), -1)
                    count = members.shape[1]
                    excess = excess_of_sets(self.residual, self.columns, members)[0]
                    best = int(np.argmin(excess))
                    if excess[best] < self.reached[count]:
                        self.reached[count], self._known[count] = float(excess[best]), tuple(members[best].tolist())
        self._settle()


def _rise(nodes: _Nodes) -> NDArray[np.float64]:
    """Δ_v = x_v²/B_vv."""
    diagonal = np.einsum("nii->ni", nodes.inverse)
    rise: NDArray[np.float64] = nodes.values * nodes.values / np.where(nodes.allowed, diagonal, 1.0)
    return rise


def _exchange(
    residual: NDArray[np.float64], columns: NDArray[np.float64], most: int, work: int, expired: Callable[[], bool]
) -> tuple[NDArray[np.float64], list[tuple[int, ...]]]:
    """Good sets of each size: add the best column, then exchange one while that lowers the excess and work is left."""
    reached = np.full(most + 1, excess_of(residual))
    sets: list[tuple[int, ...]] = [()] * (most + 1)
    members: list[int] = []
    for size in range(1, most + 1):
        if expired():
            reached[size:], sets[size:] = reached[size - 1], [tuple(members)] * (most + 1 - size)
            break
        more = excess_of_sets(residual, columns, np.array([members], np.int64))[1][0]
        more[members] = np.inf
        members.append(int(np.argmin(more)))
        reached[size] = float(more.min())
        improved = True
        while improved and work > 0 and not expired():
            work -= size * columns.size
            fewer = np.array([members[:i] + members[i + 1 :] for i in range(size)], np.int64).reshape(size, size - 1)
            more = excess_of_sets(residual, columns, fewer)[1]
            more[:, members] = np.inf
            out, new = np.unravel_index(int(np.argmin(more)), more.shape)
            improved = bool(more[out, new] < reached[size] * (1 - _TIE))
            if improved:
                reached[size] = float(more[out, new])
                members = [*fewer[int(out)].tolist(), int(new)]
        sets[size] = tuple(members)
    return reached, sets
