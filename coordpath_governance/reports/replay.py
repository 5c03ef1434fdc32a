"""A search that was recorded, done again on rows: the same questions, and the conclusion from their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.paths import PathProblem, Solution
from coordpath_governance.paths.row_orders.evaluated_sets import EvaluatedSets, is_cut
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost
from coordpath_governance.reports.steps import Labels

__all__ = ["Replay"]

_SAME = 1e-13
"""Of the largest: curvatures that differ by no more are one."""


@dataclass(frozen=True)
class Replay:
    """A search that was recorded: what it asked the rows, in that order, and what it concluded from the answers."""

    cost: RecordedCost
    conclude: Callable[[PathProblem, Labels], Solution]

    def solution(self, problem: PathProblem, labels: Labels) -> Solution:
        """The recorded conclusion, with the answers that the rows of ``problem`` give."""
        told, known = self.cost, problem.sets
        if len(told.curvature) != known.size:
            raise ReferenceDataError(
                f"{known.size} units change on these rows, but the report tells of {len(told.curvature)}: "
                "they are not the rows it was made from"
            )
        for slopes, answers in groupby(told.evaluations, lambda each: each.slopes is not None):
            known.ask(np.stack([each.at for each in answers]), slopes=slopes)
        self._bend(known)
        known.aim = told.aim
        return self.conclude(problem, labels)

    def _bend(self, known: EvaluatedSets) -> None:
        """Ask for the curvature as the search did, for any cut or for those that were told: the closer one is it."""
        told = self.cost.curvature

        def distance(found: NDArray[np.float64]) -> float:
            return float(np.abs(found - told).max(initial=0.0))

        for_any = distance(known.curvature())
        if for_any <= _SAME * np.abs(told).max(initial=0.0):
            return
        for_told = distance(known.curvature([each for each in self.cost.evaluations if is_cut(each, known.depth)]))
        if for_any < for_told:
            known.curvature()
