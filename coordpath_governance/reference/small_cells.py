"""Which levels have too few rows to be stored or shown on their own."""

from __future__ import annotations

from coordpath_governance.reference.moments import MIN_COUNT, Moments

__all__ = ["levels_to_merge"]


def levels_to_merge(moments: Moments, min_count: int = MIN_COUNT) -> dict[str, list[int]]:
    """For each column with a small cell: its small cells and, until they hold ``min_count`` rows, the next smallest.

    Cells are given as positions in ``moments.columns``; levels without rows are no cells.
    """
    cells: dict[str, list[tuple[int, int]]] = {}
    for i, (column, count) in enumerate(zip(moments.columns, moments.counts, strict=True)):
        if column.kind in ("level", "other") and count:
            cells.setdefault(column.column, []).append((count, i))
    merged: dict[str, list[int]] = {}
    for name, found in cells.items():
        found.sort()
        total, group = 0, []
        for count, i in found:
            if count >= min_count and (total == 0 or total >= min_count):
                break
            total += count
            group.append(i)
        if group:
            merged[name] = sorted(group)
    return merged
