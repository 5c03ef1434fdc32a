"""Branch and bound over the values in between: simplices are split until none can hold a better walk.

If φ(v) − ‖v‖² is a minimum of concave functions, then on a simplex with vertices vᵢ and dᵢⱼ = ‖vᵢ − vⱼ‖²

    φ(Σλᵢvᵢ) ≥ f(λ) = Σλᵢφ(vᵢ) − ½ λᵀdλ.

f is convex there, so at any λ̂ its tangent gives φ ≥ minᵢ(φ(vᵢ) − (dλ̂)ᵢ) + ½ λ̂ᵀdλ̂, which is min f if λ̂ is the minimiser.
A λ̂ that is off costs tightness and never validity.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.revisiting.token_costs import features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coordpath_governance.paths.revisiting.incumbent import Incumbent
    from coordpath_governance.paths.revisiting.token_costs import TokenCosts

__all__ = ["SimplexSearch", "bound_simplices", "squared_edges", "triangulate"]

_FLAT = 1e-12
"""What keeps the Gram matrix of a flat simplex invertible, relative to its edges."""


def triangulate(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """A box cut into n! simplices (simplex × vertex × coordinate): from corner to corner in every order of the axes."""
    size = len(low)
    simplices = []
    for order in itertools.permutations(range(size)):
        corner = low.copy()
        vertices = [corner.copy()]
        for axis in order:
            corner[axis] = high[axis]
            vertices.append(corner.copy())
        simplices.append(vertices)
    return np.array(simplices).reshape(len(simplices), size + 1, size)


def squared_edges(vertices: NDArray[np.float64]) -> NDArray[np.float64]:
    """The dᵢⱼ of simplices: simplex × vertex × vertex."""
    between = vertices[:, :, None, :] - vertices[:, None, :, :]
    squares: NDArray[np.float64] = np.einsum("sijc,sijc->sij", between, between)
    return squares


def bound_simplices(values: NDArray[np.float64], squares: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """A lower bound of φ on every simplex from φ at its vertices.

    The tangents at the minimisers over the faces, the largest face first, until a bound is ``threshold`` or f is known to go
    below that; only the simplices in doubt go on.
    """
    count = values.shape[1]
    bounds: NDArray[np.float64] = (values[:, None, :] - squares).min(axis=2).max(axis=1)
    open_ = np.flatnonzero((bounds < threshold) & (values.min(axis=1) >= threshold))
    low = np.flatnonzero((bounds < threshold) & (values.min(axis=1) < threshold))
    if count > 1 and len(low):
        bounds[low] = np.maximum(bounds[low], _tangent(values[low], squares[low], tuple(range(count)))[0])
    for size in range(count, 1, -1):
        for face in itertools.combinations(range(count), size):
            if not len(open_):
                return bounds
            tangent, reached = _tangent(values[open_], squares[open_], face)
            bounds[open_] = np.maximum(bounds[open_], tangent)
            open_ = open_[(bounds[open_] < threshold) & (reached >= threshold)]
    return bounds


def _tangent(
    values: NDArray[np.float64], squares: NDArray[np.float64], face: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The bound by the tangent at a face's minimiser, and f there."""
    weights = _minimiser(values, squares, face)
    shift = np.matmul(squares, weights[:, :, None])[:, :, 0]
    half = 0.5 * np.sum(weights * shift, axis=1)
    return (values - shift).min(axis=1) + half, np.sum(weights * values, axis=1) - half


def _minimiser(values: NDArray[np.float64], squares: NDArray[np.float64], face: tuple[int, ...]) -> NDArray[np.float64]:
    """λ of the minimiser of f on the plane through a face, brought back into the simplex.

    With edges eⱼ = vⱼ − v₀ and their Gram matrix Γ: 2Γμ = diag(Γ) − (φⱼ − φ₀).
    """
    first, rest = face[0], list(face[1:])
    lengths = squares[:, first, rest]
    slope = lengths - (values[:, rest] - values[:, [first]])
    if len(rest) == 1:
        inner = np.divide(slope, 2 * lengths, out=np.zeros_like(slope), where=lengths > 0)
    elif len(rest) == 2:
        across = 0.5 * (lengths[:, 0] + lengths[:, 1] - squares[:, rest[0], rest[1]])
        product = lengths[:, 0] * lengths[:, 1]
        volume = 2 * np.maximum(product - across * across, _FLAT * product)
        inner = lengths[:, ::-1] * slope - across[:, None] * slope[:, ::-1]
        inner = np.divide(inner, volume[:, None], out=np.zeros_like(inner), where=volume[:, None] > 0)
    else:
        gram = 0.5 * (lengths[:, :, None] + lengths[:, None, :] - squares[:, rest][:, :, rest])
        scale = np.maximum(lengths.max(axis=1), np.finfo(np.float64).tiny)
        gram = gram / scale[:, None, None] + _FLAT * np.eye(len(rest))
        inner = np.linalg.solve(gram, slope[:, :, None] / (2 * scale[:, None, None]))[:, :, 0]
    inner = np.maximum(inner, 0.0)
    inner /= np.maximum(inner.sum(axis=1, keepdims=True), 1.0)
    weights = np.zeros_like(values)
    weights[:, rest] = inner
    weights[:, first] = np.maximum(1.0 - inner.sum(axis=1), 0.0)
    return weights


_TOGETHER = 1 << 19
"""Numbers in one table of costs: enough programmes at once to hide the calls, few enough to stay near the processor."""

_SPLIT = 20_000
"""Most simplices split in a round, the lowest bounds first."""

_OFFERED = 2
"""Chains of a batch whose values are fitted."""

_NEAR = 1.25
"""Only chains within this factor of the incumbent are, before fitting."""

_CELL_WORK = 400
"""Work of bounding a simplex, times the square of its vertices, where a move in a table is 1."""


_CALL_WORK = 300_000
"""Work of running a table at all."""


@dataclass(frozen=True, eq=False)
class _Cells:
    """Simplices of values: whose skeleton, vertices (cell × vertex × coordinate), φ there, and a bound of φ inside."""

    owner: NDArray[np.int64]
    points: NDArray[np.float64]
    values: NDArray[np.float64]
    bounds: NDArray[np.float64]

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> _Cells:
        return _Cells(self.owner[chosen], self.points[chosen], self.values[chosen], self.bounds[chosen])

    def at_least(self, bounds: NDArray[np.float64]) -> _Cells:
        """The same cells, with other bounds that are also valid: the larger of the two counts."""
        return _Cells(self.owner, self.points, self.values, np.maximum(self.bounds, bounds))

    def join(self, other: _Cells) -> _Cells:
        return _Cells(
            np.concatenate([self.owner, other.owner]),
            np.concatenate([self.points, other.points]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.bounds, other.bounds]),
        )


class SimplexSearch:
    """The skeletons of one shape, which share a table, and the simplices of theirs that are still open.

    ``roots`` bound all chains of each skeleton.
    """

    def __init__(
        self, members: list[TokenCosts], boxes: list[NDArray[np.float64]], roots: list[float], incumbent: Incumbent
    ) -> None:
        self.members, self.incumbent = members, incumbent
        self.table = members[0].table
        self.metrics = np.array([costs.metric for costs in members])
        simplices = [triangulate(low, high) for low, high in boxes]
        owner = np.repeat(np.arange(len(members)), [len(simplices_of_box) for simplices_of_box in simplices])
        points = np.concatenate(simplices)
        self.cells = _Cells(owner, points, np.empty(points.shape[:2]), np.array(roots)[owner])
        self.settled = np.inf

    @property
    def size(self) -> int:
        """Number of values in between."""
        return int(self.cells.points.shape[2])

    @property
    def pending(self) -> bool:
        """Whether a simplex is open."""
        return len(self.cells.owner) > 0

    @property
    def bound(self) -> float:
        """No chain of these skeletons costs less, unless it is no better than the incumbent."""
        return min(self.settled, float(self.cells.bounds.min(initial=np.inf)))

    def begin(self) -> None:
        """Evaluate the corners of the boxes; without time for that the bounds of the skeletons stay."""
        cells, count = self.cells, self.size + 1
        values = self._evaluate(np.repeat(cells.owner, count), cells.points.reshape(cells.values.size, self.size))
        if values is None:
            return
        bounded = self._bounded(cells.owner, cells.points, values.reshape(-1, count))
        self._keep(bounded.at_least(cells.bounds))
        if self.size == 0:
            self.settled = self.bound
            self.cells = self.cells.take(np.zeros(0, dtype=np.int64))

    def advance(self) -> None:
        """Split the simplices with the lowest bounds; without time for that all stays as it is."""
        order = np.argsort(self.cells.bounds, kind="stable")
        cells, later = self.cells.take(order[:_SPLIT]), self.cells.take(order[_SPLIT:])
        first, second, middles = self._cut(cells)
        values = self._evaluate(cells.owner, middles)
        if values is None:
            return
        rows = np.arange(len(cells.owner))
        points, corner_values = np.stack([cells.points] * 2), np.stack([cells.values] * 2)
        for side, vertex in enumerate((first, second)):
            points[side, rows, vertex] = middles
            corner_values[side, rows, vertex] = values
        count = self.size + 1
        halves = self._bounded(
            np.tile(cells.owner, 2), points.reshape(-1, count, self.size), corner_values.reshape(-1, count)
        )
        self._keep(halves.at_least(np.tile(cells.bounds, 2)).join(later))

    def prune(self) -> None:
        """Drop what cannot hold a better walk."""
        self._keep(self.cells)

    def _keep(self, cells: _Cells) -> None:
        self.cells = cells.take(~(cells.bounds >= self.incumbent.threshold))

    def _squares(self, owner: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared edges in the metric of each skeleton."""
        return squared_edges(np.matmul(points, self.metrics[owner].transpose(0, 2, 1)))

    def _bounded(self, owner: NDArray[np.int64], points: NDArray[np.float64], values: NDArray[np.float64]) -> _Cells:
        self.incumbent.spend(_CELL_WORK * values.size * values.shape[1])
        rounding = self.members[0].rounding(points).max(axis=1)
        bounds = bound_simplices(values - rounding[:, None], self._squares(owner, points), self.incumbent.threshold)
        return _Cells(owner, points, values, bounds)

    def _cut(self, cells: _Cells) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Both ends and a point of the longest edge of each simplex: its middle, or of an interval where f is least."""
        squares = self._squares(cells.owner, cells.points)
        rows, count = np.arange(len(squares)), squares.shape[1]
        first, second = np.divmod(squares.reshape(len(squares), -1).argmax(axis=1), count)
        near, far = cells.points[rows, first], cells.points[rows, second]
        if count > 2:
            return first, second, (near + far) / 2
        part = 0.5 - (cells.values[rows, second] - cells.values[rows, first]) / (2 * squares[rows, first, second])
        return first, second, near + np.clip(part, 0.1, 0.9)[:, None] * (far - near)

    def _evaluate(self, owner: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """φ at points, equal ones once; None if there is no time. The best chains are offered to the incumbent."""
        order = np.lexsort((*points.T, owner))
        owner, points = owner[order], points[order]
        new = np.concatenate([[True], (np.diff(owner) != 0) | (np.diff(points, axis=0) != 0).any(axis=1)])
        which = np.empty(len(order), dtype=np.int64)
        which[order] = np.cumsum(new) - 1
        owner, points = owner[new], points[new]
        values = np.empty(len(owner))
        step = max(1, _TOGETHER // self.table.size)
        for at in range(0, len(owner), step):
            if self.incumbent.stopped():
                return None
            values[at : at + step] = self._programme(owner[at : at + step], points[at : at + step])
        return values[which]

    def _programme(self, owner: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """φ at points sorted by their owner."""
        self.incumbent.spend(_CALL_WORK + self.table.edges * (len(owner) + 4))
        point_features = features(points)
        costs = np.empty((self.table.size, len(owner)))
        borders = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
        for start, stop in itertools.pairwise(borders):
            costs[:, start:stop] = self.members[owner[start]].coefficients @ point_features[:, start:stop]
        best = self.table.accumulate(costs)
        for at in np.argsort(best, kind="stable")[:_OFFERED].tolist():
            if best[at] < _NEAR * self.incumbent.value:
                self.incumbent.offer(self.members[owner[at]].sequence(costs[:, at]))
        return best
