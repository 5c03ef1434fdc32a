"""The verdict: every rule over one change report, how material the change is, and who therefore has to agree. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coordpath_governance.errors import ReportFormatError
from coordpath_governance.policy.built_in import BUILT_IN, DECLARED_COEFFICIENTS, built_in_results
from coordpath_governance.policy.document import MaterialityClass, Policy
from coordpath_governance.policy.observations import OBSERVATIONS, observe
from coordpath_governance.policy.results import Outcome, limit_text, listed, value_text
from coordpath_governance.policy.rules import Seen
from coordpath_governance.policy.rules.base import GateFacts
from coordpath_governance.reports.document import ChangeReportDocument, GateWord, RuleFacts
from coordpath_governance.reports.editions import EDITION, Edition

__all__ = [
    "ApprovalNeed",
    "GateFacts",
    "Judgement",
    "RuleFacts",
    "class_of",
    "judge",
    "judge_with",
    "reached",
    "who_decides",
    "why_in_class",
]

Verdict = Literal["pass", "review", "fail"]
_AT_GATE = "So the gate said when the report was made."


@dataclass(frozen=True)
class ApprovalNeed:
    """So many people with this role."""

    role: str
    count: int


@dataclass(frozen=True)
class Judgement:
    """``verdict`` is before any approval; a review always names who has to agree. ``at_gate``: rules not looked at here."""

    verdict: Verdict
    reason: str
    materiality: str
    full_validation: bool
    results: tuple[RuleFacts, ...]
    approvals: tuple[ApprovalNeed, ...]
    at_gate: tuple[str, ...] = ()
    materiality_reason: str = ""


def judge(
    policy: Policy,
    document: ChangeReportDocument,
    gate: GateFacts | None = None,
    waived: Collection[str] = (),
    edition: Edition | None = EDITION,
) -> Judgement:
    """Look at everything. Without ``gate`` the rules that need it are left out; built-in checks cannot be ``waived``.

    Of whatever ``edition`` a report is, it is judged as today, unless what it said when it was made is to be told again.
    """
    document = document.model_copy(update={"facts": policy.merged_facts(document.facts), "edition": edition})
    kind = class_of(policy.materiality, document)
    seen = Seen(document, gate, kind.full_validation)
    rules = list(policy.named_rules())
    at_gate = tuple(name for name, rule in rules if rule.at_gate) if gate is None else ()
    results = (
        *built_in_results(policy, document, gate),
        *(_waive(rule.judge(name, seen), waived) for name, rule in rules if name not in at_gate),
    )
    concluded = _conclude(policy.materiality, kind, results, at_gate)
    return replace(concluded, materiality_reason=why_in_class(kind, document))


def judge_with(policy: Policy, document: ChangeReportDocument, word: GateWord) -> Judgement:
    """The judgement over a report alone, concluded as the gate did that knew more: the same verdict, before any decision.

    Raises `ReportFormatError` if ``word`` speaks of what a report can tell itself, or leaves out what only the gate could.
    """
    alone = judge(policy, document, edition=document.edition)
    outcomes = {each.rule: each.result for each in word.rules}
    missing = set(alone.at_gate) - set(outcomes)
    if missing or len(outcomes) < len(word.rules) or set(outcomes) - {*alone.at_gate, DECLARED_COEFFICIENTS}:
        named = listed([*outcomes])
        raise ReportFormatError(f"what the gate said is not about the rules that only a gate can check: {named}")
    results = tuple(_said(each, outcomes.get(each.rule, each.result)) for each in alone.results)
    later = tuple(
        RuleFacts(rule=rule, observed="", limit="", result=outcomes[rule], reason=_AT_GATE) for rule in alone.at_gate
    )
    kind = next(each for each in policy.materiality if each.class_ == alone.materiality)
    extra = 0 if word.author_known else policy.approvals.extra_for_unverified_author
    concluded = _conclude(policy.materiality, kind, results, alone.at_gate, later, extra)
    return replace(concluded, materiality_reason=alone.materiality_reason)


def _said(result: RuleFacts, outcome: Outcome) -> RuleFacts:
    """The result as the gate had it."""
    return result if result.result == outcome else result.model_copy(update={"result": outcome, "reason": _AT_GATE})


def _waive(result: RuleFacts, waived: Collection[str]) -> RuleFacts:
    """A rule that is met needs no waiver."""
    if result.rule not in waived or result.rule in BUILT_IN or result.result == "pass":
        return result
    return result.model_copy(update={"result": "waived", "reason": f"Waived. {result.reason}"})


def _conclude(
    classes: Sequence[MaterialityClass],
    kind: MaterialityClass,
    here: tuple[RuleFacts, ...],
    at_gate: tuple[str, ...],
    later: tuple[RuleFacts, ...] = (),
    extra: int = 0,
) -> Judgement:
    """``here`` are the results that can be looked at, ``later`` what the gate said of the others.

    ``extra``: approvals more than the class asks, by anybody who may approve, since nobody vouches for the author.
    """
    results = (*here, *later)
    failed, doubtful = _with(results, "fail"), _with(results, "review", "unknown")
    needs = who_decides(classes, kind) if doubtful else _as_needs(kind)
    anybody = sorted({need.role for each in classes for need in each.approvals})
    verdict: Verdict = "fail" if failed else "review" if doubtful or needs or extra else "pass"
    if (doubtful and not needs) or (extra and not anybody):
        verdict = "fail"
    sentences = _sentences(results, kind, needs, _one_more(extra, anybody) if extra else "")
    if later and not failed and not doubtful:
        are = "is" if len(later) == 1 else "are"
        count = f"{len(here)} of {len(results)} checks are met here; {len(later)} {are} checked at the gate"
        sentences[0] = f"{count}, met when the report was made: {listed(at_gate)}."
    elif at_gate:
        sentences.append(f"Checked at the gate: {listed(at_gate)}.")
    return Judgement(verdict, " ".join(sentences), kind.class_, kind.full_validation, here, needs, at_gate)


def _one_more(extra: int, roles: Sequence[str]) -> str:
    who = " or ".join(roles) or "nobody that the policy names"
    return f"{extra} × {who}, since nobody vouches for who registered the version"


def _sentences(
    results: Sequence[RuleFacts], kind: MaterialityClass, needs: Sequence[ApprovalNeed], one_more: str
) -> list[str]:
    """Why the verdict is what it is."""
    failed, doubtful, waived = (
        _with(results, "fail"),
        _with(results, "review", "unknown"),
        _with(results, "waived"),
    )
    out = []
    if failed:
        out.append(f"{len(failed)} of {len(results)} checks {_verb(failed, 'fail')}: {listed(failed)}.")
    if doubtful:
        out.append(f"{len(doubtful)} of {len(results)} checks {_verb(doubtful, 'need')} a person: {listed(doubtful)}.")
    if not failed and not doubtful:
        out.append(f"All {len(results) - len(waived)} {'other ' if waived else ''}checks are met.")
    if waived:
        out.append(f"Waived: {listed(waived)}.")
    if doubtful and not needs:
        out.append("The policy names nobody who could decide that.")
    elif (needs or one_more) and not failed:
        asked = [f"{need.count} × {need.role}" for need in needs]
        out.append(f"Approval needed: {', '.join([*asked, one_more] if one_more else asked)}.")
    elif not failed:
        out.append(f"Changes of class '{kind.class_}' need no approval.")
    return out


def _verb(names: Sequence[str], verb: str) -> str:
    return f"{verb}s" if len(names) == 1 else verb


def _with(results: Sequence[RuleFacts], *outcomes: Outcome) -> list[str]:
    return [r.rule for r in results if r.result in outcomes]


def who_decides(classes: Sequence[MaterialityClass], kind: MaterialityClass) -> tuple[ApprovalNeed, ...]:
    """Who decides what rules leave open: the class's own people, else those of the next more severe class that has some."""
    at = [each.class_ for each in classes].index(kind.class_)
    return next((_as_needs(each) for each in reversed(classes[: at + 1]) if each.approvals), ())


def _as_needs(kind: MaterialityClass) -> tuple[ApprovalNeed, ...]:
    return tuple(ApprovalNeed(need.role, need.count) for need in kind.approvals)


def reached(each: MaterialityClass, document: ChangeReportDocument) -> tuple[str, ...]:
    """The conditions of a class that a change reaches; one that is not known counts as reached."""
    values = {name: observe(document, name) for name in each.conditions}
    return tuple(name for name, least in each.conditions.items() if (value := values[name]) is None or value >= least)


def class_of(classes: Sequence[MaterialityClass], document: ChangeReportDocument) -> MaterialityClass:
    """The class of a change; the last one takes what no other does."""
    return next((each for each in classes[:-1] if reached(each, document)), classes[-1])


def why_in_class(kind: MaterialityClass, document: ChangeReportDocument) -> str:
    """Which conditions put a change into its class, each with the value and where the class begins."""
    conditions = [_condition(name, kind.conditions[name], document) for name in sorted(reached(kind, document))]
    if not conditions:
        return f"Class '{kind.class_}' because no condition of another class is reached."
    return f"Class '{kind.class_}' because {' and '.join(conditions)}."


def _condition(name: str, least: float, document: ChangeReportDocument) -> str:
    value, unit = observe(document, name), OBSERVATIONS[name].unit
    begins = f"from {limit_text(least, unit)} on"
    if value is None:
        return f"{name} is not known, which counts as reached ({begins})"
    return f"{name} is {value_text(value, unit, least)} ({begins})"
