"""Good walks without a proof: quadratics that touch the cost where the best walk is, and neighbours of that walk.

A quadratic ranks sequences in no time, so it proposes walks, and says in which order their neighbours are worth a fit. The
one that touches the cost at a model b is

    c(β) ≈ c(b) + gᵀ(β − b) + ½(β − b)ᵀH(β − b) = βᵀGβ − 2(Gb − g/2)ᵀβ + constant with G = H/2.

In coordinates scaled to a unit diagonal, eigenvalues of G below 10⁻⁸ of the largest are raised to it: where the cost bends
so little, the quadratic would go too far, or have no minimum at all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.costs.quadratic import QuadraticCost
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.solvers.walk_improvement import WalkSearch, improve_walk, tidy
from coordpath_governance.paths.walks.floors import Floors
from coordpath_governance.paths.walks.geometry import REST, prepare_walks
from coordpath_governance.paths.weights import ExplicitWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks, Walk

__all__ = ["WalkImprovement", "at_rest", "quadratic_at", "quadratic_task"]

_FLOOR = 1e-8


def quadratic_at(walks: RowWalks, beta: FloatArray) -> QuadraticCost:
    """The quadratic that touches the cost at a model."""
    around = walks.costs.around(beta)
    diagonal = np.diag(around.curvature)
    spread = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(around.curvature / spread[:, None] / spread)
    values = np.maximum(values, _FLOOR * max(float(values[-1]), _FLOOR))
    root = vectors * np.sqrt(values / 2.0) * spread[:, None]
    gram = root @ root.T
    pulled = gram @ beta
    constant = around.value - float(around.slope @ beta) + float(beta @ pulled)
    return QuadraticCost(gram, pulled - around.slope / 2.0, constant)


def quadratic_task(walks: RowWalks, alphas: FloatArray, beta: FloatArray, first: Sequence[int]) -> WalkTask:
    """Walks of as many terms under that quadratic; ``first`` is one to begin with."""
    problem = replace(
        walks.problem,
        cost=quadratic_at(walks, beta),
        steps=len(alphas),
        weights=ExplicitWeights(tuple(alphas.tolist())),
    )
    floors = Floors(np.zeros(len(alphas) + 1), None)
    return WalkTask(prepare_walks(problem), alphas, floors, tuple(first), problem.seed, walks.patience)


_TOUCHES = 3
"""Quadratics, each in the middle of the best walk so far."""

_ROUNDS = 1
_WORK = 500_000_000
_NANOSECONDS = 0.1
"""Perturbations under a quadratic, the work of ranking neighbours or of a descent (half a second), and the part of it that
counts as work on the rows."""

_PERTURBED = 20
"""Perturbations after the descent on the cost itself."""

_TOGETHER = 32
"""Neighbours that are fitted at once."""

_GAIN = 1e-9
_SAME = 1e-10
"""Parts of Σα(c − min c): a walk must gain the first to be taken, and may lose the second to have one step less."""

WIDEST = 400
"""Most coordinates for which a quadratic is worth its matrix."""


class WalkImprovement:
    """The best walk known of a number of terms, and every sequence that was fitted."""

    def __init__(self, walks: RowWalks, alphas: FloatArray, best: Walk) -> None:
        self.walks, self.alphas, self.best = walks, alphas, best
        self._floor = float(alphas.sum()) * walks.costs.cost.minimum()
        self._fitted: set[tuple[int, ...]] = set()
        self._random = np.random.default_rng(walks.problem.seed)

    def offer(self, sequences: list[tuple[int, ...]]) -> bool:
        """Fit those that were not seen before, and take the best of them if it gains."""
        new = [sequence for sequence in dict.fromkeys(sequences) if sequence not in self._fitted]
        self._fitted.update(new)
        fitted = self.walks.walks(new, self.alphas, self.best.models)
        candidate = min([self.best, *fitted], key=lambda walk: walk.value)
        if candidate.value >= self.best.value - _GAIN * (self.best.value - self._floor):
            return False
        self.best = candidate
        return True

    def touch(self) -> None:
        """Walks that quadratics propose, the first of which touches the cost between the ends, or at the start."""
        self.offer([self.best.sequence])
        start, target = self.walks.problem.start, self.walks.target
        at = start if target is None else (start + target) / 2.0
        for _ in range(_TOUCHES):
            if self.walks.over() or self.walks.costs.cost.size > WIDEST:
                return
            task = quadratic_task(self.walks, self.alphas, at, self.best.sequence)
            self.offer([improve_walk(task, _ROUNDS)[0]])
            at = self._middle()

    def descend(self, report: Callable[[float], None]) -> None:
        """To neighbours until none is better, then from perturbed walks."""
        if self.walks.over() or self.walks.costs.cost.size > WIDEST:
            return
        search = self._down(report)
        for at in range(1, _PERTURBED + 1):
            if self.walks.over():
                return
            start = search.perturb(np.array(self.best.sequence), self._random, anew=at % 3 == 0)
            search.left = budget = max(_WORK // search.evaluator.work, 1)
            candidate = tidy(search.task, search.descend(start))
            self.walks.costs.spent += _NANOSECONDS * (budget - search.left) * search.evaluator.work
            if self.offer([candidate]):
                search = self._down(report)

    def _down(self, report: Callable[[float], None]) -> WalkSearch:
        while True:
            task = quadratic_task(self.walks, self.alphas, self._middle(), self.best.sequence)
            search = WalkSearch(task, _WORK)
            ranked = [tidy(task, sequence) for sequence in _neighbours(search, np.array(self.best.sequence), self._random)]
            self.walks.costs.spent += _NANOSECONDS * len(ranked) * search.evaluator.work
            if not self._any_better([neighbour for neighbour in ranked if neighbour not in self._fitted]):
                return search
            report(self.best.value)

    def _any_better(self, sequences: list[tuple[int, ...]]) -> bool:
        for begin in range(0, len(sequences), _TOGETHER):
            if self.walks.over():
                return False
            if self.offer(sequences[begin : begin + _TOGETHER]):
                return True
        return False

    def _middle(self) -> FloatArray:
        """The mean of the best walk's models, weighted as their terms are."""
        middle: FloatArray = self.alphas @ self.best.models / self.alphas.sum()
        return middle


def _neighbours(search: WalkSearch, sequence: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Sequences one change away, those that the quadratic likes best first; some of them if they are too many to rank."""
    terms = len(sequence)
    kinds = [search.near]
    if terms**2 * len(search.entries) <= search.left:
        kinds.append(search.exchanged)
    made = np.concatenate([kind(sequence, i) for kind in kinds for i in range(terms)])
    allowed = np.unique(search.allowed(made), axis=0)
    allowed = allowed[random.permutation(len(allowed))[: search.left]]
    return allowed[np.argsort(search.evaluator.values(allowed), kind="stable")]


def at_rest(walks: RowWalks, alphas: FloatArray, best: Walk) -> Walk:
    """The same walk with a rest wherever a visit makes no difference, the last of them first."""
    floor = float(alphas.sum()) * walks.costs.cost.minimum()
    allowed = best.value + _SAME * (best.value - floor)
    for k in range(len(alphas) - 1, -1, -1):
        sequence = (*best.sequence[:k], REST, *best.sequence[k + 1 :])
        if best.sequence[k] == REST or not walks.changed <= set(sequence):
            continue
        closed = walks.closed(sequence)
        models = walks.models(sequence, closed, walks.guess(sequence, closed, best.models))
        candidate = walks.follow(sequence, models, alphas)
        if candidate.value <= allowed:
            best = candidate
    return best
