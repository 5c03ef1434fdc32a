"""The members of a ``.skops`` zip. Every size is checked before it is read; nothing is unpacked to disk or run."""

from __future__ import annotations

import hashlib
import io
import math
import re
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models.tree import Opaque

__all__ = ["ArchiveMembers", "Limits"]

_MIB = 1 << 20
_END_RECORD_BYTES = 22
_ZIP64_LOCATOR_BYTES = 20
_DIRECTORY_BYTES_PER_MEMBER = 512
_MEMBER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_NPY_HEADER = re.compile(
    r"\{'descr': '(?P<descr>[<>|=](?P<kind>[a-zA-Z])[0-9]*(?:\[[^\]']*\])?)', "
    r"'fortran_order': (?:True|False), 'shape': \((?P<shape>[0-9]*(?:, ?[0-9]+)*,?)\), \}\s*"
)
_PLAIN_KINDS = "biufSU"
_MAX_DIMENSION = 1 << 31
_UNZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


@dataclass(frozen=True)
class Limits:
    """How much we read of an archive; real linear models stay far below these limits."""

    archive_bytes: int = 256 * _MIB
    members: int = 10_000
    member_bytes: int = 64 * _MIB
    total_bytes: int = 256 * _MIB
    schema_bytes: int = 32 * _MIB
    schema_parts: int = 3_000_000
    depth: int = 256


@dataclass
class _Meter:
    """How many bytes may still be unpacked; an archive shares this with the archives inside it."""

    left: int


class ArchiveMembers:
    """The named members of one zip; ``where`` names the archive in errors."""

    def __init__(self, data: bytes, where: str, limits: Limits, meter: _Meter | None = None) -> None:
        self._where = where
        self._limits = limits
        self._meter = meter or _Meter(limits.total_bytes)
        _check_end_record(data, where, limits)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _UNZIP_ERRORS as error:
            raise self.damaged(f"it is not a readable zip ({error})") from error
        self._infos = {info.filename: info for info in self._zip.infolist()}
        self._check_directory()
        self._arrays: dict[str, NDArray[Any] | Opaque] = {}
        self._digests: dict[str, bytes] = {}

    def damaged(self, reason: str) -> ModelReadError:
        """The error for an archive that skops does not write in this form."""
        return ModelReadError(
            f"{self._where}: the archive is damaged or forged: {reason}. Log the model again with "
            "mlflow.sklearn.log_model (default format)."
        )

    def read(self, name: object, *, limit: int | None = None) -> bytes:
        """The bytes of one member, at most ``limit`` (by default the limit of every member)."""
        info = self._infos.get(name) if isinstance(name, str) else None
        if info is None:
            raise self.damaged(f"the member {name!r} is missing")
        allowed = self._limits.member_bytes if limit is None else limit
        if info.file_size > allowed:
            raise self.damaged(f"member '{name}' has {info.file_size} bytes, more than the {allowed} we read")
        try:
            with self._zip.open(info) as stream:
                content = stream.read(info.file_size + 1)
        except _UNZIP_ERRORS as error:
            raise self.damaged(f"member '{name}' cannot be unpacked ({error})") from error
        if len(content) != info.file_size:
            raise self.damaged(f"member '{name}' has another size than it declares")
        return content

    def digest(self, name: str) -> bytes:
        """A digest of one member's content."""
        if name not in self._digests:
            self._digests[name] = hashlib.blake2b(self.read(name), digest_size=16).digest()
        return self._digests[name]

    def array(self, name: object) -> NDArray[Any] | Opaque:
        """One ``.npy`` member: an array of numbers, booleans or text. Other types stay opaque; a pickle is refused."""
        key = str(name)
        if key not in self._arrays:
            self._arrays[key] = self._load_array(key, self.read(name))
        return self._arrays[key]

    def sparse(self, name: object) -> NDArray[Any] | Opaque:
        """A sparse matrix in scipy's ``.npz`` format as a dense array. Formats other than csr and csc stay opaque."""
        key = str(name)
        if key not in self._arrays:
            self._arrays[key] = self._load_sparse(key, self.read(name))
        return self._arrays[key]

    def _spend(self, size: int) -> None:
        self._meter.left -= size
        if self._meter.left < 0:
            raise self.damaged(f"it would unpack to more than the {self._limits.total_bytes} bytes we read")

    def _load_sparse(self, name: str, content: bytes) -> NDArray[Any] | Opaque:
        inner = ArchiveMembers(content, f"{self._where}, member '{name}'", self._limits, self._meter)
        kind, shape = inner.array("format.npy"), inner.array("shape.npy")
        if not isinstance(kind, np.ndarray) or not isinstance(shape, np.ndarray):
            raise self.damaged(f"member '{name}' is not a sparse matrix")
        layout = kind.item().decode("ascii", "replace") if kind.size == 1 and kind.dtype.kind == "S" else ""
        if layout not in ("csr", "csc"):
            return Opaque(f"a sparse matrix in {layout or 'an unknown'} format")
        parts = [inner.array(f"{part}.npy") for part in ("data", "indices", "indptr")]
        dense = _densify(layout, shape, parts, self._limits.member_bytes // 8)
        if dense is None:
            raise self.damaged(f"member '{name}' is not a sparse matrix of a size we read")
        self._spend(dense.nbytes)
        return dense

    def _check_directory(self) -> None:
        infos = self._zip.infolist()
        if len(infos) > self._limits.members:
            raise self.damaged(f"it has {len(infos)} members, more than the {self._limits.members} we read")
        if len(self._infos) != len(infos):
            raise self.damaged("two members have the same name")
        for info in infos:
            if not _MEMBER_NAME.fullmatch(info.filename):
                raise self.damaged(f"the member name {info.filename!r} is not one that skops writes")
            if info.flag_bits & 0x1:
                raise self.damaged(f"member '{info.filename}' is encrypted")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self.damaged(f"member '{info.filename}' is compressed in a way we do not read")
        self._spend(sum(info.file_size for info in infos))

    def _load_array(self, name: str, content: bytes) -> NDArray[Any] | Opaque:
        """Compare the header with the size of the member, then let numpy read it (``allow_pickle=False``)."""
        header, body = _split_npy(content)
        if header is None:
            raise self.damaged(f"member '{name}' is not a .npy file")
        match = _NPY_HEADER.fullmatch(header)
        if match is None:
            return Opaque("an array of a structured type")
        if match["kind"] == "O":
            raise self.damaged(f"member '{name}' holds a pickle, which could run code")
        if match["kind"] not in _PLAIN_KINDS:
            return Opaque(f"an array of type {match['descr']}")
        shape = [int(part) for part in match["shape"].replace(" ", "").split(",") if part]
        try:
            item_bytes = np.dtype(match["descr"]).itemsize
        except TypeError as error:
            raise self.damaged(f"member '{name}' has the unknown type {match['descr']!r}") from error
        count = math.prod(shape)
        if count * item_bytes != body or (count and not item_bytes) or max(shape, default=0) >= _MAX_DIMENSION:
            raise self.damaged(f"member '{name}' declares the shape {tuple(shape)}, which its size contradicts")
        try:
            array = np.load(io.BytesIO(content), allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise self.damaged(f"member '{name}' cannot be read as an array ({error})") from error
        array.flags.writeable = False
        return np.asarray(array)


def _check_end_record(data: bytes, where: str, limits: Limits) -> None:
    """Check the last record of the zip before Python reads the directory, which a forger could make of any length."""
    if len(data) > limits.archive_bytes:
        raise ModelReadError(f"{where}: the archive has {len(data)} bytes, more than the {limits.archive_bytes} we read.")
    end = data[-_END_RECORD_BYTES:]
    locator = data[-_END_RECORD_BYTES - _ZIP64_LOCATOR_BYTES : -_END_RECORD_BYTES]
    directory_bytes, directory_at = int.from_bytes(end[12:16], "little"), int.from_bytes(end[16:20], "little")
    if not end.startswith(b"PK\x05\x06") or end[20:22] != b"\x00\x00" or locator.startswith(b"PK\x06\x07"):
        raise ModelReadError(
            f"{where}: the archive is damaged or forged: it does not end like a zip that skops wrote (truncated?). "
            "Log the model again with mlflow.sklearn.log_model (default format)."
        )
    if not data.startswith(b"PK\x03\x04") or directory_at + directory_bytes + _END_RECORD_BYTES != len(data):
        raise ModelReadError(
            f"{where}: the archive is damaged or forged: it does not begin with its first member, so that others could read "
            "something else in it. Log the model again with mlflow.sklearn.log_model."
        )
    if directory_bytes > limits.members * _DIRECTORY_BYTES_PER_MEMBER:
        raise ModelReadError(f"{where}: the archive's directory has {directory_bytes} bytes, more than we read.")


def _split_npy(content: bytes) -> tuple[str | None, int]:
    """The text of the header (None if this is not a ``.npy`` file), and the number of bytes after it."""
    if not content.startswith(b"\x93NUMPY") or len(content) < 12 or content[6] not in (1, 2, 3) or content[7] != 0:
        return None, 0
    start = 10 if content[6] == 1 else 12
    length = int.from_bytes(content[8:start], "little")
    if start + length > len(content) or length > 10_000:
        return None, 0
    return content[start : start + length].decode("latin-1"), len(content) - start - length


def _densify(
    layout: str, shape: NDArray[Any], parts: list[NDArray[Any] | Opaque], max_cells: int
) -> NDArray[np.float64] | None:
    """The dense matrix that csr or csc arrays describe; None if they describe none."""
    arrays = [part for part in parts if isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind in "biuf"]
    if len(arrays) != 3 or shape.shape != (2,) or shape.dtype.kind not in "iu":
        return None
    values, indices, starts = arrays
    rows, columns = (int(size) for size in shape)
    major, minor = (rows, columns) if layout == "csr" else (columns, rows)
    sizes_fit = min(rows, columns) >= 0 and rows * columns <= max_cells and starts.size == major + 1
    if not sizes_fit or indices.size != values.size or indices.dtype.kind not in "iu" or starts.dtype.kind not in "iu":
        return None
    ends = starts.astype(np.int64)
    lengths = ends[1:] - ends[:-1]
    if starts[0] != 0 or starts[-1] != values.size or (lengths < 0).any():
        return None
    if ((indices < 0) | (indices >= minor)).any():
        return None
    dense = np.zeros((major, minor))
    np.add.at(dense, (np.repeat(np.arange(major), lengths), indices), values.astype(np.float64))
    return dense if layout == "csr" else dense.T
