"""Proof that the owner of a key has it: a DSSE envelope that the key itself signed over its public half, a name and a time.

Whoever adds a public key with such a proof adds a key that somebody can sign with, and that somebody made under this name.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.events import KeyFacts, KeyProof
from coordpath_governance.ledger.quorum import person
from coordpath_governance.ledger.times import Time
from coordpath_governance.signing.envelope import check_signature, open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = ["PROOF_SCHEMA", "PROOF_TYPE", "make_proof", "objection_to_proof", "read_proof"]

PROOF_SCHEMA = "coordpath.key_proof/1"
PROOF_TYPE = "application/vnd.coordpath.key-proof+json"
_MAX_BYTES = 16 * 1024


class _ProofDocument(ClosedDocument, strict=True):
    """What is signed."""

    schema_: Literal["coordpath.key_proof/1"] = Field(alias="schema")
    public: str
    owner: Annotated[str, Field(min_length=1, max_length=200)] | None
    ledger: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None
    at: Time


def make_proof(key: PrivateKey, owner: str | None, ledger: str | None, now: datetime) -> bytes:
    """The content of a proof file. ``owner`` and ``ledger`` (its own name) limit what it counts for; ``now`` is UTC."""
    at = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return canonical_bytes(seal(_payload(key.public.text, owner, ledger, at), PROOF_TYPE, key))


def read_proof(content: bytes, where: str, public: PublicKey, owner: str, ledger: str) -> KeyProof:
    """What the ledger keeps of a proof that ``owner`` has the key ``public``.

    Raises `SignatureError` if the file is damaged, signed by another key, or made for another owner or ledger.
    """
    try:
        envelope: Any = read_json(content, where, SignatureError, max_bytes=_MAX_BYTES)
        payload, _ = open_envelope(envelope, PROOF_TYPE, {public.id: public})
        document = _ProofDocument.model_validate(read_json(payload, where, SignatureError, max_bytes=_MAX_BYTES))
    except SignatureError as error:
        raise SignatureError(f"{where} does not prove that {owner} has this key: {error}; {_remedy(owner)}") from error
    except ValidationError as error:
        raise SignatureError(f"{where}: its payload is not of schema {PROOF_SCHEMA}; {_remedy(owner)}") from error
    signature = str(envelope["signatures"][0]["sig"])
    proof = KeyProof(owner=document.owner, ledger=document.ledger, at=document.at, signature=signature)
    objection = objection_to_proof(proof, KeyFacts(id=public.id, public=public.text, owner=owner, roles=("",)), ledger)
    if objection is not None:
        raise SignatureError(f"{where}: {objection}; {_remedy(owner)}")
    return proof


def objection_to_proof(proof: KeyProof, key: KeyFacts, ledger: str) -> str | None:
    """Why a proof does not show that the owner of ``key`` has it; None if it does."""
    if proof.owner is not None and person(proof.owner) != person(key.owner):
        return f"the proof of the key is for '{proof.owner}', not for '{key.owner}'"
    if proof.ledger not in (None, ledger):
        return f"the proof of the key is for the ledger {proof.ledger}, not for this one"
    payload = _payload(key.public, proof.owner, proof.ledger, proof.at)
    try:
        check_signature(payload, PROOF_TYPE, proof.signature, PublicKey.from_text(key.public))
    except SignatureError as error:
        return f"the proof of the key is not signed with it: {error}"
    return None


def _payload(public: str, owner: str | None, ledger: str | None, at: str) -> bytes:
    return canonical_bytes({"schema": PROOF_SCHEMA, "public": public, "owner": owner, "ledger": ledger, "at": at})


def _remedy(owner: str) -> str:
    return f"{owner} makes key and proof with `coordpath key make OWNER --out FILE --proof FILE`"
