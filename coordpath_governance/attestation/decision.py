"""The in-toto statement about a decision: the model, the files of the decision's record, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from coordpath_governance.attestation.attest import IN_TOTO_TYPE, Digest, Resource
from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.errors import SignatureError
from coordpath_governance.reports.decision import DecisionDocument
from coordpath_governance.reports.parts import Part
from coordpath_governance.signing.envelope import open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = ["DECISION_ATTESTATION", "DECISION_TYPE", "attest_decision", "read_decision_attestation"]

DECISION_ATTESTATION = "decision.attestation.json"
DECISION_TYPE = "urn:coordpath:change-decision:v1"
_MAX_BYTES = 1024 * 1024


class DecisionFacts(Part):
    """The predicate. ``entry`` and its hash are the promotion's or the rejection's in the ledger.

    An emergency rollback has no ``report``.
    """

    decision: Literal["promoted", "rejected"]
    alias: str
    from_version: str | None
    at: str
    report: Digest | None
    policy: Digest
    ledger: str
    entry: int
    entry_sha256: str


class DecisionStatement(Part):
    """in-toto's Statement v1; the first subject is the model, the others are the files of the record."""

    type_: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")] = "https://in-toto.io/Statement/v1"
    subject: Annotated[tuple[Resource, ...], Field(min_length=2)]
    predicate_type: Annotated[Literal["urn:coordpath:change-decision:v1"], Field(alias="predicateType")] = (
        "urn:coordpath:change-decision:v1"
    )
    predicate: DecisionFacts


def attest_decision(document: DecisionDocument, files: Mapping[str, str], key: PrivateKey) -> bytes:
    """The bytes of decision.attestation.json over the record's ``files`` (name → SHA-256). No clock: same bytes again."""
    model = Resource(name=f"{document.name}/{document.to_version}", digest=Digest(sha256=document.digests.to_model))
    statement = DecisionStatement(
        subject=(model, *(Resource(name=name, digest=Digest(sha256=files[name])) for name in sorted(files))),
        predicate=DecisionFacts(
            decision=document.decision,
            alias=document.alias,
            from_version=document.from_version,
            at=document.at,
            report=Digest(sha256=document.digests.report) if document.digests.report else None,
            policy=Digest(sha256=document.digests.policy),
            ledger=document.ledger,
            entry=document.entry,
            entry_sha256=document.entry_sha256,
        ),
    )
    return canonical_bytes(seal(canonical_bytes(statement.model_dump(mode="json", by_alias=True)), IN_TOTO_TYPE, key))


def read_decision_attestation(content: bytes, keys: Mapping[str, PublicKey]) -> DecisionStatement:
    """The statement of an attestation that one of ``keys`` (by id) signed; anything else is a `SignatureError`."""
    envelope = read_json(content, "the decision's attestation", SignatureError, max_bytes=_MAX_BYTES)
    payload, _ = open_envelope(envelope, IN_TOTO_TYPE, keys)
    raw = read_json(payload, "the statement on the decision", SignatureError)
    try:
        return DecisionStatement.model_validate(raw)
    except ValidationError as error:
        raise SignatureError(f"the attestation holds no statement on a decision: {error.errors()[0]['msg']}") from error
