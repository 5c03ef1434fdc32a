"""One row of a Parquet file that Spark has written, read as data and within limits.

Arrow reads the file, but trusts the headers of its pages: a few bytes can stand for thousands of millions of values. So
the header of every page is read here first, and a page that would become too large is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models.tree import read_limited

__all__ = ["read_row"]

_MAX_BYTES = 32 << 20
_MAX_VALUES = 2_000_000
_MAX_PAGE_BYTES = 64 << 20
_MAX_COLUMNS = 1_000
_MAX_THRIFT = 1 << 20
_MAX_DEPTH = 16
_ENCODINGS = (0, 2, 3, 4, 8)
"""Plain, dictionary, run lengths and packed bits: the encodings that Spark writes. The others state counts of their own."""

_TYPE, _UNCOMPRESSED, _COMPRESSED = 1, 2, 3
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 5, 6, 7, 8
"""Fields of a page header by their number in the Parquet format."""


def read_row(path: Path) -> Mapping[str, object]:
    """The only row of a file, by column. Raises `ModelReadError` for anything else.

    Lists become lists and structures dictionaries; equal texts are one object.
    """
    data = read_limited(path, _MAX_BYTES, "file")
    try:
        table = _read(data)
        return {name: _value(table.column(name).combine_chunks(), 0, 0) for name in table.column_names}
    except (pa.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError, OverflowError, MemoryError) as error:
        raise ModelReadError(f"{path}: this is not a Parquet file as Spark writes them ({str(error)[:200]}).") from error


def _read(data: bytes) -> Any:  # noqa: ANN401 - pyarrow has no types
    source = pa.BufferReader(data)
    limits = {"thrift_string_size_limit": _MAX_THRIFT, "thrift_container_size_limit": _MAX_THRIFT}
    metadata = pq.ParquetFile(source, **limits).metadata
    if metadata.num_rows != 1 or metadata.num_row_groups != 1:
        raise ValueError(f"it has {metadata.num_rows} rows in {metadata.num_row_groups} groups, and not one row")
    if not 0 < metadata.num_columns <= _MAX_COLUMNS:
        raise ValueError(f"it has {metadata.num_columns} columns")
    group = metadata.row_group(0)
    texts = []
    for position in range(metadata.num_columns):
        column = group.column(position)
        if column.file_path:
            raise ValueError("a column is in another file")
        _check_pages(data, column)
        if column.physical_type == "BYTE_ARRAY":
            texts.append(column.path_in_schema)
    table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts, **limits).read(use_threads=False)
    table.validate(full=True)
    if len(set(table.column_names)) != len(table.column_names) or table.num_rows != 1:
        raise ValueError("it has two columns of one name, or not one row")
    return table


def _check_pages(data: bytes, column: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Refuse a column whose pages claim more values or bytes than we read."""
    start = column.data_page_offset
    if column.has_dictionary_page and column.dictionary_page_offset is not None:
        start = min(start, column.dictionary_page_offset)
    end = start + column.total_compressed_size
    if not 0 <= start < end <= len(data) or column.num_values > _MAX_VALUES:
        raise ValueError("a column lies outside of the file, or has more values than we read")
    values = size = 0
    at = start
    while at < end:
        header, at = _Thrift(data, at, end).struct(0)
        at += _number(header, _COMPRESSED)
        size += _number(header, _UNCOMPRESSED)
        if _INDEX_PAGE in header:
            raise ValueError("it has an index page")
        for kind in (_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2):
            page = header.get(kind)
            if page is None:
                continue
            if not isinstance(page, dict):
                raise TypeError("a page has no header")
            values += _number(page, 1)
            if _number(page, 4 if kind == _DATA_PAGE_2 else 2) not in _ENCODINGS:
                raise ValueError("a page is encoded in a way that Spark does not use")
        if values > 2 * _MAX_VALUES or size > _MAX_PAGE_BYTES:
            raise ValueError("a column has more values or bytes than we read")


def _number(header: Mapping[int, object], field: int) -> int:
    value = header.get(field)
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"a page header has no number {field}")
    return value


@dataclass
class _Thrift:
    """Reads the part of Thrift's compact protocol that page headers use."""

    data: bytes
    at: int
    end: int

    def struct(self, depth: int) -> tuple[dict[int, object], int]:
        """The fields of a structure by their numbers, and where it ends."""
        if depth > _MAX_DEPTH:
            raise ValueError("a page header is nested too deeply")
        fields: dict[int, object] = {}
        field = 0
        while True:
            head = self._byte()
            if head == 0:
                return fields, self.at
            field = field + (head >> 4) if head >> 4 else self._signed()
            if field in fields:
                raise ValueError("a page header has a field twice")
            fields[field] = self._value(head & 15, depth)

    def _value(self, kind: int, depth: int) -> object:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (7, 8):
            self._skip(8 if kind == 7 else self._varint())
            return None
        if kind == 12:
            return self.struct(depth + 1)[0]
        raise ValueError("a page header has a field of an unknown kind")

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > self.end:
            raise ValueError("a page header ends too early")

    def _byte(self) -> int:
        if self.at >= self.end:
            raise ValueError("a page header ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a page header has a number without end")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _value(array: Any, row: int, depth: int) -> object:  # noqa: ANN401 - pyarrow has no types
    """One entry of an Arrow array as a Python value."""
    if depth > _MAX_DEPTH or not array[row].is_valid:
        return None
    kind = array.type
    if pa.types.is_list(kind):
        inner = array.values
        first, last = array.offsets[row].as_py(), array.offsets[row + 1].as_py()
        return list(_values(inner.slice(first, last - first), depth + 1))
    if pa.types.is_struct(kind):
        return {kind.field(i).name: _value(array.field(i), row, depth + 1) for i in range(kind.num_fields)}
    value: object = array[row].as_py()
    return value


def _values(array: Any, depth: int) -> Iterator[object]:  # noqa: ANN401 - pyarrow has no types
    """All entries. An entry of a dictionary is shared, not copied for every row that has it."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        entries = array.dictionary.to_pylist()
        yield from (None if index is None else entries[index] for index in array.indices.to_pylist())
    elif pa.types.is_nested(kind):
        yield from (_value(array, row, depth) for row in range(len(array)))
    else:
        yield from array.to_pylist()
