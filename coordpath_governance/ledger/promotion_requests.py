"""The request to promote that a person signs: what is in it, and who signed it. Guard and audit read it in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import read_json
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.events import Nonce, Version, Words
from coordpath_governance.ledger.times import Time
from coordpath_governance.signing.envelope import open_envelope
from coordpath_governance.signing.keys import PublicKey

__all__ = ["REQUEST_SCHEMA", "REQUEST_TYPE", "EmergencyWish", "PromotionRequest", "open_request"]

REQUEST_TYPE = "application/vnd.coordpath.promotion-request+json"
REQUEST_SCHEMA = "coordpath.promotion_request/1"
_MAX_BYTES = 32 * 1024


class _Signed(ClosedDocument, strict=True):
    """A document that a person signs."""


class EmergencyWish(_Signed):
    """The request is for an emergency rollback: why, and away from which version."""

    reason: Words
    from_version: Version


class PromotionRequest(_Signed):
    """What is signed. ``registry`` is the ledger's own name, so that a request means nothing elsewhere."""

    schema_: Literal["coordpath.promotion_request/1"] = Field(alias="schema")
    registry: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    name: str
    version: str
    alias: str
    nonce: Nonce
    expires: Time
    emergency: EmergencyWish | None = None


def open_request(text: str, where: str, keys: Mapping[str, PublicKey]) -> tuple[PromotionRequest, str]:
    """A request and the id of the key, one of ``keys``, that signed it; `SignatureError` if none did or it is damaged."""
    envelope: Any = read_json(text.encode("utf-8", "surrogatepass"), where, SignatureError, max_bytes=_MAX_BYTES)
    payload, signer = open_envelope(envelope, REQUEST_TYPE, keys)
    try:
        return PromotionRequest.model_validate(read_json(payload, where, SignatureError, max_bytes=_MAX_BYTES)), signer
    except ValidationError as error:
        raise SignatureError(f"it is not of schema {REQUEST_SCHEMA}") from error
