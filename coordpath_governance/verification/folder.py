"""Recheck the folder of a report by itself: whether its files fit each other, and its pages are laid out from the report.

Who signed the attestations, and whether the ledger has these files, `ledger.files_on_record` says.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordpath_governance._version import __version__
from coordpath_governance.attestation.attest import ATTESTATION_FILE, DECISION_ATTESTATION, VERDICT_FILE
from coordpath_governance.canonical import read_json, sha256_hex
from coordpath_governance.errors import NotFoundError, ReportFormatError, SignatureError, UsageError
from coordpath_governance.rendering.change_report import ChangeReport, rendered_pages
from coordpath_governance.reports.decision import DecisionDocument
from coordpath_governance.reports.document import HTML_PAGE, MARKDOWN_PAGE, REPORT_FILE
from coordpath_governance.verification.result import Check

__all__ = [
    "DECISION_FILE",
    "DECISION_FILES",
    "PAGES",
    "VERDICT_FILES",
    "FolderChecks",
    "check_folder",
    "foreign_files",
    "on_another_report",
    "read_folder",
]

PAGES, VERDICT_FILES, DECISION_FILES = "the pages", "the verdict's files", "the decision's files"
DECISION_FILE = "decision.json"
_LEVEL = "pages"
_DECISION_PAGES = ("decision.html", "decision.md")
_NAMES = (
    *(REPORT_FILE, HTML_PAGE, MARKDOWN_PAGE, VERDICT_FILE, ATTESTATION_FILE),
    *(DECISION_FILE, *_DECISION_PAGES, DECISION_ATTESTATION),
)
_MAX_BYTES = 64 * 1024**2
_LEDGER = "give --ledger EXPORT"
_WHO = f"who signed {ATTESTATION_FILE} (compare its keyid with `coordpath key list`, or {_LEDGER})"
_NOT_ATTESTED = (
    f"whether the pages are those that were attached: there is no {ATTESTATION_FILE}, and nobody signs {VERDICT_FILE}"
)
_WHAT = f"what {VERDICT_FILE} says: nobody signs it ({_LEDGER})"
_WHO_DECIDED = f"who signed the decision, and whether the ledger says the same ({_LEDGER})"


def read_folder(folder: Path) -> dict[str, bytes]:
    """The files of ours that are in a folder.

    Raises `NotFoundError` if there is no report in it, `UsageError` if a file cannot be read or is too large.
    """
    files = {}
    for name in _NAMES:
        path = folder / name
        try:
            if path.is_file():
                if path.stat().st_size > _MAX_BYTES:
                    raise UsageError(f"'{path}' has more than {_MAX_BYTES} bytes, so it is no file of ours")
                files[name] = path.read_bytes()
        except OSError as error:
            raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    if REPORT_FILE not in files:
        raise NotFoundError(f"there is no {REPORT_FILE} in '{folder}'")
    return files


def foreign_files(folder: Path) -> tuple[str, ...]:
    """What to say of the files in a folder that are none of ours: people may take one for a page of the report."""
    others = sorted(path.name for path in folder.iterdir() if path.name not in _NAMES or not path.is_file())
    return (f"what is not ours in the folder: {', '.join(others)}",) if others else ()


@dataclass(frozen=True)
class FolderChecks:
    """What was rechecked and what was not. ``unchecked`` are parts of the folder, as a sentence names them."""

    checks: tuple[Check, ...]
    not_rechecked: tuple[str, ...]
    unchecked: tuple[str, ...]


def check_folder(files: Mapping[str, bytes], report: ChangeReport) -> FolderChecks:
    """Whether the ``files`` of a folder, by name, fit each other, and whether the pages are those that ``report`` gives.

    Whoever can change a page can also change the files that state its digest. So a fit proves nothing, and only mismatches
    become checks.
    """
    checks: list[Check] = []
    open_points: list[str] = []
    unchecked: list[str] = []
    for name, read in ((VERDICT_FILE, _of_verdict), (ATTESTATION_FILE, _of_attestation)):
        findings = tuple(_digest_findings(files, name, read)) if name in files else ()
        checks += [Check(_LEVEL, f"the report's files are those of {name}", findings)] if findings else []
    open_points.append(_WHO if ATTESTATION_FILE in files else _NOT_ATTESTED)
    open_points += [_WHAT] if VERDICT_FILE in files else []
    version, claim = report.document.tool.version, "the pages are laid out from the report"
    if version == __version__:
        checks.append(Check(_LEVEL, claim, tuple(_laid_out_otherwise(files, report))))
    else:
        open_points.append(f"whether {claim}: the report names version {version}, this is {__version__}")
        unchecked += [PAGES] if {HTML_PAGE, MARKDOWN_PAGE} & set(files) else []
    unchecked += [VERDICT_FILES] if {VERDICT_FILE, ATTESTATION_FILE} & set(files) else []
    if {DECISION_FILE, *_DECISION_PAGES, DECISION_ATTESTATION} & set(files):
        findings = tuple(_of_decision(files, report))
        checks += [Check(_LEVEL, "the decision's files fit each other and the report", findings)] if findings else []
        open_points += [_WHO_DECIDED, *(() if findings else on_another_report(files, report.sha256))]
        unchecked.append(DECISION_FILES)
    return FolderChecks(tuple(checks), tuple(open_points), tuple(unchecked))


def _of_decision(files: Mapping[str, bytes], report: ChangeReport) -> Iterator[str]:
    """The record of a decision: its files, and that it is about this report."""
    if DECISION_FILE not in files:
        for name in sorted({*_DECISION_PAGES, DECISION_ATTESTATION} & set(files)):
            yield f"{name} is there without {DECISION_FILE}"
        return
    try:
        document = DecisionDocument.from_bytes(files[DECISION_FILE])
        attested = _of_attestation(read_json(files[DECISION_ATTESTATION], DECISION_ATTESTATION, SignatureError))
    except KeyError:
        yield f"{DECISION_ATTESTATION} is missing or is not what we write"
        return
    except (ReportFormatError, SignatureError, TypeError, ValueError) as error:
        yield str(error)
        return
    for name in (DECISION_FILE, *_DECISION_PAGES):
        if name not in files:
            yield f"{name} is missing"
        elif attested.get(name) != sha256_hex(files[name]):
            yield f"{name} was changed: {DECISION_ATTESTATION} names another SHA-256"
    subject = report.document.subject
    change = (subject.name, subject.champion.version if subject.champion else None, subject.candidate.version)
    if (document.name, document.from_version, document.to_version) != change:
        yield f"{DECISION_FILE} is about another change than the report"


def on_another_report(files: Mapping[str, bytes], report: str) -> tuple[str, ...]:
    """A sentence if the decision in ``files`` is about another report than the one with this SHA-256, else nothing.

    After a rejection the next report on the change lies beside the record of that rejection.
    """
    about = DecisionDocument.from_bytes(files[DECISION_FILE]).digests.report
    if about in (None, report):
        return ()
    point = f"{DECISION_FILE} is about another one on this change, SHA-256 {about[:12]}…"
    return (f"what was decided about this report: {point}",)


def _digest_findings(files: Mapping[str, bytes], name: str, read: Callable[[Any], Mapping[str, str]]) -> Iterator[str]:
    """The report's files whose digests are not those that the file ``name`` states."""
    try:
        named = read(read_json(files[name], name, SignatureError))
        missing = {REPORT_FILE, HTML_PAGE, MARKDOWN_PAGE} - set(named)
    except (SignatureError, KeyError, TypeError, ValueError) as error:
        yield f"{name} is not what we write: {error}"
        return
    for file in sorted(missing):
        yield f"{name} names no {file}"
    for file, digest in sorted(named.items()):
        if file not in (REPORT_FILE, HTML_PAGE, MARKDOWN_PAGE):
            continue
        if file not in files:
            yield f"{file} is missing"
        elif sha256_hex(files[file]) != digest:
            yield f"{file} was changed: {name} says SHA-256 {str(digest)[:12]}…, it has {sha256_hex(files[file])[:12]}…"


def _of_verdict(document: Any) -> Mapping[str, str]:  # noqa: ANN401 - any JSON value
    return dict(document["files"])


def _of_attestation(envelope: Any) -> Mapping[str, str]:  # noqa: ANN401 - any JSON value
    """The digests that a statement names. Its signature is not looked at: there is no list of keys here."""
    statement = read_json(base64.b64decode(envelope["payload"], validate=True), "its statement", SignatureError)
    return {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}


def _laid_out_otherwise(files: Mapping[str, bytes], report: ChangeReport) -> Iterator[str]:
    for name, page in rendered_pages(report).items():
        if name not in files:
            yield f"{name} is missing"
        elif files[name] != page:
            yield f"{name} is not what {REPORT_FILE} gives"
