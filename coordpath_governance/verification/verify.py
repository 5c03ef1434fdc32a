"""Recheck a report: by doing it again from its own evidence, and comparing everything.

Levels: `arithmetic` (every figure follows from the evidence in the report), `certificate` (optimality or bound
re-established from the moments, or from the recorded evaluations), `data` (the evidence itself, from the rows). Only all
three together are "verified". Two more are added by those who have the files: `model` (`model_files`) and `ledger`
(`ledger.recorded_report`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from coordpath_governance.alignment.change import align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import (
    CoordpathError,
    NotFoundError,
    PolicyError,
    ProblemError,
    ReferenceDataError,
    ReportFormatError,
    UnknownSetError,
    UsageError,
)
from coordpath_governance.paths import Certificate, PathProblem, Solution, evaluate_order, solve_problem
from coordpath_governance.paths.certificate import OPTIMAL_GAP
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost
from coordpath_governance.policy.assess import assess
from coordpath_governance.policy.load import read_policy
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reference.logged import LoggedMoments, read_logged_moments
from coordpath_governance.reference.moments import Moments
from coordpath_governance.reference.sources import open_source
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.class_words import class_weights
from coordpath_governance.reports.coefficients import merged_levels
from coordpath_governance.reports.compose import NOT_ASSESSED, ReportFacts, compose, document_digest
from coordpath_governance.reports.document import Assessment, ChangeReportDocument
from coordpath_governance.reports.editions import later_fields
from coordpath_governance.reports.glm import glm_facts
from coordpath_governance.reports.make import Progress, ReferenceData, Request, make_report
from coordpath_governance.reports.replay import Replay
from coordpath_governance.reports.steps import Labels
from coordpath_governance.reports.thresholds import own_thresholds
from coordpath_governance.reports.training_remarks import training_remarks
from coordpath_governance.reports.words import limits, summarise
from coordpath_governance.verification.compare import differences, rounding_of
from coordpath_governance.verification.evidence import Evidence, evidence_of
from coordpath_governance.verification.row_figures import contradictions

__all__ = ["Check", "Verification", "verify_report"]

_LAST_PLACES = 1e-14
"""Objectives are written in double precision: two that are the same may differ by this part of them."""
_DATA = "the data: whether the moments, standard errors and impact come from the rows named (give --data FILE)"
_TABLE = (
    "the digest of the data: the report was made from a table in memory, which no file can be compared with byte for byte"
)
_ROWS = "the rows behind the logged moments: the moments were taken as the run logged them"
_HOW_THE_FILE_IS_CALLED = ("data.sha256", "data.name", "data.kind", "recheck.command")
_POLICY = "the policy: whether it is the adopted one (compare its SHA-256 with the ledger), and what the gate adds to it"
_GATE = "what the gate adds to the policy, such as approvals and how old the report is: ask `coordpath gate`"
_WORDS = "the sentences follow from the figures"
_MODELS = "the models: whether coefficients and facts are those of the model files (give --model, or compare their digests)"
_OTHER_WORDS = (
    "the sentences of summary and limits: they are in the words of an earlier edition of coordpath; the figures were "
    "rechecked, so go by these, or compare the file's SHA-256 with the ledger"
)
_NEVER = (
    _MODELS,
    "what people said: role and period of the data, owner, purpose, reason, plans and dates; names, versions and run ids",
)
_ORIGIN = (
    "what registry and runs recorded: dates of registration and of the runs, training data as they were logged or tagged"
)


@dataclass(frozen=True)
class Check:
    """One thing that was rechecked."""

    level: str
    what: str
    findings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if nothing was found."""
        return not self.findings


@dataclass
class Verification:
    """All checks, what was not rechecked, and what may be concluded.

    ``versions`` are those that the report is about. ``files`` says of which the model files were compared: True if the
    coefficients were read from them, False if only the digest was. ``unchecked`` are files beside the report, as a sentence
    names them, of which nothing says that they are right.
    """

    checks: list[Check] = field(default_factory=list)
    not_rechecked: list[str] = field(default_factory=list)
    versions: tuple[str, ...] = ("champion", "candidate")
    files: dict[str, bool] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True if every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def conclusion(self) -> str:
        """The last line: what was checked and what was not; "verified" only when the data were rechecked too.

        Sentences that were not composed again are not verified either, unless a ledger recorded exactly these bytes.
        """
        if not self.passed:
            failed = sum(not check.passed for check in self.checks)
            return f"NOT verified: {failed} of {len(self.checks)} checks found a mismatch"
        levels = {check.level for check in self.checks}
        against = [self._files_of(who) for who in self._spoken(self.files)] if self.files else []
        against += ["the ledger"] if "ledger" in levels else []
        others = "".join(f"; {part} were not checked" for part in self.unchecked)
        old_words = _OTHER_WORDS in self.not_rechecked and "ledger" not in levels
        words = f"{'; the sentences are of an earlier edition and were not checked' if old_words else ''}{others}"
        if "data" in levels:
            left = [f"{what} model files were not checked" for what in self._left()]
            left += [] if "ledger" in levels else ["nor was the ledger" if left else "the ledger was not checked"]
            held = "the figures hold" if old_words else "verified"
            return f"{held} against {_listed(['the data', *against])}" + (f"; {', '.join(left)}" if left else "") + words
        besides = f", and so does the comparison with {_listed(against)}" if against else ""
        return f"arithmetic and certificate hold{besides}; the data were not rechecked{words}"

    def _spoken(self, versions: Collection[str]) -> list[str]:
        """Versions as sentences name them: one word for all of them."""
        both = set(versions) == set(self.versions) and len({self.files.get(who) for who in versions}) == 1
        return ["all"] if both else [who for who in self.versions if who in versions]

    def _files_of(self, who: str) -> str:
        read = next(iter(self.files.values())) if who == "all" else self.files[who]
        files = "the model files" if who == "all" else f"the {who}'s model files"
        return files if read else f"the digest of {files}"

    def _left(self) -> list[str]:
        left = [who for who in self.versions if who not in self.files]
        if not left:
            return []
        return ["the" if who == "all" else f"the {who}'s" for who in self._spoken(left)]

    def settle(self, who: str, coefficients: bool) -> None:
        """The files of a version were compared, with the ``coefficients`` in them or only by digest."""
        self.files[who] = coefficients
        open_sides = [each for each in self.versions if not self.files.get(each)]
        said = [f"the {each}'s model: whether its coefficients are those of its files" for each in open_sides]
        kept = [point for point in self.not_rechecked if point != _MODELS and not point.endswith("are those of its files")]
        self.not_rechecked = [*kept, *said]

    def settle_policy(self) -> None:
        """The ledger said whether the policy was adopted; what the gate says is asked elsewhere."""
        self.not_rechecked = [_GATE if point == _POLICY else point for point in self.not_rechecked]


def _listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


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
        result.not_rechecked.append(_OTHER_WORDS)
    if document.glm is not None or (document.rows is not None and document.rows.flips is not None):
        fits = "what the rows say fits together"
        result.checks.append(Check("arithmetic", fits, tuple(contradictions(document))))
    result.checks.append(_check_assessment(document))
    result.checks.append(_check_certificate(document, evidence.problem))
    if data is None:
        result.not_rechecked.append(_DATA)
    else:
        result.checks.extend(_check_data(document, evidence, data, progress))
        result.not_rechecked.extend({"table": [_TABLE], "moments": [_ROWS]}.get(document.data.kind, []))
    result.not_rechecked.extend([_POLICY] if document.assessment.policy else [])
    result.not_rechecked.extend([_ORIGIN] if _has_origin(document) else [])
    result.not_rechecked.extend(_NEVER)
    return result


def _has_origin(document: ChangeReportDocument) -> bool:
    sides = (document.subject.champion, document.subject.candidate)
    return any(side is not None and (side.registered_ms is not None or side.training is not None) for side in sides)


def _check_arithmetic(document: ChangeReportDocument, evidence: Evidence) -> Check:
    what = "every figure follows from the evidence in the report"
    try:
        pair = ModelPair(evidence.champion, evidence.candidate).weighted(evidence.moments)
        hidden = _hidden(pair, evidence.moments)
        if hidden:
            return Check("arithmetic", what, tuple(f"coordinates: {label} of the models is not there" for label in hidden))
        change = align(pair, evidence.moments)
        if [c.label for c in change.exercised] != list(evidence.problem.features):
            return Check("arithmetic", what, ("coordinates: are not those that follow from the models and the data",))
        solution = _recorded_solution(document, evidence.problem, Labels.of(change))
        told = ReportFacts(
            document.subject,
            document.facts,
            document.data,
            document.settings,
            document.recheck.versions,
            None if document.glm is None else glm_facts(pair, document.glm.constant_cost, document.glm.gram),
            document.environments,
            document.edition,
        )
        again = compose(told, pair, change, evidence.problem, solution, document.rows)
    except (CoordpathError, ValidationError) as error:
        return Check("arithmetic", what, (f"the report cannot be recomputed: {str(error)[:300]}",))
    found = _differences(document, again)
    if document.glm is not None:
        gram = [list(row) for row in document.glm.gram]
        found += differences(gram, change.gram.tolist(), rounding_of(_comparable(again)), ("glm", "gram"))
    return Check("arithmetic", what, tuple(found))


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
    """Sentences are laid out from the recorded figures, so they must agree to the letter."""
    champion = document.subject.champion
    labels = (champion.label if champion else None, document.subject.candidate.label)
    parts = (document.data, document.counts, document.path, document.impact, document.glm)
    own = own_thresholds(document.models, document.settings.threshold_class)
    weights = class_weights(document.models, document.edition)
    summary = summarise(labels, *parts, own, document.settings, weights, document.edition)
    try:
        pair = ModelPair(evidence.champion, evidence.candidate).weighted(evidence.moments)
        merged = merged_levels(align(pair, evidence.moments))
    except CoordpathError as error:
        return Check("arithmetic", _WORDS, (f"limits: cannot be laid out again: {str(error)[:300]}",))
    told = (document.data, document.counts, document.path, document.impact)
    remarks = training_remarks(document.subject, document.data)
    stated = (*limits(pair, *told, merged, document.rows is not None, document.glm, weights, document.edition), *remarks)
    findings = [] if summary == document.summary else ["summary: the sentences do not say what the figures say"]
    findings += [] if stated == document.limits else ["limits: the list is not the one that follows from models and data"]
    return Check("arithmetic", _WORDS, tuple(findings))


def _check_edition(document: ChangeReportDocument) -> Check:
    """Nobody chooses to have sentences and rules judged as of old: what came later is not in a report from before."""
    findings = tuple(f"{field}: reports of the first edition do not have it" for field in later_fields(document))
    return Check("arithmetic", "nothing in it is later than its edition", findings)


def _check_assessment(document: ChangeReportDocument) -> Check:
    """The verdict follows from the recorded figures and the policy in the report, to the letter."""
    what = "verdict, class and rules follow from the policy and the figures"
    again = document.model_copy(update={"assessment": NOT_ASSESSED})
    applied = document.assessment.policy
    if applied is not None:
        try:
            policy = read_policy(canonical_bytes(applied.document), "the policy in the report")
            again = assess(again, policy, document.assessment.gate)
            if document.assessment.materiality_reason is None:
                again = again.model_copy(update={"assessment": _without_reason(again.assessment)})
        except (PolicyError, ReportFormatError) as error:
            return Check("arithmetic", what, (str(error),))
    recorded, recomputed = ({"facts": d.facts, **dict(d.assessment)} for d in (document, again))
    return Check("arithmetic", what, tuple(_assessed_otherwise(recorded, recomputed)))


def _without_reason(assessment: Assessment) -> Assessment:
    """As versions before this field recorded it."""
    return assessment.model_copy(update={"materiality_reason": None})


def _assessed_otherwise(recorded: dict[str, Any], recomputed: dict[str, Any]) -> Iterator[str]:
    for key, value in recomputed.items():
        if recorded[key] != value:
            place = key if key == "facts" else f"assessment.{key}"
            yield f"{place}: {str(recorded[key])[:200]!r}, recomputed {str(value)[:200]!r}"


def _recorded_solution(document: ChangeReportDocument, problem: PathProblem, labels: Labels) -> Solution:
    """The recorded order evaluated afresh, with the recorded bound."""
    position = {labels.unit_of[problem.features[unit.members[0]]]: i for i, unit in enumerate(problem.changed)}
    order = [
        position[unit]
        for step in document.path.steps
        for unit in dict.fromkeys(labels.unit_of.get(move.feature, "") for move in step.moves)
        if unit in position
    ]
    order += [i for i in range(len(problem.changed)) if i not in order]
    fresh = evaluate_order(problem, order)
    certificate = _certificate_with_bound(fresh, problem, document)
    return Solution(problem, fresh.path, certificate)


def _certificate_with_bound(fresh: Solution, problem: PathProblem, document: ChangeReportDocument) -> Certificate:
    """Gap and status as the definitions give them for the recorded lower bound."""
    recorded = document.path
    objective = fresh.certificate.objective
    weight = float(problem.alphas(fresh.path.terms).sum()) if fresh.path.terms else 0.0
    distance = max(objective - recorded.lower_bound, 0.0)
    excess = objective - weight * problem.cost.minimum()
    gap = 0.0 if distance <= _LAST_PLACES * abs(objective) or excess <= 0 else distance / excess
    return Certificate(
        objective=objective,
        lower_bound=recorded.lower_bound,
        gap=gap,
        gap_per_step=distance / weight if weight and gap else 0.0,
        status=recorded.status,
        solver=recorded.solver,
    )


def _check_certificate(document: ChangeReportDocument, problem: PathProblem) -> Check:
    """Solve again: the recorded claim must not be stronger than what is proved now."""
    recorded = document.path
    source = "moments" if document.glm is None else "recorded evaluations of the cost"
    what = f"status '{recorded.status}' and lower bound are re-established from the {source}"
    try:
        again = solve_problem(problem).certificate
    except UnknownSetError as error:
        return Check("certificate", what, (str(error),))
    weight = float(problem.alphas(problem.most_terms).sum()) if problem.most_terms else 0.0
    excess = again.objective - weight * problem.cost.minimum()
    tolerance = OPTIMAL_GAP * max(excess, 0.0) + _LAST_PLACES * abs(again.objective)
    findings = []
    if recorded.lower_bound > again.lower_bound + tolerance:
        findings.append(f"lower bound {recorded.lower_bound!r} is higher than the {again.lower_bound!r} that can be proved")
    if recorded.objective > again.objective + tolerance and recorded.status == "optimal":
        findings.append(f"called optimal at {recorded.objective!r}, but {again.objective!r} is possible")
    if recorded.objective < again.lower_bound - tolerance:
        findings.append(f"objective {recorded.objective!r} is below what any path can reach, {again.lower_bound!r}")
    if document.glm is not None and recorded.solver != again.solver:
        findings.append(f"called found by '{recorded.solver}', but it is '{again.solver}' that finds it")
    if recorded.status == "optimal" and again.status != "optimal":
        findings.append(f"called optimal, but only '{again.status}' can be re-established")
    return Check("certificate", what, tuple(findings))


def _check_data(document: ChangeReportDocument, evidence: Evidence, path: Path, progress: Progress | None) -> list[Check]:
    facts = document.data
    source: Any = _logged(document, path) if facts.kind == "moments" else open_source(path)
    checks = []
    if facts.kind != "table":
        same = source.sha256 == facts.sha256
        found = () if same else (f"the report names {facts.sha256[:16]}…, the data are {source.sha256[:16]}…",)
        checks.append(Check("data", "these are the data that the report names (SHA-256)", found))
    reference = ReferenceData(
        source,
        facts.target,
        weight=facts.weight,
        role=facts.role,
        period=facts.period,
        missing=facts.missing,
        offset=facts.offset,
        exposure=facts.exposure,
    )
    request = Request(document.subject, document.facts, document.settings, document.environments, document.edition)
    what = "moments, standard errors and impact follow from the data"
    try:
        replay = _replay(document, evidence.problem)
        again = make_report(evidence.champion, evidence.candidate, reference, request, progress, replay)
    except (ReferenceDataError, ProblemError) as error:
        return [*checks, Check("data", what, (str(error),))]
    found_again = [f for f in _differences(document, again) if not f.startswith(_HOW_THE_FILE_IS_CALLED)]
    return [*checks, Check("data", what, tuple(found_again))]


def _replay(document: ChangeReportDocument, problem: PathProblem) -> Replay | None:
    """What was recorded of a search on rows: whether it proves what it says, the certificate tells without them."""
    if not isinstance(problem.cost, RecordedCost):
        return None
    return Replay(problem.cost, lambda fresh, labels: _recorded_solution(document, fresh, labels))


def _logged(document: ChangeReportDocument, path: Path) -> LoggedMoments:
    """The logged reference.json, which is what a report on logged moments names as its data."""
    run = document.subject.candidate.run_id
    what = f"this report was made from logged moments: give coordpath/reference.json of the run {run or 'that logged them'}"
    try:
        return read_logged_moments(path.read_bytes())
    except OSError as error:
        raise NotFoundError(f"cannot read '{path}' ({error.strerror}); {what}") from error
    except ReferenceDataError as error:
        raise UsageError(f"'{path}' holds no logged moments; {what}") from error


def _differences(document: ChangeReportDocument, again: ChangeReportDocument) -> list[str]:
    """Leaves that differ by more than their rounding, which is judged by the recomputed document."""
    recomputed = _comparable(again)
    return list(differences(_comparable(document), recomputed, rounding_of(recomputed)))


def _comparable(document: ChangeReportDocument) -> dict[str, Any]:
    """What must come out the same: all but sentences and verdict (checked apart), the digest and the tool's own facts."""
    content = document.model_dump(mode="json", by_alias=True)
    for key in ("digest", "summary", "limits", "tool", "assessment"):
        content.pop(key)
    content["recheck"].pop("versions")
    return content
