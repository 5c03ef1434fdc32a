"""The best values along sequences of units: Newton's method for many of them at once, a pass over the rows a round.

What is minimised is F(x) = Σₖ αₖ c(βₖ(x)), where every coordinate of βₖ is a number or an unknown of x; it is convex. A
step solves H·step = −∇F in unknowns scaled to a unit diagonal, with eigenvalues below 10⁻¹² of the largest raised to it:
where columns are dependent, the slope is nothing but rounding, and nothing moves. Steps that gain too little are shortened.

The decrement ∇FᵀH⁻¹∇F is what is left to gain, as far as the curvature tells: half of it for a parabola, all of it for an
exponential tail. Of a sum of tails that fall at different rates more may be left, by up to the ratio of the rates; searches
go on until the decrement is so little that this does not matter. Where a raised eigenvalue belongs to a direction that does
move scores, because columns almost depend on each other, nothing is said of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.newton import newton_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordpath_governance.paths.row_walks.model_costs import Expansion, FloatArray, IntArray, ModelCosts

__all__ = ["EXACT", "Fitted", "Layout", "Term", "fit_all"]

EXACT = 1e-13
"""A decrement of this part of Σα(c − min c) ends a search for values that are reported."""

_ROUNDING = 1e-16
_DROWNED = 1e-14
_GAIN = 1e-4
"""A step must gain this part of what its slope promises."""

_SHORTER = 0.125
_SHORTEST = 1e-27
_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Term:
    """α·c of a model: ``beta``, but for its ``opened`` coordinates, which are the unknowns at ``places``."""

    alpha: float
    beta: FloatArray
    opened: IntArray
    places: IntArray


@dataclass(frozen=True, eq=False)
class Layout:
    """F(x), a sum of terms in ``size`` unknowns."""

    terms: tuple[Term, ...]
    size: int

    @property
    def weight(self) -> float:
        """Σα."""
        return sum(term.alpha for term in self.terms)

    @property
    def settled(self) -> list[Term]:
        """Terms without unknowns."""
        return [term for term in self.terms if not len(term.opened)]

    @property
    def open(self) -> list[Term]:
        """Terms with unknowns."""
        return [term for term in self.terms if len(term.opened)]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Where a search ended; ``lower`` is a number below which F does not go, −∞ if it was cut short."""

    x: FloatArray
    value: float
    lower: float


def fit_all(
    costs: ModelCosts,
    layouts: Sequence[Layout],
    guesses: Sequence[FloatArray],
    expired: Callable[[], bool],
    exact: float = EXACT,
) -> list[Fitted]:
    """The least F of every layout, each from its own guess; infinite where the cost overflows there."""
    fixed = [[term.beta for term in layout.settled] for layout in layouts]
    models = [beta for models in fixed for beta in models]
    fixed_costs = iter(costs.values(np.stack(models)).tolist() if models else ())
    least = costs.cost.minimum()
    searches = []
    for layout, guess in zip(layouts, guesses, strict=True):
        constant = sum(term.alpha * next(fixed_costs) for term in layout.settled)
        searches.append(_Search(layout, guess, constant, layout.weight * least, exact))
    running = [search for search in searches if not search.over]
    while running and not expired():
        open_terms = [term for search in running for term in search.terms]
        expansions = iter(
            costs.expand(np.stack([beta for s in running for beta in s.models()]), [t.opened for t in open_terms])
        )
        for search in running:
            search.take([next(expansions) for _ in search.terms])
        running = [search for search in running if not search.over]
    return [
        replace(search.fitted(costs), lower=-np.inf) if doubted else search.fitted(costs)
        for search, doubted in zip(searches, _doubted(costs, searches), strict=True)
    ]


def _doubted(costs: ModelCosts, searches: Sequence[_Search]) -> list[bool]:
    """Which searches could not tell a direction that moves scores from one that does not."""
    directions = [search.hidden(costs.cost.size) for search in searches]
    noticed = costs.move_scores(np.concatenate(directions)) if any(map(len, directions)) else np.zeros(0, dtype=bool)
    ends = np.cumsum([len(moves) for moves in directions])
    return [bool(noticed[end - len(moves) : end].any()) for moves, end in zip(directions, ends, strict=True)]


class _Search:
    """One layout's way down: it says which models to expand next, and goes on from what they are."""

    def __init__(self, layout: Layout, guess: FloatArray, constant: float, floor: float, exact: float) -> None:
        self.layout, self.terms = layout, layout.open
        self._constant, self._floor, self._exact = constant, floor, exact
        self._x, self._value, self._lower = guess, np.inf, -np.inf
        self._step, self._decrement, self._length = np.zeros(layout.size), np.inf, 0.0
        self._raised = np.zeros((layout.size, 0))
        self._rounds = 0
        self.over = not self.terms

    def models(self) -> list[FloatArray]:
        """The models at the point that is tried."""
        return _models(self.terms, self._tried)

    @property
    def _tried(self) -> FloatArray:
        return self._x + self._length * self._step

    def take(self, expansions: list[Expansion]) -> None:
        """Go to the point tried if it gains enough; otherwise try a shorter step."""
        self._rounds += 1
        value = self._constant + sum(
            term.alpha * expansion.value for term, expansion in zip(self.terms, expansions, strict=True)
        )
        if self._rounds == 1 and not np.isfinite(value):
            self.over = True
        elif self._rounds == 1 or value <= self._value - _GAIN * self._length * self._decrement + _ROUNDING * self._value:
            self._x, self._value = self._tried, value
            self._step, self._decrement, self._raised = newton_step(*self._sums(expansions))
            self._length = 1.0
            self._end(self._decrement <= self._exact * max(value - self._floor, 0.0) + _ROUNDING * value)
            self.over = self.over or not np.isfinite(self._step).all()
        else:
            self._length *= _SHORTER
            # What is left to gain may be no more than the rounding of the sum.
            self._end(self._length < _SHORTEST or self._decrement <= _DROWNED * self._value)

    def _end(self, converged: bool) -> None:
        if converged:
            self._lower = self._value - self._decrement
        self.over = converged or self._rounds == _ROUNDS

    def _sums(self, expansions: list[Expansion]) -> tuple[FloatArray, FloatArray]:
        slope, curvature = np.zeros(self.layout.size), np.zeros((self.layout.size, self.layout.size))
        for term, expansion in zip(self.terms, expansions, strict=True):
            slope[term.places] += term.alpha * expansion.slope
            curvature[term.places[:, None], term.places] += term.alpha * expansion.curvature
        return slope, curvature

    def hidden(self, size: int) -> FloatArray:
        """The directions whose eigenvalues were raised, as moves of each term's ``size`` coefficients."""
        directions = np.zeros((len(self.terms), self._raised.shape[1], size))
        for moved, term in zip(directions, self.terms, strict=True):
            moved[:, term.opened] = self._raised[term.places].T
        return directions.reshape(-1, size)

    def fitted(self, costs: ModelCosts) -> Fitted:
        """What was reached; a search that never began has its guess."""
        if not self.terms:
            return Fitted(self._x, self._constant, self._constant)
        if self._rounds == 0:
            values = costs.values(np.stack(self.models()))
            self._value = self._constant + float(np.array([term.alpha for term in self.terms]) @ values)
        return Fitted(self._x, self._value, self._lower)


def _models(terms: Sequence[Term], x: FloatArray) -> list[FloatArray]:
    models = []
    for term in terms:
        beta = term.beta.copy()
        beta[term.opened] = x[term.places]
        models.append(beta)
    return models
