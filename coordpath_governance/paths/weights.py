"""Weights αₖ of the objective Σₖ αₖ c(βₖ), for any number of terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ExplicitWeights", "FinalWeights", "GeometricWeights", "Weights", "checked_alphas"]


class Weights(Protocol):
    """What a problem asks of its weights."""

    def alphas(self, terms: int) -> NDArray[np.float64]:
        """α₁ … α_K for an objective of K terms."""
        ...

    def to_dict(self) -> dict[str, object]:
        """The ``weights`` entry of the problem document."""
        ...


@dataclass(frozen=True)
class GeometricWeights:
    """αₖ = γᵏ."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _check_number(self.gamma, "weights.gamma")

    def alphas(self, terms: int) -> NDArray[np.float64]:
        """γ, γ², …, γᴷ."""
        return _powers(self.gamma, terms)

    def to_dict(self) -> dict[str, object]:
        """{"gamma": γ}."""
        return {"gamma": self.gamma}


@dataclass(frozen=True)
class ExplicitWeights:
    """αₖ one by one; ``key`` is "alpha", or "p" when they are the probabilities that a reader stops at step k.

    A list longer than the number of terms is accepted and its first K entries are used, because K is often not for the
    writer to choose: it is the number of changed units, or picked from a range. A shorter list is an error.
    """

    values: tuple[float, ...]
    key: str = "alpha"

    def __post_init__(self) -> None:
        if self.key not in ("alpha", "p"):
            raise ProblemError(f"weights: {self.key!r} is not known; use alpha or p")
        for k, value in enumerate(self.values):
            _check_number(value, f"weights.{self.key}[{k}]")

    def alphas(self, terms: int) -> NDArray[np.float64]:
        """The first K of the list."""
        if len(self.values) < terms:
            raise ProblemError(
                f"weights.{self.key}: has {len(self.values)} entries, but the path has {terms} terms; give one for each"
            )
        return np.array(self.values[:terms], dtype=np.float64)

    def to_dict(self) -> dict[str, object]:
        """{"alpha": […]} or {"p": […]}."""
        return {self.key: list(self.values)}


@dataclass(frozen=True)
class FinalWeights:
    """αₖ = λγᵏ, plus ``final`` on the last term: final·c(β_K) + λ Σ γᵏ c(βₖ)."""

    final: float
    lam: float
    gamma: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("final", self.final), ("lambda", self.lam), ("gamma", self.gamma)):
            _check_number(value, f"weights.{name}")

    def alphas(self, terms: int) -> NDArray[np.float64]:
        """λγ, λγ², …, λγᴷ + final."""
        weights = np.zeros(terms) if self.lam == 0 else self.lam * _powers(self.gamma, terms)
        if terms:
            weights[-1] += self.final
        return weights

    def to_dict(self) -> dict[str, object]:
        """{"final": …, "lambda": …, "gamma": …}."""
        return {"final": self.final, "lambda": self.lam, "gamma": self.gamma}


def checked_alphas(weights: Weights, terms: int) -> NDArray[np.float64]:
    """α₁ … α_K; raises `ProblemError` if none is positive or one is not finite."""
    with np.errstate(over="ignore"):
        alphas = weights.alphas(terms)
        total = alphas.sum()
    if not np.isfinite(total):
        raise ProblemError("weights: overflow double precision over the length of the path; choose smaller ones")
    if terms and not total > 0:
        raise ProblemError("weights: all are zero, so every path would be as good as any other; make one positive")
    return alphas


def _check_number(value: float, where: str) -> None:
    if not np.isfinite(value):
        raise ProblemError(f"{where}: {value} is not a finite number")
    if value < 0:
        raise ProblemError(f"{where}: {value} is negative; weights are at least 0")


def _powers(gamma: float, terms: int) -> NDArray[np.float64]:
    powers = np.power(np.float64(gamma), np.arange(1, terms + 1, dtype=np.float64))
    if gamma > 0 and terms and powers.min() < np.finfo(np.float64).tiny:
        raise ProblemError(f"weights.gamma: {gamma} to the power {terms} underflows double precision; give alpha instead")
    return powers
