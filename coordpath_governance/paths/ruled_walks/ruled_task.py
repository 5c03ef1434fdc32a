"""What a solver of walks under constraints is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from coordpath_governance.paths.conflicts import unit_orders
from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.solvers.protocol import RULED_WALKS, Offer
from coordpath_governance.paths.walks.geometry import REST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.paths.ruled_walks.ruled_values import RuledValues

    FloatArray = NDArray[np.float64]

__all__ = ["RuledTask"]


@dataclass(frozen=True, eq=False)
class RuledTask:
    """Choose the unit that moves at each of K terms: Σ αₖ‖rₖ‖² with the best allowed values is to be least.

    ``floors`` are what the K terms cost at least.
    """

    offers: ClassVar[Offer] = RULED_WALKS

    values: RuledValues
    alphas: FloatArray
    floors: FloatArray
    patience: Patience = field(default=FOREVER, repr=False)

    def later(self, length: int) -> float:
        """What the terms after so many cost at least."""
        return float(self.alphas[length:] @ self.floors[length:])

    def following(self, sequence: Sequence[int]) -> list[int]:
        """Units that may move next. A rest is needed only before the first move: later a unit moves to where it is."""
        walks, moved = self.values.walks, set(sequence)
        waits = unit_orders(walks.problem)
        units = [u for u in self.values.movable if all(a in moved for a, b, _ in waits if b == u)]
        left = set(walks.changed) - moved
        if len(left) == len(self.alphas) - len(sequence):
            return [u for u in units if u in left]
        return units + [REST] * (not moved - {REST})

    def report(self, stage: str, value: float, bound: float) -> None:
        """Tell whoever listens how far it has come."""
        if self.patience.progress is not None:
            self.patience.progress(stage, value, bound)
