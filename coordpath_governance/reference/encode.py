"""From chunks of raw columns to numbers: design matrix, target, weight and segments. Nothing is dropped silently.

Values that cannot be scored are counted over all rows before an error is raised. So the error names every column or level
at fault, and how many rows it affects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models.linear_model import MISSING_LEVEL
from coordpath_governance.models.maps import apply_all
from coordpath_governance.reference.design import OTHER_LEVEL, CategoricalColumn
from coordpath_governance.reference.function_columns import FunctionReadings, function_values
from coordpath_governance.reference.plan import ReadingPlan
from coordpath_governance.reference.read_columns import Levels, read_classes, read_levels, read_numbers, read_segments
from coordpath_governance.reference.responses import Fault, ResponseTally, class_positions
from coordpath_governance.reference.sources import RowSource

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EncodedRows", "ReadingPlan", "Tally", "encode_rows"]

Array = NDArray[np.float64]

_CELLS_PER_CHUNK = 4_000_000
_NAMED = 5
_BY_POSITION = re.compile(r"x[0-9]+", re.ASCII)


@dataclass(frozen=True)
class EncodedRows:
    """One chunk of rows as numbers; ``segments`` holds the label of every row for each segment column.

    The target of a classifier is the position of the row's class. If the models predict a function of the target, it is that
    function. ``offset`` is zero if the plan names none. ``inputs`` are the raw columns that functions read as numbers.
    """

    design: Array
    target: Array
    weight: Array
    offset: Array
    segments: tuple[Levels, ...]
    inputs: Array


@dataclass
class Tally:
    """Counts, over a pass, of the rows and of everything in them that cannot be scored."""

    rows_read: int = 0
    rows_dropped: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    refused_levels: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    beyond: Counter[tuple[str, str]] = field(default_factory=Counter)
    responses: ResponseTally = field(default_factory=ResponseTally)

    def raise_for_refusals(self, plan: ReadingPlan | None = None) -> None:
        """Raise one `ReferenceDataError` that names everything that keeps the rows from being used.

        Without a ``plan`` the counts come from logged moments, not from rows.
        """
        problems = [
            f"column '{column}' is missing in {count} of {self.rows_read} rows"
            for column, count in sorted(self.missing.items())
        ]
        for (column, who), levels in sorted(self.refused_levels.items()):
            listed = ", ".join(f"'{level}' ({count} rows)" for level, count in sorted(levels.items())[:_NAMED])
            more = f" and {len(levels) - _NAMED} more levels" if len(levels) > _NAMED else ""
            problems.append(f"column '{column}' has levels that the {who} cannot score: {listed}{more}")
        problems += [
            f"'{name}' has values that the {who} cannot score (such as the logarithm of a number that is not positive) in "
            f"{count} of {self.rows_read} rows"
            for (name, who), count in sorted(self.beyond.items())
            if count
        ]
        faults: list[Fault] = []
        if problems:
            remedy = "use --missing drop to leave those rows out, or " if self.missing and plan is not None else ""
            faults.append(Fault("; ".join(problems), f"{remedy}give reference data that both models can score"))
        responses = [] if plan is None else self.responses.faults(plan, self.rows_read)
        if not faults and not responses:
            return
        faults += responses
        raise ReferenceDataError(
            f"the reference data cannot be {'used' if responses else 'scored by both models'}: "
            f"{'; '.join(fault.problem for fault in faults)}. What to do: {'; '.join(fault.remedy for fault in faults)}."
        )


def encode_rows(source: RowSource, plan: ReadingPlan, tally: Tally) -> Iterator[EncodedRows]:
    """Every row that can be scored, as numbers; other rows are counted in ``tally``."""
    _check_columns(source, plan)
    width = len(plan.design.columns) + 2
    most = max(1, _CELLS_PER_CHUNK // width)
    for batch in source.chunks(plan.columns, plan.number_columns):
        for start in range(0, batch.num_rows, most):
            yield _encode(batch.slice(start, most), plan, tally, source.null_texts)


def _check_columns(source: RowSource, plan: ReadingPlan) -> None:
    names = source.column_names()
    lacking = [column for column in plan.columns if column not in names]
    hint = _separator_hint(names)
    if plan.target in lacking:
        raise ReferenceDataError(
            f"no target column '{plan.target}' in '{source.name}'; its columns are {_listed(names)}{hint}"
        )
    if lacking:
        hint = hint or _unnamed_hint(lacking)
        raise ReferenceDataError(f"'{source.name}' lacks {_listed(lacking)}; its columns are {_listed(names)}{hint}")
    twice = [column for column in plan.columns if names.count(column) > 1]
    if twice:
        raise ReferenceDataError(f"'{source.name}' has more than one column named {_listed(twice)}; rename them")


def _separator_hint(names: Sequence[str]) -> str:
    """A hint at the separator of a file whose header was not split; "" if it was split."""
    separators = [
        word for mark, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")) if len(names) == 1 and mark in names[0]
    ]
    return f". It seems to be separated by {separators[0]}; write it with commas, or as parquet" if separators else ""


def _unnamed_hint(lacking: Sequence[str]) -> str:
    """A hint for a model that does not know the names of its columns; "" if it does."""
    if not all(_BY_POSITION.fullmatch(name) for name in lacking):
        return ""
    return (
        ". x0, x1, … are the columns, by position, of a model that was fitted without names for them (on an array, or on a "
        "DataFrame whose column names are not text), or whose names statsmodels has removed (remove_data=True); fit it on a "
        "DataFrame with text as names, log it with a signature, or name the columns of the data x0, x1, … in the order in "
        "which the model takes them"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:20])
    return f"{shown} and {len(names) - 20} more" if len(names) > 20 else shown


def _encode(batch: pa.RecordBatch, plan: ReadingPlan, tally: Tally, null_texts: Sequence[str]) -> EncodedRows:
    rows = batch.num_rows
    first_row = tally.rows_read
    tally.rows_read += rows
    design = np.zeros((rows, len(plan.design.columns)))
    unusable = np.zeros(rows, dtype=bool)
    position = 0

    def numbers(name: str) -> Array:
        return read_numbers(batch.column(name), name, first_row, null_texts)

    for numeric in plan.design.numeric:
        values = numbers(numeric.column)
        absent = np.isnan(values)
        design[:, position] = np.where(absent, 0.0, values)
        position += 1
        if numeric.missing_refused_by is None:
            design[:, position] = absent
            position += 1
        else:
            _note_missing(numeric.column, absent, unusable, plan, tally)
    refusals: list[_Refusal] = []
    levels_of: dict[str, Levels] = {}
    functions_at = position
    position += sum(len(function.columns) for function in plan.design.functions)
    for categorical in plan.design.categorical:
        levels = read_levels(batch.column(categorical.column), categorical, null_texts)
        levels_of[categorical.column] = levels
        design[np.arange(rows), position + _level_positions(levels, categorical)] = 1.0
        position += len(categorical.levels) + 1
        refusals.extend(_refusals(levels, categorical))
    for refusal in refusals:
        if refusal.is_missing:
            _note_missing(refusal.column, refusal.affected, unusable, plan, tally)
    readings = FunctionReadings({name: numbers(name) for name in plan.design.function_inputs}, levels_of)
    beyond: list[tuple[str, str, NDArray[np.bool_]]] = []
    for function in plan.design.functions:
        values_of = function_values(function, readings, rows)
        for column, absent in values_of.missing:
            _note_missing(column, absent, unusable, plan, tally)
        beyond += [(function.name, who, affected) for who, affected in values_of.beyond]
        width = values_of.columns.shape[1]
        design[:, functions_at : functions_at + width] = values_of.columns
        functions_at += width
    labels = read_classes(batch.column(plan.target), plan.target, plan.classes, null_texts) if plan.classes else None
    target = numbers(plan.target) if labels is None else class_positions(labels, plan.classes)
    _note_missing(plan.target, np.isnan(target), unusable, plan, tally)
    predicted = apply_all(plan.target_map, target)
    untransformed = ~np.isfinite(predicted) & ~np.isnan(target)
    weight = np.ones(rows)
    if plan.weight is not None:
        weight = numbers(plan.weight)
        _note_missing(plan.weight, np.isnan(weight), unusable, plan, tally)
        if np.any(weight < 0):
            raise ReferenceDataError(
                f"the weight column '{plan.weight}' is negative in row {first_row + int(np.argmax(weight < 0)) + 1}; "
                "weights are counts or shares"
            )
    offset = None
    if plan.offset_column is not None:
        offset = numbers(plan.offset_column)
        _note_missing(plan.offset_column, np.isnan(offset) & ~(weight == 0), unusable, plan, tally)
    tally.rows_dropped += int(unusable.sum())
    keep = ~unusable & ~(weight == 0)
    counted = keep.copy() if plan.missing == "drop" else np.ones(rows, dtype=bool)
    if plan.family != "gaussian":
        tally.responses.add(plan, target, labels, offset, counted & ~(weight == 0))
    tally.responses.add_untransformed(target[untransformed & counted & ~(weight == 0)])
    keep &= ~untransformed
    for refusal in refusals:
        refusal.count(tally, counted)
        keep &= ~refusal.affected
    for name, who, affected in beyond:
        tally.beyond[name, who] += int((affected & counted).sum())
        keep &= ~affected
    segments = tuple(read_segments(batch.column(name), name, keep, null_texts) for name in plan.segments)
    inputs = np.column_stack([*readings.columns.values(), np.empty((rows, 0))])[keep]
    return EncodedRows(design[keep], predicted[keep], weight[keep], _offset(offset, keep, plan), segments, inputs)


def _offset(values: Array | None, keep: NDArray[np.bool_], plan: ReadingPlan) -> Array:
    """The offset of every row in ``keep``; without an offset column, zeros that take no memory."""
    if values is None:
        return np.broadcast_to(np.float64(0.0), int(keep.sum()))
    if plan.exposure is None:
        return values[keep]
    exposure = values[keep]
    return np.log(exposure, out=np.zeros(len(exposure)), where=exposure > 0)


def _note_missing(
    column: str, absent: NDArray[np.bool_], unusable: NDArray[np.bool_], plan: ReadingPlan, tally: Tally
) -> None:
    """Mark rows with a missing value as unusable. Under ``fail`` they are also counted, and lead to an error."""
    if not absent.any():
        return
    unusable |= absent
    if plan.missing == "fail":
        tally.missing[column] += int(absent.sum())


@dataclass(frozen=True)
class _Refusal:
    """The rows of a chunk with levels of one column on which a model would raise."""

    column: str
    who: str
    levels: Levels
    affected: NDArray[np.bool_]
    is_missing: bool

    def count(self, tally: Tally, counted: NDArray[np.bool_]) -> None:
        """Count the levels in the rows of ``counted``. Missing levels are counted elsewhere, as missing values."""
        if self.is_missing:
            return
        counts = np.bincount(self.levels.codes[self.affected & counted], minlength=len(self.levels.labels))
        for code in np.flatnonzero(counts):
            counter = tally.refused_levels.setdefault((self.column, self.who), Counter())
            counter[self.levels.labels[code]] += int(counts[code])


def _level_positions(levels: Levels, categorical: CategoricalColumn) -> NDArray[np.intp]:
    """Which of the column's indicators each row sets; the last indicator is that of any other level."""
    index = {level: i for i, level in enumerate(categorical.levels)}
    positions = np.array([index.get(label, len(index)) for label in levels.labels], dtype=np.intp)
    return positions[levels.codes]


def _refusals(levels: Levels, categorical: CategoricalColumn) -> Iterator[_Refusal]:
    """The rows on which a model would raise, by model and by whether the level is a missing value."""
    in_models = set(categorical.levels)
    refused_by = [categorical.refused_by.get(label if label in in_models else OTHER_LEVEL) for label in levels.labels]
    absent = [label == MISSING_LEVEL for label in levels.labels]
    for who, is_missing in sorted({(w, m) for w, m in zip(refused_by, absent, strict=True) if w is not None}):
        codes = np.array([w == who and m == is_missing for w, m in zip(refused_by, absent, strict=True)], dtype=bool)
        affected = codes[levels.codes]
        if affected.any():
            yield _Refusal(categorical.column, who, levels, affected, is_missing)
