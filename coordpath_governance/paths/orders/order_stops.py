"""The models that an order passes through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.outcome import Stop
from coordpath_governance.paths.problem import REST_LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["check_order", "order_stops"]


def check_order(problem: PathProblem, order: Sequence[int]) -> None:
    """Raises `ProblemError` unless ``order`` has every index into ``problem.changed`` once."""
    size = len(problem.changed)
    if sorted(order) != list(range(size)):
        raise ProblemError(f"order: {list(order)} is not an arrangement of the {size} changed units 0 … {size - 1}")


def order_stops(problem: PathProblem, order: Sequence[int]) -> tuple[Stop, ...]:
    """The models along an order: ``singles`` single steps, then the rest at once if any is left."""
    target = problem.start if problem.target is None else problem.target
    beta: NDArray[np.float64] = problem.start.copy()
    stops: list[Stop] = []
    for k, u in enumerate(order[: problem.singles], start=1):
        unit = problem.changed[u]
        beta = beta.copy()
        beta[list(unit.members)] = target[list(unit.members)]
        stops.append(Stop(k, unit.kind, unit.label, beta))
    if problem.singles < len(problem.changed):
        stops.append(Stop(problem.singles + 1, "rest", REST_LABEL, target))
    return tuple(stops)
