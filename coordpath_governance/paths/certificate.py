"""Certificate: how good a path is proved to be.

All of it is computed from the *excess* Σαₖ(c(βₖ) − min c) and a lower bound of that, in units that are powers of two, so
adding a constant to the cost or scaling it changes neither gap nor status.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BOUNDED", "HEURISTIC", "OPTIMAL", "OPTIMAL_GAP", "ROUNDING_LEVEL", "Certificate", "Status", "certify"]

Status = Literal["optimal", "bounded", "heuristic"]

OPTIMAL: Status = "optimal"
BOUNDED: Status = "bounded"
HEURISTIC: Status = "heuristic"
"""A path without any bound. Min c bounds every quadratic cost, so it waits for costs that have no such bound."""

OPTIMAL_GAP = 1e-6
"""A path whose gap is at most this is called optimal."""

ROUNDING_LEVEL = 1e-12
"""Differences below this part of what the features explain are nothing but double precision."""


_OWN_ROUNDING = 100.0
"""How much more than that may be in doubt about a path whose excess is as good as nothing."""


@dataclass(frozen=True)
class Certificate:
    """Objective and what is proved about it.

    gap = (objective − lower_bound)/(objective − Σα·min c), gap_per_step = (objective − lower_bound)/Σα.
    """

    objective: float
    lower_bound: float
    gap: float
    gap_per_step: float
    status: Status
    solver: str


def certify(
    *,
    objective: float,
    excess: float,
    bound: float,
    rounding: float,
    own: Callable[[], float],
    scale: float,
    weight: float,
    exponents: tuple[int, int],
    solver: str,
) -> Certificate:
    """Certificate of a path with this ``excess`` when no path has less than ``bound``.

    ``bound`` as computed, ``rounding`` what floating point may have added to it: a difference within that is none, and
    beyond it the bound is lowered by it. But a ``rounding`` that is itself large, both against the excess and against
    ``scale`` (Σα times what the features explain), proves nothing. What is no more than that level is no difference, if what
    floating point may do to the path's ``own`` excess is little too (asked only then). ``weight`` is Σα. These six are in
    units of 2^exponents[0] a unit of cost and 2^exponents[1] a unit of weight; the objective is as reported.
    """
    difference = excess - bound
    level = ROUNDING_LEVEL * scale
    if difference <= rounding <= max(OPTIMAL_GAP * excess, level):
        return Certificate(objective, objective, 0.0, 0.0, OPTIMAL, solver)
    difference = min(max(difference, 0.0) + rounding, max(excess, difference))
    if difference <= level and own() <= _OWN_ROUNDING * level:
        return Certificate(objective, objective, 0.0, 0.0, OPTIMAL, solver)
    gap = difference / excess if excess > 0 else 1.0
    status = OPTIMAL if gap <= OPTIMAL_GAP else BOUNDED
    lower_bound = objective - math.ldexp(difference, exponents[0] + exponents[1])
    return Certificate(objective, lower_bound, gap, math.ldexp(difference / weight, exponents[0]), status, solver)
