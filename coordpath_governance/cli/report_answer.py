"""What `coordpath report` says: verdict, headline and steps in the terminal, or with --json the report in short.

The rest is in the attached page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from coordpath_governance.cli.answers import answer_document, print_json, show_answer, show_readiness, tell_emergencies
from coordpath_governance.cli.screen import say
from coordpath_governance.models.formats import recalled_from
from coordpath_governance.numbers import CostColumn, cost_column, is_within_noise, pair, significant
from coordpath_governance.rendering.caps import HTML_CAPS
from coordpath_governance.rendering.family import family_words
from coordpath_governance.rendering.origin_view import moment_text
from coordpath_governance.rendering.wording import step_name
from coordpath_governance.reports.document import ChangeReportDocument, StepFacts
from coordpath_governance.reports.impact_parts import GlmMetrics
from coordpath_governance.reports.limits import training_remarks
from coordpath_governance.reports.stated_facts import ASKED_FACTS
from coordpath_governance.text import shorten, visible

if TYPE_CHECKING:
    from coordpath_governance.governance.attach import Attached
    from coordpath_governance.governance.governed_report import GovernedModel
    from coordpath_governance.registry.versions import ModelPointer
    from coordpath_governance.rendering.change_report import ChangeReport
    from coordpath_governance.review.gate import Answer

__all__ = ["REPORT_SCHEMA", "print_report", "show_attached", "show_overview"]

_NAME_WIDTH = 40
_DIGITS = 12
_NOISE = "~"

_WIDEST = 1000

_LEAST_NAME = 14
"""Characters of a step's name that stay on one line in a terminal of 80 columns."""

REPORT_SCHEMA = "coordpath.report/1"
_OF_THE_GATE = ("alias", "verdict", "reason", "materiality", "policy", "rules", "missing")


def show_overview(document: ChangeReportDocument, *, verdict: bool = True) -> None:
    """Print what a person wants to see at once; without ``verdict`` where the gate's own answer follows."""
    console = _console()
    subject = document.subject
    before = subject.champion.label if subject.champion else "zero"
    console.print(Text(f"{visible(subject.name)}: {visible(before)} → {visible(subject.candidate.label)}", style="bold"))
    if verdict:
        console.print(visible(f"Verdict: {document.assessment.verdict}. {document.assessment.reason}"))
    for line in _about_the_record(document):
        console.print(line)
    console.print()
    console.print(Text(visible(document.summary.headline), style="bold"))
    for sentence in document.summary.sentences:
        console.print(visible(sentence))
    recalled = recalled_from((document.models.get("champion") or {}).get("source"))
    if recalled is not None:
        console.print(
            f"The champion's files are gone: its coefficients are those of report {recalled[:_DIGITS]} in the ledger."
        )
    if document.path.steps:
        console.print()
        _show_steps(console, document)
        if any(is_within_noise(step.delta, step.delta_se) for step in document.path.steps):
            console.print(f"{_NOISE} within noise: these rows cannot tell it from no change")
    if document.glm is not None:
        for line in _beside_the_cost(document):
            console.print(line)
    for coordinate in document.coordinates:
        if coordinate.changed and not coordinate.exercised:
            console.print(f"Changed, but not exercised by this data: {visible(coordinate.label)}")


def _about_the_record(document: ChangeReportDocument) -> Iterator[str]:
    """What set the class of the change, when both versions were registered, and which facts nobody filled in."""
    if document.assessment.materiality_reason:
        yield visible(document.assessment.materiality_reason)
    sides = [side for side in (document.subject.champion, document.subject.candidate) if side is not None]
    dates = [f"{visible(side.label)} {when}" for side in sides if (when := moment_text(side.registered_ms))]
    if dates:
        yield f"Registered: {', '.join(dates)}"
    missing = [name.lower() for key, name in ASKED_FACTS.items() if not (getattr(document.facts, key) or "").strip()]
    if missing:
        yield f"Missing: {', '.join(missing)}"
    for remark in training_remarks(document.subject, document.data):
        yield f"▲ {visible(remark)}"


def _show_steps(console: Console, document: ChangeReportDocument) -> None:
    """The table of the steps, with every figure in full.

    If the terminal is too narrow for standard errors beside the changes, they go below them; if it is still too narrow,
    lines are longer than the terminal.
    """
    table = _table(document)
    if _width(console, table) > console.width:
        table = _table(document, errors_below=True)
    _console(max(console.width, _width(console, table))).print(table)


def _console(width: int | None = None) -> Console:
    """As wide as the terminal, or ``width``."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False, width=width)


def _width(console: Console, table: Table) -> int:
    """The least width at which every column that does not wrap is whole."""
    return Measurement.get(console, console.options.update(width=_WIDEST), table).minimum


def _table(document: ChangeReportDocument, *, errors_below: bool = False) -> Table:
    path = document.path
    costs = [path.start_cost, *(step.cost for step in path.steps)]
    column = cost_column(costs, [step.delta for step in path.steps])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("step", "what moves", "from", "to"):
        table.add_column(
            header, justify="right" if header in ("step", "from", "to") else "left", no_wrap=header != "what moves"
        )
    table.columns[1].min_width = _LEAST_NAME
    table.add_column(f"{_cost_name(document)}{column.suffix}", justify="right", no_wrap=True)
    table.add_column("change", justify="right", no_wrap=True)
    table.add_row("", "start", "", "", column.cost(path.start_cost), "")
    for step in path.steps:
        change = _delta(step, column, error_below=errors_below)
        table.add_row(str(step.k), Text(_what(step)), *_values(step), column.cost(step.cost), change)
    for each in table.columns:
        if each.no_wrap:
            lines = [line for cell in (each.header, *each.cells) for line in str(cell).splitlines()]
            each.min_width = max(map(cell_len, lines))
    return table


def _cost_name(document: ChangeReportDocument) -> str:
    words = family_words(document, HTML_CAPS[0])
    return "cost" if words is None else words.loss


def _beside_the_cost(document: ChangeReportDocument) -> Iterator[str]:
    """AUC and Gini of both versions, as far as they are known. Decisions that flip are in the summary."""
    old, new = document.impact.champion, document.impact.candidate
    if isinstance(old, GlmMetrics) and isinstance(new, GlmMetrics):
        figures = (("AUC", old.auc, new.auc), ("Gini", old.gini, new.gini))
        pairs = [f"{name} {' → '.join(pair(a, b))}" for name, a, b in figures if a is not None and b is not None]
        if pairs:
            yield ", ".join(pairs)


def _what(step: StepFacts) -> str:
    name = shorten(visible(step_name(step)), _NAME_WIDTH)
    return f"{name} ({len(step.moves)} coefficients)" if len(step.moves) > 1 and step.kind != "rest" else name


def _values(step: StepFacts) -> tuple[str, str]:
    return pair(step.from_, step.to) if step.from_ is not None and step.to is not None else ("", "")


def _delta(step: StepFacts, column: CostColumn, *, error_below: bool) -> str:
    """The change of the cost and its standard error, in the power of ten that the heading of the costs names."""
    mark = "▲ " if step.worsens else ""
    between = "\n" if error_below else " "
    error = "" if step.delta_se is None else f"{between}± {significant(column.scaled(step.delta_se), 2)}"
    noise = f"{_NOISE} " if is_within_noise(step.delta, step.delta_se) else ""
    return f"{noise}{mark}{column.delta(step.delta)}{error}"


def show_attached(
    governed: GovernedModel | None,
    answer: Answer | None,
    report: ChangeReport,
    candidate: ModelPointer,
    attached: Attached,
    action: str,
) -> int:
    """Where the report is, and what the gate says; the verdict's exit code, 0 if it was not asked."""
    say(f"\n{action} {visible(candidate.uri)} under {attached.folder}")
    if attached.replaced is not None:
        say(f"It replaces the report with SHA-256 {attached.replaced}")
    say(f"Digest in the report: {report.document.digest}\nSHA-256 of change_report.json: {attached.sha256}\n")
    if answer is None or governed is None:
        return 0
    tell_emergencies(governed.ledger, str(candidate.name))
    show_answer(answer, governed.adopted, str(candidate.name), str(candidate.version))
    if answer.readiness is not None:
        show_readiness(answer.readiness, governed.adopted, governed.ledger)
    return int(answer.exit_code)


def print_report(
    report: ChangeReport,
    champion: ModelPointer | None,
    candidate: ModelPointer,
    *,
    exit_code: int,
    attached: Attached | None = None,
    answer: Answer | None = None,
    governed: GovernedModel | None = None,
) -> int:
    """Print the document and return ``exit_code``. Without a policy the verdict is "not assessed" and there are no rules."""
    document = report.document
    path = document.path
    gate: dict[str, Any] = dict.fromkeys(_OF_THE_GATE) | {"verdict": "not assessed", "rules": [], "missing": []}
    if answer is not None and governed is not None:
        name, version = str(candidate.name), str(candidate.version)
        gate_answer = answer_document(answer, governed.adopted, governed.ledger, name, version)
        gate = {key: gate_answer[key] for key in _OF_THE_GATE}
    print_json(
        {
            "schema": REPORT_SCHEMA,
            "name": document.subject.name,
            "version": candidate.version,
            "champion": None if champion is None else champion.version or champion.uri,
            "digest": document.digest,
            "sha256": report.sha256,
            "path": {"status": path.status, "gap": path.gap, "steps": len(path.steps)},
            "folder": None if attached is None else attached.folder,
            "attached": attached is not None,
            "new": attached is not None and attached.new,
            "replaced": None if attached is None else attached.replaced,
            **gate,
            "exit_code": exit_code,
        }
    )
    return exit_code
