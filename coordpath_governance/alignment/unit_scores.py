"""How each unit of a change moves the score of a row: the bridge from a path back to single rows.

With all units in S moved, the score of a row with design columns z is

    score_old(z) + Σ_{u ∈ S} d_u(z),   d_u(z) = Σ_{j ∈ u} (new_j − old_j)·z_j − offset_u,

where offset_u makes the average of d_u zero for centred coordinates, and is minus the whole shift for the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.change import Change
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.rare_levels import mean_effects
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.moments import Moments

__all__ = ["UnitScores"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class UnitScores:
    """Score of the champion and change of score per unit, as affine functions of the design columns."""

    champion: Array
    champion_offset: float
    units: tuple[str, ...]
    differences: Array
    offsets: Array

    @classmethod
    def of(cls, pair: ModelPair, moments: Moments, change: Change) -> UnitScores:
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

    def score(self, design: Array) -> Array:
        """The champion's score of every row."""
        out: Array = design @ self.champion + self.champion_offset
        return out

    def shifts(self, design: Array) -> Array:
        """What moving each unit adds to the score of every row, rows × units."""
        out: Array = design @ self.differences - self.offsets
        return out
