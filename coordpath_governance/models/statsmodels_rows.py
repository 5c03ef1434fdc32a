"""A check of our terms against the file: stored rows must have the same score by our terms and by the stored design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.functions import Curve, Piece, term_values
from coordpath_governance.models.linear_model import LinearModel, level_label
from coordpath_governance.models.stored_frames import CATEGORY, StoredFrame

__all__ = ["scores_agree"]

_MOST_ROWS = 2_000
_NEAR = 1e-8
Array = NDArray[np.float64]


def scores_agree(model: LinearModel, frame: StoredFrame, design: Array, coefficients: Sequence[float]) -> bool:
    """Whether our terms give the rows of the frame the score that the stored design gives them.

    True if the design has fewer rows than the frame (rows were left out), because the two cannot be compared then. At most
    2,000 rows, spread over all, are compared.
    """
    if len(design) != frame.rows or not frame.rows:
        return True
    chosen = np.unique(np.linspace(0, frame.rows - 1, _MOST_ROWS).astype(np.intp))
    products = design[chosen].astype(np.float64) * np.asarray(coefficients)
    pieces = [Piece(term.coefficient, (Curve(term.column, missing=term.missing),)) for term in model.numeric]
    pieces += [Piece(1.0, (term,)) for term in model.categorical]
    pieces += [piece for term in model.functions for piece in term.pieces]
    ours = model.intercept + term_values(pieces, _Rows(frame, chosen), len(chosen))
    size = 1.0 + np.abs(products).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return bool((np.abs(ours - products.sum(axis=1)) <= _NEAR * size).all())


class _Rows:
    """Some rows of a stored frame, in the form in which functions read them."""

    def __init__(self, frame: StoredFrame, chosen: NDArray[np.intp]) -> None:
        self._frame, self._chosen = frame, chosen

    def numbers(self, column: str) -> Array:
        """A column of numbers."""
        stored = self._frame.column(column)
        return np.full(len(self._chosen), np.nan) if stored is None else stored.values[self._chosen].astype(np.float64)

    def labels(self, column: str) -> tuple[Sequence[str], NDArray[np.intp]]:
        """The label of every row's level."""
        stored = self._frame.column(column)
        values: list[object] = [None] * len(self._chosen)
        if stored is not None and stored.kind == CATEGORY:
            values = [None if code < 0 else stored.levels[code] for code in stored.values[self._chosen].tolist()]
        elif stored is not None:
            values = stored.values[self._chosen].tolist()
        return [level_label(value) for value in values], np.arange(len(values))
