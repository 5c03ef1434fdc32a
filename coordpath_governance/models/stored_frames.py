"""pandas' data frames as pickles hold them, seen as plain columns; nothing of pandas is imported or called.

A frame is a manager of blocks, each with the values of some columns. Blocks of numpy's arrays, of categories and of text
(pyarrow's buffers, or an array of objects) are opened; anything else is an `OTHER` column, which no model may use. A column
is opened when it is needed. A stored frame is training data: it is read in place and never copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.pickle_objects import STATE
from coordpath_governance.models.pickle_values import ARROW_ARRAY
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, StoredTree

__all__ = [
    "CATEGORY",
    "NUMBER",
    "OTHER",
    "TEXT",
    "TRUTH",
    "StoredColumn",
    "StoredFrame",
    "check_arrow_arrays",
    "frame_of",
    "is_frame",
    "series_values",
]

NUMBER, TRUTH, TEXT, CATEGORY, OTHER = "number", "truth", "text", "category", "other"

_FRAMES = ("pandas.DataFrame", "pandas.core.frame.DataFrame")
_SERIES = ("pandas.Series", "pandas.core.series.Series")
_MANAGER = "pandas.core.internals.managers.BlockManager"
_BLOCK = "pandas._libs.internals._unpickle_block"
_NEW_INDEX = "pandas.core.indexes.base._new_Index"
_INDEXES = ("pandas.Index", "pandas.core.indexes.base.Index")
_RANGES = ("pandas.RangeIndex", "pandas.core.indexes.range.RangeIndex")
_BACKED = "pandas._libs.arrays.__pyx_unpickle_NDArrayBacked"
_CATEGORICALS = ("pandas.Categorical", "pandas.core.arrays.categorical.Categorical")
_CATEGORY_TYPES = ("pandas.CategoricalDtype", "pandas.core.dtypes.dtypes.CategoricalDtype")
_STRINGS = ("pandas.arrays.StringArray", "pandas.core.arrays.string_.StringArray")
_ARROW_STRINGS = ("pandas.arrays.ArrowStringArray", "pandas.core.arrays.string_arrow.ArrowStringArray")
_ARROW_ATTRIBUTES = ("_pa_array", "_data", "_dtype", "_cache", "_readonly")
_FRAME_ATTRIBUTES = ("_mgr", "_typ", "_metadata", "attrs", "_flags")
_OFFSET_TYPES: Mapping[str, str] = {"large_string": "<i8", "string": "<i4", "large_utf8": "<i8", "utf8": "<i4"}
_MOST_COLUMNS, _MOST_TEXTS = 100_000, 2_000_000


@dataclass(frozen=True, eq=False)
class StoredColumn:
    """One column: numbers as they are, truth values, text (None where missing), or codes of ``levels`` (−1: missing)."""

    kind: str
    values: NDArray[Any]
    levels: tuple[object, ...] = ()


@dataclass(frozen=True, eq=False)
class StoredFrame:
    """The names of the columns, the number of rows, and for each column its block and its position there."""

    names: tuple[object, ...]
    rows: int
    places: tuple[tuple[object, int], ...]

    opened: dict[str, StoredColumn] = field(default_factory=dict)

    @cached_property
    def _positions(self) -> Mapping[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for position, name in enumerate(self.names):
            if isinstance(name, str):
                positions.setdefault(name, []).append(position)
        return positions

    def column(self, name: str) -> StoredColumn | None:
        """The column of that name, opened once; None if there is none. Raises if the name occurs twice."""
        positions = self._positions.get(name, [])
        if len(positions) > 1:
            raise _forged(f"it has the column '{name}' twice")
        if positions and name not in self.opened:
            values, within = self.places[positions[0]]
            column = _column(values, within)
            if len(column.values) != self.rows and column.kind != OTHER:
                raise _forged(f"its column '{name}' has {len(column.values)} values for {self.rows} rows")
            self.opened[name] = column
        return self.opened.get(name)


def is_frame(value: object) -> bool:
    """Whether a stored value is a data frame of pandas' own class."""
    return isinstance(value, ArchivedObject) and value.class_path in _FRAMES


def frame_of(value: object) -> StoredFrame:
    """The frame that a stored object describes. Raises `ModelReadError` if pandas does not write it in this form."""
    if not isinstance(value, ArchivedObject) or value.class_path not in _FRAMES or not value.is_plain:
        raise _forged("it is not a frame of pandas' own class")
    if any(name not in _FRAME_ATTRIBUTES for name in value.attributes):
        raise _forged("it has attributes that pandas does not write")
    manager = _called(value.attributes.get("_mgr"), _MANAGER)
    if len(manager) != 2:
        raise _forged("it has no blocks")
    blocks, axes = manager
    if not isinstance(blocks, (tuple, list)) or not isinstance(axes, list) or len(axes) != 2:
        raise _forged("it has no blocks, or not two axes")
    names = _labels(axes[0])
    if len(names) > _MOST_COLUMNS:
        raise _forged(f"it has more than {_MOST_COLUMNS} columns")
    places: list[tuple[object, int] | None] = [None] * len(names)
    rows: int | None = None
    for block in blocks:
        values, positions = _block(block, len(names))
        if not isinstance(values, np.ndarray) and len(positions) != 1:
            values = Opaque("a block of dates")
        for within, position in enumerate(positions):
            if places[position] is not None:
                raise _forged("two of its blocks have the same column")
            places[position] = (values, within)
        if isinstance(values, np.ndarray):
            if values.ndim != 2 or values.shape[0] != len(positions) or rows not in (None, values.shape[1]):
                raise _forged("a block of it has another shape than its place")
            rows = int(values.shape[1])
    filled = [place for place in places if place is not None]
    if len(filled) != len(names):
        raise _forged("some of its columns have no values")
    if rows is None and filled:
        rows = next((len(c.values) for c in (_column(*place) for place in filled) if c.kind != OTHER), 0)
    return StoredFrame(tuple(names), rows or 0, tuple(filled))


def series_values(value: ArchivedObject) -> NDArray[Any] | None:
    """The values of a series of numbers; None for anything else."""
    manager = value.attributes.get("_mgr") if value.class_path in _SERIES and value.is_plain else None
    if not isinstance(manager, ArchivedObject) or not manager.is_plain or len(manager.attributes) != 1:
        return None
    state = manager.attributes.get(STATE)
    if not isinstance(state, tuple) or len(state) != 4:
        return None
    (values,) = state[1] if isinstance(state[1], list) and len(state[1]) == 1 else (None,)
    newest = state[3].get("0.14.1") if isinstance(state[3], dict) else None
    blocks = newest.get("blocks") if isinstance(newest, dict) else None
    block = blocks[0] if isinstance(blocks, list) and len(blocks) == 1 else None
    same = isinstance(block, dict) and block.get("values") is values
    return values if same and isinstance(values, np.ndarray) and values.ndim == 1 else None


def _block(block: object, width: int) -> tuple[object, Sequence[int]]:
    """The values of a block, and the positions of its columns in the frame."""
    arguments = _called(block, _BLOCK)
    if len(arguments) != 3:
        raise _forged("a block of it has no values, place and dimensions")
    values, place, _ = arguments
    if isinstance(place, slice):
        if not all(isinstance(part, int) for part in (place.start, place.stop)) or place.step not in (None, 1):
            positions: Sequence[int] = _stepped(place, width)
        else:
            positions = range(max(place.start, 0), min(place.stop, width))
            if len(positions) != place.stop - place.start:
                raise _forged("a block of it stands for columns that are not there")
    elif isinstance(place, np.ndarray) and place.ndim == 1 and place.dtype.kind in "iu" and place.size <= width:
        positions = [int(position) for position in place.tolist()]
    else:
        raise _forged("a block of it has no place")
    if any(not 0 <= position < width for position in positions):
        raise _forged("a block of it stands for columns that are not there")
    return values, positions


def _stepped(place: slice, width: int) -> Sequence[int]:
    if not all(part is None or isinstance(part, int) for part in (place.start, place.stop, place.step)) or not place.step:
        raise _forged("a block of it has no place")
    return range(*place.indices(width))


def _column(values: object, within: int) -> StoredColumn:
    if isinstance(values, np.ndarray):
        column = values[within]
        if column.dtype.kind in "iuf":
            return StoredColumn(NUMBER, column)
        if column.dtype.kind == "b":
            return StoredColumn(TRUTH, column)
        return _of_objects(column) if column.dtype.kind == "O" else StoredColumn(OTHER, column)
    category = _category(values)
    if category is not None:
        return category
    text = _text(values)
    return StoredColumn(OTHER, np.empty(0)) if text is None else _of_objects(text)


def _of_objects(values: NDArray[Any]) -> StoredColumn:
    """A column of text (None where it is missing), or of truth values only; any other column stays unopened."""
    items = [None if _is_missing(item) else item for item in values.tolist()]
    if items and all(type(item) is bool for item in items):
        return StoredColumn(TRUTH, np.array(items, dtype=bool))
    if all(item is None or type(item) is str for item in items):
        return StoredColumn(TEXT, np.array([*items, None], dtype=object)[:-1])
    return StoredColumn(OTHER, values)


def _is_missing(item: object) -> bool:
    absent = isinstance(item, Named) and item.path.rpartition(".")[2] == "NA"
    return absent or item is None or (isinstance(item, float) and item != item)


def _category(values: object) -> StoredColumn | None:
    state = _backed(values, _CATEGORICALS)
    if state is None:
        return None
    dtype = next((part for part in state if isinstance(part, ArchivedObject)), None)
    codes = next((part for part in state if isinstance(part, np.ndarray)), None)
    if dtype is None or dtype.class_path not in _CATEGORY_TYPES or codes is None or codes.dtype.kind != "i":
        raise _forged("a column of categories has no codes, or no levels")
    levels = tuple(_labels(dtype.attributes.get("categories")))
    flat = codes.reshape(-1)
    if flat.size and (int(flat.min()) < -1 or int(flat.max()) >= len(levels)):
        raise _forged("a column of categories has a code without a level")
    if len(set(map(repr, levels))) != len(levels):
        raise _forged("a column of categories has a level twice")
    return StoredColumn(CATEGORY, flat, levels)


def _backed(values: object, classes: Sequence[str]) -> tuple[object, ...] | None:
    """The state of an extension array over a numpy array; None if it is of none of these classes."""
    if not isinstance(values, ArchivedObject) or values.class_path != _BACKED or len(values.arguments) != 3:
        return None
    cls, _, argument = values.arguments
    if not isinstance(cls, Named) or cls.path not in classes:
        return None
    state = values.attributes.get(STATE, argument)
    return state if isinstance(state, tuple) else None


def _labels(index: object) -> list[object]:
    """The labels of an index of text, numbers or truth values."""
    arguments = _called(index, _NEW_INDEX)
    kind, content = arguments if len(arguments) == 2 else (None, None)
    if not isinstance(kind, Named) or not isinstance(content, dict):
        raise _forged("an index of it has no kind")
    if kind.path in _RANGES:
        parts = [content.get(part) for part in ("start", "stop", "step")]
        numbers = [part for part in parts if type(part) is int]
        if len(numbers) != 3 or not numbers[2] or len(range(*numbers)) > _MOST_COLUMNS:
            raise _forged("an index of it counts without an end")
        return list(range(*numbers))
    data = content.get("data") if kind.path in _INDEXES else None
    if isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "iufbOU":
        labels: list[object] = data.tolist()
    else:
        text = _text(data)
        if text is None:
            raise _forged("an index of it is of a kind that is not read")
        labels = text.tolist()
    if not all(isinstance(label, (str, int, float, bool)) for label in labels):
        raise _forged("an index of it has labels that are neither text nor numbers")
    return labels


def _text(values: object) -> NDArray[Any] | None:
    """An array of text with None where it is missing; None for an array of anything else."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "O":
        return values
    state = _backed(values, _STRINGS)
    if state is not None:
        array = next((part for part in state if isinstance(part, np.ndarray)), None)
        return None if array is None or array.dtype.kind != "O" else array.reshape(-1)
    if not isinstance(values, ArchivedObject) or values.class_path not in _ARROW_STRINGS or not values.is_plain:
        return None
    if any(name not in _ARROW_ATTRIBUTES for name in values.attributes):
        raise _forged("a column of text has attributes that pandas does not write")
    return _arrow_text(values.attributes.get("_pa_array", values.attributes.get("_data")))


def check_arrow_arrays(tree: StoredTree) -> None:
    """Refuse arrays of pyarrow that are not well-formed text, even if no model uses them: loading the file reads them."""
    for array in tree.arrow_arrays:
        if _arrow_parts(array) is None:
            raise UnsupportedModelError(
                "the file holds an array of pyarrow that is not text, which we do not check; fit the model on columns of "
                "pandas' or numpy's own types and log it again."
            )


def _arrow_text(stored: object) -> NDArray[Any] | None:
    """The texts of an array of pyarrow; None for an array of another type."""
    parts = _arrow_parts(stored)
    if parts is None:
        return None
    ends, content, present = parts
    if len(present) > _MOST_TEXTS:
        raise UnsupportedModelError(
            f"a data frame in the file has a column of more than {_MOST_TEXTS} texts, which is more than we read; make it a "
            "category, or fit the model on fewer rows, and log it again."
        )
    out = np.empty(len(present), dtype=object)
    places = ends.tolist()
    texts: dict[bytes, str] = {}
    try:
        for row in np.flatnonzero(present).tolist():
            encoded = bytes(content[places[row] : places[row + 1]])
            out[row] = texts.setdefault(encoded, "") or str(encoded, "utf-8")
            texts[encoded] = out[row]
    except UnicodeDecodeError as error:
        raise _forged("a column of text is not UTF-8") from error
    return out


def _arrow_parts(stored: object) -> tuple[NDArray[Any], memoryview, NDArray[np.bool_]] | None:
    """The parts of an array that ``_restore_array`` makes of (type, length, nulls, offset, buffers, [], None).

    The buffers are validity, offsets and bytes. The parts are: where each text begins and ends, the bytes, and which texts
    are present. None if it is not an array of text.
    """
    arguments = _called(stored, ARROW_ARRAY)
    data = arguments[0] if len(arguments) == 1 else None
    if not isinstance(data, tuple) or len(data) != 7:
        raise _forged("a column of text is not as pyarrow writes it")
    kind, length, _, begin, buffers, children, dictionary = data
    alias = _called(kind, "pyarrow.lib.type_for_alias")
    width = _OFFSET_TYPES.get(alias[0]) if len(alias) == 1 and isinstance(alias[0], str) else None
    if width is None or children or dictionary is not None:
        return None
    if not isinstance(buffers, list) or len(buffers) != 3 or type(length) is not int or type(begin) is not int:
        raise _forged("a column of text is not as pyarrow writes it")
    validity, offsets, content = (None if buffer is None else _buffer(buffer) for buffer in buffers)
    if length == 0 and begin == 0:
        return np.zeros(1, dtype=np.int64), memoryview(b""), np.zeros(0, dtype=bool)
    step = np.dtype(width).itemsize
    if offsets is None or not 0 <= length < 1 << 40 or begin < 0 or (begin + length + 1) * step > len(offsets):
        raise _forged("a column of text is longer than its bytes")
    ends = np.frombuffer(offsets, width, count=begin + length + 1)[begin:]
    content = memoryview(b"") if content is None else content
    if int(ends[0]) < 0 or (np.diff(ends) < 0).any() or int(ends[-1]) > len(content):
        raise _forged("a column of text is longer than its bytes")
    present = np.ones(length, dtype=bool)
    if validity is not None:
        if len(validity) * 8 < begin + length:
            raise _forged("a column of text is longer than its bytes")
        needed = np.frombuffer(validity, np.uint8, count=(begin + length + 7) // 8)
        bits = np.unpackbits(needed, bitorder="little")
        present = bits[begin : begin + length].astype(bool)
    return ends, content, present


def _buffer(value: object) -> memoryview:
    arguments = _called(value, "pyarrow.lib.py_buffer")
    if len(arguments) != 1 or not isinstance(arguments[0], (bytes, memoryview)):
        raise _forged("a column of text has no bytes")
    return memoryview(arguments[0])


def _called(value: object, path: str) -> tuple[object, ...]:
    """The arguments of the call of ``path`` that made an object. Raises `ModelReadError` if it was made otherwise."""
    if not isinstance(value, ArchivedObject) or value.class_path != path or not value.called:
        raise _forged(f"it is not made as pandas makes it ({path})")
    return value.arguments


def _forged(reason: str) -> ModelReadError:
    return ModelReadError(f"a data frame in the file: {reason}. The model is damaged or forged; fit and log it again.")
