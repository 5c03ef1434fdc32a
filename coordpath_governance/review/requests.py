"""A request to promote that a person signed, for a registry whose server does not know who asks.

The client puts the envelope into the version tag `coordpath.request` and then sets the alias. The guarded registry takes the
tag away, checks it and records its signer as the actor. A request is used once, whatever the answer was.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.errors import RefusedError, SignatureError
from coordpath_governance.ledger.events import SERVICE, Intent, Nonce, Refusal
from coordpath_governance.ledger.times import Time, moment
from coordpath_governance.review.ports import Actor
from coordpath_governance.signing.envelope import open_envelope, seal

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["REQUEST_TAG", "REQUEST_TYPE", "requested_by", "sign_request"]

REQUEST_TAG = "coordpath.request"
REQUEST_TYPE = "application/vnd.coordpath.promotion-request+json"
_SCHEMA = "coordpath.promotion_request/1"
_HOLDS = timedelta(minutes=15)
_LONGEST = timedelta(hours=1)
_MAX_BYTES = 16 * 1024


class _Request(BaseModel):
    """What is signed. ``registry`` is the ledger's own name, so that a request means nothing elsewhere."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    schema_: Literal["coordpath.promotion_request/1"] = Field(alias="schema")
    registry: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    name: str
    version: str
    alias: str
    nonce: Nonce
    expires: Time


def sign_request(registry: str, name: str, version: str, alias: str, key: PrivateKey, now: datetime) -> str:
    """The value of the tag: a DSSE envelope that holds for fifteen minutes from ``now`` (UTC)."""
    payload = {
        "schema": _SCHEMA,
        "registry": registry,
        "name": name,
        "version": version,
        "alias": alias,
        "nonce": secrets.token_hex(16),
        "expires": (now + _HOLDS).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return canonical_bytes(seal(canonical_bytes(payload), REQUEST_TYPE, key)).decode()


def requested_by(ledger: Ledger, text: str, name: str, version: str, alias: str) -> Actor:
    """Who signed the request ``text`` for exactly this promotion.

    Raises `RefusedError` if the envelope is damaged, if no active key of a person in this ledger signed it, if it is about
    something else, has expired, runs longer than an hour, or was used before.
    """
    keys = {
        known.facts.id: known
        for known in ledger.keyring().keys.values()
        if known.revoked is None and SERVICE not in known.facts.roles
    }
    where = f"the tag '{REQUEST_TAG}' of version {version} of '{name}'"
    try:
        envelope = read_json(text.encode("utf-8", "surrogatepass"), where, SignatureError, max_bytes=_MAX_BYTES)
        payload, signer = open_envelope(envelope, REQUEST_TYPE, {key: known.public for key, known in keys.items()})
        request = _Request.model_validate(read_json(payload, where, SignatureError, max_bytes=_MAX_BYTES))
    except SignatureError as error:
        raise _refused(where, str(error)) from error
    except ValidationError as error:
        raise _refused(where, f"it is not of schema {_SCHEMA}") from error
    if (request.registry, request.name, request.version, request.alias) != (ledger.id, name, version, alias):
        raise _refused(where, "it asks for another promotion than this one")
    now = moment(ledger.now())
    if not now < moment(request.expires) <= now + _LONGEST:
        raise _refused(where, f"it expires at {request.expires}, and the ledger's time is {ledger.now()}")
    for entry in ledger.entries(name):
        facts = entry.facts
        if isinstance(facts, Intent | Refusal) and facts.request == request.nonce:
            raise _refused(where, f"entry {entry.seq} has used it already")
    return Actor(keys[signer].facts.owner, "key", request.nonce)


def _refused(where: str, why: str) -> RefusedError:
    return RefusedError(f"{where} is not a request that counts: {why}; sign a new one with `coordpath promote --key`")
