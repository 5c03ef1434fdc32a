"""What a solver is given, and what it gives back.

A *chain* task is "n single steps, then the rest": only the order is open. Moving every unit once is the case n = D − 1,
since the last unit has no choice. The chain ∅ ⊂ S₁ ⊂ … ⊂ S_n costs Σ_{k≤n} αₖ e(S_k); the term of the full set is the
same for all and is left out. A *walk* task has K terms at which any unit may move to any value, again or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from coordpath_governance.paths.chains.set_function import EPS, SetFunction
from coordpath_governance.paths.patience import FOREVER, Patience

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.walks.floors import Floors
    from coordpath_governance.paths.walks.geometry import Walks

__all__ = ["ChainTask", "Found", "Solver", "WalkTask"]


@dataclass(frozen=True, eq=False)
class ChainTask:
    """Choose S₁ ⊂ … ⊂ S_n; ``alphas`` has n entries, none negative, of size near 1. ``first`` is an order that is known."""

    function: SetFunction
    alphas: NDArray[np.float64]
    seed: int = 0
    patience: Patience = field(default=FOREVER, repr=False)
    first: tuple[int, ...] | None = None

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
        """Σ_{k≤n} αₖ e(S_k) along an order, with what e is lifted by."""
        along = self.function.prefix_excess(order[: self.depth])
        if self.function.lifts is not None:
            along = along + self.function.lifts.along(order[: self.depth])
        return float(self.alphas @ along)

    def padded(self) -> NDArray[np.float64]:
        """Weights of the D positions, zero beyond n."""
        return np.concatenate([self.alphas, np.zeros(self.function.size - self.depth)])

    def expired(self) -> bool:
        """Whether to stop and tell what there is."""
        return self.patience.expired()

    def report(self, stage: str, value: float, bound: float) -> None:
        """Tell whoever listens how far it has come."""
        if self.patience.progress is not None:
            self.patience.progress(stage, value, bound)


@dataclass(frozen=True, eq=False)
class WalkTask:
    """Choose the unit that moves at each of K terms (or `REST`): Σ αₖ‖r_k‖² with the best values is to be least.

    ``alphas`` has K entries, none negative, of size near 1. With a fixed end every changed unit must be visited, and the
    walk ends at the target. ``first`` is a walk that is known. ``floors`` bound every term.
    """

    walks: Walks
    alphas: NDArray[np.float64]
    floors: Floors
    first: tuple[int, ...]
    seed: int = 0
    patience: Patience = field(default=FOREVER, repr=False)

    @property
    def terms(self) -> int:
        """K."""
        return len(self.alphas)

    @property
    def spare(self) -> int:
        """r: terms beyond one for every changed unit, to rest or to visit again. With a free end, all of them."""
        return self.terms - len(self.walks.changed)

    @property
    def floor(self) -> float:
        """Σ αₖ·(floor of term k): no walk is better."""
        return float(self.alphas @ self.floors.of_terms(self.terms))

    def evaluate(self, sequence: Sequence[int]) -> float:
        """Σ αₖ‖r_k‖² along a sequence with its best values."""
        return self.walks.value(sequence, self.alphas)[0]

    def expired(self) -> bool:
        """Whether to stop and tell what there is."""
        return self.patience.expired()

    def report(self, stage: str, value: float, bound: float) -> None:
        """Tell whoever listens how far it has come."""
        if self.patience.progress is not None:
            self.patience.progress(stage, value, bound)


@dataclass(frozen=True)
class Found:
    """A chain or a walk, and a number below which none goes, rounding aside.

    ``order``: of a chain, all units, of which the first n count; of a walk, K units or rests, which go to the best values
    unless ``increments`` says how far each of them moves (in columns of length 1). ``work``: what it took, if counted.
    """

    order: tuple[int, ...]
    bound: float
    solver: str
    increments: tuple[NDArray[np.float64], ...] | None = None
    work: int = field(default=0, compare=False)


Task = TypeVar("Task", contravariant=True)


class Solver(Protocol[Task]):
    """One way of choosing a chain, or a walk."""

    name: str

    def lacks(self, task: Task, /) -> str | None:
        """What this solver needs and the task does not give, as the end of "solver x: …"; None if it takes the task."""
        ...

    def solve(self, task: Task) -> Found:
        """The best it finds, with a valid bound."""
        ...
