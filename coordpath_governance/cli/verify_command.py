"""`coordpath verify`: recheck a report offline."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.cli.answers import print_json
from coordpath_governance.cli.audit_answers import read_anchors
from coordpath_governance.cli.screen import progress_line, say
from coordpath_governance.errors import EXIT_NO, NotFoundError, UsageError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.files_on_record import files_on_record
from coordpath_governance.ledger.recorded_report import RecordedReport, recorded_report
from coordpath_governance.ledger.records import Records, read_records
from coordpath_governance.ledger.words import entry_line, signer_words
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import REPORT_FILE, ChangeReportDocument
from coordpath_governance.text import visible
from coordpath_governance.verification.folder import check_folder, foreign_files, read_folder
from coordpath_governance.verification.result import Verification
from coordpath_governance.verification.verify import verify_report

if TYPE_CHECKING:
    from coordpath_governance.verification.model_files import Who

__all__ = ["LedgerCheck", "command", "show_recorded", "verification_document"]

EXIT_MISMATCH = 1
_SHOWN = 20
_SCHEMES = ("models:", "runs:")
_MODEL = "its folder, or a URI such as models:/NAME/3, which is fetched with MLflow"


@dataclass(frozen=True)
class LedgerCheck:
    """An audited export, and what it says about the report."""

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
    ) -> LedgerCheck:
        """Audit the export and add to ``result`` whether it recorded the report of this SHA-256.

        ``files`` are those of the report's folder, if one was given: whether it recorded these too.
        """
        records = read_records(export, read_anchors(anchors))
        report = recorded_report(records, sha256, document)
        result.checks += report.checks
        if report.entry is not None:
            result.settle_policy()
        if files:
            folder_check = files_on_record(records, files, document)
            result.checks += folder_check.checks
            result.not_rechecked += folder_check.not_rechecked
            result.unchecked = tuple(part for part in result.unchecked if part not in folder_check.vouched)
        return cls(records, report)


def show_recorded(recorded: LedgerCheck) -> None:
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


def verification_document(result: Verification, report: str, sha256: str, recorded: LedgerCheck | None) -> dict[str, Any]:
    """What `coordpath verify --json` prints."""
    return {
        "schema": "coordpath.verification/1",
        "report": report,
        "sha256": sha256,
        "passed": result.passed,
        "exit_code": 0 if result.passed else EXIT_NO,
        "conclusion": result.conclusion,
        "checks": [
            {"level": check.level, "what": check.claim, "passed": check.passed, "findings": list(check.findings)}
            for check in result.checks
        ],
        "not_rechecked": list(result.not_rechecked),
        "ledger": None if recorded is None else _ledger(recorded),
    }


def _ledger(recorded: LedgerCheck) -> dict[str, Any]:
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
    signer = records.keys.keys.get(entry.key)
    owner = None if signer is None else signer.facts.owner
    return {"entry": entry.seq, "at": entry.at, "event": entry.event, "by": owner, "key": entry.key}


@click.command("verify")
@click.argument("report", type=click.Path(path_type=Path), metavar="REPORT.json|FOLDER")
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="The reference data that the report names.")
@click.option("--model", metavar="FOLDER|URI", help=f"The candidate's files: {_MODEL}.")
@click.option("--champion-model", metavar="FOLDER|URI", help="The champion's files, given in the same way.")
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    metavar="EXPORT",
    help="A file of `coordpath audit export`, audited first: is this the recorded report, and what was decided by it?",
)
@click.option(
    "--anchor", "anchors", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="An anchor of that ledger."
)
@click.option("--json", "as_json", is_flag=True, help="The answer as one JSON document.")
def command(
    report: Path,
    data: Path | None,
    model: str | None,
    champion_model: str | None,
    ledger: Path | None,
    anchors: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Recheck REPORT.json: its arithmetic, its certificate and, with --data, the data behind it.

    Of a FOLDER as it is attached to a version also the other files: whether they fit each other, whether the pages are what
    this version lays out from the report, and with --ledger whether all of them are those that the ledger recorded.
    With --model and --champion-model also whether it is about these files, and with --ledger whether it is the report that
    the ledger recorded. The last line names what was checked and what was not. Exits 0 if everything that was rechecked
    holds, 1 if anything does not. Only with --data does it say "verified".
    """
    files = read_folder(report) if report.is_dir() else {}
    try:
        content = files[REPORT_FILE] if files else report.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{report}'") from None
    except OSError as error:
        raise UsageError(f"cannot read '{report}': {error.strerror}") from error
    if anchors and ledger is None:
        raise UsageError("--anchor is for --ledger EXPORT; give both")
    opened = ChangeReport.from_bytes(content)
    with progress_line() as progress:
        result = verify_report(opened, data, progress)
    if files:
        folder_check = check_folder(files, opened)
        result.checks += folder_check.checks
        result.not_rechecked += folder_check.not_rechecked if ledger is None else ()
        result.not_rechecked += foreign_files(report)
        result.unchecked = folder_check.unchecked
    if model is not None:
        _check_model(result, opened.document, "candidate", model)
    if champion_model is not None:
        _check_model(result, opened.document, "champion", champion_model)
    recorded = None
    if ledger is not None:
        recorded = LedgerCheck.check(result, opened.document, sha256_hex(content), ledger, anchors, files)
    if as_json:
        print_json(verification_document(result, str(report), sha256_hex(content), recorded))
        return 0 if result.passed else EXIT_MISMATCH
    for check in result.checks:
        say(f"{'ok      ' if check.passed else 'MISMATCH'}  {check.level}: {check.claim}")
        for finding in check.findings[:_SHOWN]:
            say(f"            {finding}")
        if len(check.findings) > _SHOWN:
            say(f"            and {len(check.findings) - _SHOWN} more")
    if recorded is not None:
        show_recorded(recorded)
    for missing in result.not_rechecked:
        say(visible(f"not rechecked: {missing}"))
    say(result.conclusion)
    return 0 if result.passed else EXIT_MISMATCH


def _check_model(result: Verification, document: ChangeReportDocument, who: Who, where: str) -> None:
    from coordpath_governance.verification.model_files import check_model_files

    with _model_files(where) as folder:
        check_model_files(result, document, who, folder)


@contextmanager
def _model_files(where: str) -> Iterator[Path]:
    """The folder of a model's files; MLflow is imported only for a URI."""
    if not where.strip():
        raise UsageError("--model or --champion-model: an empty name is no model; give a folder or a URI")
    if not (where.startswith(_SCHEMES) or "://" in where):
        yield Path(where)
        return
    from coordpath_governance.registry.connection import connect
    from coordpath_governance.registry.download import download_files
    from coordpath_governance.registry.versions import point_at

    client = connect()
    with tempfile.TemporaryDirectory(prefix="coordpath-", ignore_cleanup_errors=True) as folder:
        yield download_files(point_at(client, None, where), Path(folder))
