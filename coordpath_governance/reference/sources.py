"""Where rows come from: csv, parquet, a folder of parquet, or a table in memory; always read in chunks.

Every source has the SHA-256 of its content: for a file, of its bytes; for a folder, of the sorted manifest of its files; for
a table in memory, of its columns as an Arrow stream.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import NotFoundError, ReferenceDataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvSource", "ParquetSource", "RowSource", "TableSource", "open_source"]

NULL_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>")
"""Texts that mean "missing" in a csv file: those of pandas, which writes and reads most of these files."""

_BLOCK_BYTES = 1 << 21
_HEADER_BLOCK_BYTES = 1 << 20


class RowSource(Protocol):
    """Rows that can be read more than once, a chunk at a time."""

    kind: Literal["file", "folder", "table"]
    name: str
    sha256: str
    null_texts: tuple[str, ...]
    """Texts that mean "missing" here, unless a model knows one of them as a level."""

    def column_names(self) -> list[str]:
        """The names of all columns."""
        ...

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """The named columns of every row; ``numbers`` are the columns that will be read only as numbers."""
        ...

    def check_unchanged(self) -> None:
        """Raise `ReferenceDataError` if the content no longer has the digest ``sha256``."""
        ...


def _file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise _as_reference_error(path, error) from error
    return digest.hexdigest()


def _as_reference_error(path: Path, error: Exception) -> ReferenceDataError:
    return ReferenceDataError(f"cannot read the reference data '{path.name}': {error}")


class _FileSource:
    """The common part of a csv file, a parquet file and a folder of parquet."""

    kind: Literal["file", "folder", "table"] = "file"
    null_texts: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.sha256 = self._digest()

    def _digest(self) -> str:
        return _file_sha256(self.path)

    def check_unchanged(self) -> None:
        """Hash the content again: figures of two passes must come from the same rows."""
        if self._digest() != self.sha256:
            raise ReferenceDataError(f"'{self.name}' changed while it was being read; run the command again")


class CsvSource(_FileSource):
    """A comma-separated file with a header, read as text, because the models decide what a column means."""

    null_texts: tuple[str, ...] = NULL_TEXTS
    _names: list[str] | None = None

    def _open(self, columns: Sequence[str] | None, numbers: Collection[str] = ()) -> Any:  # noqa: ANN401 - pyarrow has no types
        import pyarrow as pa
        from pyarrow import csv

        convert: dict[str, Any] = {"strings_can_be_null": False, "null_values": list(NULL_TEXTS)}
        if columns is not None:
            convert["include_columns"] = list(columns)
            convert["column_types"] = {name: pa.float64() if name in numbers else pa.string() for name in columns}
        try:
            return csv.open_csv(
                self.path,
                read_options=csv.ReadOptions(block_size=_HEADER_BLOCK_BYTES if columns is None else _BLOCK_BYTES),
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(**convert),
            )
        except (pa.ArrowException, OSError) as error:
            raise _as_reference_error(self.path, error) from error

    def column_names(self) -> list[str]:
        """The names in the header."""
        if self._names is None:
            with self._open(None) as reader:
                try:
                    self._names = list(reader.schema.names)
                except UnicodeDecodeError as error:
                    raise _as_reference_error(self.path, error) from error
        return self._names

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """The named columns in blocks of about 2 MB of the file: as text, and ``numbers`` as doubles while they are numbers.

        From the first block with anything else in such a column on, all columns are text. The caller then decides what the
        text means, and names the row in an error.
        """
        import pyarrow as pa

        rows_yielded = 0
        if numbers:
            try:
                with self._open(columns, numbers) as reader:
                    for batch in reader:
                        yield batch
                        rows_yielded += batch.num_rows
            except (pa.ArrowInvalid, ReferenceDataError):
                numbers = ()
        if numbers:
            return
        with self._open(columns) as reader:
            try:
                for batch in reader:
                    skipped = min(rows_yielded, batch.num_rows)
                    rows_yielded -= skipped
                    if skipped < batch.num_rows:
                        yield batch.slice(skipped)
            except (pa.ArrowException, OSError) as error:
                raise _as_reference_error(self.path, error) from error


class ParquetSource(_FileSource):
    """A parquet file, or the parquet files of a folder in the order of their names.

    Every file must have every column that is read. As usual, files whose names start with "_" or "." are not data.
    """

    def __init__(self, path: Path) -> None:
        self.kind = "folder" if path.is_dir() else "file"
        self._files = _parquet_files(path) if path.is_dir() else [path]
        if not self._files:
            raise ReferenceDataError(f"the folder '{path.name}' holds no .parquet file")
        super().__init__(path)

    def _digest(self) -> str:
        if self.kind == "file":
            return _file_sha256(self.path)
        lines = [f"{_file_sha256(f)}  {f.relative_to(self.path).as_posix()}\n" for f in self._files]
        return sha256_hex("".join(lines).encode())

    def column_names(self) -> list[str]:
        """The names in the first file's schema."""
        return _schema_names(self._files[0])

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """The named columns, typed as each file stores them."""
        for file in self._files:
            lacking = [column for column in columns if column not in _schema_names(file)]
            if lacking:
                raise ReferenceDataError(f"the file '{file.name}' of '{self.name}' lacks the column '{lacking[0]}'")
        for file in self._files:
            yield from _parquet_batches(file, columns)


def _parquet_batches(file: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import dataset

    try:
        yield from dataset.dataset(str(file), format="parquet").to_batches(columns=list(columns), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise _as_reference_error(file, error) from error


def _schema_names(file: Path) -> list[str]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(file).names)
    except (pa.ArrowException, OSError) as error:
        raise _as_reference_error(file, error) from error


def _parquet_files(folder: Path) -> list[Path]:
    files = sorted(folder.rglob("*.parquet"))
    return [f for f in files if not any(part.startswith(("_", ".")) for part in f.relative_to(folder).parts)]


class TableSource:
    """A pandas DataFrame in memory. It is copied, so that later changes to it have no effect."""

    kind: Literal["file", "folder", "table"] = "table"
    null_texts: tuple[str, ...] = ()

    def __init__(self, frame: Any, name: str = "table in memory") -> None:  # noqa: ANN401 - DataFrame without importing pandas
        import pyarrow as pa

        self.name = name
        if not hasattr(frame, "set_axis"):
            raise ReferenceDataError(f"reference data in memory are a pandas DataFrame, not a {type(frame).__name__}")
        labels = [str(label) for label in frame.columns]
        if len(set(labels)) != len(labels):
            raise ReferenceDataError("the table has two columns of the same name; rename one")
        try:
            table = pa.Table.from_pandas(frame.set_axis(labels, axis="columns"), preserve_index=False)
        except pa.ArrowException as error:
            raise ReferenceDataError(f"cannot use the table: {error}") from error
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
            writer.write_table(table.replace_schema_metadata(None).combine_chunks())
        copied = sink.getvalue()
        self.sha256 = sha256_hex(copied.to_pybytes())
        self._table = pa.ipc.open_stream(copied).read_all()

    def column_names(self) -> list[str]:
        """The frame's columns as text."""
        return list(self._table.column_names)

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """The named columns in batches."""
        yield from self._table.select(list(columns)).to_batches()

    def check_unchanged(self) -> None:
        """Nothing to check: the table is a copy."""


def open_source(path: Path) -> RowSource:
    """The source for a path: a folder or .parquet is parquet, anything else csv (also .csv.gz).

    Raises `NotFoundError` if there is nothing at ``path``.
    """
    if not path.exists():
        raise NotFoundError(f"there is no reference data at '{path}'; give a csv or parquet file, or a folder of parquet")
    if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
        return ParquetSource(path)
    return CsvSource(path)
