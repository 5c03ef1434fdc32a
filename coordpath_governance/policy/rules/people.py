"""The rule about what people have to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from coordpath_governance.policy.results import Finding, listed
from coordpath_governance.policy.rules.base import Rule, Seen

__all__ = ["RequiredFacts"]

Fact = Literal[
    "owner",
    "purpose",
    "tier",
    "developer",
    "validator",
    "reason",
    "change_type",
    "planned",
    "monitoring",
    "rollback",
    "implementation_date",
    "notification_deadline",
]


class RequiredFacts(Rule):
    """Facts that must be filled in."""

    facts: Annotated[tuple[Fact, ...], Field(min_length=1)]

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """Blanks do not count as an answer."""
        said = f"filled in: {', '.join(self.facts)}"
        missing = [fact for fact in self.facts if not (getattr(seen.document.facts, fact) or "").strip()]
        why = f"Nobody filled in {listed(missing)}: make the report again with it." if missing else ""
        return [Finding(f"missing: {listed(missing)}" if missing else "all filled in", said, not missing, why)]
