"""What functions of raw columns make of a chunk of rows, and which rows a model cannot score for them."""

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

_WORTH_A_LOOK = 1e-6
_ROUNDING = 1e-14
"""Of the size of their pieces: what two accounts of one function may differ by at a row."""


@dataclass(frozen=True, eq=False)
class FunctionReadings:
    """The raw columns of a chunk that functions look at."""

    columns: Mapping[str, Array]
    levels: Mapping[str, Levels]

    def numbers(self, column: str) -> Array:
        """A column of numbers, NaN where one is missing."""
        return self.columns[column]

    def labels(self, column: str) -> tuple[Sequence[str], NDArray[np.intp]]:
        """The distinct labels of a column, and which of them every row has."""
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

    ``missing``: by raw column, where that is so because it is missing; ``beyond``: by model, where it is so all the same.
    """

    columns: Array
    missing: tuple[tuple[str, Mask], ...]
    beyond: tuple[tuple[str, Mask], ...]


def function_values(function: FunctionColumn, readings: FunctionReadings, rows: int) -> FunctionValues:
    """Both models' function of every row: f, and g − f."""
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
        tuple(each for each in missing if each[1].any()),
        tuple(each for each in beyond if each[1].any()),
    )


def _change(function: FunctionColumn, readings: FunctionReadings, old: Array, new: Array) -> Array:
    """The difference g − f, exactly 0 where it is no more than rounding.

    What rounds are their pieces, which may be much larger than their sum, as those of a polynomial of dates.
    """
    change = new - old
    if not function.old or not (np.abs(change) <= _WORTH_A_LOOK * np.abs(old)).any():
        return change
    pieces = [Piece(abs(piece.weight), piece.shapes) for piece in (*function.old, *function.new)]
    size = term_values(pieces, readings, len(change), np.abs)
    return np.where(np.abs(change) <= _ROUNDING * size, 0.0, change)
