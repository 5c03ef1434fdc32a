"""The reviewer's first minute: the verdict with its digests, and the summary with its key figures."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import cost_column, count, percent
from coordpath_governance.rendering import wording
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.path_view import end_label, start_label
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["DigestRow", "KeyFigure", "SummaryView", "VerdictView", "summary_view", "verdict_view"]

DIGEST_LENGTH = 12


@dataclass(frozen=True)
class DigestRow:
    """What a digest belongs to, its beginning and the whole of it."""

    name: str
    short: str
    full: str


@dataclass(frozen=True)
class VerdictView:
    """The verdict: a mark, a word, why, and the digests of everything it is about."""

    mark: str
    word: str
    slug: str
    reason: str
    materiality: str | None
    materiality_reason: str | None
    when: str | None
    digests: tuple[DigestRow, ...]


@dataclass(frozen=True)
class KeyFigure:
    """A number for the eye, with what it is and a remark."""

    name: str
    value: str
    remark: str
    direction: str


@dataclass(frozen=True)
class SummaryView:
    """The headline, the sentences and the figures for the eye."""

    headline: str
    sentences: Shown[str]
    figures: tuple[KeyFigure, ...]


def verdict_view(document: ChangeReportDocument, caps: Caps) -> VerdictView:
    """The view of the section "verdict"."""
    assessment, subject = document.assessment, document.subject
    named = [("This report", document.digest), ("Reference data", document.data.sha256)]
    if subject.champion and subject.champion.digest:
        named.append((start_label(document, caps), subject.champion.digest))
    if subject.candidate.digest:
        named.append((end_label(document, caps), subject.candidate.digest))
    if assessment.policy:
        named.append(("Policy", assessment.policy.sha256))
    return VerdictView(
        mark=wording.VERDICT_MARKS[assessment.verdict],
        word=wording.VERDICT_WORDS[assessment.verdict],
        slug=assessment.verdict.replace(" ", "-"),
        reason=caps.sentence(assessment.reason),
        materiality=caps.label(assessment.materiality) if assessment.materiality else None,
        materiality_reason=caps.sentence(assessment.materiality_reason) if assessment.materiality_reason else None,
        when=None if assessment.gate is None else wording.BEFORE_ANY_DECISION,
        digests=tuple(_digest(name, value, caps) for name, value in named),
    )


def _digest(name: str, value: str, caps: Caps) -> DigestRow:
    full = caps.label(value)
    return DigestRow(name, full.removeprefix("sha256:")[:DIGEST_LENGTH], full)


def summary_view(document: ChangeReportDocument, caps: Caps) -> SummaryView:
    """The view of the section "summary"."""
    return SummaryView(
        headline=caps.sentence(document.summary.headline),
        sentences=Shown.first(document.summary.sentences, caps.entries, caps.sentence),
        figures=_figures(document, caps),
    )


def _figures(document: ChangeReportDocument, caps: Caps) -> tuple[KeyFigure, ...]:
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
        KeyFigure(wording.sentence_start(wording.cost_name(document)) + unit, costs, "", ""),
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
    return tuple(figures if document.path.steps else figures[:4])


def _period(document: ChangeReportDocument, caps: Caps) -> str:
    return caps.label(document.data.period) if document.data.period else ""
