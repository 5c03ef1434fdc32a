"""Steps instead of levels: the two ends of a step cannot both be near the optimum.

Write e(S) = e₀ + bᵀx + xᵀRx on 0/1 points. For a step from S to S ∪ {u} and weights v, w ≥ 0 with θ = w/(v + w),

    v·e(S) + w·e(S ∪ {u}) = (v + w)·e(x̄) + τ·R_uu,   x̄ = 1_S + θ·1_u,   τ = (v + w)θ(1 − θ).

Half of every αₖ goes to the step before level k and half to the step after it. A relaxation then bounds e(x̄), and the
jumps τ·R_uu, which no relaxation of levels sees, are added in full: every unit moves once. On collinear data they are
most of the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["StepPairs", "pair_steps"]


@dataclass(frozen=True, eq=False)
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
        """Charge a unit of weight."""
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
    return StepPairs(before, after, weight, share, jump, charge, charge_whole, whole)
