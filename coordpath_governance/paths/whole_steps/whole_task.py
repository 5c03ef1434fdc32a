"""What a solver of whole steps is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.solvers.protocol import WHOLE_STEPS, Offer

if TYPE_CHECKING:
    from coordpath_governance.paths.whole_steps.state_search import StateSearch
    from coordpath_governance.paths.whole_steps.whole_moves import FloatArray

__all__ = ["WholeTask"]


@dataclass(frozen=True, eq=False)
class WholeTask:
    """Choose the states of K terms, each a whole step or a rest from the one before; ``alphas`` has K entries."""

    offers: ClassVar[Offer] = WHOLE_STEPS

    search: StateSearch
    alphas: FloatArray
    patience: Patience = field(default=FOREVER, repr=False)

    def report(self, stage: str, value: float, bound: float) -> None:
        """Tell whoever listens how far it has come."""
        if self.patience.progress is not None:
            self.patience.progress(stage, value, bound)
