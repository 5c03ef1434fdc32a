"""One complete document in, one page out; the same document gives the same bytes.

First everything that the page shows is put into one view, as text; templates only lay it out.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.errors import CoordpathError
from coordpath_governance.numbers import cost_column, count, percent
from coordpath_governance.rendering import wording
from coordpath_governance.rendering.caps import HTML_CAPS, MARKDOWN_CAPS, Caps, Shown
from coordpath_governance.rendering.coefficient_view import CoefficientsView, coefficients_view
from coordpath_governance.rendering.family import family_words
from coordpath_governance.rendering.impact_view import ImpactView, OrdersView, impact_view, orders_view
from coordpath_governance.rendering.path_view import PathView, end_label, path_column, path_view, start_label
from coordpath_governance.rendering.policy_view import PolicyView, policy_view
from coordpath_governance.rendering.provenance_view import (
    ProvenanceView,
    RecheckView,
    provenance_view,
    recheck_view,
)
from coordpath_governance.rendering.templates import html_environment, markdown_environment
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.text import shorten

__all__ = [
    "HTML_BYTES",
    "MARKDOWN_BYTES",
    "MARKDOWN_CHARACTERS",
    "SUMMARY_CHARACTERS",
    "Conclusion",
    "Digest",
    "KeyFigure",
    "ReportView",
    "SummaryView",
    "VerdictView",
    "render_conclusion_markdown",
    "render_html",
    "render_markdown",
    "render_summary_markdown",
    "report_view",
]

DIGEST_LENGTH = 12

HTML_BYTES = 400_000
MARKDOWN_CHARACTERS = 60_000
MARKDOWN_BYTES = 95_000
"""MLflow renders Markdown artifacts below 100 kB."""
SUMMARY_CHARACTERS = 1_500
SUMMARY_SIZES = ((48, 500, 5), (24, 240, 5), (12, 100, 5), (8, 40, 3), (6, 20, 0))
"""Characters of a name, characters of a sentence and number of steps, each tried while the summary is too long."""

_CONCLUDED = Caps(48, 500, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Digest:
    """What a digest belongs to, its beginning and the whole of it."""

    name: str
    short: str
    full: str


@dataclass(frozen=True)
class VerdictView:
    """Section 1."""

    word: str
    slug: str
    reason: str
    materiality: str | None
    materiality_reason: str | None
    when: str | None
    digests: tuple[Digest, ...]


@dataclass(frozen=True)
class KeyFigure:
    """A number for the eye, with what it is and a remark."""

    name: str
    value: str
    remark: str
    direction: str


@dataclass(frozen=True)
class SummaryView:
    """Section 2."""

    headline: str
    sentences: Shown[str]
    figures: tuple[KeyFigure, ...]


@dataclass(frozen=True)
class ReportView:
    """The whole report, section by section."""

    title: str
    name: str
    first_version: bool
    tool: str
    verdict: VerdictView
    verdict_mark: str
    summary: SummaryView
    path: PathView
    reading: tuple[tuple[str, str], ...]
    coefficients: CoefficientsView
    orders: OrdersView
    impact: ImpactView
    policy: PolicyView
    provenance: ProvenanceView
    limits: Shown[str]
    recheck: RecheckView
    sections: tuple[tuple[int, str, str], ...]
    full_report: str


def report_view(document: ChangeReportDocument, caps: Caps) -> ReportView:
    """All sections of ``document``, shortened to ``caps``."""
    subject = document.subject
    path = path_view(document, caps)
    old = caps.label(subject.champion.label) if subject.champion else "zero"
    new = caps.label(subject.candidate.label)
    name = caps.label(subject.name)
    return ReportView(
        title=f"Change report: {name}, {old} to {new}" if subject.champion else f"Change report: {name}, {new}",
        name=name,
        first_version=subject.champion is None,
        tool=f"{document.tool.name} {caps.label(document.tool.version)}",
        verdict=_verdict(document, caps),
        verdict_mark=wording.VERDICT_MARKS[document.assessment.verdict],
        summary=_summary(document, caps, path),
        path=path,
        reading=wording.reading(document, family_words(document, caps)),
        coefficients=coefficients_view(document, caps),
        orders=orders_view(document, caps, path_column(document)),
        impact=impact_view(document, caps),
        policy=policy_view(document, caps),
        provenance=provenance_view(document, caps),
        limits=Shown.first([caps.sentence(limit) for limit in document.limits[: caps.entries]], caps.entries),
        recheck=recheck_view(document, caps),
        sections=tuple((number, *section) for number, section in enumerate(wording.SECTIONS, 1)),
        full_report="change_report.json",
    )


def _verdict(document: ChangeReportDocument, caps: Caps) -> VerdictView:
    assessment, subject = document.assessment, document.subject
    named = [("This report", document.digest), ("Reference data", document.data.sha256)]
    if subject.champion and subject.champion.digest:
        named.append((start_label(document, caps), subject.champion.digest))
    if subject.candidate.digest:
        named.append((end_label(document, caps), subject.candidate.digest))
    if assessment.policy:
        named.append(("Policy", assessment.policy.sha256))
    return VerdictView(
        word=wording.VERDICT_WORDS[assessment.verdict],
        slug=assessment.verdict.replace(" ", "-"),
        reason=caps.sentence(assessment.reason),
        materiality=caps.label(assessment.materiality) if assessment.materiality else None,
        materiality_reason=caps.sentence(assessment.materiality_reason) if assessment.materiality_reason else None,
        when=None if assessment.gate is None else wording.BEFORE_ANY_DECISION,
        digests=tuple(_digest(name, value, caps) for name, value in named),
    )


def _digest(name: str, value: str, caps: Caps) -> Digest:
    full = caps.label(value)
    return Digest(name, full.removeprefix("sha256:")[:DIGEST_LENGTH], full)


def _summary(document: ChangeReportDocument, caps: Caps, path: PathView) -> SummaryView:
    sentences = [caps.sentence(sentence) for sentence in document.summary.sentences[: caps.entries]]
    return SummaryView(
        headline=caps.sentence(document.summary.headline),
        sentences=Shown(tuple(sentences), len(document.summary.sentences) - len(sentences)),
        figures=_figures(document, caps, path),
    )


def _figures(document: ChangeReportDocument, caps: Caps, path: PathView) -> tuple[KeyFigure, ...]:
    data, counts = document.data, document.counts
    word = {"no difference": "no difference these data can show", "not known": "difference not known"}
    direction = document.summary.direction
    status = {"optimal": "Proved", "bounded": "Bounded"}[document.path.status]
    remark = {
        "optimal": "no better order of these steps",
        "bounded": f"within {percent(document.path.gap)} of the best possible",
    }[document.path.status]
    end = document.path.steps[-1].cost if document.path.steps else document.path.start_cost
    total = end - document.path.start_cost
    column = cost_column([document.path.start_cost, end], [total], digits=3)
    unit = f" ({column.suffix})" if column.suffix else ""
    costs = f"{column.cost(document.path.start_cost)} → {column.cost(end)}"
    change = column.delta_with_error(total, document.impact.delta_se) if total else "0"
    figures = [
        KeyFigure(path.cost_title + unit, costs, "", ""),
        KeyFigure("Difference" + unit, change, word.get(direction, direction), direction.split()[0]),
        KeyFigure(
            "Coefficients that differ",
            f"{count(counts.changed)} of {count(counts.coefficients)}",
            wording.slopes_that_flip(document, caps),
            "",
        ),
        KeyFigure("Rows", count(data.rows), ", ".join(filter(None, (data.role, _period(document, caps)))), ""),
        KeyFigure("Order of the steps", status, remark, ""),
    ]
    return tuple(figures[:4] if path.empty else figures)


def _period(document: ChangeReportDocument, caps: Caps) -> str:
    return caps.label(document.data.period) if document.data.period else ""


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
