"""One entry of the ledger: an event, its place in the global chain and in its model's, and the signature over all of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.ledger.events import EVENTS, Body
from coordpath_governance.signing.envelope import check_signature, sign
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = ["ENTRY_SCHEMA", "ENTRY_TYPE", "NOTHING_BEFORE", "Entry", "sign_entry"]

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
        """What the next entry names."""
        return sha256_hex(self.payload)

    @cached_property
    def facts(self) -> Body:
        """The body as the document of its event; pydantic's ValidationError if it is none."""
        return EVENTS[self.event].model_validate(self.body)

    def check(self, key: PublicKey) -> None:
        """`SignatureError` unless ``key`` signed this entry."""
        check_signature(self.payload, ENTRY_TYPE, self.signature, key)


def sign_entry(entry: Entry, key: PrivateKey) -> Entry:
    """The same entry with its signature."""
    return Entry(**{**_fields(entry), "signature": sign(entry.payload, ENTRY_TYPE, key)})


def _fields(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in Entry.__dataclass_fields__}
