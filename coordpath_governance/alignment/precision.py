"""Whether a cost written as βᵀGβ − 2bᵀβ + E[y²] keeps six digits in double precision.

E[y²] is stored to 16 digits. Where it dwarfs the cost itself (a target of mean 1e8 and spread 1) nothing of the cost is
left in those digits, so the cost is computed once more from centred moments, Var(y − βᵀz) + E[y − βᵀz]², and compared.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import AlignmentError
from coordpath_governance.reference.moments import Moments

__all__ = ["check_precision"]

_DIGITS = 1e-6
_ROUNDING = 1e-12


def check_precision(moments: Moments, constant: float, models: Iterable[tuple[NDArray[np.float64], float]]) -> None:
    """Raise if E[y²] = ``constant`` swallows the cost of models given as slopes and average score.

    A cost at the rounding level of what it is a difference of is that of a model without any error, and stays.
    """
    costs, floor = [], _ROUNDING**2 * constant
    for slopes, average in models:
        residual = np.append(-np.nan_to_num(slopes), 1.0)
        costs.append(float(residual @ moments.covariance @ residual) + (moments.target_mean - average) ** 2)
        floor = max(floor, _ROUNDING * float(residual**2 @ np.diag(moments.covariance)))
    largest = max(costs)
    if floor < largest < np.finfo(np.float64).eps / _DIGITS * constant:
        raise AlignmentError(
            f"the target lies so far from zero (mean {moments.target_mean:.6g}) that a mean squared error of {largest:.3g} "
            "cannot be told to six digits in double precision; subtract a constant from the target and from both models"
        )
