"""The parts of a ``.skops`` archive, written so that the same content gives the same bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["array_node", "json_node", "npy_bytes", "schema_bytes", "write_zip"]

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def write_zip(members: Iterable[tuple[str, bytes, int]]) -> bytes:
    """A zip of ``members`` in this order: name, content, and the kind of compression. All have the first date of zips."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content, compression in members:
            info = zipfile.ZipInfo(name, _FIRST_DATE)
            info.compress_type, info.create_system = compression, _UNIX
            archive.writestr(info, content)
    return buffer.getvalue()


def npy_bytes(array: NDArray[Any] | np.generic) -> bytes:
    """An array or a scalar in numpy's own format, without pickles."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def schema_bytes(schema: object) -> bytes:
    """``schema.json`` as skops lays it out."""
    return json.dumps(schema, indent=2).encode()


def json_node(value: float | str | bool | None) -> dict[str, object]:
    """The node of a plain value."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def array_node(kind: type, file: str) -> dict[str, object]:
    """The node of an array, or of a scalar of the numpy type ``kind``, whose content is the member ``file``."""
    return {
        "__class__": "bool_" if kind is np.bool_ else kind.__name__,
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": file,
    }
