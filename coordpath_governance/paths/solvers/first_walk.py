"""Walks for comparison, as they are: the greedy and the direct solver of walks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.paths.row_walks.starting_walks import listed, stagewise
from coordpath_governance.paths.solvers.protocol import LEAST_SQUARES, ROW_WALKS, Answer
from coordpath_governance.paths.walks.starts import stagewise_increments

if TYPE_CHECKING:
    from coordpath_governance.paths.row_walks.row_walk_task import RowWalkTask
    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["FirstRowWalk", "FirstWalk"]


class FirstWalk:
    """Greedy: the stagewise walk of a free end, or the greedy order. Direct: the listed order. Rests where they are best."""

    needs = LEAST_SQUARES

    def __init__(self, name: str) -> None:
        self.name = name

    def lacks(self, _task: WalkTask) -> str | None:
        """Nothing: that a direct one has somewhere to go is checked with the problem."""
        return None

    def solve(self, task: WalkTask) -> Answer:
        """The first walk with the floors as its bound; the values of the stagewise one are its own."""
        increments = stagewise_increments(task.walks, task.first) if task.walks.changes is None else None
        return Answer(task.first, task.floor, self.name, increments)


class FirstRowWalk:
    """Greedy: the stagewise walk, whatever the end. Direct: the listed order and then rests."""

    needs = ROW_WALKS

    def __init__(self, name: str) -> None:
        self.name = name

    def lacks(self, _task: RowWalkTask) -> str | None:
        """Nothing: that a direct one has somewhere to go is checked with the problem."""
        return None

    def solve(self, task: RowWalkTask) -> Answer:
        """That walk, with the floors as its bound."""
        walk = stagewise(task.walks, task.alphas) if self.name == "greedy" else listed(task.walks, task.alphas)
        return Answer(walk.sequence, task.floor, self.name, row_walk=walk)
