"""Certificate: how good a path is proved to be.

All of it is computed from the *excess* Σαₖ(c(βₖ) − min c) and a lower bound of that, in units that are powers of two, so
adding a constant to the cost or scaling it changes neither gap nor status.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

__all__ = ["BOUNDED", "OPTIMAL", "OPTIMAL_GAP", "Certificate", "Status", "certify"]

Status = Literal["optimal", "bounded"]

OPTIMAL: Status = "optimal"
BOUNDED: Status = "bounded"

OPTIMAL_GAP = 1e-6
"""A path whose gap is at most this is called optimal."""

ROUNDING_PART = 1e-9
"""Rounding below this part of the excess is left out of the certificate."""


@dataclass(frozen=True, kw_only=True)
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
    difference: float,
    rounding: float,
    floor: float,
    nothing: float,
    weight: float,
    exponents: tuple[int, int],
    solver: str,
) -> Certificate:
    """The certificate of a path with this ``excess`` if no path is better by more than ``difference``.

    ``difference`` is as computed, and ``rounding`` is what floating point may have taken from it. A difference within its
    rounding counts as zero if the rounding is little against the excess. Otherwise both together are what is proved.
    ``floor`` is by how much Σα·c may lie below Σα·min c: unless this path lies further below, no path is better by more than
    its excess plus ``floor``. A difference that is proved to be at most ``nothing`` counts as zero, too. ``weight`` is Σα.
    These six numbers are in units of 2^exponents[0] of cost and 2^exponents[1] of weight; the objective is as reported.
    """
    apart = max(difference, 0.0) + rounding
    if excess >= -nothing:
        apart = min(apart, max(excess, 0.0) + floor)
    if difference <= rounding <= ROUNDING_PART * excess or apart <= nothing:
        return Certificate(
            objective=objective, lower_bound=objective, gap=0.0, gap_per_step=0.0, status=OPTIMAL, solver=solver
        )
    gap = min(apart / excess, 1.0) if excess > 0 else 1.0
    status = OPTIMAL if gap <= OPTIMAL_GAP else BOUNDED
    lower_bound = objective - math.ldexp(apart, exponents[0] + exponents[1])
    return Certificate(
        objective=objective,
        lower_bound=lower_bound,
        gap=gap,
        gap_per_step=math.ldexp(apart / weight, exponents[0]),
        status=status,
        solver=solver,
    )
