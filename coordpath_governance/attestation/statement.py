"""The in-toto statement about a change: its subjects (the candidate and the report's files) and what was said of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from coordpath_governance.errors import UsageError
from coordpath_governance.reports.document import Assessment, ChangeReportDocument, Role, Tool, VersionFacts
from coordpath_governance.reports.parts import Part

__all__ = ["PREDICATE_TYPE", "STATEMENT_TYPE", "Champion", "ChangeVerdict", "Digest", "Reference", "Resource", "Statement"]

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:coordpath:change-verdict:v1"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$")]


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
