"""The best walk known while a search runs, what it takes to be worth a look, and the work that is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordpath_governance.paths.solvers.protocol import WalkTask

__all__ = ["Incumbent"]

_TOLERANCE = 1e-9
"""Walks better by less than this part are not looked for; far less than the gap that is called optimal."""

_PROVED = 1e-7
"""A bound this close may be off by nothing but rounding; a gap of 1e-6 is called optimal."""


class Incumbent:
    """Best walk and value; ``rounding`` is what floating point may do to a bound of it, ``left`` the work."""

    def __init__(self, task: WalkTask, work: int, rounding: float) -> None:
        self.task, self.rounding, self.left = task, rounding, work
        self.walk, self.value = task.first, task.evaluate(task.first)
        self._offered = {self.walk}
        self._late = False

    @property
    def threshold(self) -> float:
        """Where no walk goes below this, the incumbent is as good as optimal."""
        return self.value * (1 - _TOLERANCE) - self.rounding

    def proved_by(self, bound: float) -> bool:
        """Whether a bound leaves nothing worth a further search."""
        return bound >= min(self.threshold, self.value * (1 - _PROVED))

    def offer(self, walk: tuple[int, ...]) -> None:
        """Fit the values of a walk, unless it was seen before, and keep it if it is better."""
        if walk not in self._offered:
            self._offered.add(walk)
            value = self.task.evaluate(walk)
            if value < self.value:
                self.walk, self.value = walk, value

    def spend(self, work: int) -> None:
        """Count work."""
        self.left -= work

    def stopped(self) -> bool:
        """Whether the work or the time is used up."""
        self._late = self._late or self.left <= 0 or self.task.expired()
        return self._late
