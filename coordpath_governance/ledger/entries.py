"""One entry of the ledger: an event, its place in the global chain and in its model's, and the signature over all of it.

An entry is read from exactly the bytes that were stored or exported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json, sha256_hex
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.events import EVENTS, Body, Sha256
from coordpath_governance.ledger.times import Time
from coordpath_governance.signing.envelope import check_signature, sign
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = ["ENTRY_SCHEMA", "ENTRY_TYPE", "NOTHING_BEFORE", "Entry", "read_entry", "sign_entry"]

ENTRY_SCHEMA = "coordpath.ledger_entry/1"
ENTRY_TYPE = "application/vnd.coordpath.ledger-entry+json"
NOTHING_BEFORE = "0" * 64


@dataclass(frozen=True)
class Entry:
    """``previous`` is the hash of the entry before; ``model_seq`` and ``model_previous`` count within one model's name.

    ``at`` is the database's time, UTC, with microseconds. ``hash`` = SHA-256 of ``payload``, which is all of it but the
    signature.
    """

    seq: int
    at: str
    event: str
    model: str | None
    model_seq: int | None
    previous: str
    model_previous: str | None
    body: dict[str, Any]
    key: str
    signature: str = ""

    @cached_property
    def payload(self) -> bytes:
        """The canonical bytes that are signed."""
        return canonical_bytes(
            {
                "schema": ENTRY_SCHEMA,
                "seq": self.seq,
                "at": self.at,
                "event": self.event,
                "model": self.model,
                "model_seq": self.model_seq,
                "previous": self.previous,
                "model_previous": self.model_previous,
                "body": self.body,
                "key": self.key,
            }
        )

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the payload, which the next entry names."""
        return sha256_hex(self.payload)

    @cached_property
    def facts(self) -> Body:
        """The body as the document of its event; raises pydantic's ValidationError if it does not fit."""
        return EVENTS[self.event].model_validate(self.body)

    def check(self, key: PublicKey) -> None:
        """`SignatureError` unless ``key`` signed this entry."""
        check_signature(self.payload, ENTRY_TYPE, self.signature, key)


def sign_entry(entry: Entry, key: PrivateKey) -> Entry:
    """The same entry with its signature."""
    return Entry(**{**_fields(entry), "signature": sign(entry.payload, ENTRY_TYPE, key)})


def _fields(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in Entry.__dataclass_fields__}


class _EntryDocument(ClosedDocument, strict=True):
    """The payload of an entry."""

    schema_: Literal["coordpath.ledger_entry/1"] = Field(alias="schema")
    seq: int = Field(ge=1)
    at: Time
    event: str
    model: str | None
    model_seq: int | None = Field(ge=1)
    previous: Sha256
    model_previous: Sha256 | None
    body: dict[str, Any]
    key: Sha256


def read_entry(payload: bytes, signature: str, where: str) -> Entry:
    """The entry whose canonical bytes these are; raises `LedgerError`, beginning with ``where``, if they are not one."""
    content = read_json(payload, where, LedgerError)
    try:
        document = _EntryDocument.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise LedgerError(f"{where}: is not an entry of schema {ENTRY_SCHEMA}: {place}: {first['msg']}") from error
    entry = Entry(
        seq=document.seq,
        at=document.at,
        event=document.event,
        model=document.model,
        model_seq=document.model_seq,
        previous=document.previous,
        model_previous=document.model_previous,
        body=document.body,
        key=document.key,
        signature=signature,
    )
    if entry.payload != payload:
        raise LedgerError(f"{where}: is not written in canonical JSON, as it was when it was signed")
    return entry
