"""A bound on sparse least squares for many columns: the perspective relaxation, solved in its dual.

Scale the columns so that CᵀC = P + sI with P ⪰ 0 and s > 0. Then for every y, since xᵀPx ≥ 2yᵀPx − yᵀPy,

    min over |S| ≤ k of ‖residual + C_S x‖² ≥ ‖residual‖² − yᵀPy − (sum of the k largest (Cᵀresidual + Py)ᵢ²)/s.

Any y will do; preconditioned gradient steps of falling length find a good one for every k at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.patience import never

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["relaxed_by_size"]

_STEPS = 300
_LEAST_EIGENVALUE = 1e-7
"""With less than this part of the largest eigenvalue to spare, the relaxation says nothing."""


def relaxed_by_size(
    residual: NDArray[np.float64], columns: NDArray[np.float64], most: int, expired: Callable[[], bool] = never
) -> NDArray[np.float64]:
    """For k = 0 … most: a lower bound on ‖residual + C_S x‖² over |S| ≤ k; zeros where columns are nearly dependent."""
    whole, width = float(residual @ residual), columns.shape[1]
    least = np.zeros(most + 1)
    values, vectors = np.linalg.eigh(columns.T @ columns)
    if values[0] <= _LEAST_EIGENVALUE * values[-1]:
        return least
    root = np.sqrt(np.sum(vectors * vectors / values, axis=1))
    scaled = columns * root
    gram = scaled.T @ scaled
    values = np.linalg.eigvalsh(gram)
    largest = float(values[-1])
    spare = float(values[0]) - 4 * (width + len(residual)) * EPS * largest
    gram[np.diag_indices(width)] -= spare
    slope, counts = (scaled.T @ residual)[:, None], np.arange(most + 1)
    blur = 16 * (width + len(residual) + 8) * EPS * largest / spare
    point = np.zeros((width, most + 1))
    for step in range(_STEPS):
        if expired():
            break
        product = gram @ point
        pull = slope + product
        order = np.argsort(-np.abs(pull), axis=0, kind="stable")
        taken = np.argsort(order, axis=0, kind="stable") < counts
        curved, gained = np.sum(point * product, axis=0), np.sum(pull * pull * taken, axis=0) / spare
        least = np.maximum(least, whole - curved - gained - blur * (whole + curved + gained))
        share = min(2 * spare / largest, 2 / (step + 2))
        point = (1 - share) * point - (share / spare) * (pull * taken)
    return np.maximum.accumulate(least[::-1])[::-1]
