"""One complete document in, one page out; the same document gives the same bytes.

First everything that the page shows is put into one view, as text; templates only lay it out.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.rendering.caps import HTML_CAPS, MARKDOWN_CAPS, Caps
from coordpath_governance.rendering.sections import report_view
from coordpath_governance.rendering.templates import (
    HTML_BYTES,
    MARKDOWN_BYTES,
    first_that_fits,
    html_environment,
    markdown_environment,
)
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.text import shorten

__all__ = [
    "MARKDOWN_CHARACTERS",
    "SUMMARY_CHARACTERS",
    "Conclusion",
    "render_conclusion_markdown",
    "render_html",
    "render_markdown",
    "render_summary_markdown",
]

MARKDOWN_CHARACTERS = 60_000
SUMMARY_CHARACTERS = 1_500
SUMMARY_SIZES = ((48, 500, 5), (24, 240, 5), (12, 100, 5), (8, 40, 3), (6, 20, 0))
"""Characters of a name, characters of a sentence and number of steps, each tried while the summary is too long."""


def _text_caps(name: int, prose: int, steps: int = 0) -> Caps:
    """Caps for a text without tables and pictures."""
    return Caps(name, prose, rows=0, lead_rows=0, steps=steps, moves=0, entries=0, chart_rows=0, problem=0)


_CONCLUSION_CAPS = _text_caps(48, 500)


def render_html(document: ChangeReportDocument) -> str:
    """The report as one self-contained HTML page under 400 kB."""
    template = html_environment().get_template("report.html.j2")
    pages = (template.render(report=report_view(document, caps)) for caps in HTML_CAPS)
    return first_that_fits("the HTML report", pages, lambda page: len(page.encode()) < HTML_BYTES)


def render_markdown(document: ChangeReportDocument) -> str:
    """The report as GitHub Markdown under 60,000 characters."""
    template = markdown_environment().get_template("report.md.j2")
    pages = (template.render(report=report_view(document, caps)) for caps in MARKDOWN_CAPS)
    return first_that_fits(
        "the Markdown report",
        pages,
        lambda page: len(page) < MARKDOWN_CHARACTERS and len(page.encode()) < MARKDOWN_BYTES,
    )


@dataclass(frozen=True)
class Conclusion:
    """What is said first of a version: a mark, a few words, and why."""

    mark: str
    word: str
    text: str

    def within(self, caps: Caps) -> Conclusion:
        """The same, shortened to ``caps``."""
        return Conclusion(self.mark, caps.sentence(self.word), caps.sentence(self.text))


def render_conclusion_markdown(conclusion: Conclusion) -> str:
    """A conclusion alone, for a version without a report."""
    shortened = conclusion.within(_CONCLUSION_CAPS)
    return markdown_environment().get_template("conclusion.md.j2").render(conclusion=shortened)


def render_summary_markdown(
    document: ChangeReportDocument, report_path: str | None = None, conclusion: Conclusion | None = None
) -> str:
    """Verdict, headline and the first five steps in at most 1,500 characters, and where the full report is.

    ``report_path`` is where the report's page lies; without it only the folder is named. ``conclusion`` is what holds now,
    by default the verdict of the report.
    """
    pages = (
        _summary_page(document, report_path, conclusion, _text_caps(name, prose, steps))
        for name, prose, steps in SUMMARY_SIZES
    )
    return first_that_fits("the summary", pages, lambda page: len(page) <= SUMMARY_CHARACTERS)


def _summary_page(document: ChangeReportDocument, report_path: str | None, conclusion: Conclusion | None, caps: Caps) -> str:
    where = None if report_path is None else shorten(report_path, max(caps.prose // 2, 60))
    view = report_view(document, caps)
    verdict = view["verdict"]
    shown = (conclusion or Conclusion(verdict.mark, verdict.word, verdict.reason)).within(caps)
    return markdown_environment().get_template("summary.md.j2").render(report=view, where=where, conclusion=shown)
