"""What a rule is: its own checked parameters, and a method that compares a change with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from coordpath_governance.closed_document import ClosedDocument
from coordpath_governance.policy.observations import OBSERVATIONS, observe, remedy
from coordpath_governance.policy.results import Finding, combine, limit_text
from coordpath_governance.reports.document import ChangeReportDocument, RuleFacts

__all__ = [
    "Amount",
    "GateFacts",
    "JudgedChange",
    "Limit",
    "LimitRule",
    "Most",
    "Name",
    "PageState",
    "Rule",
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
    """What only the gate knows: the time, the ledger and the files in the registry. Times are ISO 8601 with their zone.

    - ``since_validation``: the changes promoted since the last full validation, oldest first.
    - ``validated_at``: the time of that validation; None if there was none.
    - ``vouched``: by side ("champion", "candidate"), who vouches for its declared coefficients, where enough people do.
    - ``too_few``: the same where one more person has to vouch, because nobody vouches for who registered the version.
    - ``champion_gone``: whether the files of the champion have been deleted.
    - ``pages``: by file of the report, whether the file attached to the version is the recorded one; None if the ledger has
      no digests of pages.
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
    """Days between two times in ISO 8601 with a zone; None if a text is no such time, or if ``later`` comes first."""
    try:
        start, end = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (earlier, later))
        passed = (end - start) / timedelta(days=1)
    except (ValueError, TypeError):
        return None
    return passed if passed >= 0 else None


@dataclass(frozen=True)
class JudgedChange:
    """What a rule looks at: the report of a change, and what only the gate knows (None where no gate is asked).

    ``full_validation``: whether the change is of a class whose promotion counts as a full validation.
    """

    document: ChangeReportDocument
    gate: GateFacts | None = None
    full_validation: bool = False


class Rule(ClosedDocument):
    """The base of every rule: its fields are the parameters in a policy; ``otherwise`` is the result of a violation."""

    at_gate: ClassVar[bool] = False
    """Whether the rule needs `GateFacts`; a report alone then shows it as checked at the gate."""

    otherwise: Literal["fail", "review"] = "fail"

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """Every comparison that the rule makes with ``change``; at least one."""
        raise NotImplementedError

    def judge(self, name: str, change: JudgedChange) -> RuleFacts:
        """The rule's result under its name in the policy."""
        return combine(name, self.findings(change), self.otherwise)


class LimitRule(Rule):
    """A rule of upper limits: ``limits`` names the observation that each parameter bounds; at least one must be set."""

    limits: ClassVar[dict[str, str]] = {}

    @model_validator(mode="after")
    def _has_a_limit(self) -> LimitRule:
        if all(getattr(self, parameter) is None for parameter in self.limits):
            raise ValueError(f"give at least one of {', '.join(self.limits)}")
        return self

    def findings(self, change: JudgedChange) -> Sequence[Finding]:
        """One comparison for each limit that is set."""
        return [at_most(change.document, name, limit) for name, limit in self._set_limits()]

    def _set_limits(self) -> list[tuple[str, float]]:
        """The limits that are set, by the observation that each bounds."""
        limits = [(observation, getattr(self, parameter)) for parameter, observation in self.limits.items()]
        return [(name, limit) for name, limit in limits if limit is not None]


def at_most(document: ChangeReportDocument, name: str, limit: float) -> Finding:
    """Compare the observation ``name`` of a report with its upper ``limit``, which is in the observation's unit."""
    observation = OBSERVATIONS[name]
    value = observe(document, name)
    limit_words = f"at most {limit_text(limit, observation.unit)}"
    if value is None:
        return Finding(observation.text(None), limit_words, None, remedy(document, name))
    met = value <= limit
    why = "" if met else f"Over its limit: {observation.title}."
    return Finding(observation.text(value, limit), limit_words, met, why)
