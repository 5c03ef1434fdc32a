"""In-toto statements about a change and about a decision, signed into DSSE envelopes, and read back.

The subjects of the first are the candidate and the report's files; those of the second are the version that was decided on
and the files of the decision's record. An envelope is read only if everything about it is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.errors import SignatureError, UsageError
from coordpath_governance.reports.decision import DecisionDocument
from coordpath_governance.reports.document import Assessment, ChangeReportDocument, Role, Tool, VersionFacts
from coordpath_governance.reports.parts import Part
from coordpath_governance.signing.envelope import open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = [
    "ATTESTATION_FILE",
    "DECISION_ATTESTATION",
    "DECISION_TYPE",
    "IN_TOTO_TYPE",
    "PREDICATE_TYPE",
    "STATEMENT_TYPE",
    "VERDICT_FILE",
    "Champion",
    "ChangeVerdict",
    "DecisionStatement",
    "Digest",
    "ReferenceDigest",
    "Resource",
    "Statement",
    "attest",
    "attest_decision",
    "read_attestation",
    "read_decision_attestation",
]

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:coordpath:change-verdict:v1"
DECISION_TYPE: Final = "urn:coordpath:change-decision:v1"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$")]

ATTESTATION_FILE = "attestation.json"
VERDICT_FILE = "verdict.json"
DECISION_ATTESTATION = "decision.attestation.json"
IN_TOTO_TYPE = "application/vnd.in-toto+json"
_MAX_BYTES = 1024 * 1024
_SHOWN = 3


class Digest(Part):
    """in-toto's DigestSet with the one algorithm we use."""

    sha256: Sha256


class Resource(Part):
    """in-toto's ResourceDescriptor: a file, or a model whose digest is that of its manifest."""

    name: Annotated[str, Field(min_length=1)]
    digest: Digest


class Champion(Part):
    """What the candidate was compared with; name and version where it is a registered one."""

    name: str | None
    version: str | None
    digest: Digest


class ReferenceDigest(Part):
    """The reference data by their digest, and their role."""

    digest: Digest
    role: Role


class ChangeVerdict(Part):
    """The predicate ``urn:coordpath:change-verdict:v1``; docs/attestation.md says what each field means."""

    champion: Champion | None
    verdict: Literal["not assessed", "pass", "review", "fail"]
    reason: str
    materiality: str | None
    policy: Digest | None
    reference: ReferenceDigest
    made_at: UtcTime
    tool: Tool
    ledger: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None


class _Statement(Part):
    """in-toto's Statement v1: the first subject is a model, the others are files."""

    type_: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")] = STATEMENT_TYPE
    subject: Annotated[tuple[Resource, ...], Field(min_length=2)]

    def to_dict(self) -> dict[str, Any]:
        """The statement as a JSON value, with the keys of in-toto."""
        return self.model_dump(mode="json", by_alias=True)


class Statement(_Statement):
    """The statement about a change; the first subject is the candidate, the others are the report's files."""

    predicate_type: Annotated[Literal["urn:coordpath:change-verdict:v1"], Field(alias="predicateType")] = PREDICATE_TYPE
    predicate: ChangeVerdict

    @classmethod
    def about(
        cls,
        document: ChangeReportDocument,
        files: Mapping[str, str],
        *,
        assessment: Assessment,
        policy: str | None,
        made_at: str,
        ledger: str | None,
    ) -> Statement:
        """The statement about the report ``document`` with its ``files`` (name → SHA-256); the others are as in `attest`."""
        candidate = document.subject.candidate
        return cls(
            subject=_subjects(f"{candidate.name}/{candidate.version}", _digest(candidate), files),
            predicate=ChangeVerdict(
                champion=_champion(document.subject.champion),
                verdict=assessment.verdict,
                reason=assessment.reason,
                materiality=assessment.materiality,
                policy=None if policy is None else Digest(sha256=policy),
                reference=ReferenceDigest(digest=Digest(sha256=document.data.sha256), role=document.data.role),
                made_at=made_at,
                tool=document.tool,
                ledger=ledger,
            ),
        )


def _champion(champion: VersionFacts | None) -> Champion | None:
    if champion is None:
        return None
    return Champion(name=champion.name, version=champion.version, digest=_digest(champion))


def _digest(version: VersionFacts) -> Digest:
    if version.digest is None:
        raise UsageError(f"{version.label} was not read from files, so it has no digest to attest; register it first")
    return Digest(sha256=version.digest)


def attest(
    document: ChangeReportDocument,
    files: Mapping[str, str],
    key: PrivateKey,
    *,
    made_at: str,
    assessment: Assessment | None = None,
    policy: str | None = None,
    ledger: str | None = None,
) -> bytes:
    """The bytes of attestation.json: a DSSE envelope around the in-toto statement, both canonical JSON.

    ``files`` maps the names of the report's files to their SHA-256; ``assessment`` is the gate's verdict, by default what
    the report itself says; ``policy`` is the SHA-256 of the policy behind it and ``ledger`` the id of the ledger that holds
    the entries. Same facts, same key: same bytes.
    """
    statement = Statement.about(
        document,
        files,
        assessment=assessment or document.assessment,
        policy=policy,
        made_at=made_at,
        ledger=ledger,
    )
    return _sealed(statement, key)


def read_attestation(content: bytes, keys: Mapping[str, PublicKey]) -> dict[str, Any]:
    """The statement in an attestation.json, as a JSON value; ``keys`` are the keys that may have signed it, by id.

    It says what the signer stated, not that the files at hand are those files: compare their digests with the subjects.
    Raises `SignatureError` if none of ``keys`` signed it, or if it is no statement about a change.
    """
    raw = _opened(content, keys, "the attestation", "the attestation's statement")
    try:
        return Statement.model_validate(raw).to_dict()
    except ValidationError as error:
        where = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:_SHOWN])
        raise SignatureError(f"the attestation holds no statement on a change that we know: {where}") from error


class DecisionFacts(Part):
    """The predicate ``urn:coordpath:change-decision:v1``.

    ``entry`` and ``entry_sha256`` are the promotion or the rejection in the ledger. An emergency rollback has no ``report``.
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


class DecisionStatement(_Statement):
    """The statement about a decision; the first subject is the version, the others are the files of the record."""

    predicate_type: Annotated[Literal["urn:coordpath:change-decision:v1"], Field(alias="predicateType")] = DECISION_TYPE
    predicate: DecisionFacts


def attest_decision(document: DecisionDocument, files: Mapping[str, str], key: PrivateKey) -> bytes:
    """The bytes of decision.attestation.json: a DSSE envelope around the in-toto statement, both canonical JSON.

    ``files`` maps the names of the record's files to their SHA-256. Same decision, same key: same bytes.
    """
    statement = DecisionStatement(
        subject=_subjects(f"{document.name}/{document.to_version}", Digest(sha256=document.digests.to_model), files),
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
    return _sealed(statement, key)


def read_decision_attestation(content: bytes, keys: Mapping[str, PublicKey]) -> DecisionStatement:
    """The statement in a decision.attestation.json; ``keys`` are the keys that may have signed it, by id.

    Raises `SignatureError` if none of ``keys`` signed it, or if it is no statement about a decision.
    """
    raw = _opened(content, keys, "the decision's attestation", "the statement on the decision")
    try:
        return DecisionStatement.model_validate(raw)
    except ValidationError as error:
        raise SignatureError(f"the attestation holds no statement on a decision: {error.errors()[0]['msg']}") from error


def _subjects(model: str, digest: Digest, files: Mapping[str, str]) -> tuple[Resource, ...]:
    """The model, then the files by name."""
    resources = (Resource(name=name, digest=Digest(sha256=sha256)) for name, sha256 in sorted(files.items()))
    return (Resource(name=model, digest=digest), *resources)


def _sealed(statement: _Statement, key: PrivateKey) -> bytes:
    return canonical_bytes(seal(canonical_bytes(statement.to_dict()), IN_TOTO_TYPE, key))


def _opened(content: bytes, keys: Mapping[str, PublicKey], attestation: str, statement: str) -> Any:  # noqa: ANN401 - any JSON value
    """The payload of an envelope that one of ``keys`` signed, as a JSON value; the two texts name both in errors."""
    envelope = read_json(content, attestation, SignatureError, max_bytes=_MAX_BYTES)
    payload, _ = open_envelope(envelope, IN_TOTO_TYPE, keys)
    return read_json(payload, statement, SignatureError)
