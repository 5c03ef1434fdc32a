"""DSSE envelopes: a payload with its type and one Ed25519 signature over both."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import Signature

from coordpath_governance.errors import SignatureError
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = ["check_signature", "open_envelope", "seal", "sign"]


def sign(payload: bytes, payload_type: str, key: PrivateKey) -> str:
    """The signature of ``key`` over ``payload`` and ``payload_type``, as base64."""
    signature = Envelope(payload, payload_type, {}).sign(key.for_dsse())
    return base64.b64encode(bytes.fromhex(signature.signature)).decode("ascii")


def check_signature(payload: bytes, payload_type: str, signature: str, key: PublicKey) -> None:
    """Raises `SignatureError` unless ``signature`` (base64) is that of ``key`` over ``payload`` and ``payload_type``."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SignatureError("the signature is not base64") from error
    if base64.b64encode(raw).decode("ascii") != signature:
        raise SignatureError("the signature is not the one base64 text of its bytes")
    envelope = Envelope(payload, payload_type, {key.id: Signature(key.id, raw.hex())})
    try:
        envelope.verify([key.for_dsse()], 1)
    except VerificationError as error:
        raise SignatureError(f"the signature is not one of key {key.id[:12]} over these bytes") from error


def seal(payload: bytes, payload_type: str, key: PrivateKey) -> dict[str, Any]:
    """The envelope as a JSON value with the keys payload, payloadType and signatures."""
    return {
        "payload": base64.b64encode(payload).decode("ascii"),
        "payloadType": payload_type,
        "signatures": [{"keyid": key.public.id, "sig": sign(payload, payload_type, key)}],
    }


def open_envelope(envelope: Any, payload_type: str, keys: Mapping[str, PublicKey]) -> tuple[bytes, str]:  # noqa: ANN401 - any JSON value
    """The payload of ``envelope`` and the id of the key that signed it; ``keys`` are the keys that may have, by id.

    Raises `SignatureError` if it is no envelope of this type with one signature, or if none of ``keys`` signed it.
    """
    try:
        (signature,) = envelope["signatures"]
        found_type, key_id, text = envelope["payloadType"], signature["keyid"], signature["sig"]
        payload = base64.b64decode(envelope["payload"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise SignatureError("not an envelope with payload, payloadType and one signature") from error
    if found_type != payload_type:
        raise SignatureError(f"the envelope holds {str(found_type)[:80]!r}, expected {payload_type!r}")
    if key_id not in keys:
        raise SignatureError(f"signed with the key {str(key_id)[:12]}, which is not known here")
    check_signature(payload, payload_type, text, keys[key_id])
    return payload, key_id
