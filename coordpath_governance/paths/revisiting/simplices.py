"""Lower bounds of a function on simplices whose curvature is at most that of ‖v‖².

If φ(v) − ‖v‖² is a minimum of concave functions, then on a simplex with vertices vᵢ and dᵢⱼ = ‖vᵢ − vⱼ‖²

    φ(Σλᵢvᵢ) ≥ f(λ) = Σλᵢφ(vᵢ) − ½ λᵀdλ.

f is convex there, so at any λ̂ its tangent gives φ ≥ minᵢ(φ(vᵢ) − (dλ̂)ᵢ) + ½ λ̂ᵀdλ̂, which is min f if λ̂ is the minimiser.
A λ̂ that is off costs tightness and never validity.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bound_simplices", "squared_edges", "triangulate"]

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


def bound_simplices(values: NDArray[np.float64], squares: NDArray[np.float64], enough: float) -> NDArray[np.float64]:
    """A lower bound of φ on every simplex from φ at its vertices.

    The tangents at the minimisers over the faces, the largest face first, until a bound is ``enough`` or f is known to go
    below that; only the simplices in doubt go on.
    """
    count = values.shape[1]
    bounds: NDArray[np.float64] = (values[:, None, :] - squares).min(axis=2).max(axis=1)
    open_ = np.flatnonzero((bounds < enough) & (values.min(axis=1) >= enough))
    low = np.flatnonzero((bounds < enough) & (values.min(axis=1) < enough))
    if count > 1 and len(low):
        bounds[low] = np.maximum(bounds[low], _tangent(values[low], squares[low], tuple(range(count)))[0])
    for size in range(count, 1, -1):
        for face in itertools.combinations(range(count), size):
            if not len(open_):
                return bounds
            tangent, reached = _tangent(values[open_], squares[open_], face)
            bounds[open_] = np.maximum(bounds[open_], tangent)
            open_ = open_[(bounds[open_] < enough) & (reached >= enough)]
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
