"""Reading and writing of files that a user names: errors of the system become errors of this package, always in one form."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coordpath_governance.errors import CoordpathError, NotFoundError, UsageError

__all__ = ["reading", "write_file", "write_new", "writing"]

_DISK = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO))
"""Errors of the disk, not of the file's name."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the system while ``path`` is written into errors of this package.

    Raises `CoordpathError` (exit code 4) if the disk is full or fails. Raises `UsageError` for any other error: the name is
    too long or that of a folder, its folder does not exist, or writing is not permitted.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        kind = CoordpathError if error.errno in _DISK else UsageError
        raise kind(f"cannot write '{path}': {error.strerror or error}") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of the system while ``path`` is read into errors of this package.

    Raises `NotFoundError` if there is no such file, `CoordpathError` (exit code 4) if the disk fails, and `UsageError` for
    any other error: the name is too long or that of a folder, or reading is not permitted.
    """
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        kind = CoordpathError if error.errno in _DISK else UsageError
        raise kind(f"cannot read '{path}': {error.strerror or error}") from error


def write_file(path: Path, content: bytes) -> None:
    """Write a file; replace it if it exists. Raises as `writing` does."""
    with writing(path):
        path.write_bytes(content)


def write_new(path: Path, parts: Iterable[bytes], remedy: str) -> None:
    """Write a file that must not exist yet, completely or not at all; ``remedy`` says what to do if it exists.

    Raises `UsageError` if the file exists, and as `writing` does.
    """
    with writing(path):
        try:
            file = path.open("xb")
        except FileExistsError:
            raise UsageError(f"'{path}' is there already; {remedy}") from None
        try:
            with file:
                file.writelines(parts)
        except BaseException:
            path.unlink()
            raise
