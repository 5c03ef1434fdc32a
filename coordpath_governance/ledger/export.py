"""A ledger outside its database: an export of everything in one file, and anchors.

The file is JSON Lines, the same ledger always in the same bytes. The first line says what it is; then a line for every
entry, as DSSE envelope; then one for every kept document, base64. An anchor is the head of the ledger, signed, in a file
that is kept elsewhere: whoever cuts the ledger cannot cut that file.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import LedgerError, SignatureError
from coordpath_governance.files import reading
from coordpath_governance.ledger.entries import ENTRY_TYPE, Entry, read_entry
from coordpath_governance.ledger.events import Sha256
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.times import Time
from coordpath_governance.policy.terms import SERVICE
from coordpath_governance.signing.envelope import open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey

__all__ = [
    "ANCHOR_SCHEMA",
    "ANCHOR_TYPE",
    "EXPORT_SCHEMA",
    "AnchorFile",
    "Exported",
    "export_lines",
    "make_anchor",
    "read_anchor",
    "read_export",
]

EXPORT_SCHEMA = "coordpath.ledger_export/1"
_MAX_BYTES = 4 * 1024**3
_MAX_LINE = 512 * 1024**2

ANCHOR_SCHEMA = "coordpath.anchor/1"
ANCHOR_TYPE = "application/vnd.coordpath.anchor+json"
_MAX_ANCHOR_BYTES = 64 * 1024


class _Line(ClosedDocument, strict=True):
    """A line of the file."""


class _Header(_Line):
    schema_: Literal["coordpath.ledger_export/1"] = Field(alias="schema")
    ledger: str
    entries: int = Field(ge=0)
    blobs: int = Field(ge=0)


class _Signature(_Line):
    keyid: str
    sig: str


class _EntryLine(_Line):
    payload: str
    payloadType: Literal["application/vnd.coordpath.ledger-entry+json"]  # noqa: N815 - as DSSE spells it
    signatures: list[_Signature] = Field(min_length=1, max_length=1)


class _BlobLine(_Line):
    sha256: Sha256
    content: str


_Kind = TypeVar("_Kind", bound=_Line)


@dataclass(frozen=True)
class Exported:
    """What an export holds: unchecked entries and documents, and what is wrong with lines that should be entries."""

    ledger: str
    entries: tuple[Entry, ...]
    blobs: Mapping[str, bytes]
    damaged: tuple[tuple[int | None, str], ...]


def export_lines(ledger: str, entries: Sequence[Entry], blobs: Mapping[str, bytes]) -> Iterator[bytes]:
    """The lines of the file."""
    digests = sorted(blobs)
    yield canonical_bytes({"schema": EXPORT_SCHEMA, "ledger": ledger, "entries": len(entries), "blobs": len(digests)})
    for entry in entries:
        signature = {"keyid": entry.key, "sig": entry.signature}
        yield canonical_bytes({"payload": _base64(entry.payload), "payloadType": ENTRY_TYPE, "signatures": [signature]})
    for digest in digests:
        yield canonical_bytes({"sha256": digest, "content": _base64(blobs[digest])})


def read_export(path: Path) -> Exported:
    """Read what `export_lines` wrote. Raises `LedgerError` if it is of another kind or cut short, and as `reading` does."""
    with reading(path):
        if path.stat().st_size > _MAX_BYTES:
            raise LedgerError(f"'{path}' has more than {_MAX_BYTES} bytes; check it against the database instead")
        with path.open("rb") as file:
            return _read(iter(file), str(path))


def _read(lines: Iterator[bytes], where: str) -> Exported:
    header = _parsed(_Header, next(lines, b""), f"{where}, line 1")
    entries: list[Entry] = []
    damaged: list[tuple[int | None, str]] = []
    for number in range(1, header.entries + 1):
        entry = _entry(_parsed(_EntryLine, next(lines, b""), f"{where}, line {number + 1}"), number)
        if isinstance(entry, Entry):
            entries.append(entry)
        else:
            damaged.append((number, entry))
    blobs: dict[str, bytes] = {}
    for number in range(header.entries + 2, header.entries + header.blobs + 2):
        line = _parsed(_BlobLine, next(lines, b""), f"{where}, line {number}")
        blobs[line.sha256] = _bytes(line.content)
    if len(blobs) != header.blobs or next(lines, None) is not None:
        raise LedgerError(f"{where}: has other documents than its first line says; export the ledger again")
    if entries and entries[0].body.get("ledger") != header.ledger:
        damaged.append((None, "the first line names another ledger than the first entry"))
    return Exported(header.ledger, tuple(entries), blobs, tuple(damaged))


def _entry(line: _EntryLine, number: int) -> Entry | str:
    """The entry of a line, or what is wrong with it."""
    (signature,) = line.signatures
    try:
        entry = read_entry(_bytes(line.payload), signature.sig, f"line {number + 1}")
    except LedgerError as error:
        return str(error)
    return entry if entry.key == signature.keyid else "its envelope names another key than its payload"


def _parsed(kind: type[_Kind], line: bytes, where: str) -> _Kind:
    if not line:
        raise LedgerError(f"{where}: is missing: the file is empty or cut short; export the ledger again")
    try:
        return kind.model_validate(read_json(line, where, LedgerError, max_bytes=_MAX_LINE))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise LedgerError(f"{where}: is not that of an export of schema {EXPORT_SCHEMA}: {place}: {first['msg']}") from error


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _bytes(text: str) -> bytes:
    """What base64 says; nothing, which no digest or signature fits, for what is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


class _AnchorDocument(ClosedDocument, strict=True):
    """What is signed."""

    schema_: Literal["coordpath.anchor/1"] = Field(alias="schema")
    ledger: str
    seq: int = Field(ge=1)
    hash: Sha256
    at: Time


@dataclass(frozen=True)
class AnchorFile:
    """An envelope that claims to hold an anchor; nothing in it is to be believed before `opened`."""

    where: str
    envelope: Any

    def opened(self, keys: KeyRing) -> tuple[str, int, str]:
        """Ledger, entry and hash that were anchored; `SignatureError` unless a service key of this ledger signed it.

        A key that was revoked vouches for entries up to its revocation.
        """
        services = {key: service.public for key, service in keys.keys.items() if SERVICE in service.facts.roles}
        payload, signer = open_envelope(self.envelope, ANCHOR_TYPE, services)
        content = read_json(payload, self.where, SignatureError)
        try:
            document = _AnchorDocument.model_validate(content)
        except ValidationError as error:
            raise SignatureError(f"its payload is not of schema {ANCHOR_SCHEMA}") from error
        if not keys.keys[signer].active(document.seq):
            raise SignatureError(f"it is about entry {document.seq}, when its key {signer[:12]} did not count")
        return document.ledger, document.seq, document.hash


def make_anchor(ledger: str, head: Entry, at: str, key: PrivateKey) -> bytes:
    """The content of an anchor file for a ledger whose newest entry is ``head``."""
    payload = {"schema": ANCHOR_SCHEMA, "ledger": ledger, "seq": head.seq, "hash": head.hash, "at": at}
    return canonical_bytes(seal(canonical_bytes(payload), ANCHOR_TYPE, key))


def read_anchor(content: bytes, where: str) -> AnchorFile:
    """An anchor file, unopened; `LedgerError` if it is not even JSON."""
    return AnchorFile(where, read_json(content, where, LedgerError, max_bytes=_MAX_ANCHOR_BYTES))
