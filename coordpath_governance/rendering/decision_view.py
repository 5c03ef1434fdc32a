"""The record of a decision as a page shows it, and laid out as HTML and Markdown: one document in, one page out."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import count
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.policy_view import RuleRow, rule_rows
from coordpath_governance.rendering.templates import (
    HTML_BYTES,
    MARKDOWN_BYTES,
    first_that_fits,
    html_environment,
    markdown_environment,
)
from coordpath_governance.rendering.wording import VERDICT_WORDS
from coordpath_governance.reports.decision import ApprovalGiven, DecisionDocument, RejectionGiven, WaiverGiven

__all__ = ["DECISION_LAYOUT", "DecisionView", "decision_view", "render_decision_html", "render_decision_markdown"]

DECISION_LAYOUT = 1
"""Increased with every change of a byte in these pages: the audit lays out again only pages of the same number."""
_SIZES = (
    Caps(name=120, prose=4000, rows=120, lead_rows=0, steps=0, moves=0, entries=60, chart_rows=0, problem=0),
    Caps(name=80, prose=600, rows=60, lead_rows=0, steps=0, moves=0, entries=30, chart_rows=0, problem=0),
    Caps(name=40, prose=200, rows=20, lead_rows=0, steps=0, moves=0, entries=10, chart_rows=0, problem=0),
)
_DIGITS = 12
_DAY = len("2026-01-31")
_MINUTE = len("2026-01-31T10:20")


@dataclass(frozen=True)
class PersonRow:
    """One signed statement: the rule that a waiver is about, who signed it, what they wrote, and until when it held."""

    about: str
    by: str
    roles: str
    comment: str
    at: str
    until: str
    entry: str
    key: str


@dataclass(frozen=True)
class Fact:
    """A name and its value; ``code`` for digests."""

    name: str
    value: str
    code: bool = False


@dataclass(frozen=True)
class DecisionView:
    """The whole page."""

    title: str
    name: str
    slug: str
    mark: str
    word: str
    sentence: str
    change: str
    nobody_approved: str
    approvals: Shown[PersonRow]
    waivers: Shown[PersonRow]
    rejections: Shown[PersonRow]
    verdict: str
    rules: Shown[RuleRow]
    facts: tuple[Fact, ...]


def render_decision_html(document: DecisionDocument) -> str:
    """One self-contained page under 400 kB."""
    return _render(document, "decision.html.j2", HTML_BYTES)


def render_decision_markdown(document: DecisionDocument) -> str:
    """GitHub Markdown under 95 kB."""
    return _render(document, "decision.md.j2", MARKDOWN_BYTES)


def _render(document: DecisionDocument, name: str, most: int) -> str:
    environment = html_environment() if ".html." in name else markdown_environment()
    template = environment.get_template(name)
    pages = (template.render(decision=decision_view(document, caps)) for caps in _SIZES)
    return first_that_fits("the decision's page", pages, lambda page: len(page.encode()) < most)


def decision_view(document: DecisionDocument, caps: Caps) -> DecisionView:
    """Everything of ``document``, shortened to ``caps``."""
    name, alias = caps.label(document.name), caps.label(document.alias)
    before = f"version {document.from_version}" if document.from_version else "no version"
    promoted = document.decision == "promoted"
    word = f"Promoted to {alias}" if promoted else "Rejected"
    slug, mark = ("pass", "✔") if promoted else ("fail", "✖")
    if document.emergency is not None:
        word, slug, mark = f"Put back as {alias} in an emergency", "review", "◆"
    rules = () if document.verdict is None else document.verdict.rules
    return DecisionView(
        title=f"Decision: {name}, version {document.to_version}, {document.decision}",
        name=name,
        slug=slug,
        mark=mark,
        word=word,
        sentence=_sentence(document, caps),
        change=f"From {before} to version {document.to_version}" + ("" if promoted else f", asked for as {alias}"),
        nobody_approved=_nobody_approved(document),
        approvals=_people(document.approvals, caps),
        waivers=_people(document.waivers, caps),
        rejections=_people(document.rejections, caps),
        verdict=_verdict(document, caps),
        rules=rule_rows(rules, caps),
        facts=_facts(document, caps),
    )


def _sentence(document: DecisionDocument, caps: Caps) -> str:
    who = caps.label(document.actor) if document.actor else "somebody whom nobody vouches for"
    when = f"on {document.at[:_MINUTE].replace('T', ' at ')} UTC"
    if document.decision == "rejected":
        return f"By {who} {when}. A rejection holds until its author thinks again or there is a new report."
    crash = " It was completed after a crash." if document.completed == "after a crash" else ""
    if document.emergency is not None:
        until = document.emergency.review_by[:_DAY]
        return (
            f"By {who} {when}, alone: without a report, without approvals, and without asking the gate. "
            f"Reason: {caps.sentence(document.emergency.reason)}. Others review it by {until}.{crash}"
        )
    approvals = len(document.approvals)
    approved = f"{count(approvals)} approval{'' if approvals == 1 else 's'}" if approvals else "no approval was needed"
    waived = len(document.waivers)
    exceptions = f", {count(waived)} rule{'' if waived == 1 else 's'} waived" if waived else ""
    return f"By {who} {when}; {approved}{exceptions}.{crash}"


def _nobody_approved(document: DecisionDocument) -> str:
    """What the page says where there is no approval."""
    if document.emergency is not None:
        return "Nobody approved this beforehand."
    reason = ": its policy asked for no approval" if document.decision == "promoted" else ""
    return f"Nobody approved this change{reason}."


def _people(statements: tuple[ApprovalGiven | WaiverGiven | RejectionGiven, ...], caps: Caps) -> Shown[PersonRow]:
    return Shown.first(statements, caps.entries, lambda statement: _person(statement, caps))


def _person(statement: ApprovalGiven | WaiverGiven | RejectionGiven, caps: Caps) -> PersonRow:
    comment = statement.reason if isinstance(statement, WaiverGiven) else statement.comment
    return PersonRow(
        about=caps.label(statement.rule) if isinstance(statement, WaiverGiven) else "",
        by=caps.label(statement.by),
        roles=", ".join(caps.label(role) for role in statement.roles[: caps.entries]),
        comment=caps.sentence(comment) if comment else "",
        at=statement.at[:_MINUTE].replace("T", " "),
        until="" if isinstance(statement, RejectionGiven) else statement.expires[:_MINUTE].replace("T", " "),
        entry=str(statement.entry),
        key=statement.key[:_DIGITS],
    )


def _verdict(document: DecisionDocument, caps: Caps) -> str:
    verdict = document.verdict
    if document.emergency is not None:
        return "The gate was not asked."
    if verdict is None:
        return "What the gate said then is not on record."
    kind = f", class “{caps.label(verdict.materiality)}”" if verdict.materiality else ""
    met = sum(rule.result == "pass" for rule in verdict.rules)
    checks = f"{count(met)} of {count(len(verdict.rules))} checks were met (entry {verdict.entry})"
    return f"Before this decision the gate said: {VERDICT_WORDS[verdict.verdict]}{kind}; {checks}."


def _facts(document: DecisionDocument, caps: Caps) -> tuple[Fact, ...]:
    digests = document.digests
    vouched = {"server": "the registry's server", "key": "their key", None: "nobody"}[document.authenticated_by]
    facts = [
        Fact("Actor", caps.label(document.actor) if document.actor else "not known"),
        Fact("Who vouches for the actor", vouched),
        Fact("Full validation", {True: "yes", False: "no", None: "not stated"}[document.full_validation]),
        Fact(f"Files of version {document.to_version}", digests.to_model, code=True),
    ]
    if digests.from_model:
        facts.append(Fact(f"Files of version {document.from_version}", digests.from_model, code=True))
    if digests.report:
        facts.append(Fact("change_report.json", digests.report, code=True))
    facts.append(Fact("Policy", digests.policy, code=True))
    facts += [Fact(name, digest, code=True) for name, digest in sorted(digests.pages.items())]
    facts += [Fact("Ledger", document.ledger, code=True), Fact("Entry", str(document.entry))]
    if document.intent is not None:
        facts.append(Fact("Entry that announced it", str(document.intent)))
    return (*facts, Fact("Hash of the entry", document.entry_sha256, code=True))
