"""The in-toto statement about a change: its subjects and what was said of them; signed into an envelope, and read back.

Subjects are the candidate and the report's files. An envelope is read only if everything about it is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.errors import SignatureError, UsageError
from coordpath_governance.reports.document import Assessment, ChangeReportDocument, Role, Tool, VersionFacts
from coordpath_governance.reports.parts import Part
from coordpath_governance.signing.envelope import open_envelope, seal
from coordpath_governance.signing.keys import PrivateKey, PublicKey

__all__ = [
    "ATTESTATION_FILE",
    "IN_TOTO_TYPE",
    "PREDICATE_TYPE",
    "STATEMENT_TYPE",
    "VERDICT_FILE",
    "Champion",
    "ChangeVerdict",
    "Digest",
    "Reference",
    "Resource",
    "Statement",
    "attest",
    "read_attestation",
]

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:coordpath:change-verdict:v1"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$")]

ATTESTATION_FILE = "attestation.json"
VERDICT_FILE = "verdict.json"
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


class Reference(Part):
    """The reference data, and what they are to the models."""

    digest: Digest
    role: Role


class ChangeVerdict(Part):
    """The predicate ``urn:coordpath:change-verdict:v1``; docs/attestation.md says what each field means."""

    champion: Champion | None
    verdict: Literal["not assessed", "pass", "review", "fail"]
    reason: str
    materiality: str | None
    policy: Digest | None
    reference: Reference
    made_at: UtcTime
    tool: Tool
    ledger: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None


class Statement(Part):
    """in-toto's Statement v1 with our predicate; the first subject is the candidate, the others are the report's files."""

    type_: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")] = STATEMENT_TYPE
    subject: Annotated[tuple[Resource, ...], Field(min_length=2)]
    predicate_type: Annotated[Literal["urn:coordpath:change-verdict:v1"], Field(alias="predicateType")] = PREDICATE_TYPE
    predicate: ChangeVerdict

    @classmethod
    def about(
        cls,
        document: ChangeReportDocument,
        files: Mapping[str, str],
        assessment: Assessment,
        policy: str | None,
        made_at: str,
        ledger: str | None,
    ) -> Statement:
        """The statement on a report's document and its files (name → SHA-256)."""
        candidate = document.subject.candidate
        model = Resource(name=f"{candidate.name}/{candidate.version}", digest=_digest(candidate))
        return cls(
            subject=(model, *(Resource(name=name, digest=Digest(sha256=sha256)) for name, sha256 in sorted(files.items()))),
            predicate=ChangeVerdict(
                champion=_champion(document.subject.champion),
                verdict=assessment.verdict,
                reason=assessment.reason,
                materiality=assessment.materiality,
                policy=None if policy is None else Digest(sha256=policy),
                reference=Reference(digest=Digest(sha256=document.data.sha256), role=document.data.role),
                made_at=made_at,
                tool=document.tool,
                ledger=ledger,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """The statement as JSON value, as in-toto spells it."""
        return self.model_dump(mode="json", by_alias=True)


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
    statement = Statement.about(document, files, assessment or document.assessment, policy, made_at, ledger)
    return canonical_bytes(seal(canonical_bytes(statement.to_dict()), IN_TOTO_TYPE, key))


def read_attestation(content: bytes, keys: Mapping[str, PublicKey]) -> dict[str, Any]:
    """The statement of an attestation that one of ``keys`` (by id) signed; anything else is a `SignatureError`.

    It says what the signer stated, not that files at hand are those files: compare digests with the subjects.
    """
    envelope = read_json(content, "the attestation", SignatureError, max_bytes=_MAX_BYTES)
    payload, _ = open_envelope(envelope, IN_TOTO_TYPE, keys)
    raw = read_json(payload, "the attestation's statement", SignatureError)
    try:
        return Statement.model_validate(raw).to_dict()
    except ValidationError as error:
        where = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:_SHOWN])
        raise SignatureError(f"the attestation holds no statement on a change that we know: {where}") from error
