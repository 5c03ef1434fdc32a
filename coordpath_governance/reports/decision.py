"""The record of a decision, as a document: who decided what about which change, when, and what the gate had said."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from coordpath_governance.canonical import canonical_bytes, read_json
from coordpath_governance.errors import ReportFormatError
from coordpath_governance.reports.document import RuleFacts
from coordpath_governance.reports.parts import Part

__all__ = [
    "DECISION_SCHEMA",
    "ApprovalGiven",
    "ChangeDigests",
    "DecisionDocument",
    "EmergencyTold",
    "GateVerdict",
    "RejectionGiven",
    "WaiverGiven",
]

DECISION_SCHEMA = "coordpath.decision/1"
_MAX_BYTES = 16 * 1024**2


class _Signed(Part):
    """Who signed, with which key, when, in which entry of the ledger."""

    by: str
    roles: tuple[str, ...]
    key: str
    at: str
    entry: int


class ApprovalGiven(_Signed):
    """An approval, and until when it would have held."""

    comment: str
    expires: str


class RejectionGiven(_Signed):
    """A rejection, and why."""

    comment: str


class WaiverGiven(_Signed):
    """A waiver: somebody takes responsibility for one rule that was not met."""

    rule: str
    reason: str
    expires: str


class GateVerdict(Part):
    """What the gate said of this change last before the decision, and the entry that says so."""

    verdict: Literal["pass", "review", "fail"]
    materiality: str | None
    rules: tuple[RuleFacts, ...]
    entry: int


class ChangeDigests(Part):
    """SHA-256 of all that the decision is about; ``pages`` are the report's, by file name, where they are on record.

    An emergency rollback has no ``report``.
    """

    from_model: str | None
    to_model: str
    report: str | None
    policy: str
    pages: dict[str, str]


class EmergencyTold(Part):
    """Why one person put the previous version back alone, and until when others are to review that."""

    reason: str
    review_by: str


class DecisionDocument(Part):
    """decision.json. It is made from entries of the ledger alone: the same entries give the same bytes.

    ``entry`` is the promotion or the rejection, ``intent`` the entry that announced a promotion. ``completed``: in the same
    call, or later after a crash. ``verdict`` is None where nobody recorded one. ``emergency``: of an emergency rollback,
    which the gate was not asked about.
    """

    schema_: Annotated[Literal["coordpath.decision/1"], Field(alias="schema")] = "coordpath.decision/1"
    decision: Literal["promoted", "rejected"]
    name: str
    alias: str
    from_version: str | None
    to_version: str
    at: str
    actor: str | None
    authenticated_by: Literal["server", "key"] | None
    completed: Literal["at once", "after a crash"] | None
    full_validation: bool | None
    verdict: GateVerdict | None
    approvals: tuple[ApprovalGiven, ...]
    waivers: tuple[WaiverGiven, ...]
    rejections: tuple[RejectionGiven, ...]
    digests: ChangeDigests
    ledger: str
    entry: int
    entry_sha256: str
    intent: int | None
    emergency: EmergencyTold | None = None

    def to_bytes(self) -> bytes:
        """The canonical JSON: what is kept, attested and attached."""
        return canonical_bytes(self.model_dump(mode="json", by_alias=True))

    @classmethod
    def from_bytes(cls, content: bytes) -> DecisionDocument:
        """The document in ``content``; raises `ReportFormatError` for anything that `to_bytes` does not write."""
        raw = read_json(content, "the decision", ReportFormatError, max_bytes=_MAX_BYTES)
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "it"
            raise ReportFormatError(f"not a decision of schema {DECISION_SCHEMA}: {place}: {first['msg']}") from error
