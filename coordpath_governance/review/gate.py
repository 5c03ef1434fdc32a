"""The gate: what it says of a version now, recorded once for as long as it says the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from shlex import quote
from typing import TYPE_CHECKING, Literal

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import VERDICT_EXIT_CODES, RefusedError, UsageError
from coordpath_governance.ledger.events import ReportMade
from coordpath_governance.ledger.times import moment
from coordpath_governance.rendering.change_report import rendered_pages
from coordpath_governance.reports.document import REPORT_FILE
from coordpath_governance.review.emergency import open_under
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.pages import changed_pages, page_states, recorded_files
from coordpath_governance.review.promotion import look, stands_already
from coordpath_governance.review.readiness import assess_readiness, bind, record_verdict

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.rendering.change_report import ChangeReport
    from coordpath_governance.review.policies import AdoptedPolicy
    from coordpath_governance.review.ports import AliasRegistry
    from coordpath_governance.review.readiness import Readiness

__all__ = ["Answer", "ask_gate", "record_report"]

_FRESH = timedelta(hours=1)


@dataclass(frozen=True)
class Answer:
    """The gate's answer. ``readiness`` is None if nothing was judged: the alias is set, or something is in the way."""

    verdict: Literal["pass", "review", "fail"]
    reason: str
    alias: str
    readiness: Readiness | None = None

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 review."""
        return VERDICT_EXIT_CODES[self.verdict]


def ask_gate(
    ledger: Ledger,
    registry: AliasRegistry,
    adopted: AdoptedPolicy,
    *,
    name: str,
    alias: str,
    version: str,
    record: bool = True,
) -> Answer:
    """Judge a version for an alias and ``record`` the verdict, unless the newest one on this change says the same.

    Without the service key nothing is recorded: a reviewer may ask too.
    """
    if alias not in adopted.policy.aliases:
        guarded = ", ".join(adopted.policy.aliases)
        raise UsageError(f"'{alias}' is not an alias that policy '{adopted.policy.name}' guards; it guards: {guarded}")
    try:
        history = look(ledger, registry, name, alias)
        if stands_already(registry, history, name, alias, version):
            return _standing(ledger, registry, history, name, alias, version)
        bound = bind(ledger, registry, adopted, name=name, alias=alias, version=version, history=history)
        readiness = assess_readiness(ledger, bound, adopted.policy, history)
    except RefusedError as error:
        return Answer("fail", _sentence(str(error)), alias)
    if record:
        record_verdict(ledger, readiness, history)
    return Answer(readiness.verdict, readiness.reason, alias, readiness)


def _standing(ledger: Ledger, registry: AliasRegistry, history: ModelHistory, name: str, alias: str, version: str) -> Answer:
    """The answer about the version that has the alias: its report may be changed, or an emergency rollback open.

    A version that was promoted through the gate since does not fail for an open review; the answer names that review.
    """
    report = history.decided_on(alias, version)
    changed = changed_pages(page_states(registry, name, report)) if report is not None else {}
    if report is not None and changed:
        files = ", ".join(f"{file}: {state}" for file, state in changed.items())
        command = f"coordpath report {quote(name)} --candidate {version} --champion {report.champion or 'none'}"
        reason = f"its report is not the recorded one (pages: {files}); `{command}` attaches it again"
        return Answer("fail", f"Version {version} is '{alias}', but {reason}.", alias)
    states = open_under(ledger, name, alias)
    words = [each.words(ledger.now()) for each in states]
    if all(each.moved_on for each in states):
        still = f" Still open: {'; '.join(words)}." if words else ""
        return Answer("pass", f"Version {version} is '{alias}' already; there is nothing to do.{still}", alias)
    return Answer("fail", f"Version {version} is '{alias}': {'; '.join(words)}.", alias)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def record_report(ledger: Ledger, report: ChangeReport) -> dict[str, bytes]:
    """Record a report with its files, unless the newest one on this change is the same and less than an hour old.

    Returns the files by name, to be attached. A report that was recorded before keeps the pages that were recorded with it,
    and its decisions: these bind the digest of the report.
    """
    subject = report.document.subject
    candidate, champion = subject.candidate, subject.champion
    if candidate.version is None or candidate.digest is None:
        raise UsageError("only the report of a registered version can be recorded")
    if champion is not None and champion.name != candidate.name:
        return {REPORT_FILE: report.to_bytes(), **rendered_pages(report)}
    before = champion.version if champion else None
    newest = ModelHistory(ledger.entries(subject.name)).report(candidate.version, before)
    same = newest is not None and (newest[1].champion, newest[1].report) == (before, report.sha256)
    files = recorded_files(ledger, newest[1]) if newest is not None and same else None
    files = files or {REPORT_FILE: report.to_bytes(), **rendered_pages(report)}
    facts = ReportMade(
        version=candidate.version,
        champion=before,
        champion_digest=champion.digest if champion else None,
        candidate_digest=candidate.digest,
        report=report.sha256,
        pages={file: sha256_hex(content) for file, content in files.items() if file != REPORT_FILE},
    )
    if newest is None or newest[1] != facts or moment(ledger.now()) - moment(newest[0].at) > _FRESH:
        ledger.record("report", facts, model=subject.name, blob=tuple(files.values()))
    return files
