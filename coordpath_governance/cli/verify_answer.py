"""What a ledger says of a report that is verified, and the whole answer as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordpath_governance.cli.evidence import read_anchors
from coordpath_governance.cli.screen import say
from coordpath_governance.errors import EXIT_NO
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.files_on_record import files_on_record
from coordpath_governance.ledger.recorded_report import RecordedReport, recorded_report
from coordpath_governance.ledger.records import Records, read_records
from coordpath_governance.ledger.words import entry_line, signer_words
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.text import visible
from coordpath_governance.verification.verify import Verification

__all__ = ["Ledgered", "show_recorded", "verification_document"]


@dataclass(frozen=True)
class Ledgered:
    """An export, audited, and what it says of the report."""

    records: Records
    report: RecordedReport

    @classmethod
    def check(
        cls,
        result: Verification,
        document: ChangeReportDocument,
        sha256: str,
        export: Path,
        anchors: Sequence[Path],
        files: Mapping[str, bytes],
    ) -> Ledgered:
        """Audit the export and add to ``result`` whether it recorded the report of this SHA-256.

        ``files`` are those of the report's folder, if one was given: whether it recorded these too.
        """
        records = read_records(export, read_anchors(anchors))
        report = recorded_report(records, sha256, document)
        result.checks += report.checks
        if report.entry is not None:
            result.settle_policy()
        if files:
            beside = files_on_record(records, files, document)
            result.checks += beside.checks
            result.not_rechecked += beside.not_rechecked
            result.unchecked = tuple(part for part in result.unchecked if part not in beside.vouched)
        return cls(records, report)


def show_recorded(recorded: Ledgered) -> None:
    """Which entry recorded the report, whether there is a newer one, and what names it."""
    records, report = recorded.records, recorded.report
    audit = records.audit
    say(visible(f"Ledger {records.ledger or 'without a name'}: {'' if audit is None else audit.conclusion}"))
    if report.entry is None:
        return
    say(visible(f"  recorded as entry {report.entry.seq} at {report.entry.at}, signed by {_signed(report.entry, records)}"))
    if report.newer is None:
        say("  it is the newest report on this change")
    else:
        say(f"  a newer report on this change is entry {report.newer.seq} of {report.newer.at}")
    for entry in report.naming:
        say(f"  {entry_line(entry, records.keys).strip()}")
    if not report.naming:
        say("  no verdict, approval, waiver, rejection or promotion names it")


def _signed(entry: Entry, records: Records) -> str:
    return signer_words(entry.key, records.keys)


def verification_document(result: Verification, report: str, sha256: str, recorded: Ledgered | None) -> dict[str, Any]:
    """What `coordpath verify --json` prints."""
    return {
        "schema": "coordpath.verification/1",
        "report": report,
        "sha256": sha256,
        "passed": result.passed,
        "exit_code": 0 if result.passed else EXIT_NO,
        "conclusion": result.conclusion,
        "checks": [
            {"level": check.level, "what": check.what, "passed": check.passed, "findings": list(check.findings)}
            for check in result.checks
        ],
        "not_rechecked": list(result.not_rechecked),
        "ledger": None if recorded is None else _ledger(recorded),
    }


def _ledger(recorded: Ledgered) -> dict[str, Any]:
    records, report = recorded.records, recorded.report
    audit = records.audit
    return {
        "source": records.where,
        "ledger": records.ledger,
        "conclusion": None if audit is None else audit.conclusion,
        "recorded": None if report.entry is None else _entry(report.entry, records),
        "newer": None if report.newer is None else _entry(report.newer, records),
        "named_by": [_entry(entry, records) for entry in report.naming],
    }


def _entry(entry: Entry, records: Records) -> dict[str, Any]:
    known = records.keys.keys.get(entry.key)
    owner = None if known is None else known.facts.owner
    return {"entry": entry.seq, "at": entry.at, "event": entry.event, "by": owner, "key": entry.key}
