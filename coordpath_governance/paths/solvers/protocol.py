"""What a solver receives, what it needs of that, and what it returns.

A task says what it `offers`; a solver says which of that it `needs`, and what else it `lacks`. The table asks both.

A *chain* task is "n single steps, then the rest": only the order is open. Moving every unit once is the case n = D − 1,
since the last unit has no choice. The chain ∅ ⊂ S₁ ⊂ … ⊂ S_n costs Σ_{k≤n} αₖ e(S_k); the term of the full set is the
same for all and is left out. A *walk* task has K terms at which any unit may move to any value, again or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths.orders.chain_rules import NO_RULES, ChainRules
from coordpath_governance.paths.orders.set_function import SetFunction
from coordpath_governance.paths.patience import FOREVER, Patience

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.row_walks.walks_on_rows import Walk
    from coordpath_governance.paths.walks.floors import Floors
    from coordpath_governance.paths.walks.geometry import Walks

__all__ = [
    "EVALUATED_SETS",
    "LEAST_SQUARES",
    "ROW_WALKS",
    "RULED_EVALUATED_SETS",
    "RULED_SETS",
    "RULED_WALKS",
    "SET_FUNCTION",
    "WHOLE_STEPS",
    "Answer",
    "ChainTask",
    "Offer",
    "Solver",
    "Task",
    "WalkTask",
]


@dataclass(frozen=True)
class Offer:
    """What a task gives a solver to work with; ``refusal`` is what a solver that needs it says of other tasks.

    ``special``: what a solver that does not need it says of a task that offers it, if that is what matters.
    """

    description: str
    refusal: str
    special: str | None = None


SET_FUNCTION = Offer("the excess of every set of moved units, as the square of a length", "takes quadratic costs only")
EVALUATED_SETS = Offer("sets of moved units, evaluated when asked", "takes costs on rows only")
LEAST_SQUARES = Offer("walks whose best values are a least-squares problem", "takes quadratic costs only")
ROW_WALKS = Offer("walks whose best values Newton's method finds on rows", "takes costs on rows only")
_UNRULED = "keeps to no constraints here"
RULED_SETS = Offer("the excess of every set of moved units, some of them forbidden", _UNRULED, _UNRULED)
RULED_EVALUATED_SETS = Offer("sets of moved units, evaluated when asked, some of them forbidden", _UNRULED, _UNRULED)
RULED_WALKS = Offer("walks whose best values keep to constraints", _UNRULED, _UNRULED)
WHOLE_STEPS = Offer("states that are reached by whole steps", "makes whole steps only", "makes no whole steps")


class Task(Protocol):
    """A question for a solver."""

    @property
    def offers(self) -> Offer:
        """What it gives a solver to work with."""
        ...

    @property
    def patience(self) -> Patience:
        """When to stop, and where to report progress."""
        ...


@dataclass(frozen=True, eq=False)
class ChainTask:
    """Choose S₁ ⊂ … ⊂ S_n; ``alphas`` has n entries, none negative, of size near 1. ``first`` is an order to begin with.

    ``rules`` forbid some sets.
    """

    function: SetFunction
    alphas: NDArray[np.float64]
    seed: int = 0
    patience: Patience = field(default=FOREVER, repr=False)
    first: tuple[int, ...] | None = None
    rules: ChainRules = NO_RULES

    @property
    def offers(self) -> Offer:
        """The function, and whether some sets are forbidden."""
        return RULED_SETS if self.rules else SET_FUNCTION

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
        """Whether to stop and return the best answer so far."""
        return self.patience.expired()

    def report(self, stage: str, value: float, bound: float) -> None:
        """Report a stage, the best value so far and a bound on all values, if anybody listens."""
        self.patience.report(stage, value, bound)


@dataclass(frozen=True, eq=False)
class WalkTask:
    """Choose the unit that moves at each of K terms (or `REST`): Σ αₖ‖r_k‖² with the best values is to be least.

    ``alphas`` has K entries, none negative, of size near 1. With a fixed end every changed unit must be visited, and the
    walk ends at the target. ``first`` is a walk to begin with. ``floors`` bound every term.
    """

    offers: ClassVar[Offer] = LEAST_SQUARES

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
        """Whether to stop and return the best answer so far."""
        return self.patience.expired()

    def report(self, stage: str, value: float, bound: float) -> None:
        """Report a stage, the best value so far and a bound on all values, if anybody listens."""
        self.patience.report(stage, value, bound)


@dataclass(frozen=True)
class Answer:
    """A chain or a walk, and a lower bound on the sums of all of them, rounding aside.

    ``order``: of a chain, all units, of which the first n count; of a walk, K units or rests, which go to the best values
    unless ``increments`` says how far each of them moves (in columns of length 1). ``models``: where a solver chose the
    models themselves, those of the K terms; None if it found no walk. ``row_walk``: of a walk on rows, the models that it
    goes through. ``work``: what it took, if counted.
    """

    order: tuple[int, ...]
    bound: float
    solver: str
    increments: tuple[NDArray[np.float64], ...] | None = None
    models: NDArray[np.float64] | None = field(default=None, compare=False)
    row_walk: Walk | None = field(default=None, compare=False)
    work: int = field(default=0, compare=False)


TaskT = TypeVar("TaskT", contravariant=True)


class Solver(Protocol[TaskT]):
    """One way of choosing an order, or a walk, for tasks that offer what it ``needs``."""

    name: str
    needs: Offer

    def lacks(self, task: TaskT, /) -> str | None:
        """What else this solver needs and the task does not give, as the end of "solver x: …"; None if it takes the task."""
        ...

    def solve(self, task: TaskT) -> Answer:
        """The best order or walk that it finds, with a valid lower bound on all of them."""
        ...
