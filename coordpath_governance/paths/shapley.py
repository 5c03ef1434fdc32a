"""The order-free view: what each unit changes the cost by, averaged over all orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.by_cost import orders_of

if TYPE_CHECKING:
    from coordpath_governance.paths.problem import PathProblem

__all__ = ["shapley"]


def shapley(problem: PathProblem) -> tuple[float, ...]:
    """Shapley value aᵢ + Σⱼ Qᵢⱼ of every changed unit, in the order of ``problem.changed``.

    They add up to c(target) − c(start). Of a cost that is not quadratic they are the Aumann–Shapley values. Raises
    `ProblemError` if the end is free.
    """
    if problem.target is None:
        raise ProblemError("target: is free; Shapley values need the model the change ends at")
    return orders_of(problem).shares()
