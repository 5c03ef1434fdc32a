"""The verdict: every rule over one change report, the class of the change, and who therefore has to agree.

Pure: no clock, no ledger. `judge` is for the gate, `judge_with` does again what the gate did when a report was made, and
`assess` writes the verdict into the report.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coordpath_governance.errors import ReportFormatError
from coordpath_governance.policy.built_in import BUILT_IN, DECLARED_COEFFICIENTS, built_in_results
from coordpath_governance.policy.document import MaterialityClass, Policy
from coordpath_governance.policy.load import policy_sha256, written_keys
from coordpath_governance.policy.observations import OBSERVATIONS, observe
from coordpath_governance.policy.results import Outcome, limit_text, listed, value_text
from coordpath_governance.policy.rules import JudgedChange
from coordpath_governance.policy.rules.base import GateFacts
from coordpath_governance.reports.document import (
    Assessment,
    ChangeReportDocument,
    GateWord,
    PolicyFacts,
    RuleFacts,
    document_digest,
)
from coordpath_governance.reports.editions import EDITION, Edition

__all__ = [
    "ApprovalNeed",
    "GateFacts",
    "Judgement",
    "RuleFacts",
    "assess",
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
    """``count`` people with this ``role`` have to agree."""

    role: str
    count: int


@dataclass(frozen=True)
class Judgement:
    """What the rules say of a change before any approval; a verdict "review" always names who has to agree.

    ``at_gate`` are the rules that only a gate can judge and that were left out.
    """

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
    """Judge the change in ``document`` by every rule of ``policy`` and by the built-in checks.

    Without ``gate`` the rules that need it are left out. ``waived`` are names of rules; built-in checks cannot be waived.
    A report of any edition is judged by today's rules, unless ``edition`` asks for what an earlier one said.
    """
    document = document.model_copy(update={"facts": policy.merged_facts(document.facts), "edition": edition})
    own_class = class_of(policy.materiality, document)
    change = JudgedChange(document, gate, own_class.full_validation)
    rules = list(policy.named_rules())
    at_gate = tuple(name for name, rule in rules if rule.at_gate) if gate is None else ()
    results = (
        *built_in_results(policy, document, gate),
        *(_waive(rule.judge(name, change), waived) for name, rule in rules if name not in at_gate),
    )
    judgement = _conclude(policy.materiality, own_class, results, at_gate=at_gate)
    return replace(judgement, materiality_reason=why_in_class(own_class, document))


def judge_with(policy: Policy, document: ChangeReportDocument, word: GateWord) -> Judgement:
    """The judgement of the gate that made the report, before any decision: ``word`` holds what only it knew.

    Raises `ReportFormatError` if ``word`` is about rules that a report alone can judge, or lacks one that only a gate can.
    """
    alone = judge(policy, document, edition=document.edition)
    outcomes = {stated.rule: stated.result for stated in word.rules}
    missing = set(alone.at_gate) - set(outcomes)
    if missing or len(outcomes) < len(word.rules) or set(outcomes) - {*alone.at_gate, DECLARED_COEFFICIENTS}:
        rules = listed([*outcomes])
        raise ReportFormatError(f"what the gate said is not about the rules that only a gate can check: {rules}")
    results = tuple(_as_gate_had(result, outcomes.get(result.rule, result.result)) for result in alone.results)
    later = tuple(
        RuleFacts(rule=rule, observed="", limit="", result=outcomes[rule], reason=_AT_GATE) for rule in alone.at_gate
    )
    own_class = next(listed_class for listed_class in policy.materiality if listed_class.class_ == alone.materiality)
    extra = 0 if word.author_known else policy.approvals.extra_for_unverified_author
    judgement = _conclude(policy.materiality, own_class, results, at_gate=alone.at_gate, later=later, extra=extra)
    return replace(judgement, materiality_reason=alone.materiality_reason)


def assess(document: ChangeReportDocument, policy: Policy, gate: GateWord | None = None) -> ChangeReportDocument:
    """``document`` with the model's facts from ``policy``, the verdict with every rule, and the digest of it all.

    ``gate`` holds what only the gate knew when the report was made; without it the verdict is that of the rules alone. The
    same report and policy give the same bytes.
    """
    judgement = judge(policy, document, edition=document.edition) if gate is None else judge_with(policy, document, gate)
    assessment = Assessment(
        verdict=judgement.verdict,
        reason=judgement.reason,
        materiality=judgement.materiality,
        policy=PolicyFacts(
            name=policy.name,
            sha256=policy_sha256(policy),
            document=written_keys(policy),
        ),
        rules=judgement.results,
        gate=gate,
        materiality_reason=judgement.materiality_reason,
    )
    assessed = document.model_copy(update={"facts": policy.merged_facts(document.facts), "assessment": assessment})
    return assessed.model_copy(update={"digest": document_digest(assessed)})


def _as_gate_had(result: RuleFacts, outcome: Outcome) -> RuleFacts:
    """The result with the gate's ``outcome``."""
    return result if result.result == outcome else result.model_copy(update={"result": outcome, "reason": _AT_GATE})


def _waive(result: RuleFacts, waived: Collection[str]) -> RuleFacts:
    """The result as waived, if it is, and if the rule is not met."""
    if result.rule not in waived or result.rule in BUILT_IN or result.result == "pass":
        return result
    return result.model_copy(update={"result": "waived", "reason": f"Waived. {result.reason}"})


def _conclude(
    classes: Sequence[MaterialityClass],
    own_class: MaterialityClass,
    here: tuple[RuleFacts, ...],
    *,
    at_gate: tuple[str, ...],
    later: tuple[RuleFacts, ...] = (),
    extra: int = 0,
) -> Judgement:
    """The verdict that follows from the results ``here``, and from what the gate said ``later`` of the other rules.

    ``extra``: how many approvals more than the class asks for, by any role, because nobody vouches for the author.
    """
    results = (*here, *later)
    failed, doubtful = _with(results, "fail"), _with(results, "review", "unknown")
    needs = who_decides(classes, own_class) if doubtful else _as_needs(own_class)
    anybody = sorted({need.role for materiality in classes for need in materiality.approvals})
    verdict: Verdict = "fail" if failed else "review" if doubtful or needs or extra else "pass"
    if (doubtful and not needs) or (extra and not anybody):
        verdict = "fail"
    sentences = _sentences(results, own_class, needs, _extra_approvals(extra, anybody) if extra else "")
    if later and not failed and not doubtful:
        are = "is" if len(later) == 1 else "are"
        count = f"{len(here)} of {len(results)} checks are met here; {len(later)} {are} checked at the gate"
        sentences[0] = f"{count}, met when the report was made: {listed(at_gate)}."
    elif at_gate:
        sentences.append(f"Checked at the gate: {listed(at_gate)}.")
    return Judgement(verdict, " ".join(sentences), own_class.class_, own_class.full_validation, here, needs, at_gate)


def _extra_approvals(extra: int, roles: Sequence[str]) -> str:
    who = " or ".join(roles) or "nobody that the policy names"
    return f"{extra} × {who}, since nobody vouches for who registered the version"


def _sentences(
    results: Sequence[RuleFacts], own_class: MaterialityClass, needs: Sequence[ApprovalNeed], extra_need: str
) -> list[str]:
    """Why the verdict is what it is."""
    failed, doubtful, waived = (
        _with(results, "fail"),
        _with(results, "review", "unknown"),
        _with(results, "waived"),
    )
    sentences = []
    if failed:
        sentences.append(f"{len(failed)} of {len(results)} checks {_verb(failed, 'fail')}: {listed(failed)}.")
    if doubtful:
        sentences.append(f"{len(doubtful)} of {len(results)} checks {_verb(doubtful, 'need')} a person: {listed(doubtful)}.")
    if not failed and not doubtful:
        sentences.append(f"All {len(results) - len(waived)} {'other ' if waived else ''}checks are met.")
    if waived:
        sentences.append(f"Waived: {listed(waived)}.")
    if doubtful and not needs:
        sentences.append("The policy names nobody who could decide that.")
    elif (needs or extra_need) and not failed:
        approvals = [f"{need.count} × {need.role}" for need in needs]
        sentences.append(f"Approval needed: {', '.join([*approvals, extra_need] if extra_need else approvals)}.")
    elif not failed:
        sentences.append(f"Changes of class '{own_class.class_}' need no approval.")
    return sentences


def _verb(names: Sequence[str], verb: str) -> str:
    return f"{verb}s" if len(names) == 1 else verb


def _with(results: Sequence[RuleFacts], *outcomes: Outcome) -> list[str]:
    return [r.rule for r in results if r.result in outcomes]


def who_decides(classes: Sequence[MaterialityClass], own_class: MaterialityClass) -> tuple[ApprovalNeed, ...]:
    """Who decides what rules leave open: the people of the class, else of the next more severe class that has some."""
    place = [materiality.class_ for materiality in classes].index(own_class.class_)
    severer = reversed(classes[: place + 1])
    return next((_as_needs(materiality) for materiality in severer if materiality.approvals), ())


def _as_needs(own_class: MaterialityClass) -> tuple[ApprovalNeed, ...]:
    return tuple(ApprovalNeed(need.role, need.count) for need in own_class.approvals)


def reached(materiality: MaterialityClass, document: ChangeReportDocument) -> tuple[str, ...]:
    """The names of the conditions of a class that a change reaches; a value that is not known counts as reached."""
    values = {name: observe(document, name) for name in materiality.conditions}
    return tuple(name for name, least in materiality.conditions.items() if (value := values[name]) is None or value >= least)


def class_of(classes: Sequence[MaterialityClass], document: ChangeReportDocument) -> MaterialityClass:
    """The class of a change: the first of which a condition is reached, else the last one."""
    return next((materiality for materiality in classes[:-1] if reached(materiality, document)), classes[-1])


def why_in_class(own_class: MaterialityClass, document: ChangeReportDocument) -> str:
    """A sentence with the conditions that put a change into its class: each with its value, and where the class begins."""
    conditions = [_condition(name, own_class.conditions[name], document) for name in sorted(reached(own_class, document))]
    if not conditions:
        return f"Class '{own_class.class_}' because no condition of another class is reached."
    return f"Class '{own_class.class_}' because {' and '.join(conditions)}."


def _condition(name: str, least: float, document: ChangeReportDocument) -> str:
    value, unit = observe(document, name), OBSERVATIONS[name].unit
    begins = f"from {limit_text(least, unit)} on"
    if value is None:
        return f"{name} is not known, which counts as reached ({begins})"
    return f"{name} is {value_text(value, unit, least)} ({begins})"
