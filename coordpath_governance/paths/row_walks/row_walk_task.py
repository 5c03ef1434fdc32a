"""The task of a solver of walks on rows: one number of terms, what may be spent on it, and walks to begin with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from coordpath_governance.paths.row_walks.newton_values import Layout, Term
from coordpath_governance.paths.solvers.protocol import ROW_WALKS, Offer
from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.starts import place, visited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.state_costs import StateCosts
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks, Walk

__all__ = ["RowWalkTask", "listed", "stagewise"]


@dataclass(frozen=True, eq=False, kw_only=True)
class RowWalkTask:
    """Choose a walk of K terms so that Σ αₖ c(βₖ) is least; ``alphas`` has K entries.

    No walk costs less than ``floor``. ``best_order`` finds a good order in which every changed unit moves once. ``walks``
    knows when to stop. Progress is reported through ``patience``.
    """

    offers: ClassVar[Offer] = ROW_WALKS

    walks: RowWalks
    alphas: FloatArray
    floor: float
    states: StateCosts
    best_order: Callable[[], Outcome] = field(repr=False)
    patience: Patience = field(repr=False)

    @cached_property
    def first(self) -> Walk:
        """A walk to begin with: the best order with rests where they cost least, or, with a free end, the stagewise one."""
        walks, alphas = self.walks, self.alphas
        if walks.target is None:
            return min(listed(walks, alphas), stagewise(walks, alphas), key=lambda walk: walk.value)
        if len(walks.changed) < 2:
            return listed(walks, alphas)
        order = self.best_order()
        sequence = place(np.array(order.along.excesses), alphas, visited(walks.problem, order.stops))
        models = walks.models(sequence, walks.closed(sequence), np.zeros(0))
        return walks.follow(sequence, models, alphas)

    def report(self, stage: str, value: float, bound: float) -> None:
        """Report a stage, the best value so far and a bound on all values, if anybody listens."""
        self.patience.report(stage, value, bound)


def listed(walks: RowWalks, alphas: FloatArray) -> Walk:
    """The changed units in the order in which they are listed, and then rests; all rests if the end is free.

    Where its models overflow, that is a `ProblemError`; what is better than a finite walk is finite.
    """
    units = sorted(walks.changed)
    sequence = (*units, *(REST,) * (len(alphas) - len(units)))
    walk = walks.follow(sequence, walks.models(sequence, walks.closed(sequence), np.zeros(0)), alphas)
    if not np.isfinite(walk.value):
        walks.costs.cost.values(walk.models)
    return walk


def stagewise(walks: RowWalks, alphas: FloatArray) -> Walk:
    """At each term the unit and the value that lower the cost most, the first listed among equals.

    With a fixed end, when as many terms are left as units are off it, the one whose way there costs least.
    """
    beta, off = walks.problem.start.copy(), set(walks.changed)
    sequence: list[int] = []
    models: list[FloatArray] = []
    for left in range(len(alphas), 0, -1):
        free = walks.target is None
        choices = [u for u in range(walks.size) if free or len(off | {u}) < left]
        if choices:
            unit, beta = _best_value(walks, beta, choices)
            off |= set() if free else {unit}
        elif off:
            unit, beta = _best_end(walks, beta, sorted(off))
            off.remove(unit)
        else:
            unit = REST
        sequence.append(unit)
        models.append(beta)
    return walks.follow(tuple(sequence), np.stack(models), alphas)


def _best_value(walks: RowWalks, beta: FloatArray, units: Iterable[int]) -> tuple[int, FloatArray]:
    members = [(u, walks.members[u]) for u in units]
    layouts = [Layout((Term(1.0, beta, own, np.arange(len(own))),), len(own)) for _, own in members]
    fitted = walks.fit(layouts, [beta[own] for _, own in members])
    best = int(np.argmin([fit.value for fit in fitted]))
    unit, own = members[best]
    following = beta.copy()
    following[own] = fitted[best].x
    return unit, following


def _best_end(walks: RowWalks, beta: FloatArray, units: Sequence[int]) -> tuple[int, FloatArray]:
    target = beta if walks.target is None else walks.target
    models = np.repeat(beta[None, :], len(units), axis=0)
    for model, u in zip(models, units, strict=True):
        model[walks.members[u]] = target[walks.members[u]]
    best = int(np.argmin(walks.costs.values(models)))
    return units[best], models[best]
