"""Anchors: the head of a ledger, signed, in a file that is kept elsewhere. Whoever cuts the ledger cannot cut the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import LedgerError, SignatureError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Sha256
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.times import Time
from coordpath_governance.policy.terms import SERVICE
from coordpath_governance.signing.envelope import open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey

__all__ = ["ANCHOR_SCHEMA", "ANCHOR_TYPE", "AnchorFile", "make_anchor", "read_anchor"]

ANCHOR_SCHEMA = "coordpath.anchor/1"
ANCHOR_TYPE = "application/vnd.coordpath.anchor+json"
_MAX_BYTES = 64 * 1024


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
        services = {key: known.public for key, known in keys.keys.items() if SERVICE in known.facts.roles}
        payload, signer = open_envelope(self.envelope, ANCHOR_TYPE, services)
        found = read_json(payload, self.where, SignatureError)
        try:
            document = _AnchorDocument.model_validate(found)
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
    return AnchorFile(where, read_json(content, where, LedgerError, max_bytes=_MAX_BYTES))
