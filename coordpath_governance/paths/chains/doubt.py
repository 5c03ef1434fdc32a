"""Doubt: by how much the excess of a set may be wrong, beyond the rounding of adding it up.

R·δ is computed from products that may cancel (``blur``), and the factor R leaves out directions whose eigenvalue is at
rounding level (``curvature``, ``slope``): with coefficients of 1e7 on two columns that are almost one, even those matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Doubt"]


@dataclass(frozen=True, eq=False)
class Doubt:
    """Blur of the start and of every unit's move, and what the left-out directions may do.

    Moving a length d in them may cost ``curvature``·d² + ``slope``·d.
    """

    start_blur: float
    unit_blur: NDArray[np.float64]
    lengths: NDArray[np.float64]
    curvature: float
    slope: float

    @property
    def blur(self) -> float:
        """What rounding may do to the residual after any set has moved."""
        return self.start_blur + float(self.unit_blur.sum())

    @property
    def left_out(self) -> float:
        """What the left-out directions may add to the excess of any set."""
        length = float(self.lengths.sum())
        return (self.curvature * length + self.slope) * length

    def restrict(self, moved: Sequence[int], kept: Sequence[int]) -> Doubt:
        """The doubt about sets of the units ``kept``, after ``moved`` have moved."""
        gone, stay = list(moved), list(kept)
        return Doubt(
            self.start_blur + float(self.unit_blur[gone].sum()),
            self.unit_blur[stay],
            self.lengths[stay],
            self.curvature,
            self.slope + 2.0 * self.curvature * float(self.lengths[gone].sum()),
        )
