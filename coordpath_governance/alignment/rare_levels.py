"""No small cells: levels with few rows are merged before their moments are stored or shown.

The merged levels of a column c become three columns that hold no count of a single level: the indicator of all of them, and

    R_old(row) = Σ_{ℓ merged} e_old(ℓ)·1[c = ℓ]   with coefficient 1 → 0,
    R_new(row) = Σ_{ℓ merged} e_new(ℓ)·1[c = ℓ]   with coefficient 0 → 1,

where e(ℓ) is a level's effect in the champion or the candidate. The levels of a column move together, so champion,
candidate and every model on the path are represented exactly. A multinomial model has R_old and R_new for every class. Their
``level`` is the class, and they count only in the score of that class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.alignment.score_pair import ScorePair
from coordpath_governance.reference.design import ColumnKind, DesignColumn
from coordpath_governance.reference.moments import MIN_COUNT, Moments

__all__ = ["Means", "levels_to_merge", "mean_effects", "merge_rare_levels", "merged_weights"]

Means: TypeAlias = dict[str, tuple[float, float]]
"""By categorical column: both models' mean effect."""

_SIDES: tuple[ColumnKind, ColumnKind] = ("rare-champion", "rare-candidate")


def mean_effects(pair: ScorePair, moments: Moments) -> Means:
    """Both models' mean effect of each categorical column over the reference population, Σ p(ℓ)·e(ℓ)."""
    means: Means = {}
    for column, share in zip(moments.columns, moments.mean[:-1], strict=True):
        if not column.is_effect:
            continue
        old, new = pair.coefficients(column)
        before = means.get(column.column, (0.0, 0.0))
        means[column.column] = (before[0] + float(share) * (old or 0.0), before[1] + float(share) * (new or 0.0))
    return means


def merge_rare_levels(pair: ModelPair, moments: Moments, min_count: int = MIN_COUNT) -> Moments:
    """The same moments with every level cell of fewer than ``min_count`` rows merged; levels without rows stay listed."""
    groups = levels_to_merge(moments, min_count)
    if not groups:
        return moments
    width = len(moments.columns)
    merged_columns = {i for group in groups.values() for i in group}
    others = [i for i in range(width) if i not in merged_columns]
    columns = [moments.columns[i] for i in others]
    counts = [moments.counts[i] for i in others]
    rows: list[NDArray[np.float64]] = [row for i, row in enumerate(np.eye(width)) if i not in merged_columns]
    for name, group in groups.items():
        levels = tuple(str(moments.columns[i].level) for i in group)
        merged = [DesignColumn("rare", name, None, levels)]
        for scores in pair.scores:
            terms = zip(_SIDES, scores.categorical_terms(name), strict=True)
            merged.extend(DesignColumn(kind, name, scores.label, levels) for kind, term in terms if term is not None)
        columns.extend(merged)
        counts.extend([sum(moments.counts[i] or 0 for i in group), *[None] * (len(merged) - 1)])
        rows.extend(merged_weights(pair, moments.columns, column) for column in merged)
    return moments.mapped(np.array(rows), columns, counts)


def merged_weights(pair: ModelPair, columns: Sequence[DesignColumn], merged: DesignColumn) -> NDArray[np.float64]:
    """The weights with which the design's ``columns`` add up to the column ``merged``."""
    members = [
        i
        for i, column in enumerate(columns)
        if column.kind in ("level", "other") and column.column == merged.column and column.level in merged.merged
    ]
    weights = np.zeros(len(columns))
    weights[members] = 1.0
    if merged.kind in _SIDES:
        side = _SIDES.index(merged.kind)
        scores = next(scores for scores in pair.scores if scores.label == merged.level)
        weights[members] = [scores.level_effects(merged.column, str(columns[i].level))[side] or 0.0 for i in members]
    return weights


def levels_to_merge(moments: Moments, min_count: int = MIN_COUNT) -> dict[str, list[int]]:
    """For each column with a small cell: its small cells, and the next smallest until they hold ``min_count`` rows together.

    Cells are positions in ``moments.columns``. A level without rows is not a cell.
    """
    cells: dict[str, list[tuple[int, int]]] = {}
    for i, (column, count) in enumerate(zip(moments.columns, moments.counts, strict=True)):
        if column.kind in ("level", "other") and count:
            cells.setdefault(column.column, []).append((count, i))
    merged: dict[str, list[int]] = {}
    for name, sized in cells.items():
        sized.sort()
        total, group = 0, []
        for count, i in sized:
            if count >= min_count and (total == 0 or total >= min_count):
                break
            total += count
            group.append(i)
        if group:
            merged[name] = sorted(group)
    return merged
