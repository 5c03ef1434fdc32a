"""The sections of a report in their order, and the view that the templates of all of them lay out.

A section is one line in `SECTIONS`, a function that makes its view, and a template in each of the two formats:
``templates/sections/<slug>.html.j2`` and ``templates/sections/<slug>.md.j2``. A template finds its own view, and that of any
other section, by its slug, such as ``report.path``; ``section`` is its line of the table with its number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coordpath_governance.rendering import wording
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.coefficient_view import coefficients_view
from coordpath_governance.rendering.family import family_words
from coordpath_governance.rendering.impact_view import impact_view, orders_view
from coordpath_governance.rendering.path_view import path_view, unexercised
from coordpath_governance.rendering.policy_view import policy_view
from coordpath_governance.rendering.provenance_view import provenance_view, recheck_view
from coordpath_governance.rendering.summary_view import summary_view, verdict_view
from coordpath_governance.reports.document import REPORT_FILE, ChangeReportDocument

__all__ = ["SECTIONS", "ReportView", "Section", "SectionHead", "report_view"]


@dataclass(frozen=True)
class Section:
    """A section: its name in templates and links, its title, and what makes its view from a document."""

    slug: str
    title: str
    view: Callable[[ChangeReportDocument, Caps], object]


def _reading(document: ChangeReportDocument, caps: Caps) -> tuple[tuple[str, str], ...]:
    return wording.reading(document, family_words(document, caps))


def _limits(document: ChangeReportDocument, caps: Caps) -> Shown[str]:
    return Shown.first(document.limits, caps.entries, caps.sentence)


SECTIONS = (
    Section("verdict", "Verdict", verdict_view),
    Section("summary", "Summary", summary_view),
    Section("path", "The path, step by step", path_view),
    Section("reading", "How to read this", _reading),
    Section("coefficients", "Coefficients, old and new", coefficients_view),
    Section("orders", "Other orders beside ours", orders_view),
    Section("impact", "Impact on the reference data", impact_view),
    Section("policy", "Policy rules", policy_view),
    Section("provenance", "Provenance", provenance_view),
    Section("limits", "What this cannot tell you", _limits),
    Section("recheck", "How to recheck", recheck_view),
)


@dataclass(frozen=True)
class SectionHead:
    """What a template writes above its section."""

    number: int
    slug: str
    title: str


@dataclass(frozen=True)
class ReportView:
    """The whole report as text. ``report["path"]``, in a template ``report.path``, is the view of the section "path"."""

    title: str
    name: str
    first_version: bool
    tool: str
    unexercised: str
    full_report: str
    sections: tuple[SectionHead, ...]
    views: dict[str, Any]

    def __getitem__(self, slug: str) -> Any:  # noqa: ANN401 - every section has a view of its own type
        """The view of the section ``slug``; `KeyError` if there is none."""
        return self.views[slug]

    def number_of(self, slug: str) -> int:
        """The number of the section ``slug``, for a reference to it."""
        return next(head.number for head in self.sections if head.slug == slug)


def report_view(document: ChangeReportDocument, caps: Caps) -> ReportView:
    """All sections of ``document`` as text, shortened to ``caps``."""
    subject = document.subject
    old = caps.label(subject.champion.label) if subject.champion else "zero"
    new = caps.label(subject.candidate.label)
    name = caps.label(subject.name)
    heads = tuple(SectionHead(number, section.slug, section.title) for number, section in enumerate(SECTIONS, 1))
    numbers = {head.slug: head.number for head in heads}
    return ReportView(
        title=f"Change report: {name}, {old} to {new}" if subject.champion else f"Change report: {name}, {new}",
        name=name,
        first_version=subject.champion is None,
        tool=f"{document.tool.name} {caps.label(document.tool.version)}",
        unexercised=unexercised(document, numbers["coefficients"]),
        full_report=REPORT_FILE,
        sections=heads,
        views={section.slug: section.view(document, caps) for section in SECTIONS},
    )
