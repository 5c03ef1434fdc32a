"""A request to promote that a person signed, for a registry whose server does not know who asks.

The client puts the envelope into the version tag `coordpath.request` and then sets the alias. The guarded registry takes the
tag away, checks it and records its signer as the actor. A request is used once, whatever the answer was; only one that asks
for what stands there already, and is no emergency rollback, leaves no entry.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import RefusedError, SignatureError, UsageError
from coordpath_governance.ledger.events import LONGEST_WORDS, Emergency, Intent, Refusal
from coordpath_governance.ledger.promotion_requests import REQUEST_SCHEMA, REQUEST_TYPE, PromotionRequest, open_request
from coordpath_governance.ledger.times import moment
from coordpath_governance.policy.terms import SERVICE
from coordpath_governance.review.ports import Actor
from coordpath_governance.signing.envelope import seal

if TYPE_CHECKING:
    from coordpath_governance.ledger.keyring import KnownKey
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["REQUEST_TAG", "REQUEST_TYPE", "SignedRequest", "asks_for_emergency", "requested_by", "sign_request"]

REQUEST_TAG = "coordpath.request"
_HOLDS = timedelta(minutes=15)
_LONGEST = timedelta(hours=1)


@dataclass(frozen=True)
class SignedRequest:
    """A request that counts: what was asked, the key that signed it, and the envelope as it came."""

    request: PromotionRequest
    signer: KnownKey
    envelope: str

    @property
    def actor(self) -> Actor:
        """Who asks."""
        return Actor(self.signer.facts.owner, "key", self.request.nonce)


def sign_request(
    *,
    registry: str,
    name: str,
    version: str,
    alias: str,
    key: PrivateKey,
    now: datetime,
    emergency: tuple[str, str] | None = None,
) -> str:
    """The value of the tag: a DSSE envelope that holds for fifteen minutes from ``now`` (UTC).

    ``emergency`` asks for an emergency rollback: away from which version, and why. Raises `UsageError` without a reason.
    """
    payload: dict[str, object] = {
        "schema": REQUEST_SCHEMA,
        "registry": registry,
        "name": name,
        "version": version,
        "alias": alias,
        "nonce": secrets.token_hex(16),
        "expires": (now + _HOLDS).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    if emergency is not None:
        before, reason = emergency
        if not reason.strip() or len(reason) > LONGEST_WORDS:
            raise UsageError(f"an emergency rollback needs a --reason of at most {LONGEST_WORDS} characters")
        payload["emergency"] = {"from_version": before, "reason": reason}
    return canonical_bytes(seal(canonical_bytes(payload), REQUEST_TYPE, key)).decode()


def asks_for_emergency(ledger: Ledger, text: str) -> bool:
    """Whether a person known to this ledger signed a request for an emergency rollback, whatever else is wrong with it."""
    keys = {key: person.public for key, person in ledger.keyring().keys.items()}
    try:
        return open_request(text, "the request", keys)[0].emergency is not None
    except SignatureError:
        return False


def requested_by(ledger: Ledger, text: str, *, name: str, version: str, alias: str) -> SignedRequest:
    """The request ``text`` for exactly this promotion, and who signed it.

    Raises `RefusedError` if the envelope is damaged, if no active key of a person in this ledger signed it, if it is about
    something else, has expired, runs longer than an hour, or was used before.
    """
    keys = {
        person.facts.id: person
        for person in ledger.keyring().keys.values()
        if person.revoked is None and SERVICE not in person.facts.roles
    }
    where = f"the tag '{REQUEST_TAG}' of version {version} of '{name}'"
    try:
        request, signer = open_request(text, where, {key: person.public for key, person in keys.items()})
    except SignatureError as error:
        raise _refused(where, str(error)) from error
    if (request.registry, request.name, request.version, request.alias) != (ledger.id, name, version, alias):
        raise _refused(where, "it asks for another promotion than this one")
    now = moment(ledger.now())
    if not now < moment(request.expires) <= now + _LONGEST:
        raise _refused(where, f"it expires at {request.expires}, and the ledger's time is {ledger.now()}")
    for entry in ledger.entries(name):
        facts = entry.facts
        if isinstance(facts, Intent | Emergency | Refusal) and facts.request == request.nonce:
            raise _refused(where, f"entry {entry.seq} has used it already")
    return SignedRequest(request, keys[signer], text)


def _refused(where: str, why: str) -> RefusedError:
    return RefusedError(f"{where} is not a request that counts: {why}; sign a new one with `coordpath promote --key`")
