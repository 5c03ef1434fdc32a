"""The model digest: one SHA-256 that changes when any file of a model changes.

The digest is the SHA-256 of the manifest, encoded as UTF-8: for every file one line

    <SHA-256 of the file, 64 lower-case hex digits><space><space><path below the folder, with "/"><newline>

sorted by the UTF-8 bytes of the path. Left out are the file ``registered_model_meta`` (MLflow adds it when a version is
registered) and everything below ``coordpath/`` (we add it), both at the top of the folder only. The format is that of
``sha256sum``, so an auditor can recompute the digest without this package.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from pathlib import Path

from coordpath_governance.errors import ModelReadError

__all__ = ["has_model_files", "is_covered", "manifest_lines", "model_digest"]

_ADDED_BY_MLFLOW = "registered_model_meta"
_ADDED_BY_US = "coordpath"
_CHUNK = 1 << 20


def model_digest(folder: Path) -> str:
    """SHA-256 (hex) of the manifest of ``folder``. The manifest of a single file is one line.

    Raises `ModelReadError` if the files cannot be read, or if there are none.
    """
    return hashlib.sha256("".join(manifest_lines(folder)).encode("utf-8")).hexdigest()


def manifest_lines(folder: Path) -> tuple[str, ...]:
    """The lines of the manifest, sorted by path; the module's docstring gives their exact bytes."""
    folder = Path(folder)
    try:
        files = {folder.name: folder} if folder.is_file() else _files_of(folder)
        lines = [f"{_sha256(path)}  {name}\n" for name, path in sorted(files.items(), key=_by_path_bytes)]
    except OSError as error:
        raise ModelReadError(f"{folder}: the model's files cannot be read ({error}); check the path.") from error
    if not lines:
        raise ModelReadError(f"{folder}: there are no model files here; check the path.")
    return tuple(lines)


def has_model_files(place: Path) -> bool:
    """Whether ``place`` is a file, or a folder with at least one file that the digest covers."""
    files = (path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir() or path.is_symlink())
    return place.is_file() or any(map(is_covered, files))


def is_covered(path: str) -> bool:
    """Whether the digest covers a file at ``path``: inside the folder and not left out, on any file system."""
    parts = posixpath.normpath(path.replace("\\", "/")).split("/")
    first = parts[0].rstrip(" .").casefold()
    return not (parts[0] in ("", "..") or first in (_ADDED_BY_MLFLOW, _ADDED_BY_US))


def _by_path_bytes(item: tuple[str, Path]) -> bytes:
    return os.fsencode(item[0])


def _files_of(folder: Path) -> dict[str, Path]:
    """Every file below ``folder`` by its path with "/". Raises for anything that is neither a file nor a folder."""
    if not folder.is_dir():
        raise ModelReadError(f"{folder}: there is no such model folder; check the path.")
    root = folder.resolve()
    files: dict[str, Path] = {}
    pending = [root]
    while pending:
        for entry in sorted(pending.pop().iterdir()):
            name = entry.relative_to(root).as_posix()
            if name in (_ADDED_BY_MLFLOW, _ADDED_BY_US):
                continue
            _check_name(folder, name)
            if entry.is_symlink() and (entry.is_dir() or not entry.resolve().is_relative_to(root)):
                raise ModelReadError(
                    f"{folder}: '{name}' is a symbolic link to a folder or out of the model; replace it by a copy."
                )
            if entry.is_dir():
                pending.append(entry)
            elif entry.is_file():
                files[name] = entry
            else:
                raise ModelReadError(f"{folder}: '{name}' is not a regular file; remove it from the model.")
    return files


def _check_name(folder: Path, name: str) -> None:
    """Refuse a name with a line break or an undecodable byte, which would make the manifest ambiguous."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ModelReadError(f"{folder}: the file name {name!r} is not valid UTF-8; rename the file.") from error
    if not name.isprintable():
        raise ModelReadError(f"{folder}: the file name {name!r} has control characters in it; rename the file.")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
