"""The data level: whether the data are those that the report names, and give the same report again."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import NotFoundError, ProblemError, ReferenceDataError, UsageError
from coordpath_governance.paths import PathProblem, Solution
from coordpath_governance.paths.row_orders.evaluated_sets import EvaluatedSets, is_cut
from coordpath_governance.paths.row_orders.recorded_cost import RecordedCost
from coordpath_governance.reference.logged import LoggedMoments, read_logged_moments
from coordpath_governance.reference.sources import open_source
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.make import Progress, ReferenceData, Request, Search, make_report
from coordpath_governance.reports.steps import Labels
from coordpath_governance.verification.certificate import recorded_solution
from coordpath_governance.verification.compare import document_differences
from coordpath_governance.verification.evidence import Evidence
from coordpath_governance.verification.result import Check

__all__ = ["check_data"]

_HOW_THE_FILE_IS_CALLED = ("data.sha256", "data.name", "data.kind", "recheck.command")
_SAME = 1e-13
"""Part of the largest curvature by which two records of the same curvature may differ."""


def check_data(document: ChangeReportDocument, evidence: Evidence, path: Path, progress: Progress | None) -> list[Check]:
    """Whether the data at ``path`` are those that the report names, and give its moments, errors and impact again."""
    facts = document.data
    source: Any = _logged(document, path) if facts.kind == "moments" else open_source(path)
    checks = []
    if facts.kind != "table":
        same = source.sha256 == facts.sha256
        findings = () if same else (f"the report names {facts.sha256[:16]}…, the data are {source.sha256[:16]}…",)
        checks.append(Check("data", "these are the data that the report names (SHA-256)", findings))
    reference = ReferenceData(
        source,
        target=facts.target,
        weight=facts.weight,
        role=facts.role,
        period=facts.period,
        missing=facts.missing,
        offset=facts.offset,
        exposure=facts.exposure,
    )
    request = Request(document.subject, document.facts, document.settings, document.environments, document.edition)
    claim = "moments, standard errors and impact follow from the data"
    try:
        search = _recorded_search(document, evidence.problem)
        recomputed = make_report(evidence.champion, evidence.candidate, reference, request, progress, search)
    except (ReferenceDataError, ProblemError) as error:
        return [*checks, Check("data", claim, (str(error),))]
    differing = [text for text in document_differences(document, recomputed) if not text.startswith(_HOW_THE_FILE_IS_CALLED)]
    return [*checks, Check("data", claim, tuple(differing))]


def _recorded_search(document: ChangeReportDocument, problem: PathProblem) -> Search | None:
    """The search that the report records, done again on the rows; None if the cost follows from moments.

    It evaluates the recorded sets and takes the recorded order. Whether these prove what the report says, the certificate
    level tells without any row.
    """
    cost = problem.cost
    if not isinstance(cost, RecordedCost):
        return None

    def search(on_rows: PathProblem, labels: Labels) -> Solution:
        _evaluate_again(cost, on_rows.sets)
        return recorded_solution(document, on_rows, labels)

    return search


def _evaluate_again(record: RecordedCost, sets: EvaluatedSets) -> None:
    """Ask the rows behind ``sets`` for all that was recorded, in the recorded order.

    Raises `ReferenceDataError` if other units change on these rows.
    """
    if len(record.curvature) != sets.size:
        raise ReferenceDataError(
            f"{sets.size} units change on these rows, but the report tells of {len(record.curvature)}: "
            "they are not the rows it was made from"
        )
    for slopes, evaluations in groupby(record.evaluations, lambda evaluation: evaluation.slopes is not None):
        sets.ask(np.stack([evaluation.at for evaluation in evaluations]), slopes=slopes)
    _ask_for_curvature(record, sets)
    sets.aim = record.aim


def _ask_for_curvature(record: RecordedCost, sets: EvaluatedSets) -> None:
    """Ask for the curvature as the search did: for any cut, or for the recorded cuts, whichever is closer to the record."""
    recorded = record.curvature

    def distance(curvature: NDArray[np.float64]) -> float:
        return float(np.abs(curvature - recorded).max(initial=0.0))

    for_any = distance(sets.curvature())
    if for_any <= _SAME * np.abs(recorded).max(initial=0.0):
        return
    cuts = [evaluation for evaluation in record.evaluations if is_cut(evaluation, sets.depth)]
    if for_any < distance(sets.curvature(cuts)):
        sets.curvature()


def _logged(document: ChangeReportDocument, path: Path) -> LoggedMoments:
    """The moments in a reference.json that a run logged: the data of a report on logged moments."""
    run = document.subject.candidate.run_id
    advice = (
        f"this report was made from logged moments: give coordpath/reference.json of the run {run or 'that logged them'}"
    )
    try:
        return read_logged_moments(path.read_bytes())
    except OSError as error:
        raise NotFoundError(f"cannot read '{path}' ({error.strerror}); {advice}") from error
    except ReferenceDataError as error:
        raise UsageError(f"'{path}' holds no logged moments; {advice}") from error
