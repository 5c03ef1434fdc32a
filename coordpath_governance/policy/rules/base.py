"""A rule: its own checked parameters, and one method that looks at a report and at what only the gate knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.policy.observations import NO_COEFFICIENTS, OBSERVATIONS, observe, remedy
from coordpath_governance.policy.results import Finding, combine, limit_text
from coordpath_governance.reports.document import ChangeReportDocument, RuleFacts

__all__ = [
    "Amount",
    "GateFacts",
    "Limit",
    "LimitRule",
    "Most",
    "Name",
    "PageState",
    "Rule",
    "Seen",
    "at_most",
    "days_between",
]

PageState = Literal["as recorded", "changed", "missing", "not known"]

Amount = Annotated[float, Field(allow_inf_nan=False)]
Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Most = Annotated[int, Field(ge=0, le=1_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=500)]


@dataclass(frozen=True)
class GateFacts:
    """``since_validation``: promoted changes since the last full validation, oldest first; ``validated_at`` None: never.

    ``vouched``: of "champion" and "candidate" those whose declared coefficients enough people vouch for, and who they are;
    ``too_few``: those for whom one more person has to, since nobody vouches for who registered them. ``champion_gone``: the
    files of the champion are not there any more. ``pages``: of each file of the report whether the one beside the version is
    the recorded one; None where no pages are on record.
    """

    now: str
    report_made_at: str
    since_validation: tuple[ChangeReportDocument, ...] = ()
    validated_at: str | None = None
    vouched: Mapping[str, str] = field(default_factory=dict)
    too_few: Mapping[str, str] = field(default_factory=dict)
    champion_gone: bool = False
    pages: Mapping[str, PageState] | None = None


def days_between(earlier: str, later: str) -> float | None:
    """Days from one time (ISO 8601 with its zone) to another; None if one is no such time, or they run backwards."""
    try:
        start, end = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (earlier, later))
        passed = (end - start) / timedelta(days=1)
    except (ValueError, TypeError):
        return None
    return passed if passed >= 0 else None


@dataclass(frozen=True)
class Seen:
    """What a rule may look at. ``full_validation``: this very change is of a class that counts as one."""

    document: ChangeReportDocument
    gate: GateFacts | None = None
    full_validation: bool = False


class Rule(ClosedDocument):
    """What all rules share: closed parameters, and what a violation gives."""

    at_gate: ClassVar[bool] = False
    """Whether it needs what only the gate knows."""

    of_coefficients: ClassVar[bool] = False
    """Whether it compares single coefficients, which a decision tree does not have."""

    otherwise: Literal["fail", "review"] = "fail"

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """Every comparison that the rule makes, at least one."""
        raise NotImplementedError

    def judge(self, name: str, seen: Seen) -> RuleFacts:
        """The rule's result under its name in the policy."""
        if self.of_coefficients and seen.document.tree is not None:
            return combine(name, [Finding("a decision tree", "about coefficients", None, NO_COEFFICIENTS)], self.otherwise)
        return combine(name, self.findings(seen), self.otherwise)


class LimitRule(Rule):
    """A rule of upper limits: each parameter in ``limits`` bounds one observation, and at least one is given."""

    limits: ClassVar[dict[str, str]] = {}

    @model_validator(mode="after")
    def _has_a_limit(self) -> LimitRule:
        if all(getattr(self, parameter) is None for parameter in self.limits):
            raise ValueError(f"give at least one of {', '.join(self.limits)}")
        return self

    def findings(self, seen: Seen) -> Sequence[Finding]:
        """One comparison for each limit that is given."""
        return [at_most(seen.document, name, limit) for name, limit in self._given()]

    def _given(self) -> list[tuple[str, float]]:
        """The limits that are set, by the observation that each bounds."""
        given = [(observation, getattr(self, parameter)) for parameter, observation in self.limits.items()]
        return [(name, limit) for name, limit in given if limit is not None]


def at_most(document: ChangeReportDocument, name: str, limit: float) -> Finding:
    """Whether the observation ``name`` is no higher than ``limit``."""
    observation = OBSERVATIONS[name]
    value = observe(document, name)
    said = f"at most {limit_text(limit, observation.unit)}"
    if value is None:
        return Finding(observation.text(None), said, None, remedy(document, name))
    met = value <= limit
    why = "" if met else f"Over its limit: {observation.title}."
    return Finding(observation.text(value, limit), said, met, why)
