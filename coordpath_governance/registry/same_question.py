"""Whether a report answers the question of the one that it would replace: the same target, by the same kind of model."""

from __future__ import annotations

from coordpath_governance.errors import ReportFormatError, UsageError
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["check_same_question"]


def check_same_question(uri: str, attached_bytes: bytes, report: ChangeReport) -> None:
    """Raise `UsageError` if the report that is attached to the version ``uri`` is about another target than ``report``.

    Nothing is raised if what is attached cannot be read as a report.
    """
    try:
        attached = ChangeReport.from_bytes(attached_bytes)
    except ReportFormatError:
        return
    before, now = _question(attached.document), _question(report.document)
    if before != now:
        raise UsageError(
            f"{uri} has a report about {before} attached, and this one is about {now}: nothing was attached or "
            "replaced; name the right target, or say --replace if this one is right"
        )


def _question(document: ChangeReportDocument) -> str:
    """The target, the function of it that is predicted, and the loss of the models."""
    data, glm = document.data, document.glm
    predicted = f", predicted as {data.predicted}" if data.predicted is not None else ""
    return f"the target '{data.target}'{predicted} ({'squared error' if glm is None else glm.loss})"
