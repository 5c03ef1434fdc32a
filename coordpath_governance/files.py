"""Files and folders that a user names: what keeps us from writing one is told in one way, everywhere."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coordpath_governance.errors import CoordpathError, NotFoundError, UsageError

__all__ = ["reading", "write_file", "write_new", "writing"]

_DISK = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO))
"""What a disk may do to a file that was named rightly."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says while ``path`` is written into an error of ours.

    Raises `CoordpathError` (exit code 4) if the disk is full or fails; else `UsageError`: the name is too long or that of a
    folder, its folder does not exist, or nobody gave us the right to write there.
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
    """Turn what the system says while ``path`` is read into an error of ours.

    Raises `NotFoundError` if there is no such file, `CoordpathError` (exit code 4) if the disk fails; else `UsageError`: the
    name is too long or that of a folder, or nobody gave us the right to read it.
    """
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        kind = CoordpathError if error.errno in _DISK else UsageError
        raise kind(f"cannot read '{path}': {error.strerror or error}") from error


def write_file(path: Path, content: bytes) -> None:
    """Write a file, over one that may be there. Raises as `writing` does."""
    with writing(path):
        path.write_bytes(content)


def write_new(path: Path, parts: Iterable[bytes], remedy: str) -> None:
    """Write a file that must not be there yet, whole or not at all; ``remedy`` says why it is not written over.

    Raises `UsageError` if it is there, and as `writing` does.
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
