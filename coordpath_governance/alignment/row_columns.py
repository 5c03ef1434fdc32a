"""A change as columns of numbers, row by row: what costs are computed from, and what a path is measured with.

`RowColumns` has a column for every exercised coordinate. With z the design columns of a row and μ their means, coordinate j
has the column

    1 for the baseline,   z_j − μ_j if coordinates are centred,   z_j if they are not,

and a merged column of `rare_levels` is a sum of design columns before it is centred. So the score of a model whose
coefficients are β is columns·β, and any model on a path is scored by one product. With C classes the coefficients of class
c are every C-th of β, from the c-th on, and the columns are the same for all classes.

`UnitColumns` has the champion's score and a column for every unit of the change, for models with one score. With all units
in S moved, the score of a row is

    score_old(z) + Σ_{u ∈ S} d_u(z),   d_u(z) = Σ_{j ∈ u} (new_j − old_j)·z_j − offset_u,

where offset_u makes the average of d_u zero for centred coordinates, and is minus the whole shift for the baseline. These
scores come from the models' own coefficients, so those of the champion are the ones that it gives itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.rare_levels import mean_effects, merged_weights
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.moments import Moments

__all__ = ["RowColumns", "UnitColumns"]

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


@dataclass(frozen=True, eq=False)
class UnitColumns:
    """From the design columns of rows to the champion's score and what each of ``units`` adds to it, all of them affine."""

    champion: Array
    champion_offset: float
    units: tuple[str, ...]
    differences: Array
    offsets: Array

    @classmethod
    def of(cls, pair: ModelPair, moments: Moments, change: Change) -> UnitColumns:
        """From the design's moments before any level was merged; for models with one score."""
        (scores,) = pair.scores
        units = tuple(change.units)
        position = {unit: i for i, unit in enumerate(units)}
        unit_of = {(c.source.column, not c.source.is_effect): c.unit for c in change.coordinates if c.source}
        means = mean_effects(scores, moments)
        width = len(moments.columns)
        champion = np.zeros(width)
        differences = np.zeros((width, len(units)))
        offsets = np.zeros(len(units))
        for j, column in enumerate(moments.columns):
            old, new = scores.coefficients(column)
            if old is None or new is None:
                continue
            slope = not column.is_effect
            unit = position[unit_of[column.column, slope]]
            champion[j] = old
            differences[j, unit] = new - old
            if slope and change.centred:
                offsets[unit] += (new - old) * moments.mean[j]
        for name, (old_mean, new_mean) in means.items():
            offsets[position[unit_of[name, False]]] += new_mean - old_mean
        if BASELINE in position:
            baseline = change.coordinates[0]
            offsets[position[BASELINE]] = (baseline.old or 0.0) - (baseline.new or 0.0)
        return cls(champion, scores.intercepts[0], units, differences, offsets)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return 1 + len(self.units)

    def columns(self, design: Array) -> Array:
        """The champion's score of every row, and what moving each unit adds to it: rows × width."""
        return np.column_stack([design @ self.champion + self.champion_offset, design @ self.differences - self.offsets])
