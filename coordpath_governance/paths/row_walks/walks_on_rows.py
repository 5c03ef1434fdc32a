"""Walks on rows: sequences of units, the values between which they move, and what they cost.

A visit is *open* if its value may be chosen, *closed* if it goes to the target. With a fixed end the last visit of every
unit is closed and all others are open; with a free end all are open. What an open visit reaches holds until the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.outcome import Stop
from coordpath_governance.paths.row_walks.newton_values import EXACT, Fitted, Layout, Term, fit_all
from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.problem import PathProblem
    from coordpath_governance.paths.row_walks.model_costs import FloatArray, IntArray, ModelCosts

__all__ = ["RowWalks", "Walk"]

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Walk:
    """A sequence of units or rests, β₁ … β_K along it, and Σαₖc(βₖ)."""

    sequence: tuple[int, ...]
    models: FloatArray
    value: float


@dataclass(frozen=True, eq=False)
class RowWalks:
    """A problem's units and the cost of its models; ``limit`` is what may be spent of the cost's passes."""

    problem: PathProblem
    costs: ModelCosts
    limit: float
    patience: Patience = field(repr=False)

    def over(self) -> bool:
        """Whether to stop and return the best answer so far."""
        return self.patience.expired() or self.costs.spent >= self.limit

    def within(self, part: float) -> RowWalks:
        """The same, with a part of what is left to spend."""
        return replace(self, limit=self.costs.spent + part * max(self.limit - self.costs.spent, 0.0))

    @cached_property
    def members(self) -> tuple[IntArray, ...]:
        """Coordinates of every unit."""
        return tuple(np.array(unit.members, dtype=np.int64) for unit in self.problem.units)

    @cached_property
    def target(self) -> FloatArray | None:
        """Where walks end, if that is fixed."""
        return self.problem.target

    @cached_property
    def changed(self) -> frozenset[int]:
        """Units that a fixed end moves; none if the end is free."""
        if self.target is None:
            return frozenset()
        moved = self.problem.start != self.target
        return frozenset(u for u, members in enumerate(self.members) if moved[members].any())

    @property
    def size(self) -> int:
        """Number of units, those that need not move included."""
        return len(self.members)

    def closed(self, sequence: Sequence[int]) -> tuple[bool, ...]:
        """Which visits go to the target."""
        if self.target is None:
            return (False,) * len(sequence)
        last = {u: j for j, u in enumerate(sequence)}
        return tuple(u != REST and last[u] == j for j, u in enumerate(sequence))

    def layout(self, sequence: Sequence[int], closed: Sequence[bool], alphas: FloatArray) -> Layout:
        """Σαₖc(βₖ) along a sequence, with an unknown for every coordinate of every open visit, in their order."""
        beta, size = self.problem.start.copy(), 0
        places: dict[int, IntArray] = {}
        terms: list[Term] = []
        for u, close, alpha in zip(sequence, closed, alphas.tolist(), strict=True):
            if close and self.target is not None:
                beta = beta.copy()
                beta[self.members[u]] = self.target[self.members[u]]
                places.pop(u, None)
            elif u != REST:
                places[u] = np.arange(size, size + len(self.members[u]))
                size += len(self.members[u])
            if u == REST and terms:
                terms[-1] = replace(terms[-1], alpha=terms[-1].alpha + alpha)
            else:
                opened = np.concatenate([_NONE, *(self.members[unit] for unit in places)])
                terms.append(Term(alpha, beta, opened, np.concatenate([_NONE, *places.values()])))
        return Layout(tuple(term for term in terms if term.alpha > 0.0), size)

    def fit(self, layouts: Sequence[Layout], guesses: Sequence[FloatArray], exact: float = EXACT) -> list[Fitted]:
        """The best values of each, all in one pass a round."""
        return fit_all(self.costs, layouts, guesses, self.patience.expired, exact) if layouts else []

    def walks(self, sequences: Sequence[Sequence[int]], alphas: FloatArray, like: FloatArray) -> list[Walk]:
        """Sequences with their best values; the search for them begins where the models of another walk are."""
        closed = [self.closed(sequence) for sequence in sequences]
        layouts = [self.layout(*visits, alphas) for visits in zip(sequences, closed, strict=True)]
        guesses = [self.guess(*visits, like) for visits in zip(sequences, closed, strict=True)]
        fitted = self.fit(layouts, guesses)
        return [
            Walk(tuple(sequence), self.models(sequence, shut, fit.x), fit.value)
            for sequence, shut, fit in zip(sequences, closed, fitted, strict=True)
        ]

    def follow(self, sequence: tuple[int, ...], models: FloatArray, alphas: FloatArray) -> Walk:
        """A sequence with given models."""
        weighty = alphas > 0.0
        return Walk(sequence, models, float(alphas[weighty] @ self.costs.values(models[weighty])))

    def guess(self, sequence: Sequence[int], closed: Sequence[bool], like: FloatArray) -> FloatArray:
        """What the open visits would reach if every unit were, at that term, where it is in the models ``like``."""
        parts = [
            like[k, self.members[u]]
            for k, (u, close) in enumerate(zip(sequence, closed, strict=True))
            if u != REST and not close
        ]
        return np.concatenate([np.zeros(0), *parts])

    def models(self, sequence: Sequence[int], closed: Sequence[bool], x: FloatArray) -> FloatArray:
        """β₁ … β_K, where the open visits reach x."""
        beta, at = self.problem.start.copy(), 0
        models = np.empty((len(sequence), len(beta)))
        for k, (u, close) in enumerate(zip(sequence, closed, strict=True)):
            if close and self.target is not None:
                beta[self.members[u]] = self.target[self.members[u]]
            elif u != REST:
                width = len(self.members[u])
                beta[self.members[u]] = x[at : at + width]
                at += width
            models[k] = beta
        return models

    def stops(self, walk: Walk) -> tuple[Stop, ...]:
        """The models at which a walk arrives by moving something."""
        visits = enumerate(zip(walk.sequence, walk.models, strict=True), start=1)
        units = self.problem.units
        return tuple(Stop(k, units[u].kind, units[u].label, beta) for k, (u, beta) in visits if u != REST)
