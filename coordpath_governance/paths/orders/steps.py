"""Steps of a chain: the two ends of a step cannot both be near the optimum, and what a step costs at least.

Write e(S) = e₀ + bᵀx + xᵀRx on 0/1 points. For a step from S to S ∪ {u} and weights v, w ≥ 0 with θ = w/(v + w),

    v·e(S) + w·e(S ∪ {u}) = (v + w)·e(x̄) + τ·R_uu,   x̄ = 1_S + θ·1_u,   τ = (v + w)θ(1 − θ).

Half of every αₖ goes to the step before level k and half to the step after it. A relaxation then bounds e(x̄), and the
jumps τ·R_uu, which no relaxation of levels sees, are added in full: every unit moves once. On collinear data they are
most of the objective.

*Relaxed steps*: the units of I are fixed and those of J relaxed. A step leaves level k with x = S_k ∩ I. Halfway its I-part
is x̄ (x, or x and a share θ of one unit more), and y, the J-part, has 0 ≤ y ≤ 1 and a known sum. With Q_JJ = diag(d) + R
(`largest_shift`) the step costs at least

    weight · min_y [ e₀ + a_Iᵀx̄ + x̄ᵀQ_II x̄ + (a_J + d + 2Q_JI x̄ + charge·diag R)ᵀy + yᵀRy ] + jump·(Q_ii if i moves),

where the bracket is replaced by its tangent at any y. Where e is lifted, the bracket has the linear function of the step in
it as well (`Lifts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.orders.relaxation import descend, largest_shift, least_slopes
from coordpath_governance.paths.patience import never

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.paths.orders.set_function import SetFunction

__all__ = ["RelaxedSteps", "StepPairs", "pair_steps"]


@dataclass(frozen=True, eq=False, kw_only=True)
class StepPairs:
    """Steps 0 … L−1, step k leaving level k.

    ``before``: v; ``after``: w; ``weight``: v + w; ``share``: θ; ``jump``: τ. ``charge[k]``·R_uu is what step k charges
    for every unit that x̄ₖ contains, ``charge_whole``·R_uu what is due for every unit when all have moved: together at
    most the jumps. ``whole``: the last step leads to the full set; otherwise it only closes the last level.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    weight: NDArray[np.float64]
    share: NDArray[np.float64]
    jump: NDArray[np.float64]
    charge: NDArray[np.float64]
    charge_whole: float
    whole: bool

    @property
    def charge_share(self) -> NDArray[np.float64]:
        """The charge per unit of weight."""
        return np.divide(self.charge, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)

    def sums(self, size: int) -> NDArray[np.float64]:
        """Σx̄ₖ of every step, of ``size`` units in all."""
        return np.minimum(np.arange(len(self.weight)) + self.share, float(size))


def pair_steps(alphas: NDArray[np.float64], *, whole: bool) -> StepPairs:
    """Weights of the steps for levels 1 … n; ``whole`` if level n + 1 is the full set, whose excess is known.

    Jumps by Abel's sum: a unit that moves in step t is worth τₜ = Σ_{k≥t} (τₖ − τₖ₊₁), which is linear in the levels
    k + 1 that contain it, and x̄ₖ ≤ xₖ₊₁ ≤ x̄ₖ₊₁ says which step may charge for it.
    """
    before = np.concatenate([alphas[:1], alphas]) / 2.0
    after = np.concatenate([alphas, alphas[-1:] if whole else [0.0]]) / 2.0
    weight = before + after
    share = np.divide(after, weight, out=np.zeros_like(weight), where=weight > 0)
    jump = weight * share * (1.0 - share)
    charge, charge_whole = np.zeros_like(jump), 0.0
    for k, fall in enumerate(jump - np.concatenate([jump[1:], [0.0]])):
        if fall < 0:
            charge[k + 1] += fall
        elif whole and k == len(jump) - 1:
            charge_whole = float(fall)
        else:
            charge[k + 1 if not whole and k == len(jump) - 2 else k] += fall
    return StepPairs(
        before=before,
        after=after,
        weight=weight,
        share=share,
        jump=jump,
        charge=charge,
        charge_whole=charge_whole,
        whole=whole,
    )


class RelaxedSteps:
    """Costs of steps for one choice of I and J; ``worth`` says where the diagonal shift matters most."""

    def __init__(
        self,
        function: SetFunction,
        pairs: StepPairs,
        *,
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
        """The linear part of the bracket for y, one step per row; ``inside`` is x̄."""
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
        return descend(
            point, slope=self.slope(level, inside), quadratic=self.rest, sums=sums, rounds=rounds, expired=self.expired
        )

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
