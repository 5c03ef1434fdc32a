"""One complete document in, one page out; the same document gives the same bytes."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.errors import CoordpathError
from coordpath_governance.rendering.caps import HTML_CAPS, MARKDOWN_CAPS, Caps
from coordpath_governance.rendering.environment import html_environment, markdown_environment
from coordpath_governance.rendering.views import report_view
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.text import shorten

__all__ = [
    "HTML_BYTES",
    "MARKDOWN_BYTES",
    "MARKDOWN_CHARACTERS",
    "SUMMARY_CHARACTERS",
    "Conclusion",
    "render_conclusion_markdown",
    "render_html",
    "render_markdown",
    "render_summary_markdown",
]

HTML_BYTES = 400_000
MARKDOWN_CHARACTERS = 60_000
MARKDOWN_BYTES = 95_000
"""MLflow renders Markdown artifacts below 100 kB."""
SUMMARY_CHARACTERS = 1_500
SUMMARY_SIZES = ((48, 500, 5), (24, 240, 5), (12, 100, 5), (8, 40, 3), (6, 20, 0))
"""Characters of a name, characters of a sentence and number of steps, each tried while the summary is too long."""


_CONCLUDED = Caps(48, 500, 0, 0, 0, 0, 0, 0, 0)


def render_html(document: ChangeReportDocument) -> str:
    """The report as one self-contained HTML page under 400 kB."""
    template = html_environment().get_template("report.html.j2")
    for caps in HTML_CAPS:
        page = template.render(report=report_view(document, caps))
        if len(page.encode()) < HTML_BYTES:
            return page
    raise CoordpathError("the HTML report is too large even when shortened: this is a defect of coordpath-governance")


def render_markdown(document: ChangeReportDocument) -> str:
    """The report as GitHub Markdown under 60,000 characters."""
    template = markdown_environment().get_template("report.md.j2")
    for caps in MARKDOWN_CAPS:
        page = template.render(report=report_view(document, caps))
        if len(page) < MARKDOWN_CHARACTERS and len(page.encode()) < MARKDOWN_BYTES:
            return page
    raise CoordpathError("the Markdown report is too large even when shortened: this is a defect of coordpath-governance")


@dataclass(frozen=True)
class Conclusion:
    """What is said first of a version: a mark, a few words, and why."""

    mark: str
    word: str
    text: str


def render_conclusion_markdown(conclusion: Conclusion) -> str:
    """A conclusion alone, for a version without a report."""
    said = Conclusion(conclusion.mark, _CONCLUDED.sentence(conclusion.word), _CONCLUDED.sentence(conclusion.text))
    return markdown_environment().get_template("conclusion.md.j2").render(conclusion=said)


def render_summary_markdown(
    document: ChangeReportDocument, report_path: str | None = None, conclusion: Conclusion | None = None
) -> str:
    """Verdict, headline and the first five steps in at most 1,500 characters, and where the full report is.

    ``conclusion`` is what holds now; by default that is the verdict of the report.
    """
    template = markdown_environment().get_template("summary.md.j2")
    for name, prose, steps in SUMMARY_SIZES:
        caps = Caps(name, prose, 0, 0, steps, 0, 0, 0, 0)
        where = None if report_path is None else shorten(report_path, max(prose // 2, 60))
        view = report_view(document, caps)
        first = conclusion or Conclusion(view.verdict_mark, view.verdict.word, view.verdict.reason)
        said = Conclusion(first.mark, caps.sentence(first.word), caps.sentence(first.text))
        page = template.render(report=view, where=where, conclusion=said)
        if len(page) <= SUMMARY_CHARACTERS:
            return page
    raise CoordpathError("the summary is too long even when shortened: this is a defect of coordpath-governance")
