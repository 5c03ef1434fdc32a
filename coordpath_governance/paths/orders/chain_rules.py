"""What constraints forbid a chain: sets that are not closed under a required order, and sets dearer than the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.paths.conflicts import unit_orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.problem import PathProblem

__all__ = ["NO_RULES", "ChainRules", "chain_rules"]


@dataclass(frozen=True)
class ChainRules:
    """(a, b) in ``before``: no set holds unit b without unit a. No set may cost more than the ``ceiling``."""

    before: tuple[tuple[int, int], ...] = ()
    ceiling: float = np.inf

    def __bool__(self) -> bool:
        return bool(self.before) or self.ceiling < np.inf

    def among(self, units: Sequence[int]) -> ChainRules:
        """The same where all units are listed in another order."""
        place = {u: i for i, u in enumerate(units)}
        return ChainRules(tuple((place[a], place[b]) for a, b in self.before), self.ceiling)

    def closed(self, sets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which sets, Σ_{u∈S} 2^u each, hold no unit without those that it waits for."""
        closed = np.ones(sets.shape, dtype=bool)
        for a, b in self.before:
            closed &= ((sets >> b) & ~(sets >> a) & 1) == 0
        return closed

    def forbid(self, sets: NDArray[np.int64], costs: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which sets no chain may go through, if they cost so much or more."""
        forbidden: NDArray[np.bool_] = ~self.closed(sets) | (costs > self.ceiling)
        return forbidden

    def ready(self, inside: NDArray[np.float64], rows: NDArray[np.intp], units: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether each of some units may move after the set in its row of ``inside`` (1 for each of the set's units)."""
        ready = np.ones(len(units), dtype=bool)
        for a, b in self.before:
            ready &= (units != b) | (inside[rows, a] > 0)
        return ready

    def allows(self, order: Sequence[int], costs: Sequence[float]) -> bool:
        """Whether a chain may begin with these units, if its sets cost so much."""
        place = {u: i for i, u in enumerate(order)}
        late = len(place)
        waits = all(place.get(a, late) <= place.get(b, late) for a, b in self.before)
        return waits and all(cost <= self.ceiling for cost in costs)


NO_RULES = ChainRules()


def chain_rules(problem: PathProblem, ceiling: float) -> ChainRules:
    """The rules of a problem in which every unit moves once, for indices into ``problem.changed``.

    ``ceiling`` is what the start costs, and a little for rounding: it counts only if the problem asks for it.
    """
    changed = {unit.label: u for u, unit in enumerate(problem.changed)}
    labels = [unit.label for unit in problem.units]
    pairs = ((labels[a], labels[b]) for a, b, _ in unit_orders(problem))
    before = sorted({(changed[a], changed[b]) for a, b in pairs if a in changed and b in changed})
    return ChainRules(tuple(before), ceiling if problem.constraints.monotone else np.inf)
