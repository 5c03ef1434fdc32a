"""Entries as they were stored or exported: the signed bytes and nothing that only means the same."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import read_json
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.entries import ENTRY_SCHEMA, Entry
from coordpath_governance.ledger.events import Sha256
from coordpath_governance.ledger.times import Time

__all__ = ["read_entry"]


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
    """The entry whose canonical bytes these are; `LedgerError` beginning with ``where`` if they are none's."""
    found = read_json(payload, where, LedgerError)
    try:
        document = _EntryDocument.model_validate(found)
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
