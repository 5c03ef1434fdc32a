"""Columns of a chunk as the models would read them: as numbers or levels. Errors name the column and the row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models.linear_model import MISSING_LEVEL, level_label
from coordpath_governance.reference.design import CategoricalColumn
from coordpath_governance.reference.levels import class_reader, level_reader, number_of

__all__ = ["Levels", "read_classes", "read_levels", "read_numbers", "read_segments"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """The labels of a chunk's levels, and for every row the position of its label."""

    labels: list[str]
    codes: NDArray[np.intp]


def read_numbers(column: Any, name: str, first_row: int, null_texts: Sequence[str]) -> Array:  # noqa: ANN401 - pyarrow has no types
    """A column as doubles, NaN where it is missing.

    ``first_row`` is the position of the chunk's first row, ``null_texts`` are texts that mean "missing". Raises
    `ReferenceDataError` for text that is not a number, and for infinite numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = _bytes_as_text(column, name)
    try:
        if _is_text(column.type):
            column = pc.utf8_trim_whitespace(column)
            is_null = pc.is_in(column, value_set=pa.array(null_texts, column.type))
            if is_null.true_count:
                column = pc.if_else(is_null, pa.scalar(None, column.type), column)
            numbers = pc.cast(column, pa.float64())
        else:
            numbers = pc.cast(column, pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = pa.array(_numbers_of_texts(column, name, first_row), pa.float64(), from_pandas=True)
    values: Array = np.array(numbers.fill_null(float("nan")).to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isinf(values).any():
        where = first_row + int(np.flatnonzero(np.isinf(values))[0]) + 1
        raise ReferenceDataError(f"column '{name}' is infinite in row {where}; mend or remove that row")
    return values


def _bytes_as_text(column: Any, name: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """A column of bytes as text; any other column as it is. Some parquet files do not mark their text as text."""
    import pyarrow as pa

    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise ReferenceDataError(f"column '{name}' holds bytes that are not UTF-8 text; write it as text") from error


def _is_text(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _numbers_of_texts(column: Any, name: str, first_row: int) -> list[float | None]:  # noqa: ANN401 - pyarrow has no types
    """Texts as numbers. True and false become 1 and 0, because csv files write boolean columns in this way."""
    out: list[float | None] = []
    for offset, item in enumerate(column.to_pylist()):
        number = None if item is None else number_of(str(item))
        if item is not None and number is None:
            raise ReferenceDataError(
                f"column '{name}' should hold numbers but has {str(item)[:60]!r} in row {first_row + offset + 1}; "
                "correct the file, or name another column"
            )
        out.append(number)
    return out


def read_levels(column: Any, categorical: CategoricalColumn, null_texts: Sequence[str]) -> Levels:  # noqa: ANN401 - pyarrow
    """The levels as the models' encoders would read them. A text for "missing" that is a level of a model is that level."""
    read = level_reader(categorical.levels, numeric_levels=categorical.numeric_levels, text_levels=categorical.text_levels)
    nulls = set(null_texts).difference(categorical.levels)
    encoders = [
        (set(levels), level_reader(levels, numeric_levels=numeric, text_levels=text))
        for levels, numeric, text in categorical.encoders
    ]

    def text(value: object) -> str:
        if value in nulls:
            return MISSING_LEVEL
        _refuse_the_name_of_missing(value, categorical.column)
        label = read(value)
        for own_levels, read_alone in encoders:
            alone = read_alone(value)
            if alone != label and (alone in own_levels or label in own_levels):
                raise ReferenceDataError(
                    f"column '{categorical.column}': one model takes {str(value)[:60]!r} for the level '{alone[:60]}', both "
                    f"together for '{label[:60]}'; train both models on one type of level (text, numbers, or true and false)"
                )
        return label

    return _levels(column, categorical.column, text)


def read_classes(column: Any, name: str, classes: Sequence[str], null_texts: Sequence[str]) -> Levels:  # noqa: ANN401 - pyarrow
    """The labels of a classifier's target. A text for "missing" that is a class is that class."""
    read = class_reader(classes)
    nulls = set(null_texts).difference(classes)

    def text(value: object) -> str:
        if value in nulls:
            return MISSING_LEVEL
        _refuse_the_name_of_missing(value, name)
        return read(value)

    return _levels(column, name, text)


def _refuse_the_name_of_missing(value: object, name: str) -> None:
    """Refuse the text that stands for a missing value here: the models would not read it as missing."""
    if value == MISSING_LEVEL:
        raise ReferenceDataError(
            f"column '{name}' holds the text '{MISSING_LEVEL}', the name of a missing value here; leave those cells empty "
            "if they are missing, or write another text"
        )


def _levels(column: Any, name: str, text: Callable[[object], str]) -> Levels:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(_bytes_as_text(column, name))
    except pa.ArrowNotImplementedError:
        raise ReferenceDataError(
            f"column '{name}' should hold levels but has the type {column.type}; turn it into text or numbers"
        ) from None
    labels = [text(value) for value in encoded.dictionary.to_pylist()]
    labels.append(MISSING_LEVEL)
    codes = encoded.indices.fill_null(len(labels) - 1).to_numpy(zero_copy_only=False)
    return Levels(labels, codes.astype(np.intp))


def read_segments(column: Any, name: str, keep: NDArray[np.bool_], null_texts: Sequence[str]) -> Levels:  # noqa: ANN401 - pyarrow
    """The segments of the rows in ``keep``, as the data write them; every label occurs once."""
    levels = _levels(column, name, lambda value: MISSING_LEVEL if value in null_texts else level_label(value))
    labels = list(dict.fromkeys(levels.labels))
    position = {label: i for i, label in enumerate(labels)}
    codes = np.array([position[label] for label in levels.labels], dtype=np.intp)
    return Levels(labels, codes[levels.codes[keep]])
