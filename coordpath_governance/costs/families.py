"""Families: what a row loses by its score, one convex function of it a family.

With target y and score η, and μ = e^η where the link is the logarithm, the loss ℓ(y, η) is

    logistic      log(1 + e^η) − yη                       y is 0 or 1
    multinomial   log Σ e^η_c − η_y                       one score a class, y the number of the class
    poisson       2(y log(y/μ) − y + μ)                   y ≥ 0
    gamma         2(−log(y/μ) + y/μ − 1)                  y > 0
    tweedie       2(y^(2−p)/((1−p)(2−p)) − y μ^(1−p)/(1−p) + μ^(2−p)/(2−p))   y ≥ 0, 1 < p < 2

Targets are (n,), scores (n, C, m): C scores a row (one but for multinomial), m models side by side. Where a loss exceeds
double precision it is infinite, without a warning; whoever sums the losses refuses that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["KINDS", "Family", "family_of"]

KINDS = ("logistic", "multinomial", "poisson", "gamma", "tweedie")
"""The names of the families in a problem."""


class Family(Protocol):
    """A loss and what an optimiser needs of it."""

    @property
    def kind(self) -> str:
        """The name in a problem: one of `KINDS`."""
        ...

    @property
    def scores(self) -> int:
        """C: how many scores a row has."""
        ...

    @property
    def loss_name(self) -> str:
        """What the mean loss is called."""
        ...

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """ℓ, (n, m)."""
        ...

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ℓ, (n, m), and ∂ℓ/∂η, (n, C, m)."""
        ...

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """∂²ℓ/∂η², (n, C, C), at one score vector a row, (n, C)."""
        ...

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """A positive semi-definite matrix a row, (n, C, C), below the curvature wherever low ≤ η ≤ high, both (n, C)."""
        ...

    def mean(self, score: FloatArray) -> FloatArray:
        """The prediction at a score, of the same shape; classes are told apart along the second axis."""
        ...

    def link(self, mean: FloatArray) -> FloatArray:
        """The scores, (C,), at which the prediction is ``mean``, (C,); ±30 where they would be infinite."""
        ...

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """The rows whose target no such model can have produced."""
        ...


def family_of(kind: str, *, power: float | None = None, classes: int = 0) -> Family:
    """The family of a name; ``power`` belongs to tweedie, the number of ``classes`` to multinomial.

    The losses are loaded here: their special functions cost more to load than a quadratic cost does to solve.
    """
    from coordpath_governance.costs.class_families import Logistic, Multinomial
    from coordpath_governance.costs.log_families import Gamma, Poisson, Tweedie

    if kind == "multinomial":
        if classes < 2:
            raise ProblemError(f"cost.classes: {classes} classes make no multinomial cost; give at least two")
        return Multinomial(classes)
    if kind == "tweedie":
        if power is None or not 1.0 < power < 2.0:
            raise ProblemError(
                f"cost.power: {power} is not between 1 and 2, where the Tweedie deviance is convex in the score; "
                "for 1 use the kind 'poisson', for 2 'gamma'"
            )
        return Tweedie(power)
    plain: dict[str, Family] = {"logistic": Logistic(), "poisson": Poisson(), "gamma": Gamma()}
    if kind not in plain:
        raise ProblemError(f"cost.kind: {kind!r} is not known; use one of {', '.join(KINDS)}")
    return plain[kind]
