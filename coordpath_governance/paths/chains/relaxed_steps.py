"""What the steps of a chain cost at least when the units of I are fixed and those of J relaxed.

A step leaves level k with x = S_k ∩ I. Halfway (`step_pairs`) its I-part is x̄ (x, or x and a share θ of one unit more),
and y, the J-part, has 0 ≤ y ≤ 1 and a known sum. With Q_JJ = diag(d) + R (`diagonal_shift`) the step costs at least

    weight · min_y [ e₀ + a_Iᵀx̄ + x̄ᵀQ_II x̄ + (a_J + d + 2Q_JI x̄ + charge·diag R)ᵀy + yᵀRy ] + jump·(Q_ii if i moves),

where the bracket is replaced by its tangent at any y. Where e is lifted, the bracket has the linear function of the step in
it as well (`Lifts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.chains.diagonal_shift import largest_shift
from coordpath_governance.paths.chains.relaxation import descend, least_slopes
from coordpath_governance.paths.patience import never

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.chains.set_function import SetFunction
    from coordpath_governance.paths.chains.step_pairs import StepPairs

__all__ = ["RelaxedSteps"]


class RelaxedSteps:
    """Costs of steps for one choice of I and J; ``worth`` says where the diagonal shift matters most."""

    def __init__(
        self,
        function: SetFunction,
        pairs: StepPairs,
        integral: list[int],
        relaxed: list[int],
        worth: NDArray[np.float64],
        expired: Callable[[], bool] = never,
    ) -> None:
        linear, quadratic = function.linear, function.quadratic
        shift = largest_shift(quadratic[np.ix_(relaxed, relaxed)], worth, expired)
        self.pairs, self.expired = pairs, expired
        self.e0 = function.e0
        self.rest = quadratic[np.ix_(relaxed, relaxed)] - np.diag(shift)
        self.own = linear[relaxed] + shift
        self.cross = 2.0 * quadratic[np.ix_(integral, relaxed)]
        self.fixed = linear[integral]
        self.block = quadratic[np.ix_(integral, integral)]
        self.charge = pairs.charge_share[:, None] * np.diag(self.rest)
        self.lifts: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        if function.lifts is not None:
            constants, slopes = function.lifts.steps()
            self.charge += slopes[:, relaxed]
            self.lifts = constants, slopes[:, integral]

    def slope(self, level: NDArray[np.int64], inside: NDArray[np.float64]) -> NDArray[np.float64]:
        """The linear part of the bracket for y, one step a row; ``inside`` is x̄."""
        slope: NDArray[np.float64] = self.own + inside @ self.cross + self.charge[level]
        return slope

    def settle(
        self,
        level: NDArray[np.int64],
        inside: NDArray[np.float64],
        point: NDArray[np.float64],
        sums: NDArray[np.float64],
        rounds: int,
    ) -> NDArray[np.float64]:
        """Better points y, from the given ones."""
        return descend(point, self.slope(level, inside), self.rest, sums, rounds, self.expired)

    def tangent(
        self,
        level: NDArray[np.int64],
        inside: NDArray[np.float64],
        point: NDArray[np.float64],
        sums: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weight times the bracket's tangent minimum, and what every unit of J that is certainly moved adds to it."""
        product = point @ self.rest
        gradient = self.slope(level, inside) + 2.0 * product
        smallest, largest = least_slopes(gradient, sums)
        constant = self.e0 + inside @ self.fixed + np.sum((inside @ self.block) * inside, axis=1)
        if self.lifts is not None:
            constant += self.lifts[0][level] + np.sum(self.lifts[1][level] * inside, axis=1)
        weight = self.pairs.weight[level]
        value = weight * (constant - np.sum(product * point, axis=1) + smallest)
        return value, weight[:, None] * np.maximum(gradient - largest[:, None], 0.0)
