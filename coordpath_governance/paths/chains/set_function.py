"""SetFunction: the cost after a set of units has moved, as a function of the set.

With r₀ = R(start − β*) and p_u = R·(change of unit u), the excess after the set S is

    e(S) = ‖r₀ + Σ_{u∈S} p_u‖² = e₀ + aᵀx + xᵀQx,   x = 1_S,  a = 2Pᵀr₀,  Q = PᵀP.

Everything is divided by a power of two, so that costs of 1e±200 are solved as if they were near 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths.chains.doubt import Doubt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["Lifts", "SetFunction", "build_set_function", "order_chain", "positive"]

EPS = float(np.finfo(np.float64).eps)


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

    def restrict(self, moved: Sequence[int], kept: Sequence[int]) -> Lifts:
        """The same functions of the units ``kept`` after ``moved`` have moved."""
        constants = self.constants + self.slopes[:, list(moved)].sum(axis=1)
        first = len(moved)
        return Lifts(constants, self.slopes[:, list(kept)], self.of_level[first:], self.of_step[first:])


def positive(functions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest along the first axis, or zero."""
    largest: NDArray[np.float64] = np.max(functions, axis=0, initial=0.0)
    return largest


@dataclass(frozen=True, eq=False)
class SetFunction:
    """e(S) over D units; real excess = e·2^exponent. ``doubt``: what the input's own rounding may do to it.

    ``lifts``: the function is larger than e by these (see `Lifts`), so that whatever lies below e lies below it.
    """

    base: NDArray[np.float64]
    columns: NDArray[np.float64]
    exponent: int = 0
    doubt: Doubt | None = None
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
        """What floating point may do to one e(S)."""
        magnitude = self.magnitude
        adding = 8 * (self.size + 8) * EPS * magnitude
        if self.doubt is None:
            return adding
        blur = self.doubt.blur
        return adding + blur * (2 * math.sqrt(magnitude) + blur) + self.doubt.left_out

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

    def restrict(self, moved: Sequence[int], kept: Sequence[int]) -> SetFunction:
        """The same function of the units ``kept`` after ``moved`` have moved; all others stay."""
        base = self.base + self.columns[:, list(moved)].sum(axis=1)
        doubt = None if self.doubt is None else self.doubt.restrict(moved, kept)
        lifts = None if self.lifts is None else self.lifts.restrict(moved, kept)
        return SetFunction(base, np.ascontiguousarray(self.columns[:, list(kept)]), self.exponent, doubt, lifts)


def build_set_function(problem: PathProblem) -> SetFunction:
    """e(S) over the changed units of a problem with a fixed end."""
    cost, start = problem.quadratic, problem.start
    target = start if problem.target is None else problem.target
    base = cost.residual(start)
    columns = np.zeros((len(base), len(problem.changed)))
    with np.errstate(over="ignore"):
        change = target - start
    if not np.isfinite(change).all():
        raise ProblemError("target: differs from start by more than double precision holds; rescale the features")
    unit_blur, lengths = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    for u, unit in enumerate(problem.changed):
        delta = np.zeros(len(start))
        members = list(unit.members)
        delta[members] = change[members]
        columns[:, u] = cost.direction(delta)
        unit_blur[u], lengths[u] = cost.blur(delta), cost.length(delta)
    largest = max(float(np.max(np.abs(base), initial=0.0)), float(np.max(np.abs(columns), initial=0.0)))
    shift = math.frexp(largest)[1]
    curvature, outside = cost.left_out()
    doubt = Doubt(
        math.ldexp(cost.blur(start) + cost.goal_blur(), -shift),
        np.ldexp(unit_blur, -shift),
        np.ldexp(lengths, -shift),
        curvature,
        2.0 * math.ldexp(curvature * cost.length(start) + outside, -shift),
    )
    function = SetFunction(np.ldexp(base, -shift), np.ldexp(columns, -shift), 2 * shift, doubt)
    if math.frexp(function.magnitude)[1] + function.exponent > 1020:
        raise ProblemError("cost: overflows double precision between start and target; rescale the target variable")
    return function


def order_chain(order: Sequence[int], size: int) -> tuple[int, ...]:
    """A complete order that begins with the given units; the others follow as they are listed."""
    chosen = set(order)
    return tuple(order) + tuple(u for u in range(size) if u not in chosen)
