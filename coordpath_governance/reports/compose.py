"""Put a report together: a pure function of models, moments, path, row evidence and facts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from coordpath_governance._version import __version__
from coordpath_governance.alignment.change import Change
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.canonical import canonical_bytes, sha256_hex
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
    Tool,
)
from coordpath_governance.reports.editions import EDITION, Edition
from coordpath_governance.reports.impact import impact_facts
from coordpath_governance.reports.impact_parts import GlmFacts, RowEvidence
from coordpath_governance.reports.problem import stored_problem
from coordpath_governance.reports.steps import Labels, compare_orders, path_facts
from coordpath_governance.reports.thresholds import own_thresholds
from coordpath_governance.reports.training_remarks import training_remarks
from coordpath_governance.reports.version_parts import Environments
from coordpath_governance.reports.words import limits, summarise

__all__ = ["NOT_ASSESSED", "ReportFacts", "compose", "document_digest"]

NOT_ASSESSED = Assessment(
    verdict="not assessed", reason="No policy was applied to this change, so nothing here is an approval.", materiality=None
)


@dataclass(frozen=True)
class ReportFacts:
    """What a report is told rather than computes."""

    subject: Subject
    facts: ChangeFacts
    data: DataFacts
    settings: Settings
    versions: dict[str, str]
    glm: GlmFacts | None = None
    environments: Environments | None = None
    edition: Edition | None = EDITION


def compose(
    told: ReportFacts, pair: ModelPair, change: Change, problem: PathProblem, solution: Solution, rows: RowEvidence | None
) -> ChangeReportDocument:
    """The whole document with its digest."""
    labels = Labels.of(change)
    comparison = compare_orders(problem, solution, labels) if solution.path.steps else ()
    path = path_facts(problem, solution, labels, rows)
    raw = raw_changes(pair)
    counts = count_changes(pair, change, raw)
    costs = (path.start_cost, path.steps[-1].cost if path.steps else path.start_cost)
    impact = impact_facts(change, problem, told.data, costs, rows, told.glm)
    champion = told.subject.champion
    versions = (champion.label if champion else None, told.subject.candidate.label)
    models = {
        "champion": _model_document(pair.champion) if pair.has_champion else None,
        "candidate": _model_document(pair.candidate),
    }
    own = own_thresholds(models, told.settings.threshold_class)
    weights = class_weights(models, told.edition)
    data_name = shlex.quote(told.data.name) if told.data.kind in ("file", "folder") else "FILE"
    document = ChangeReportDocument(
        schema_=REPORT_SCHEMA,
        tool=Tool(version=__version__),
        subject=told.subject,
        assessment=NOT_ASSESSED,
        facts=told.facts,
        summary=summarise(versions, told.data, counts, path, impact, told.glm, own, told.settings, weights, told.edition),
        counts=counts,
        data=told.data,
        settings=told.settings,
        models=models,
        coordinates=coordinate_facts(change),
        raw=raw,
        problem=stored_problem(change, told.settings, problem),
        path=path,
        comparison=comparison,
        impact=impact,
        rows=rows,
        limits=(
            *limits(
                pair,
                told.data,
                counts,
                path,
                impact,
                merged_levels(change),
                rows is not None,
                told.glm,
                weights,
                told.edition,
            ),
            *training_remarks(told.subject, told.data),
        ),
        recheck=Recheck(
            command=f"coordpath verify change_report.json --data {data_name}",
            versions=told.versions,
            seed=told.settings.seed,
        ),
        digest="",
        glm=told.glm,
        functions=function_facts(pair, change, told.data.inputs),
        environments=told.environments,
        edition=told.edition,
    )
    return document.model_copy(update={"digest": document_digest(document)})


def document_digest(document: ChangeReportDocument) -> str:
    """SHA-256 of the canonical JSON of everything but the digest itself."""
    content = document.model_dump(mode="json", by_alias=True)
    content.pop("digest")
    return sha256_hex(canonical_bytes(content))


def _model_document(model: LinearModel) -> dict[str, object]:
    return dict(to_document(model))
