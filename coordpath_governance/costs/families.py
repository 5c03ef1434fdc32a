"""Families: the loss of a row as a convex function of its score, one class per family, and the table of all families.

With target y and score η, and μ = e^η where the link is the logarithm, the loss ℓ(y, η) is

    logistic      log(1 + e^η) − yη                       y is 0 or 1
    multinomial   log Σ e^η_c − η_y                       one score per class, y the number of the class
    poisson       2(y log(y/μ) − y + μ)                   y ≥ 0
    gamma         2(−log(y/μ) + y/μ − 1)                  y > 0
    tweedie       2(y^(2−p)/((1−p)(2−p)) − y μ^(1−p)/(1−p) + μ^(2−p)/(2−p))   y ≥ 0, 1 < p < 2

A new family is a file with its class and a line in `FAMILIES`. Targets are (n,), scores (n, C, m): C scores per row (one,
but for multinomial), m models side by side. A loss that exceeds double precision is infinite, without a warning; the
functions that add up losses refuse it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

__all__ = ["FAMILIES", "Family", "FamilyEntry", "FamilyKind", "Parameter", "family_of", "family_parameters", "kind_of"]


class Family(Protocol):
    """A loss and what an optimiser needs of it."""

    @property
    def kind(self) -> str:
        """The name in a problem: a key of `FAMILIES`."""
        ...

    @property
    def scores(self) -> int:
        """C: how many scores a row has."""
        ...

    @property
    def loss_name(self) -> str:
        """What the mean loss is called."""
        ...

    @property
    def targets(self) -> str:
        """Which targets it takes, as the end of "give …"."""
        ...

    @property
    def classifies(self) -> bool:
        """Whether the target is a class, so that columns may separate the classes completely."""
        ...

    def loss(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """ℓ, (n, m)."""
        ...

    def loss_and_slope(self, target: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ℓ, (n, m), and ∂ℓ/∂η, (n, C, m)."""
        ...

    def curvature(self, target: FloatArray, score: FloatArray) -> FloatArray:
        """∂²ℓ/∂η², (n, C, C), at one score vector per row, (n, C)."""
        ...

    def least_curvature(self, target: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """One positive semi-definite matrix per row, (n, C, C), below the curvature wherever low ≤ η ≤ high, both (n, C)."""
        ...

    def mean(self, score: FloatArray) -> FloatArray:
        """The prediction at a score, of the same shape; classes are along the second axis."""
        ...

    def link(self, mean: FloatArray) -> FloatArray:
        """The scores, (C,), at which the prediction is ``mean``, (C,); ±30 where they would be infinite."""
        ...

    def outside(self, target: FloatArray) -> NDArray[np.bool_]:
        """The rows whose target no such model can have produced."""
        ...


@dataclass(frozen=True)
class Parameter:
    """A number that belongs to some families only: its key in a problem, whether it is whole, what to give for it."""

    name: str
    whole: bool
    wanted: str


@dataclass(frozen=True)
class FamilyEntry:
    """A line of `FAMILIES`: ``load`` imports and returns the class, which is called with the values of ``parameters``."""

    load: Callable[[], Callable[..., Family]]
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class FamilyKind:
    """Which family it is, without its losses: its name in a problem and the values of its parameters."""

    kind: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As in the ``cost`` of a problem's document."""
        return {"kind": self.kind, **self.parameters}

    def family(self) -> Family:
        """The family itself; `ProblemError` if a parameter is out of its range."""
        return family_of(self.kind, **self.parameters)


def _class(module: str, name: str) -> Callable[[], Callable[..., Family]]:
    """Losses are loaded when they are asked for: their special functions take longer than a quadratic cost to solve."""

    def load() -> Callable[..., Family]:
        family: Callable[..., Family] = getattr(import_module(f"coordpath_governance.costs.{module}"), name)
        return family

    return load


_POWER = Parameter("power", whole=False, wanted="a number between 1 and 2")
_CLASSES = Parameter("classes", whole=True, wanted="the number of classes")

FAMILIES: dict[str, FamilyEntry] = {
    "logistic": FamilyEntry(_class("class_families", "Logistic")),
    "multinomial": FamilyEntry(_class("class_families", "Multinomial"), (_CLASSES,)),
    "poisson": FamilyEntry(_class("log_families", "Poisson")),
    "gamma": FamilyEntry(_class("log_families", "Gamma")),
    "tweedie": FamilyEntry(_class("log_families", "Tweedie"), (_POWER,)),
}
"""Name in a problem → family."""


def family_parameters() -> tuple[Parameter, ...]:
    """The parameters of all families, in the order in which messages list them."""
    of_families = (parameter for entry in FAMILIES.values() for parameter in entry.parameters)
    return tuple(dict.fromkeys((_POWER, _CLASSES, *of_families)))


def family_of(kind: str, **parameters: float | None) -> Family:
    """The family of a name, made from the ``parameters`` that belong to it; raises `ProblemError` if it is not known."""
    if kind not in FAMILIES:
        raise ProblemError(f"cost.kind: {kind!r} is not known; use one of {', '.join(FAMILIES)}")
    entry = FAMILIES[kind]
    return entry.load()(*(parameters.get(parameter.name) for parameter in entry.parameters))


def kind_of(family: Family) -> FamilyKind:
    """The name and the parameters of a family."""
    names = [parameter.name for parameter in FAMILIES[family.kind].parameters]
    return FamilyKind(family.kind, {name: getattr(family, name) for name in names})
