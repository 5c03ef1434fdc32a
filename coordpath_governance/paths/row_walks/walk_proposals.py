"""The quadratic that touches a cost at one model, as a task for the searches over walks of quadratic costs.

c(β) ≈ c(b) + gᵀ(β − b) + ½(β − b)ᵀH(β − b) = βᵀGβ − 2(Gb − g/2)ᵀβ + constant with G = H/2. In coordinates scaled to a unit
diagonal, eigenvalues of G below 10⁻⁸ of the largest are raised to it: where the cost bends so little, the quadratic would
go too far, or have no minimum at all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.walks.floors import Floors
from coordpath_governance.paths.walks.geometry import prepare_walks
from coordpath_governance.paths.weights import ExplicitWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks

__all__ = ["quadratic_at", "quadratic_task"]

_FLOOR = 1e-8


def quadratic_at(walks: RowWalks, beta: FloatArray) -> QuadraticCost:
    """The quadratic that touches the cost at a model."""
    around = walks.costs.around(beta)
    diagonal = np.diag(around.curvature)
    spread = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(around.curvature / spread[:, None] / spread)
    values = np.maximum(values, _FLOOR * max(float(values[-1]), _FLOOR))
    root = vectors * np.sqrt(values / 2.0) * spread[:, None]
    gram = root @ root.T
    pulled = gram @ beta
    constant = around.value - float(around.slope @ beta) + float(beta @ pulled)
    return QuadraticCost(gram, pulled - around.slope / 2.0, constant)


def quadratic_task(walks: RowWalks, alphas: FloatArray, beta: FloatArray, first: Sequence[int]) -> WalkTask:
    """Walks of as many terms under that quadratic; ``first`` is one to begin with."""
    problem = replace(
        walks.problem,
        cost=quadratic_at(walks, beta),
        steps=len(alphas),
        weights=ExplicitWeights(tuple(alphas.tolist())),
    )
    floors = Floors(np.zeros(len(alphas) + 1), None)
    return WalkTask(prepare_walks(problem), alphas, floors, tuple(first), problem.seed, walks.patience)
