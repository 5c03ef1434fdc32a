"""Every policy rule with what was observed, its limit and its result: a mark and a word, never colour alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coordpath_governance.rendering import wording
from coordpath_governance.rendering.caps import Caps, Shown, cut
from coordpath_governance.reports.document import Assessment, ChangeReportDocument, GateRule, RuleFacts

__all__ = ["RESULT_MARKS", "RESULT_WORDS", "PolicyView", "RuleRow", "policy_view", "rule_rows"]

RESULT_WORDS = {"pass": "met", "review": "needs review", "fail": "not met", "unknown": "not known", "waived": "waived"}
RESULT_MARKS = {"pass": "✔", "review": "◆", "fail": "✖", "unknown": "?", "waived": "▷"}
_URGENCY = ("fail", "review", "unknown", "waived", "pass")

ALL_MET = "Every check is met"
NOT_MET_FIRST = "What is not met comes first"
AT_GATE = (
    "Where the policy has rules about the age of this report, or about what adds up since the last full validation, "
    "the gate checks them."
)


@dataclass(frozen=True)
class RuleRow:
    """One rule."""

    rule: str
    observed: str
    limit: str
    slug: str
    mark: str
    word: str
    reason: str


@dataclass(frozen=True)
class PolicyView:
    """The view of the section "policy"; ``has_reasons``: whether any row says why."""

    sentence: str
    sha256: str | None
    caption: str
    rows: Shown[RuleRow]
    has_reasons: bool
    note: str | None
    waivers: str | None
    text: str | None


def policy_view(document: ChangeReportDocument, caps: Caps) -> PolicyView:
    """The section "policy": what is not met comes first; the policy is shown as ASCII, so that no character is hidden."""
    assessment = document.assessment
    if assessment.policy is None:
        return PolicyView(wording.NO_POLICY, None, "", Shown(()), has_reasons=False, note=None, waivers=None, text=None)
    rows = rule_rows(assessment.rules, caps)
    text = json.dumps(assessment.policy.document, indent=2, sort_keys=True)
    return PolicyView(
        sentence=f"Policy “{caps.label(assessment.policy.name)}”.",
        sha256=caps.label(assessment.policy.sha256),
        caption=_caption(assessment),
        rows=rows,
        has_reasons=any(row.reason for row in rows.entries),
        note=AT_GATE if assessment.gate is None else _said_at_gate(assessment, caps),
        waivers=_waivers(assessment.policy.document, caps),
        text=text if len(text) <= caps.problem else None,
    )


def _waivers(policy: Mapping[str, Any], caps: Caps) -> str:
    """Who may waive a rule, and where a waiver is to be found: the report is older than any."""
    terms = policy.get("waivers")
    roles = terms.get("roles") if isinstance(terms, dict) else None
    if not isinstance(roles, list | tuple) or not roles:
        return "Waivers: there can be none, since the policy lets nobody waive a rule."
    who = " or ".join(caps.label(str(role)) for role in roles[: caps.entries])
    return (
        f"Waivers: {who} may waive a rule. Waivers are given after a report is made, so this page holds none: "
        "the gate and the decision record list them."
    )


def _caption(assessment: Assessment) -> str:
    """Older reports do not tell what the gate checks besides."""
    if any(rule.result != "pass" for rule in assessment.rules):
        return NOT_MET_FIRST
    later = _later(assessment)
    if not later:
        return ALL_MET
    here, are = len(assessment.rules), "is" if len(later) == 1 else "are"
    return f"{here} of {here + len(later)} checks are met here; {len(later)} {are} checked at the gate"


def _later(assessment: Assessment) -> list[GateRule]:
    """Rules that only the gate can check, and what it said of them when the report was made."""
    here = {rule.rule for rule in assessment.rules}
    return [] if assessment.gate is None else [rule for rule in assessment.gate.rules if rule.rule not in here]


def _said_at_gate(assessment: Assessment, caps: Caps) -> str | None:
    later = _later(assessment)
    if not later:
        return None
    results = ", ".join(f"{caps.label(rule.rule)} ({RESULT_WORDS[rule.result]})" for rule in later)
    return f"The gate checks these each time it is asked; when the report was made it said: {results}."


def rule_rows(rules: Iterable[RuleFacts], caps: Caps) -> Shown[RuleRow]:
    """The rules as a table shows them: what is not met comes first."""
    ordered = sorted(rules, key=lambda rule: _URGENCY.index(rule.result))
    return Shown.first(ordered, caps.rows, lambda rule: _row(rule, caps))


def _row(rule: RuleFacts, caps: Caps) -> RuleRow:
    return RuleRow(
        rule=caps.label(rule.rule),
        observed=cut(rule.observed, 2 * caps.name),
        limit=cut(rule.limit, 2 * caps.name),
        slug=rule.result,
        mark=RESULT_MARKS[rule.result],
        word=RESULT_WORDS[rule.result],
        reason=cut(rule.reason, 3 * caps.name) if rule.reason else "",
    )
