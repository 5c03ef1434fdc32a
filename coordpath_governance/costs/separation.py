"""Classes that the columns separate completely: no coefficients are best then, because larger ones are always better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coordpath_governance.errors import ReferenceDataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from coordpath_governance.costs.rows import Rows

    FloatArray = NDArray[np.float64]

__all__ = ["ClassRanges"]

_SHOWN = 5


class ClassRanges:
    """The range of every column in every class, and the number of rows, from one pass over those with a weight."""

    def __init__(self, rows: Rows, classes: int) -> None:
        self.low = np.full((classes, rows.width), np.inf)
        self.high = np.full((classes, rows.width), -np.inf)
        self.counts = np.zeros(classes, dtype=np.int64)
        for chunk in rows:
            for c in range(classes):
                columns = chunk.columns[(chunk.target == c) & (chunk.weight > 0.0)]
                self.low[c] = np.minimum(self.low[c], columns.min(axis=0, initial=np.inf))
                self.high[c] = np.maximum(self.high[c], columns.max(axis=0, initial=-np.inf))
                self.counts[c] += len(columns)

    def separating(self) -> int | None:
        """The first column in which the ranges of no two classes overlap."""
        present = self.counts > 0
        low, high = self.low[present], self.high[present]
        order = np.argsort(low, axis=0)
        apart = np.take_along_axis(high, order, axis=0)[:-1] < np.take_along_axis(low, order, axis=0)[1:]
        columns = np.flatnonzero(apart.all(axis=0))
        return int(columns[0]) if len(columns) else None

    def refusal(
        self,
        *,
        target: str,
        names: Sequence[str],
        labels: Sequence[str],
        centres: FloatArray,
        influence: FloatArray,
    ) -> ReferenceDataError:
        """What to raise; ``influence`` ranks the columns where they separate the classes only together."""
        total = int(self.counts.sum())
        column = self.separating()
        if column is None:
            used = [int(j) for j in np.argsort(-influence, kind="stable") if influence[j] > 0.0]
            listed = ", ".join(repr(names[j]) for j in used[:_SHOWN]) + (", …" if len(used) > _SHOWN else "")
            how = f"together, {listed} tell the classes of all {total} rows apart"
        else:
            top = int(np.argmax(np.where(self.counts > 0, self.low[:, column], -np.inf)))
            count, least = int(self.counts[top]), float(self.low[top, column] + centres[column])
            how = (
                f"all {count} rows with the class {labels[top]!r} have {names[column]!r} ≥ {least:.6g}, "
                f"all {total - count} others less"
            )
        return ReferenceDataError(
            f"{target}: its classes are separated completely: {how}; larger coefficients are always better then, and no "
            "model is best: give a target, leave out what gives the class away, or use rows in which the classes overlap"
        )
