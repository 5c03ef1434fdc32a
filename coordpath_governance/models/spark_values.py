"""The values that Spark writes: vectors, matrices and doubles, each of which may be damaged or forged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from coordpath_governance.models.fitted import Fitted, as_float
from coordpath_governance.models.spark_files import SparkStage
from coordpath_governance.models.tree import brief

__all__ = ["double", "matrix", "number", "texts", "vector", "whole"]

_SPARSE, _DENSE = 0, 1
_MAX_ENTRIES = 100_000
_INFINITE = {"Inf": math.inf, "-Inf": -math.inf}


def number(stage: SparkStage, name: str, value: object) -> float:
    """A finite number."""
    found = as_float(value)
    if found is None:
        raise stage.fitted.error(f"'{name}' is {brief(value)}, not one finite number")
    return found


def double(stage: SparkStage, name: str, value: object) -> float:
    """A number of a setting, which Spark writes as text where it is infinite."""
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    return number(stage, name, value)


def whole(stage: SparkStage, name: str, value: object) -> int:
    """A count."""
    if type(value) is not int or not 0 <= value <= _MAX_ENTRIES:
        raise stage.fitted.error(f"'{name}' is {brief(value)}, not a count up to {_MAX_ENTRIES}")
    return value


def texts(stage: SparkStage, name: str, value: object) -> list[str]:
    """A list of texts."""
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
        lines = _sparse_lines(stage, name, parts, outer, inner, values)
    else:
        raise stage.fitted.error(f"'{name}' is neither a dense nor a sparse matrix")
    return lines if by_rows else [[line[row] for line in lines] for row in range(rows)]


def _sparse_lines(
    stage: SparkStage, name: str, parts: Mapping[str, object], outer: int, inner: int, values: Sequence[float]
) -> list[list[float]]:
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
    """Positions in order, each once."""
    if not isinstance(value, list) or len(value) != count or not all(type(item) is int for item in value):
        raise stage.fitted.error(f"'{name}' has not one position for each of its values")
    if any(low >= high for low, high in pairwise(value)) or (value and not 0 <= value[0] <= value[-1] < below):
        raise stage.fitted.error(f"'{name}' has positions that are not in order, or not below {below}")
    return value
