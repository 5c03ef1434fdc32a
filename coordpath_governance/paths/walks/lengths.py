"""Paths of a number of terms that is given or chosen by the loss: units may rest, move again, or end anywhere.

Every allowed number of terms is a problem of its own. Lengths whose floors already exceed the best objective known are
not searched: the paper's model loss is a minimum over K, and beyond some K the terms alone cost more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from coordpath_governance.paths.outcome import normalise
from coordpath_governance.paths.patience import NO_BOUND
from coordpath_governance.paths.solvers.table import choose_walk_solver
from coordpath_governance.paths.weights import ExplicitWeights, GeometricWeights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from coordpath_governance.costs.quadratic import Measured
    from coordpath_governance.paths.outcome import Outcome, Stop
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.solvers.protocol import Answer

    FloatArray = NDArray[np.float64]

__all__ = ["Length", "LengthSums", "WalkCosts", "once_problem", "solve_lengths"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Length:
    """The best path known with so many terms (None if that length was not searched), and a bound on all of them.

    ``value``, ``bound`` and ``rounding`` are sums Σα·c or Σα·(c − min c), as the `LengthSums` say; ``weight`` is Σα.
    """

    terms: int
    weight: float
    bound: float
    value: float = np.inf
    rounding: float = 0.0
    stops: tuple[Stop, ...] | None = None
    solver: str = ""
    along: Measured | None = None


class LengthSums(Protocol):
    """How sums over different numbers of terms compare."""

    def objective(self, length: Length, /) -> float:
        """Of the best path known of a length."""
        ...

    def bound(self, length: Length, /) -> float:
        """Of all paths of a length."""
        ...

    def excess(self, best: Length, bound: float, /) -> tuple[float, float]:
        """Σα(c − min c) of the best path of all lengths, and what it cannot be less than if no sum is below ``bound``."""
        ...


class WalkCosts(Protocol):
    """What a kind of cost answers about the walks of one problem, whatever their number of terms."""

    def floor(self, alphas: FloatArray, /) -> float:
        """A sum below which no walk with these weights goes."""
        ...

    def solve_order(self, problem: PathProblem, solver: str, patience: Patience, /) -> Outcome:
        """The best order, of a problem in which every changed unit moves once."""
        ...

    def sums(self, base: float, /) -> LengthSums:
        """How lengths compare; sums are made as if all weighed ``base``."""
        ...

    def task(
        self, alphas: FloatArray, floor: float, share: float, best_order: Callable[[], Outcome], patience: Patience, /
    ) -> Any:  # noqa: ANN401 - what the solvers of this kind of cost take
        """The task of a solver, which may use a ``share`` of the work that is left."""
        ...

    def length(self, task: Any, answer: Answer, /) -> Length:  # noqa: ANN401 - see `task`
        """What a solver found."""
        ...

    def order_length(self, alphas: FloatArray, order: Outcome, exponent: int, /) -> Length:
        """The best order, where there are only as many terms as changed units."""
        ...

    def conclude(self, lengths: list[Length], exponent: int, /) -> Outcome:
        """The path with the least objective; the bound is the least over all lengths."""
        ...


def solve_lengths(problem: PathProblem, costs: WalkCosts, solver: str, patience: Patience) -> Outcome:
    """The best path over the allowed numbers of terms, the shortest first.

    Weights are divided by the power of two that the longest asks for.
    """
    _, exponent = normalise(problem.alphas(problem.most_terms))
    weights = [np.ldexp(problem.alphas(k), -exponent) for k in range(problem.least_terms, problem.most_terms + 1)]
    lengths = [Length(terms=len(a), weight=float(a.sum()), bound=costs.floor(a)) for a in weights]
    sums = costs.sums(lengths[0].weight)
    orders = _Orders(problem, costs, solver, patience)
    best = np.inf
    for at, alphas in enumerate(weights):
        if at and (sums.bound(lengths[at]) >= best or patience.expired()):
            continue
        if problem.target is not None and len(alphas) == len(problem.changed) and not problem.constraints:
            lengths[at] = costs.order_length(alphas, orders.best, exponent)
        else:
            of_all = patience.telling(_OfAllLengths(lengths, at, sums))
            share = 1.0 / (len(lengths) - at)
            task = costs.task(alphas, lengths[at].bound, share, lambda: orders.best, of_all)
            lengths[at] = costs.length(task, choose_walk_solver(solver, task, problem.step_type).solve(task))
        best = min(best, sums.objective(lengths[at]))
    return costs.conclude(lengths, exponent)


class _Orders:
    """Every unit once: an answer if so few terms are allowed; otherwise a good order is enough, as a walk to begin with."""

    def __init__(self, problem: PathProblem, costs: WalkCosts, solver: str, patience: Patience) -> None:
        self._problem, self._costs, self._solver, self._patience = problem, costs, solver, patience

    @cached_property
    def best(self) -> Outcome:
        """The best order found, once it is asked for."""
        allowed = self._problem.least_terms == len(self._problem.changed)
        solver = self._solver if allowed or self._solver in ("greedy", "direct") else "local"
        patience = self._patience.telling(lambda _stage, best, _bound: ("a first order", best, NO_BOUND))
        return self._costs.solve_order(once_problem(self._problem), solver, patience)


class _OfAllLengths:
    """Turns the progress of one length into that of all: the best path of any length, and the least bound of any."""

    def __init__(self, lengths: list[Length], at: int, sums: LengthSums) -> None:
        self._lengths, self._at, self._sums = lengths, at, sums

    def __call__(self, stage: str, value: float, bound: float) -> tuple[str, float, float]:
        """The stage and its length, the excess of the best path, and what it cannot be less than."""
        now = replace(self._lengths[self._at], value=value, bound=bound)
        others = [length for at, length in enumerate(self._lengths) if at != self._at]
        best = min([now, *others], key=self._sums.objective)
        excess, least = self._sums.excess(best, min(map(self._sums.bound, [now, *others])))
        return f"paths of {now.terms} steps, {stage}" if others else stage, excess, least


def once_problem(problem: PathProblem) -> PathProblem:
    """Every unit once, under the same weights if that length is allowed, otherwise under the first of them."""
    size = len(problem.changed)
    if problem.least_terms == size:
        return replace(problem, steps=None)
    first = problem.alphas(problem.most_terms)[:size]
    weights = ExplicitWeights(tuple(first.tolist())) if first.sum() > 0 else GeometricWeights()
    return replace(problem, steps=None, weights=weights)
