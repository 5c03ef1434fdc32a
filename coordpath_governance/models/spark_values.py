"""The values that Spark writes: vectors, matrices, doubles and the labels of a StringIndexer.

Each of them may be damaged or forged, so types and sizes are checked. Labels are text, or numbers that Spark has turned into
text. Spark writes a number as Java does (1 for a whole number, 1.0 for a double) and looks up that text. Labels are read as
numbers only if Java writes those numbers in exactly this way. The data layer compares numbers, and takes 1 and 1.0 as equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from coordpath_governance.models.fitted import Fitted, as_float
from coordpath_governance.models.spark_files import SparkStage
from coordpath_governance.models.tree import brief

__all__ = ["double", "levels_of_labels", "matrix", "number", "texts", "vector", "whole"]

_SPARSE, _DENSE = 0, 1
_MAX_ENTRIES = 100_000
_INFINITE = {"Inf": math.inf, "-Inf": -math.inf}


def number(stage: SparkStage, name: str, value: object) -> float:
    """``value`` as a finite number; ``name`` names it in errors."""
    finite = as_float(value)
    if finite is None:
        raise stage.fitted.error(f"'{name}' is {brief(value)}, not one finite number")
    return finite


def double(stage: SparkStage, name: str, value: object) -> float:
    """``value`` as a number that may be infinite; Spark writes an infinite number as text."""
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    return number(stage, name, value)


def whole(stage: SparkStage, name: str, value: object) -> int:
    """``value`` as a whole number from 0 to the limit."""
    if type(value) is not int or not 0 <= value <= _MAX_ENTRIES:
        raise stage.fitted.error(f"'{name}' is {brief(value)}, not a count up to {_MAX_ENTRIES}")
    return value


def texts(stage: SparkStage, name: str, value: object) -> list[str]:
    """``value`` as a list of texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise stage.fitted.error(f"'{name}' is not a list of texts")
    return list(value)


def vector(stage: SparkStage, name: str) -> list[float]:
    """A vector of the stage's row, dense or sparse."""
    parts = _parts(stage.fitted, name, stage.row.get(name), ("type", "size", "indices", "values"))
    values = _numbers(stage, name, parts["values"])
    if parts["type"] == _DENSE and parts["size"] is None and parts["indices"] is None:
        return values
    if parts["type"] != _SPARSE:
        raise stage.fitted.error(f"'{name}' is neither a dense nor a sparse vector")
    out = [0.0] * whole(stage, name, parts["size"])
    for position, value in zip(_positions(stage, name, parts["indices"], len(out), len(values)), values, strict=True):
        out[position] = value
    return out


def matrix(stage: SparkStage, name: str) -> list[list[float]]:
    """The rows of a matrix of the stage's row, dense or sparse, by columns or by rows."""
    keys = ("type", "numRows", "numCols", "colPtrs", "rowIndices", "values", "isTransposed")
    parts = _parts(stage.fitted, name, stage.row.get(name), keys)
    rows, columns = whole(stage, name, parts["numRows"]), whole(stage, name, parts["numCols"])
    by_rows, values = parts["isTransposed"], _numbers(stage, name, parts["values"])
    if not isinstance(by_rows, bool) or rows * columns > _MAX_ENTRIES:
        raise stage.fitted.error(f"'{name}' is not a matrix, or one of more than {_MAX_ENTRIES} entries")
    outer, inner = (rows, columns) if by_rows else (columns, rows)
    if parts["type"] == _DENSE and parts["colPtrs"] is None and parts["rowIndices"] is None:
        if len(values) != rows * columns:
            raise stage.fitted.error(f"'{name}' has {len(values)} entries where {rows} × {columns} belong")
        lines = [values[i * inner : (i + 1) * inner] for i in range(outer)]
    elif parts["type"] == _SPARSE:
        lines = _sparse_lines(stage, name, parts, (outer, inner), values)
    else:
        raise stage.fitted.error(f"'{name}' is neither a dense nor a sparse matrix")
    return lines if by_rows else [[line[row] for line in lines] for row in range(rows)]


def _sparse_lines(
    stage: SparkStage, name: str, parts: Mapping[str, object], shape: tuple[int, int], values: Sequence[float]
) -> list[list[float]]:
    """The rows (or columns) of a sparse matrix, as dense lists; ``shape`` is how many there are, and how long each is."""
    outer, inner = shape
    pointers, indices = parts["colPtrs"], parts["rowIndices"]
    if not isinstance(pointers, list) or not isinstance(indices, list) or len(pointers) != outer + 1:
        raise stage.fitted.error(f"'{name}' does not say where its columns begin")
    bounds = [whole(stage, name, pointer) for pointer in pointers]
    if bounds[0] != 0 or bounds[-1] != len(values) or any(low > high for low, high in pairwise(bounds)):
        raise stage.fitted.error(f"'{name}' has columns that do not begin where the one before ends")
    if len(indices) != len(values):
        raise stage.fitted.error(f"'{name}' has {len(indices)} positions for {len(values)} values")
    lines = []
    for low, high in pairwise(bounds):
        line = [0.0] * inner
        positions = _positions(stage, name, indices[low:high], inner, high - low)
        for position, value in zip(positions, values[low:high], strict=True):
            line[position] = value
        lines.append(line)
    return lines


def _parts(fitted: Fitted, name: str, value: object, keys: Sequence[str]) -> Mapping[str, object]:
    if not isinstance(value, dict) or set(value) != set(keys):
        raise fitted.error(f"'{name}' is not what Spark writes for it")
    return value


def _numbers(stage: SparkStage, name: str, value: object) -> list[float]:
    if not isinstance(value, list) or not all(type(item) is float for item in value):
        raise stage.fitted.error(f"'{name}' is not a list of numbers")
    if not all(map(math.isfinite, value)):
        raise stage.fitted.error(f"'{name}' has entries that are not finite")
    return value


def _positions(stage: SparkStage, name: str, value: object, below: int, count: int) -> list[int]:
    """``value`` as ``count`` increasing positions in [0, ``below``)."""
    if not isinstance(value, list) or len(value) != count or not all(type(item) is int for item in value):
        raise stage.fitted.error(f"'{name}' has not one position for each of its values")
    if any(low >= high for low, high in pairwise(value)) or (value and not 0 <= value[0] <= value[-1] < below):
        raise stage.fitted.error(f"'{name}' has positions that are not in order, or not below {below}")
    return value


_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_WRITTEN = re.compile(
    r"0|-?([1-9][0-9]*|(0|[1-9][0-9]*)\.([0-9]*[1-9]|0)(E-?[0-9]+)?|[0-9]+(\.[0-9]+)?e[+-]?[0-9]+|Infinity|inf)"
)
"""The forms in which Java or our data layer write a number. Text of this form could be a number in the data."""

_TEXT = "string"
_WHOLE_TYPES, _DOUBLE_TYPES = ("integer", "long"), ("double", "float")
_REMEDY = "cast the column to text before the model, and log the model with a signature that gives it the type string"


def levels_of_labels(stage: SparkStage, source: str, labels: Sequence[str], served: str | None) -> list[object]:
    """The levels of a column: numbers, or the labels themselves.

    ``served`` is the type of the column in the signature, None if there is no signature.
    """
    if served == _TEXT or not labels or not all(map(_is_like_a_number, labels)):
        return list(labels)
    if all(_WHOLE.fullmatch(label) for label in labels):
        _check_type(stage, source, served, _WHOLE_TYPES, labels[0])
        return [int(label) for label in labels]
    if all(_is_double(label) for label in labels):
        _check_type(stage, source, served, _DOUBLE_TYPES, labels[0])
        return [float(label) for label in labels]
    if "NaN" in labels:
        raise stage.fitted.refusal("has NaN among levels that are numbers, and so tells NaN from null; impute the column.")
    written = next((label for label in labels if _WRITTEN.fullmatch(label)), None)
    if written is not None:
        raise stage.fitted.refusal(
            f"has the level {brief(written)} of '{source}' among levels that are not all whole numbers, and not all doubles "
            f"as Java writes them from 0.001 up to 10000000, so that it may be text or a number; {_REMEDY}."
        )
    return list(labels)


def _is_like_a_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _is_double(label: str) -> bool:
    """Whether Java writes a double in this form. Beyond these limits it writes an exponent, in another form than Python."""
    value = float(label)
    return repr(value) == label and (label == "0.0" or 1e-3 <= abs(value) < 1e7)


def _check_type(stage: SparkStage, source: str, served: str | None, types: Sequence[str], label: str) -> None:
    """Refuse a column that is served in another type than its levels have: Spark would find no level."""
    if served is not None and served not in types:
        raise stage.fitted.refusal(
            f"has levels like {brief(label)} of '{source}', and the signature gives that column the type {brief(served)}, "
            f"whose numbers Spark writes in another way; cast the column to {types[0]}, or {_REMEDY}."
        )
