"""The coordinates of a change as columns of numbers, row by row: what a cost that needs rows is computed from.

With z the design columns of a row and μ their means, coordinate j has the column

    1 for the baseline,   z_j − μ_j if coordinates are centred,   z_j if they are not,

and a merged column of `rare_levels` is a sum of design columns before it is centred. So the score of a model whose
coefficients are β is columns·β, and any model on a path is scored by one product. With C classes the coefficients of class
c are every C-th of β, from the c-th on, and the columns are the same for all classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.rare_levels import merged_weights
from coordpath_governance.reference.moments import Moments

__all__ = ["RowColumns"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowColumns:
    """From the design columns of rows to the exercised coordinates of a change, of one class if there are several.

    ``picked`` are positions in the design, ``centres`` what is taken off; the columns at ``merged`` are replaced by sums of
    design columns with the weights ``sums``.
    """

    has_baseline: bool
    picked: NDArray[np.intp]
    merged: NDArray[np.intp]
    sums: Array
    centres: Array

    @classmethod
    def of(cls, pair: ModelPair, moments: Moments, change: Change) -> RowColumns:
        """From the design's moments before any level was merged."""
        position = {column: i for i, column in enumerate(moments.columns)}
        own = change.exercised[:: len(pair.scores)]
        sources = [c.source for c in own if c.source is not None]
        merged = [j for j, source in enumerate(sources) if source not in position]
        sums = np.array([merged_weights(pair, moments.columns, sources[j]) for j in merged])
        picked = np.array([position.get(source, 0) for source in sources], dtype=np.intp)
        centres = moments.mean[picked]
        centres[merged] = sums @ moments.mean[:-1] if merged else 0.0
        return cls(
            has_baseline=len(sources) < len(own),
            picked=picked,
            merged=np.array(merged, dtype=np.intp),
            sums=sums.reshape(len(merged), len(moments.columns)),
            centres=centres if change.centred else np.zeros(len(sources)),
        )

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.picked) + self.has_baseline

    def columns(self, design: Array) -> Array:
        """The exercised coordinates of every row, rows × width, in the order of the change."""
        out = np.empty((len(design), self.width))
        out[:, : self.has_baseline] = 1.0
        slopes = out[:, self.has_baseline :]
        slopes[:] = design[:, self.picked]
        if len(self.merged):
            slopes[:, self.merged] = design @ self.sums.T
        slopes -= self.centres
        return out
