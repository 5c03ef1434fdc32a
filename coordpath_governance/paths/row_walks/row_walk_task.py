"""The task of a solver of walks on rows: one number of terms, and what may be spent on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from coordpath_governance.paths.row_walks.starting_walks import listed, stagewise
from coordpath_governance.paths.solvers.protocol import ROW_WALKS, Offer
from coordpath_governance.paths.walks.starts import place, visited

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordpath_governance.paths.outcome import Outcome
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.row_walks.model_costs import FloatArray
    from coordpath_governance.paths.row_walks.state_costs import StateCosts
    from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks, Walk

__all__ = ["RowWalkTask"]


@dataclass(frozen=True, eq=False, kw_only=True)
class RowWalkTask:
    """Choose a walk of K terms so that Σ αₖ c(βₖ) is least; ``alphas`` has K entries.

    No walk costs less than ``floor``. ``best_order`` finds a good order in which every changed unit moves once. ``walks``
    knows when to stop; whoever listens is told through ``patience``.
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
        """Tell whoever listens how far it has come."""
        if self.patience.progress is not None:
            self.patience.progress(stage, value, bound)
