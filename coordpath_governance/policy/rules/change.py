"""Rules about the change as a whole: costs along the path, its length and proof, predictions, and what people must say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from coordpath_governance.policy.observations import observe
from coordpath_governance.policy.results import Finding, limit_text, listed, value_text
from coordpath_governance.policy.rules.base import Amount, JudgedChange, Limit, LimitRule, Most, Rule, at_most

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

    ``within_errors``: an increase of at most so many standard errors could be chance. It then counts as no increase for the
    limits ``absolute`` and ``relative``.
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

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison for each limit that is set."""
        compared = [at_most(change.document, name, limit) for name, limit in self._set_limits()]
        errors = observe(change.document, "final_cost_increase_errors")
        if self.within_errors is None or errors is None or not 0 < errors <= self.within_errors:
            return compared
        as_none = f"; within {limit_text(self.within_errors, 'standard errors')} it counts as none"
        return [
            replace(finding, limit=finding.limit + as_none, met=limit >= 0, reason="" if limit >= 0 else finding.reason)
            if name != "final_cost_increase_errors"
            else finding
            for finding, (name, limit) in zip(compared, self._set_limits(), strict=True)
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
    """How much the step "all the rest" may hold: so many coefficients, and so large a change of the cost, up or down."""

    limits: ClassVar[dict[str, str]] = {"coefficients": "rest_coefficients", "cost_change": "rest_cost_change"}

    coefficients: Most | None = None
    cost_change: Limit | None = None


class Gap(Rule):
    """How large the gap of the order may be, as a share of what an order can change; a proved order always passes."""

    most: Limit = 0.0

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One finding: a proved order meets every limit."""
        path = change.document.path
        limit_words = f"at most {limit_text(self.most, 'share')}"
        met = path.status == "optimal" or path.gap <= self.most
        observed = "proved optimal" if path.status == "optimal" else f"gap: {value_text(path.gap, 'share', self.most)}"
        return [Finding(observed, limit_words, met, "" if met else "The order is further from proved than allowed.")]


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
    """The facts that people must have filled in."""

    facts: Annotated[tuple[Fact, ...], Field(min_length=1)]

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison; a fact of blanks alone is missing."""
        limit_words = f"filled in: {', '.join(self.facts)}"
        missing = [fact for fact in self.facts if not (getattr(change.document.facts, fact) or "").strip()]
        why = f"Nobody filled in {listed(missing)}: make the report again with it." if missing else ""
        return [Finding(f"missing: {listed(missing)}" if missing else "all filled in", limit_words, not missing, why)]
