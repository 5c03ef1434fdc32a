"""verdict.json: what was decided when, over which bytes; beside the report, which holds no time and no approval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.ledger.events import RuleOutcome
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["VERDICT_SCHEMA", "Verdict"]

VERDICT_SCHEMA = "coordpath.verdict/1"


@dataclass(frozen=True)
class Verdict:
    """What the gate said, under which policy, and what is still needed."""

    verdict: Literal["not assessed", "pass", "review", "fail"]
    reason: str
    materiality: str | None = None
    policy_sha256: str | None = None
    alias: str | None = None
    rules: tuple[RuleOutcome, ...] = ()
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: ChangeReportDocument) -> Verdict:
        """What the report says of itself, where no gate was asked."""
        told = document.assessment
        return cls(told.verdict, told.reason, told.materiality)

    def to_bytes(self, document: ChangeReportDocument, digests: dict[str, str], now: str) -> bytes:
        """The file."""
        return canonical_bytes(
            {
                "schema": VERDICT_SCHEMA,
                "verdict": self.verdict,
                "reason": self.reason,
                "materiality": self.materiality,
                "policy_sha256": self.policy_sha256,
                "alias": self.alias,
                "rules": [rule.model_dump(mode="json") for rule in self.rules],
                "missing": list(self.missing),
                "subject": document.subject.model_dump(mode="json"),
                "files": digests,
                "made_at": now,
                "tool": document.tool.model_dump(mode="json"),
            }
        )
