"""numpy's arrays, scalars and types as pickles hold them. We rebuild them from their bytes; the file calls nothing.

An array comes as a shell (``_reconstruct``) and a state (version, shape, type, order, bytes), or in one piece. The byte
order of a type comes in its state. Sizes are checked before anything is built.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.tree import Named, Opaque

__all__ = [
    "DATES",
    "ArrayShell",
    "MalformedError",
    "TypeShell",
    "array_from_buffer",
    "array_from_state",
    "scalar_from_bytes",
    "type_from_state",
]

Bytes: TypeAlias = bytes | memoryview

_PLAIN_KINDS = "biufSU"
_MOST_DIMENSIONS = 32
DATES = "a numpy type of dates or times"
_STATE_OF_ARRAY, _STATE_OF_TYPE = 5, 8


class MalformedError(Exception):
    """The stored bytes are not in a form that numpy writes."""


@dataclass(eq=False)
class ArrayShell:
    """An array whose state has not been read yet; ``slots`` are the places in the memo that hold it."""

    slots: list[int] = field(default_factory=list)


@dataclass(eq=False)
class TypeShell:
    """A numpy type whose state has not been read yet, by its code, such as f8."""

    code: str
    slots: list[int] = field(default_factory=list)


def type_from_state(shell: TypeShell, state: object) -> np.dtype[Any] | Opaque:
    """The type with the byte order in its state; dates and structures stay opaque.

    The state must be exactly the one that numpy writes: with other flags numpy would take numbers for memory addresses.
    """
    if not isinstance(state, tuple) or len(state) < _STATE_OF_TYPE or state[1] not in ("<", ">", "|"):
        raise MalformedError("a numpy type has a state that numpy does not write")
    kind = shell.code[:1]
    if kind in "mM" and len(state) == _STATE_OF_TYPE + 1 and state[2:_STATE_OF_TYPE] == (None, None, None, -1, -1, 0):
        return Opaque(DATES)
    if kind not in f"{_PLAIN_KINDS}O":
        return Opaque(f"the numpy type {shell.code[:20]}")
    size = _width_of_text(kind, state) if kind in "SU" else shell.code[1:]
    try:
        plain = np.dtype("O" if kind == "O" else f"{kind}{size}")
    except TypeError as error:
        raise MalformedError(f"there is no numpy type {shell.code[:20]!r}") from error
    dtype = plain.newbyteorder(state[1]) if state[1] in "<>" else plain
    if tuple(state) != np.dtype(dtype).__reduce__()[2]:
        raise MalformedError("a numpy type has a state that numpy does not write")
    return dtype


def _width_of_text(kind: str, state: tuple[object, ...]) -> int:
    """The width of a text type in characters (U) or bytes (S); its state gives bytes."""
    size = state[5]
    if type(size) is not int or not 0 <= size < 1 << 24 or size % (4 if kind == "U" else 1):
        raise MalformedError("a numpy type of text has no size")
    return size // 4 if kind == "U" else size


def array_from_state(state: object) -> NDArray[Any] | Opaque:
    """The array that a state describes."""
    if not isinstance(state, tuple) or len(state) != _STATE_OF_ARRAY or type(state[0]) is not int:
        raise MalformedError("an array has a state that numpy does not write")
    _, shape, dtype, fortran, content = state
    if isinstance(dtype, Opaque):
        return Opaque(f"an array of {dtype.what}")
    if not isinstance(dtype, np.dtype) or type(fortran) not in (bool, int):
        raise MalformedError("an array has no type, or no order")
    if dtype.kind == "O":
        return _object_array(_sizes(shape), content)
    if not isinstance(content, (bytes, memoryview)):
        raise MalformedError("an array of numbers has no bytes")
    return _from_bytes(content, dtype, _sizes(shape), "F" if fortran else "C")


def array_from_buffer(arguments: tuple[object, ...]) -> NDArray[Any] | Opaque:
    """The result of ``_frombuffer(bytes, type, shape, order)``."""
    if len(arguments) not in (4, 5):
        raise MalformedError("an array from a buffer has not four or five arguments")
    content, dtype, shape, order = arguments[:4]
    if isinstance(dtype, Opaque):
        return Opaque(f"an array of {dtype.what}")
    if not isinstance(dtype, np.dtype) or dtype.kind == "O" or order not in ("C", "F", "K"):
        raise MalformedError("an array from a buffer has no type, or no order")
    if not isinstance(content, (bytes, memoryview)):
        raise MalformedError("an array from a buffer has no bytes")
    array = _from_bytes(content, dtype, _sizes(shape), "F" if order == "F" else "C")
    axes = arguments[4] if len(arguments) == 5 else None
    if order != "K" and axes is None:
        return array
    if order != "K" or not isinstance(axes, tuple) or sorted(_sizes(axes)) != list(range(array.ndim)):
        raise MalformedError("the axes of an array from a buffer have no valid order")
    return array.transpose(_sizes(axes))


def scalar_from_bytes(arguments: tuple[object, ...]) -> object:
    """The result of ``scalar(type, bytes)``."""
    if len(arguments) != 2:
        raise MalformedError("a numpy number has not two arguments")
    dtype, content = arguments
    if isinstance(dtype, Opaque):
        return Opaque(f"a value of {dtype.what}")
    if not isinstance(dtype, np.dtype) or dtype.kind == "O" or not isinstance(content, (bytes, memoryview)):
        raise MalformedError("a numpy number has no type, or no bytes")
    return _from_bytes(content, dtype, (), "C")[()]


def is_plain_array(value: object) -> bool:
    """Whether a class is numpy's own array and not a subclass of it."""
    return isinstance(value, Named) and value.path == "numpy.ndarray"


def _sizes(shape: object) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if len(sizes) > _MOST_DIMENSIONS or not all(type(size) is int and 0 <= size < 1 << 40 for size in sizes):
        raise MalformedError("an array has an impossible shape")
    return tuple(int(size) for size in sizes if isinstance(size, int))


def _from_bytes(content: Bytes, dtype: np.dtype[Any], shape: tuple[int, ...], order: str) -> NDArray[Any]:
    if math.prod(shape) * dtype.itemsize != len(content):
        raise MalformedError(f"an array of the shape {shape} does not have that many bytes")
    if not dtype.itemsize or not len(content):
        if 0 not in shape and not math.prod(shape) <= 1 << 20:
            raise MalformedError("an array of nothing is too large")
        return np.zeros(shape, dtype)
    flat = np.frombuffer(content, dtype)
    array = flat.reshape(shape, order="F" if order == "F" else "C")
    array.flags.writeable = False
    return array


def _object_array(shape: tuple[int, ...], content: object) -> NDArray[Any]:
    if not isinstance(content, list) or math.prod(shape) != len(content):
        raise MalformedError(f"an array of objects does not have the shape {shape}")
    array: NDArray[Any] = np.empty(len(content), dtype=object)
    for position, item in enumerate(content):
        array[position] = item
    return array.reshape(shape)
