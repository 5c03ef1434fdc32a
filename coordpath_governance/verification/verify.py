"""Recheck a report: by doing it again from its own evidence, and comparing everything.

Levels: `arithmetic` (every figure follows from the evidence in the report), `certificate` (optimality or bound
re-established from the moments, or from the recorded evaluations), `data` (the evidence itself, from the rows). Only all
three together are "verified". Two more are added by those who have the files: `model` (`model_files`) and `ledger`
(`ledger.recorded_report`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from coordpath_governance.alignment.change import align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import (
    CoordpathError,
    PolicyError,
    ReportFormatError,
)
from coordpath_governance.policy.judge import assess
from coordpath_governance.policy.load import read_policy
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reference.moments import Moments
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.compose import NOT_ASSESSED, ReportInputs, compose, limits_of, summary_of
from coordpath_governance.reports.document import Assessment, ChangeReportDocument, document_digest
from coordpath_governance.reports.editions import later_fields
from coordpath_governance.reports.glm import glm_facts
from coordpath_governance.reports.make import Progress
from coordpath_governance.reports.steps import Labels
from coordpath_governance.verification.certificate import check_certificate, recorded_solution
from coordpath_governance.verification.compare import comparable, differences, document_differences, rounding_of
from coordpath_governance.verification.data import check_data
from coordpath_governance.verification.evidence import Evidence, evidence_of
from coordpath_governance.verification.result import MODELS, OTHER_WORDS, POLICY, Check, Verification
from coordpath_governance.verification.row_figures import contradictions

__all__ = ["verify_report"]

_DATA = "the data: whether the moments, standard errors and impact come from the rows named (give --data FILE)"
_TABLE = (
    "the digest of the data: the report was made from a table in memory, which no file can be compared with byte for byte"
)
_ROWS = "the rows behind the logged moments: the moments were taken as the run logged them"
_WORDS = "the sentences follow from the figures"
_NEVER = (
    MODELS,
    "what people said: role and period of the data, owner, purpose, reason, plans and dates; names, versions and run ids",
)
_ORIGIN = (
    "what registry and runs recorded: dates of registration and of the runs, training data as they were logged or tagged"
)


@np.errstate(over="ignore", invalid="ignore")
def verify_report(report: ChangeReport, data: Path | None = None, progress: Progress | None = None) -> Verification:
    """Recheck ``report``; with ``data`` down to the rows. A figure that overflows is one that does not agree."""
    document = report.document
    result = Verification(versions=("champion", "candidate") if document.subject.champion is not None else ("candidate",))
    digest = document_digest(document)
    findings = (
        () if digest == document.digest else (f"the report says {document.digest[:16]}…, its content gives {digest[:16]}…",)
    )
    result.checks.append(Check("arithmetic", "the report is as it was written (digest)", findings))
    evidence = evidence_of(document)
    result.checks.append(_check_arithmetic(document, evidence))
    if document.edition is not None:
        result.checks.append(_check_words(document, evidence))
    else:
        result.checks += [_check_edition(document)]
        result.not_rechecked.append(OTHER_WORDS)
    if document.glm is not None or (document.rows is not None and document.rows.flips is not None):
        fits = "what the rows say fits together"
        result.checks.append(Check("arithmetic", fits, tuple(contradictions(document))))
    result.checks.append(_check_assessment(document))
    result.checks.append(check_certificate(document, evidence.problem))
    if data is None:
        result.not_rechecked.append(_DATA)
    else:
        result.checks.extend(check_data(document, evidence, data, progress))
        result.not_rechecked.extend({"table": [_TABLE], "moments": [_ROWS]}.get(document.data.kind, []))
    result.not_rechecked.extend([POLICY] if document.assessment.policy else [])
    result.not_rechecked.extend([_ORIGIN] if _has_origin(document) else [])
    result.not_rechecked.extend(_NEVER)
    return result


def _has_origin(document: ChangeReportDocument) -> bool:
    sides = (document.subject.champion, document.subject.candidate)
    return any(side is not None and (side.registered_ms is not None or side.training is not None) for side in sides)


def _check_arithmetic(document: ChangeReportDocument, evidence: Evidence) -> Check:
    claim = "every figure follows from the evidence in the report"
    try:
        pair = ModelPair(evidence.champion, evidence.candidate).weighted(evidence.moments)
        hidden = _hidden(pair, evidence.moments)
        if hidden:
            return Check("arithmetic", claim, tuple(f"coordinates: {label} of the models is not there" for label in hidden))
        change = align(pair, evidence.moments)
        if [c.label for c in change.exercised] != list(evidence.problem.features):
            return Check("arithmetic", claim, ("coordinates: are not those that follow from the models and the data",))
        solution = recorded_solution(document, evidence.problem, Labels.of(change))
        inputs = ReportInputs(
            subject=document.subject,
            facts=document.facts,
            data=document.data,
            settings=document.settings,
            versions=document.recheck.versions,
            glm=None if document.glm is None else glm_facts(pair, document.glm.constant_cost, document.glm.gram),
            environments=document.environments,
            edition=document.edition,
        )
        problem = evidence.problem
        recomputed = compose(inputs, pair=pair, change=change, problem=problem, solution=solution, rows=document.rows)
    except (CoordpathError, ValidationError) as error:
        return Check("arithmetic", claim, (f"the report cannot be recomputed: {str(error)[:300]}",))
    findings = document_differences(document, recomputed)
    if document.glm is not None:
        gram = [list(row) for row in document.glm.gram]
        findings += differences(gram, change.gram.tolist(), rounding_of(comparable(recomputed)), ("glm", "gram"))
    return Check("arithmetic", claim, tuple(findings))


def _hidden(pair: ModelPair, moments: Moments) -> list[str]:
    """Columns and levels that a model has a term for but the report has no coordinate for."""
    shown = {(c.kind, c.column, level) for c in moments.columns for level in (c.merged or (c.level,))}
    hidden = []
    for column in lay_out(pair).columns:
        merged = ("rare", column.column, column.level) in shown
        if column.kind == "function-change" and not _function_differs(pair, column):
            continue
        if column.kind != "other" and not merged and (column.kind, column.column, column.level) not in shown:
            hidden.append(f"{column.column}{'' if column.level is None else f' = {column.level}'}")
    return hidden


def _function_differs(pair: ModelPair, column: DesignColumn) -> bool:
    scores = next(scores for scores in pair.scores if scores.label == column.level)
    functions = scores.functions[column.column]
    return not functions.sides[0] or functions.differs(pair.has_intercept)


def _check_words(document: ChangeReportDocument, evidence: Evidence) -> Check:
    """Whether the sentences are, to the letter, those that follow from the recorded figures."""
    try:
        pair = ModelPair(evidence.champion, evidence.candidate).weighted(evidence.moments)
        change = align(pair, evidence.moments)
    except CoordpathError as error:
        return Check("arithmetic", _WORDS, (f"limits: cannot be laid out again: {str(error)[:300]}",))
    findings = []
    if summary_of(document) != document.summary:
        findings.append("summary: the sentences do not say what the figures say")
    if limits_of(document, pair, change) != document.limits:
        findings.append("limits: the list is not the one that follows from models and data")
    return Check("arithmetic", _WORDS, tuple(findings))


def _check_edition(document: ChangeReportDocument) -> Check:
    """Whether the report has no part that is later than its edition: nobody can choose to be judged by older rules."""
    findings = tuple(f"{field}: reports of the first edition do not have it" for field in later_fields(document))
    return Check("arithmetic", "nothing in it is later than its edition", findings)


def _check_assessment(document: ChangeReportDocument) -> Check:
    """The verdict follows from the recorded figures and the policy in the report, to the letter."""
    claim = "verdict, class and rules follow from the policy and the figures"
    recomputed = document.model_copy(update={"assessment": NOT_ASSESSED})
    applied = document.assessment.policy
    if applied is not None:
        try:
            policy = read_policy(canonical_bytes(applied.document), "the policy in the report")
            recomputed = assess(recomputed, policy, document.assessment.gate)
            if document.assessment.materiality_reason is None:
                recomputed = recomputed.model_copy(update={"assessment": _without_reason(recomputed.assessment)})
        except (PolicyError, ReportFormatError) as error:
            return Check("arithmetic", claim, (str(error),))
    recorded, expected = ({"facts": d.facts, **dict(d.assessment)} for d in (document, recomputed))
    return Check("arithmetic", claim, tuple(_assessed_otherwise(recorded, expected)))


def _without_reason(assessment: Assessment) -> Assessment:
    """As versions before this field recorded it."""
    return assessment.model_copy(update={"materiality_reason": None})


def _assessed_otherwise(recorded: dict[str, Any], recomputed: dict[str, Any]) -> Iterator[str]:
    for key, value in recomputed.items():
        if recorded[key] != value:
            place = key if key == "facts" else f"assessment.{key}"
            yield f"{place}: {str(recorded[key])[:200]!r}, recomputed {str(value)[:200]!r}"
