"""The order-free view: what each unit changes the cost by, averaged over all orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.chains.set_function import build_set_function
from coordpath_governance.paths.convex.once import convex_shares

if TYPE_CHECKING:
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["shapley"]


def shapley(problem: PathProblem) -> tuple[float, ...]:
    """Shapley value aᵢ + Σⱼ Qᵢⱼ of every changed unit, in the order of ``problem.changed``.

    They add up to c(target) − c(start). With e(S) = ‖r₀ + Σp‖² the value is p_uᵀ(r₀ + r_end). Of a cost that is not
    quadratic they are the Aumann–Shapley values (`convex_shares`).
    """
    if problem.target is None:
        raise ProblemError("target: is free; Shapley values need the model the change ends at")
    if not isinstance(problem.cost, QuadraticCost):
        return convex_shares(problem)
    function = build_set_function(problem)
    middle = 2.0 * function.base + function.columns.sum(axis=1)
    values = np.ldexp(function.columns.T @ middle, function.exponent)
    return tuple(float(value) + 0.0 for value in values)
