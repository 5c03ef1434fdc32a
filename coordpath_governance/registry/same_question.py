"""Whether a report answers the question of the one that it would replace: the same target, by the same kind of model."""

from __future__ import annotations

from coordpath_governance.errors import ReportFormatError, UsageError
from coordpath_governance.registry.beside import read_beside
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["check_same_question"]

_REPORT = "change_report.json"


def check_same_question(candidate: ModelPointer, folder: str, report: ChangeReport) -> None:
    """Raise `UsageError` if the report in ``folder`` of the candidate is about another target than ``report``.

    Nothing is raised where no report is attached, or one that cannot be read.
    """
    content = read_beside(candidate, folder, (_REPORT,)).get(_REPORT)
    if content is None:
        return
    try:
        attached = ChangeReport.from_bytes(content)
    except ReportFormatError:
        return
    before, now = _question(attached.document), _question(report.document)
    if before != now:
        raise UsageError(
            f"{candidate.uri} has a report about {before} attached, and this one is about {now}: nothing was attached or "
            "replaced; name the right target, or say --replace if this one is right"
        )


def _question(document: ChangeReportDocument) -> str:
    """The target, the function of it that is predicted, and the loss of the models."""
    data, glm = document.data, document.glm
    predicted = f", predicted as {data.predicted}" if data.predicted is not None else ""
    return f"the target '{data.target}'{predicted} ({'squared error' if glm is None else glm.loss})"
