"""JSON with one meaning: canonical bytes are written, and reading is strict.

Canonical: sorted keys, no white space, the shortest float text that reads back exactly, UTF-8, no NaN or infinity, a final
newline. Strict: a duplicate key would let two readers see two different documents, so it is an error. Other errors are NaN,
infinity, invalid UTF-8, too many bytes and too deep nesting. A byte order mark is skipped.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from coordpath_governance.errors import CoordpathError

__all__ = ["MAX_JSON_BYTES", "canonical_bytes", "read_json", "sha256_hex"]

MAX_JSON_BYTES = 256 * 1024 * 1024

_PLACE = 200
"""The most characters of a place in an error message, because keys may be hostile."""


def canonical_bytes(document: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """The canonical bytes of a JSON value. Raises `ValueError` for NaN and infinity."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def sha256_hex(content: bytes) -> str:
    """SHA-256 as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def read_json(
    content: bytes | str,
    where: str,
    error: type[CoordpathError],
    *,
    max_bytes: int = MAX_JSON_BYTES,
    max_parts: int | None = None,
    allow_nan: bool = False,
) -> Any:  # noqa: ANN401 - any JSON value
    """Parse untrusted JSON strictly. Raises ``error`` for every fault, with a message that begins with ``where``.

    ``max_parts`` limits the number of values before any of them is built: an empty list takes three bytes of JSON, and
    seventy in memory. ``allow_nan`` accepts the ``NaN`` and ``Infinity`` that Python writes.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise error(f"{where}: the key {twice[:80]!r} is there twice in one object; give it once")
        return mapping

    constants: list[_Constant] = []

    def refuse(name: str) -> _Constant:
        constants.append(_Constant(name))
        return constants[-1]

    if len(content) > max_bytes:
        raise error(f"{where}: has {len(content)} bytes; at most {max_bytes} are read")
    if max_parts is not None and _parts(content) > max_parts:
        raise error(f"{where}: has more than the {max_parts} values that are read")
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        document = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=unique, parse_constant=None if allow_nan else refuse
        )
        if "\\u" in text:
            json.dumps(document, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError as cause:
        raise error(f"{where}: has half of a character (a lone surrogate); write whole ones") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{where}: is not UTF-8 (byte {cause.start}); save it as UTF-8") from cause
    except json.JSONDecodeError as cause:
        raise error(f"{where}: is not JSON: line {cause.lineno}, column {cause.colno}: {cause.msg}") from cause
    except RecursionError as cause:
        raise error(f"{where}: is nested too deeply to be read") from cause
    except CoordpathError:
        raise
    except ValueError as cause:
        raise error(f"{where}: cannot be read: {str(cause)[:200]}") from cause
    if constants:
        name, place = constants[0].name, _place(document, constants[0])
        raise error(f"{where}: {place}is {name}; give a finite number or null ({name} is not a number in JSON)")
    return document


def _parts(content: bytes | str) -> int:
    """At least the number of values in JSON text: each value follows a comma or an opening bracket."""
    if isinstance(content, bytes):
        return content.count(b",") + content.count(b"[") + content.count(b"{")
    return content.count(",") + content.count("[") + content.count("{")


@dataclass(frozen=True, eq=False)
class _Constant:
    """A NaN or an infinity in JSON text where a number should be."""

    name: str


def _place(document: object, constant: _Constant) -> str:
    """Where ``constant`` is, as in "cost.linear[0]: "; "" if it is the whole document."""
    pending: list[tuple[str, Any]] = [("", document)]
    while True:
        at, value = pending.pop()
        if value is constant:
            return f"{at}: " if at else ""
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            if entry is constant or isinstance(entry, dict | list):
                name = f"[{key}]" if isinstance(value, list) else f".{key}" if at else key
                pending.append((f"{at}{name}"[:_PLACE], entry))
