"""Rules about the change as a whole: costs along the path, its length and proof, predictions, and what people must say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from coordpath_governance.policy.observations import observe
from coordpath_governance.policy.results import Finding, limit_text, listed, value_text
from coordpath_governance.policy.rules.base import Amount, Limit, LimitRule, Most, Rule, Seen, at_most

__all__ = [
    "DecisionFlips",
    "FinalCostIncrease",
    "Gap",
    "MeanScoreShift",
    "RequiredFacts",
    "Rest",
    "StepCostIncrease",
    "Steps",
]

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


class FinalCostIncrease(LimitRule):
    """How much worse the candidate may be than the champion; a negative limit asks for an improvement.

    With ``within_errors`` an increase of at most so many standard errors, which these rows cannot tell from none, counts as
    none for the limits ``absolute`` and ``relative``.
    """

    limits: ClassVar[dict[str, str]] = {
        "absolute": "final_cost_increase",
        "relative": "final_cost_increase_relative",
        "standard_errors": "final_cost_increase_errors",
    }

    absolute: Amount | None = None
    relative: Amount | None = None
    standard_errors: Amount | None = None
    within_errors: Limit | None = None

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """One comparison for each limit that is given."""
        compared = [at_most(seen.document, name, limit) for name, limit in self._given()]
        errors = observe(seen.document, "final_cost_increase_errors")
        if self.within_errors is None or errors is None or not 0 < errors <= self.within_errors:
            return compared
        none = f"; within {limit_text(self.within_errors, 'standard errors')} it counts as none"
        return [
            replace(finding, limit=finding.limit + none, met=limit >= 0, reason="" if limit >= 0 else finding.reason)
            if name != "final_cost_increase_errors"
            else finding
            for finding, (name, limit) in zip(compared, self._given(), strict=True)
        ]


class StepCostIncrease(LimitRule):
    """How much any one step may raise the cost, in its unit or relative to the champion's."""

    limits: ClassVar[dict[str, str]] = {"absolute": "step_cost_increase", "relative": "step_cost_increase_relative"}

    absolute: Limit | None = None
    relative: Limit | None = None


class Steps(LimitRule):
    """How many steps the change may take, the rest counted as one."""

    limits: ClassVar[dict[str, str]] = {"most": "steps"}

    most: Most


class Rest(LimitRule):
    """How much may hide in "all the rest": coefficients, and what they together do to the cost either way."""

    limits: ClassVar[dict[str, str]] = {"coefficients": "rest_coefficients", "cost_change": "rest_cost_change"}

    coefficients: Most | None = None
    cost_change: Limit | None = None


class Gap(Rule):
    """How far from proved the order may be: a share of what any order could still change; a proved order always holds."""

    most: Limit = 0.0

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """One finding: a proved order meets every limit."""
        path = seen.document.path
        said = f"at most {limit_text(self.most, 'share')}"
        met = path.status == "optimal" or path.gap <= self.most
        observed = "proved optimal" if path.status == "optimal" else f"gap: {value_text(path.gap, 'share', self.most)}"
        return [Finding(observed, said, met, "" if met else "The order is further from proved than allowed.")]


class DecisionFlips(LimitRule):
    """The share of rows whose decision at the threshold differs, overall and in any segment."""

    limits: ClassVar[dict[str, str]] = {"overall": "decision_flips", "by_segment": "segment_decision_flips"}

    overall: Limit | None = None
    by_segment: Limit | None = None


class MeanScoreShift(LimitRule):
    """How far the mean score may move, up or down, overall and in any segment."""

    limits: ClassVar[dict[str, str]] = {"overall": "mean_score_shift", "by_segment": "segment_mean_score_shift"}

    overall: Limit | None = None
    by_segment: Limit | None = None


class RequiredFacts(Rule):
    """Facts that must be filled in."""

    facts: Annotated[tuple[Fact, ...], Field(min_length=1)]

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """Blanks do not count as an answer."""
        said = f"filled in: {', '.join(self.facts)}"
        missing = [fact for fact in self.facts if not (getattr(seen.document.facts, fact) or "").strip()]
        why = f"Nobody filled in {listed(missing)}: make the report again with it." if missing else ""
        return [Finding(f"missing: {listed(missing)}" if missing else "all filled in", said, not missing, why)]
