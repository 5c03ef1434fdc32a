"""What a solver of "n single steps, then the rest" is given, and what it gives back.

Moving every unit once is the case n = D − 1: the last unit has no choice. The chain ∅ ⊂ S₁ ⊂ … ⊂ S_n costs
Σ_{k≤n} αₖ e(S_k); the term of the full set is the same for all and is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from coordpath_governance.paths.set_function import EPS, SetFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ChainTask", "Found", "OrderSolver", "never"]


def never() -> bool:
    """A deadline that does not come."""
    return False


@dataclass(frozen=True, eq=False)
class ChainTask:
    """Choose S₁ ⊂ … ⊂ S_n; ``alphas`` has n entries, none negative, of size near 1."""

    function: SetFunction
    alphas: NDArray[np.float64]
    seed: int = 0
    expired: Callable[[], bool] = field(default=never, repr=False)
    progress: Callable[[str, float, float], None] | None = field(default=None, repr=False)

    @property
    def depth(self) -> int:
        """n, the number of single steps that are open."""
        return len(self.alphas)

    @property
    def rounding(self) -> float:
        """What floating point may do to a weighted sum of excesses here."""
        return self.function.rounding * float(self.alphas.sum())

    @property
    def tie(self) -> float:
        """Sums closer than this are equal, so that rounding does not choose between equal orders."""
        return 4 * EPS * self.function.magnitude * float(self.alphas.sum())

    def evaluate(self, order: Sequence[int]) -> float:
        """Σ_{k≤n} αₖ e(S_k) along an order."""
        return float(self.alphas @ self.function.prefix_excess(order[: self.depth]))

    def padded(self) -> NDArray[np.float64]:
        """Weights of the D positions, zero beyond n."""
        return np.concatenate([self.alphas, np.zeros(self.function.size - self.depth)])

    def report(self, stage: str, value: float, bound: float) -> None:
        """Tell whoever listens how far it has come."""
        if self.progress is not None:
            self.progress(stage, value, bound)


@dataclass(frozen=True)
class Found:
    """An order of all units (the first n count) and a number below which no chain goes, rounding aside."""

    order: tuple[int, ...]
    bound: float
    solver: str


class OrderSolver(Protocol):
    """One way of choosing the chain."""

    name: str
    most_units: int | None
    """Most units it takes, None for any number; checked before it starts."""

    def solve(self, task: ChainTask) -> Found:
        """The best chain it finds, with a valid bound."""
        ...
