"""SetFunction: the cost after a set of units has moved, as a function of the set.

With r₀ = R(start − β*) and p_u = R·(change of unit u), the excess after the set S is

    e(S) = ‖r₀ + Σ_{u∈S} p_u‖² = e₀ + aᵀx + xᵀQx,   x = 1_S,  a = 2Pᵀr₀,  Q = PᵀP.

Everything is divided by a power of two, so that costs of 1e±200 are solved as if they were near 1. R is not exact, so by
how much e(S) is wrong is measured: a and Q are computed a second time, from the cost itself in twice the working precision
(`Apart`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.factor import EPS
from coordpath_governance.costs.twofold import difference
from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = [
    "FAINTEST",
    "Apart",
    "Lifts",
    "SetFunction",
    "backward_order",
    "build_set_function",
    "forward_order",
    "order_chain",
    "positive",
]

FAINTEST = 2.0**-1022
"""Numbers below this lose digits: far more than what that does to a sum of products."""


@dataclass(frozen=True, eq=False)
class Lifts:
    """Linear functions of the set: e(S) is lifted by what is positive of the largest of them, among those that count there.

    For sets of k units those in ``of_level[k]`` count, and ``of_step[k]``, with which a step that leaves level k is relaxed,
    counts at both its ends.
    """

    constants: NDArray[np.float64]
    slopes: NDArray[np.float64]
    of_level: tuple[NDArray[np.int64], ...]
    of_step: NDArray[np.int64]

    def steps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Constant and slopes of every step's function."""
        return self.constants[self.of_step], self.slopes[self.of_step]

    def counting(self, level: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Constants and slopes of those that count for sets of so many units."""
        return self.constants[self.of_level[level]], self.slopes[self.of_level[level]]

    def along(self, order: Sequence[int]) -> NDArray[np.float64]:
        """What e(S₁), e(S₂), … along an order of units is lifted by."""
        sums = np.cumsum(self.slopes[:, list(order)], axis=1) + self.constants[:, None]
        return np.array([positive(sums[self.of_level[k], k - 1]) for k in range(1, len(order) + 1)])

    def restrict(self, moved: Sequence[int], remaining: Sequence[int]) -> Lifts:
        """The same functions of the units ``remaining`` after ``moved`` have moved."""
        constants = self.constants + self.slopes[:, list(moved)].sum(axis=1)
        first = len(moved)
        return Lifts(constants, self.slopes[:, list(remaining)], self.of_level[first:], self.of_step[first:])


def positive(functions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest along the first axis, or zero."""
    largest: NDArray[np.float64] = np.max(functions, axis=0, initial=0.0)
    return largest


@dataclass(frozen=True, eq=False)
class Apart:
    """How far aᵤ and Q_uv are from those of the cost: of every unit and of every pair of units.

    By how much e₀ is wrong does not matter: it is the same for all sets.
    """

    linear: NDArray[np.float64]
    quadratic: NDArray[np.float64]

    @property
    def most(self) -> float:
        """No e(S) − e(T) is wrong by more than twice this."""
        return float(self.linear.sum() + self.quadratic.sum())

    def restrict(self, moved: Sequence[int], remaining: Sequence[int]) -> Apart:
        """The same for sets of the units ``remaining``, after ``moved`` have moved."""
        gone, stay = list(moved), list(remaining)
        linear = self.linear[stay] + 2.0 * self.quadratic[np.ix_(gone, stay)].sum(axis=0)
        return Apart(linear, self.quadratic[np.ix_(stay, stay)])

    def divided(self, exponent: int) -> Apart:
        """The same in units of a power of two."""
        return Apart(np.ldexp(self.linear, -exponent), np.ldexp(self.quadratic, -exponent))


@dataclass(frozen=True, eq=False)
class SetFunction:
    """e(S) over D units; real excess = e·2^exponent. ``apart``: how far it is from the cost, but for a constant.

    ``lifts``: the function is larger than e by these (see `Lifts`), so that whatever lies below e lies below it.
    """

    base: NDArray[np.float64]
    columns: NDArray[np.float64]
    exponent: int = 0
    apart: Apart | None = None
    lifts: Lifts | None = None

    @property
    def size(self) -> int:
        """D, the number of units."""
        return int(self.columns.shape[1])

    @property
    def e0(self) -> float:
        """Excess of the empty set."""
        return float(self.base @ self.base)

    @property
    def linear(self) -> NDArray[np.float64]:
        """A = 2Pᵀr₀."""
        product: NDArray[np.float64] = 2.0 * (self.columns.T @ self.base)
        return product

    @property
    def quadratic(self) -> NDArray[np.float64]:
        """Q = PᵀP, exactly symmetric."""
        product: NDArray[np.float64] = self.columns.T @ self.columns
        return (product + product.T) / 2

    @property
    def magnitude(self) -> float:
        """(‖r₀‖ + Σ‖p_u‖)²: no excess is larger, and rounding is relative to it."""
        lengths = np.sqrt(np.sum(self.columns * self.columns, axis=0))
        return float((math.sqrt(self.e0) + float(lengths.sum())) ** 2)

    @property
    def rounding(self) -> float:
        """What floating point may do to one e(S), the same for all sets aside: rounding, and products that underflow."""
        underflow = FAINTEST if self.base.any() or self.columns.any() else 0.0
        adding = 8 * (self.size + 8) * (EPS * self.magnitude + underflow)
        return adding if self.apart is None else adding + self.apart.most

    def normalised(self) -> SetFunction:
        """The same function, but for lifts, divided by the power of two that makes its largest number near 1."""
        largest = max(float(np.max(np.abs(self.base), initial=0.0)), float(np.max(np.abs(self.columns), initial=0.0)))
        shift = math.frexp(largest)[1]
        apart = None if self.apart is None else self.apart.divided(2 * shift)
        return SetFunction(np.ldexp(self.base, -shift), np.ldexp(self.columns, -shift), self.exponent + 2 * shift, apart)

    def excess(self, members: Sequence[int]) -> float:
        """e(S), accurate even where aᵀx + xᵀQx would cancel."""
        residual = self.base + self.columns[:, list(members)].sum(axis=1)
        return float(residual @ residual)

    def lifted_excess(self, members: Sequence[int]) -> float:
        """The same with what e(S) is lifted by."""
        lift = 0.0 if self.lifts is None else float(positive(self.lifts.restrict(members, ()).counting(0)[0]))
        return self.excess(members) + lift

    def prefix_excess(self, order: Sequence[int]) -> NDArray[np.float64]:
        """e(S₁), e(S₂), … along an order of units."""
        steps = self.base[:, None] + np.cumsum(self.columns[:, list(order)], axis=1)
        total: NDArray[np.float64] = np.sum(steps * steps, axis=0)
        return total

    def restrict(self, moved: Sequence[int], remaining: Sequence[int]) -> SetFunction:
        """The same function of the units ``remaining`` after ``moved`` have moved; all others stay."""
        base = self.base + self.columns[:, list(moved)].sum(axis=1)
        apart = None if self.apart is None else self.apart.restrict(moved, remaining)
        lifts = None if self.lifts is None else self.lifts.restrict(moved, remaining)
        return SetFunction(base, np.ascontiguousarray(self.columns[:, list(remaining)]), self.exponent, apart, lifts)

    def complement(self) -> SetFunction:
        """The same excess as a function of the units that have not moved; only without lifts."""
        return SetFunction(self.base + self.columns.sum(axis=1), -self.columns, self.exponent, self.apart)


def build_set_function(problem: PathProblem) -> SetFunction:
    """e(S) over the changed units of a problem with a fixed end."""
    cost, start = problem.quadratic, problem.start
    target = start if problem.target is None else problem.target
    with np.errstate(over="ignore", invalid="ignore"):
        change = difference(target, start)
    if not np.isfinite(change.high).all():
        raise ProblemError("target: differs from start by more than double precision holds; rescale the features")
    base, moves = cost.residual(start), np.zeros((len(problem.changed), len(start)))
    for u, unit in enumerate(problem.changed):
        moves[u, list(unit.members)] = change.high[list(unit.members)]
    columns = cost.direction(moves).T
    function = SetFunction(base, columns).normalised()
    if math.frexp(function.magnitude)[1] + function.exponent > 1020:
        raise ProblemError("cost: overflows double precision between start and target; rescale the target variable")
    exact = cost.expand(start, change, [unit.members for unit in problem.changed])
    linear, quadratic = (np.ldexp(part, -function.exponent) for part in exact)
    return replace(function, apart=Apart(np.abs(function.linear - linear), np.abs(function.quadratic - quadratic)))


def order_chain(order: Sequence[int], size: int) -> tuple[int, ...]:
    """A complete order that begins with the given units; the others follow as they are listed."""
    chosen = set(order)
    return tuple(order) + tuple(u for u in range(size) if u not in chosen)


def forward_order(function: SetFunction) -> list[int]:
    """From the empty set, always the unit that leaves the least excess; the first listed among equals."""
    residual = function.base.copy()
    lengths = np.sum(function.columns * function.columns, axis=0)
    left = np.ones(function.size, dtype=bool)
    order: list[int] = []
    for _ in range(function.size):
        change = np.where(left, 2.0 * (function.columns.T @ residual) + lengths, np.inf)
        chosen = int(np.argmin(change))
        order.append(chosen)
        left[chosen] = False
        residual += function.columns[:, chosen]
    return order


def backward_order(function: SetFunction) -> list[int]:
    """From the full set, always take out the unit whose absence leaves the least excess; read backwards."""
    whole = function.base + function.columns.sum(axis=1)
    reverse = type(function)(whole, -function.columns[:, ::-1])
    return [function.size - 1 - u for u in reversed(forward_order(reverse))]
