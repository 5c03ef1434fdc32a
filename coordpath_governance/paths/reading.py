"""Reading untrusted JSON values by hand: every refusal begins with the path of the key, and says what to give."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from coordpath_governance.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "as_integer",
    "as_list",
    "as_mapping",
    "as_matrix",
    "as_number",
    "as_text",
    "as_texts",
    "as_vector",
    "optional",
    "refuse_other_keys",
    "required",
    "spelled",
]


def as_mapping(value: object, where: str) -> Mapping[str, Any]:
    """An object, by its keys."""
    if not isinstance(value, Mapping):
        raise ProblemError(f"{where}: is {spelled(value)}; give an object")
    return value


def refuse_other_keys(entries: Mapping[str, Any], allowed: tuple[str, ...], prefix: str) -> None:
    """Raises `ProblemError` if ``entries`` has a key that is not ``allowed``."""
    for key in entries:
        if key not in allowed:
            raise ProblemError(f"{prefix}{key}: is not a known key; use {', '.join(allowed)}")


def required(entries: Mapping[str, Any], key: str, prefix: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value of a key that has no default; raises `ProblemError` if it is missing."""
    if key not in entries:
        raise ProblemError(f"{prefix}{key}: is missing; it has no default")
    return entries[key]


def as_list(value: object, where: str) -> list[Any]:
    """A list, also where it is an array."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise ProblemError(f"{where}: is {spelled(value)}; give a list")
    return list(value)


def as_vector(value: object, where: str, size: int | None, noun: str = "features") -> NDArray[np.float64]:
    """Finite numbers, ``size`` of them if that is given; an array of them is taken as it is."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iuf" and size in (None, len(value)):
        array = value.astype(np.float64)
        if np.isfinite(array).all():
            return array
    values = as_list(value, where)
    if size is not None and len(values) != size:
        raise ProblemError(f"{where}: has {len(values)} entries, but there are {size} {noun}; give one for each")
    if set(map(type, values)) <= {float, int}:
        try:
            array = np.array(values, dtype=np.float64)
        except OverflowError:
            array = np.array([np.inf])
        if np.isfinite(array).all():
            return array
    return np.array([as_number(entry, f"{where}[{i}]") for i, entry in enumerate(values)], dtype=np.float64)


def as_matrix(value: object, where: str, columns: int, noun: str = "features") -> NDArray[np.float64]:
    """Rows of finite numbers, ``columns`` of them in each; large ones are read at once."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "iuf" and value.shape[1] == columns:
        array = value.astype(np.float64)
        if np.isfinite(array).all():
            return array
    rows = [as_vector(row, f"{where}[{i}]", columns, noun) for i, row in enumerate(as_list(value, where))]
    return np.stack(rows) if rows else np.zeros((0, columns))


def as_texts(value: object, where: str) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(as_text(entry, f"{where}[{i}]") for i, entry in enumerate(as_list(value, where)))


def as_text(value: object, where: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ProblemError(f"{where}: is {spelled(value)}; give a text")
    return str(value)


def as_number(value: object, where: str) -> float:
    """A finite number; raises `ProblemError`, which begins with ``where``, for anything else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ProblemError(f"{where}: is {spelled(value)}; give a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise ProblemError(f"{where}: is NaN; give a finite number")
    if math.isinf(number):
        raise ProblemError(f"{where}: is {spelled(value)}, not a finite number in double precision; rescale it")
    return number


def as_integer(value: object, where: str) -> int:
    """A whole number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ProblemError(f"{where}: is {spelled(value)}; give an integer")
    return int(value)


def optional(value: object, where: str, read: Callable[[object, str], Any]) -> Any:  # noqa: ANN401 - what read returns
    """None stays None."""
    return None if value is None else read(value, where)


def spelled(value: object) -> str:
    """A value as JSON spells it (but texts as in all messages), short enough for one."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return "a very large integer"
    try:
        text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
