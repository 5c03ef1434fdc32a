"""Put a report together: a pure function of models, moments, path, row evidence and facts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from coordpath_governance._version import __version__
from coordpath_governance.alignment.change import Change
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.models.coefficients_json import to_document
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.paths import PathProblem, Solution
from coordpath_governance.reports.class_words import class_weights
from coordpath_governance.reports.coefficients import (
    coordinate_facts,
    count_changes,
    function_facts,
    merged_levels,
    raw_changes,
)
from coordpath_governance.reports.document import (
    REPORT_SCHEMA,
    Assessment,
    ChangeFacts,
    ChangeReportDocument,
    DataFacts,
    Recheck,
    Settings,
    Subject,
    Summary,
    Tool,
    document_digest,
)
from coordpath_governance.reports.editions import EDITION, Edition
from coordpath_governance.reports.impact import impact_facts
from coordpath_governance.reports.impact_parts import GlmFacts, RowEvidence
from coordpath_governance.reports.limits import limits, training_remarks
from coordpath_governance.reports.problem import stored_problem
from coordpath_governance.reports.steps import Labels, compare_orders, path_facts
from coordpath_governance.reports.summary import summarise
from coordpath_governance.reports.thresholds import own_thresholds
from coordpath_governance.reports.version_parts import Environments

__all__ = ["NOT_ASSESSED", "ReportInputs", "compose", "limits_of", "summary_of"]

NOT_ASSESSED = Assessment(
    verdict="not assessed", reason="No policy was applied to this change, so nothing here is an approval.", materiality=None
)


_NO_SUMMARY = Summary(direction="not known", headline="", sentences=())
"""Until the sentences are written, which follow from all the other parts."""


@dataclass(frozen=True)
class ReportInputs:
    """What a report takes over and does not compute; ``versions`` are those of Python and of the packages that matter."""

    subject: Subject
    facts: ChangeFacts
    data: DataFacts
    settings: Settings
    versions: dict[str, str]
    glm: GlmFacts | None = None
    environments: Environments | None = None
    edition: Edition | None = EDITION


def compose(
    inputs: ReportInputs,
    *,
    pair: ModelPair,
    change: Change,
    problem: PathProblem,
    solution: Solution,
    rows: RowEvidence | None,
) -> ChangeReportDocument:
    """The whole document with its digest; ``rows`` is None where there were only moments.

    A cost on rows records all that it is asked for. So the other orders and the path are worked out before the problem is
    stored: its record then has what they asked.
    """
    labels = Labels.of(change)
    comparison = compare_orders(problem, solution, labels) if solution.path.steps else ()
    path = path_facts(problem, solution, labels, rows)
    raw = raw_changes(pair)
    costs = (path.start_cost, path.steps[-1].cost if path.steps else path.start_cost)
    data_name = shlex.quote(inputs.data.name) if inputs.data.kind in ("file", "folder") else "FILE"
    figures = ChangeReportDocument(
        schema_=REPORT_SCHEMA,
        tool=Tool(version=__version__),
        subject=inputs.subject,
        assessment=NOT_ASSESSED,
        facts=inputs.facts,
        summary=_NO_SUMMARY,
        counts=count_changes(pair, change, raw),
        data=inputs.data,
        settings=inputs.settings,
        models={
            "champion": _model_document(pair.champion) if pair.has_champion else None,
            "candidate": _model_document(pair.candidate),
        },
        coordinates=coordinate_facts(change),
        raw=raw,
        problem=stored_problem(change, inputs.settings, problem),
        path=path,
        comparison=comparison,
        impact=impact_facts(change, problem, inputs.data, costs, rows, inputs.glm),
        rows=rows,
        limits=(),
        recheck=Recheck(
            command=f"coordpath verify change_report.json --data {data_name}",
            versions=inputs.versions,
            seed=inputs.settings.seed,
        ),
        digest="",
        glm=inputs.glm,
        functions=function_facts(pair, change, inputs.data.inputs),
        environments=inputs.environments,
        edition=inputs.edition,
    )
    sentences = {"summary": summary_of(figures), "limits": limits_of(figures, pair, change)}
    document = figures.model_copy(update=sentences)
    return document.model_copy(update={"digest": document_digest(document)})


def summary_of(document: ChangeReportDocument) -> Summary:
    """Headline and sentences, from all other parts of ``document``."""
    champion = document.subject.champion
    return summarise(
        (champion.label if champion else None, document.subject.candidate.label),
        data=document.data,
        counts=document.counts,
        path=document.path,
        impact=document.impact,
        glm=document.glm,
        own=own_thresholds(document.models, document.settings.threshold_class),
        settings=document.settings,
        weights=class_weights(document.models, document.edition),
        edition=document.edition,
    )


def limits_of(document: ChangeReportDocument, pair: ModelPair, change: Change) -> tuple[str, ...]:
    """What ``document`` cannot tell, from its other parts, and from the models and the change that it is about."""
    sentences = limits(
        pair,
        data=document.data,
        counts=document.counts,
        path=document.path,
        impact=document.impact,
        merged=merged_levels(change),
        has_rows=document.rows is not None,
        glm=document.glm,
        weights=class_weights(document.models, document.edition),
        edition=document.edition,
    )
    return (*sentences, *training_remarks(document.subject, document.data))


def _model_document(model: LinearModel) -> dict[str, object]:
    return dict(to_document(model))
