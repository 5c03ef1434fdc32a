"""The values of functions of raw columns for a chunk of rows, and the rows that a model cannot score because of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.functions import Piece, term_values
from coordpath_governance.models.linear_model import MISSING_LEVEL
from coordpath_governance.reference.design import FunctionColumn
from coordpath_governance.reference.read_columns import Levels

__all__ = ["FunctionReadings", "FunctionValues", "function_values"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_MAY_BE_ROUNDING = 1e-6
_ROUNDING = 1e-14
"""By how much two computations of one function may differ at a row, relative to the size of their pieces."""


@dataclass(frozen=True, eq=False)
class FunctionReadings:
    """The raw columns of a chunk that functions use."""

    columns: Mapping[str, Array]
    levels: Mapping[str, Levels]

    def numbers(self, column: str) -> Array:
        """A column of numbers, NaN where one is missing."""
        return self.columns[column]

    def labels(self, column: str) -> tuple[Sequence[str], NDArray[np.intp]]:
        """The distinct labels of a column, and for every row the position of its label among them."""
        levels = self.levels[column]
        return levels.labels, levels.codes

    def absent(self, column: str) -> Mask:
        """Where a column is missing."""
        if column in self.columns:
            return np.isnan(self.columns[column])
        levels = self.levels[column]
        return np.array([label == MISSING_LEVEL for label in levels.labels], dtype=bool)[levels.codes]


@dataclass(frozen=True, eq=False)
class FunctionValues:
    """The design columns of a function, zero where a row cannot be scored.

    ``missing``: by raw column, the rows that cannot be scored because the column is missing. ``beyond``: by model, the rows
    that it cannot score although nothing is missing.
    """

    columns: Array
    missing: tuple[tuple[str, Mask], ...]
    beyond: tuple[tuple[str, Mask], ...]


def function_values(function: FunctionColumn, readings: FunctionReadings, rows: int) -> FunctionValues:
    """The columns f and g − f of every row, as far as the models have them."""
    sides = [term_values(pieces, readings, rows) for pieces in (function.old, function.new)]
    wrong = [~np.isfinite(values) for values in sides]
    inputs = dict.fromkeys(shape.column for piece in (*function.old, *function.new) for shape in piece.shapes)
    missing, beyond = [], []
    if (wrong[0] | wrong[1]).any():
        absent = {column: readings.absent(column) for column in inputs}
        missing = [(column, (wrong[0] | wrong[1]) & where) for column, where in absent.items()]
        present = ~np.logical_or.reduce(list(absent.values()))
        beyond = [("champion", wrong[0] & present), ("candidate", wrong[1] & ~wrong[0] & present)]
    old, new = (np.where(wrong[0] | wrong[1], 0.0, values) for values in sides)
    columns = ([old] if function.old else []) + ([_change(function, readings, old, new)] if function.new else [])
    return FunctionValues(
        np.column_stack(columns),
        tuple((column, affected) for column, affected in missing if affected.any()),
        tuple((who, affected) for who, affected in beyond if affected.any()),
    )


def _change(function: FunctionColumn, readings: FunctionReadings, old: Array, new: Array) -> Array:
    """The difference g − f, exactly 0 where it is no more than rounding.

    The rounding error depends on the pieces, which may be much larger than their sum, as in a polynomial of a date.
    """
    change = new - old
    if not function.old or not (np.abs(change) <= _MAY_BE_ROUNDING * np.abs(old)).any():
        return change
    pieces = [Piece(abs(piece.weight), piece.shapes) for piece in (*function.old, *function.new)]
    size = term_values(pieces, readings, len(change), np.abs)
    return np.where(np.abs(change) <= _ROUNDING * size, 0.0, change)
