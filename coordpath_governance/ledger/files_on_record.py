"""Whether the files of a folder are those that a ledger recorded, and whether its service signed for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from coordpath_governance.attestation.attest import ATTESTATION_FILE, DECISION_ATTESTATION, VERDICT_FILE, read_attestation
from coordpath_governance.canonical import read_json, sha256_hex
from coordpath_governance.errors import ReportFormatError, SignatureError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import DecisionRecorded, ReportMade, VerdictGiven
from coordpath_governance.ledger.records import Records
from coordpath_governance.policy.terms import SERVICE
from coordpath_governance.reports.decision import DecisionDocument
from coordpath_governance.reports.document import HTML_PAGE, MARKDOWN_PAGE, REPORT_FILE, ChangeReportDocument, RuleFacts
from coordpath_governance.verification.folder import DECISION_FILE, DECISION_FILES, PAGES, VERDICT_FILES, on_another_report
from coordpath_governance.verification.result import Check

__all__ = ["FilesOnRecord", "files_on_record"]

_LEVEL = "ledger"
_DIGITS = 12
_OLD = "whether the pages are those that were attached: no entry names pages of this report, and the service signed none"
_REST = f"the rules and what is missing in {VERDICT_FILE}: nobody signs them, and no verdict in the ledger says the same"


@dataclass(frozen=True)
class FilesOnRecord:
    """``vouched`` are the parts of the folder, as a sentence names them, of which the ledger has exactly these bytes."""

    checks: tuple[Check, ...]
    not_rechecked: tuple[str, ...]
    vouched: frozenset[str]


def files_on_record(records: Records, files: Mapping[str, bytes], document: ChangeReportDocument) -> FilesOnRecord:
    """What an audited export says of the files beside the report of ``document``, by name, with the report."""
    checks, open_points, vouched = [], [], set()
    report = sha256_hex(files[REPORT_FILE])
    reports = [facts for _, facts in _recorded(records, ReportMade) if facts.report == report]
    statement: dict[str, Any] | None = None
    if ATTESTATION_FILE in files:
        try:
            statement = read_attestation(files[ATTESTATION_FILE], _service_keys(records))
            findings = tuple(_attested_otherwise(records, files, document, statement))
        except SignatureError as error:
            findings = (str(error),)
        checks.append(Check(_LEVEL, f"the ledger's service signed {ATTESTATION_FILE}, about these files", findings))
        statement = None if findings else statement
    if VERDICT_FILE in files:
        if statement is not None:
            what = f"{VERDICT_FILE} says what the service attested"
            checks.append(Check(_LEVEL, what, tuple(_verdict_otherwise(files[VERDICT_FILE], statement["predicate"]))))
        else:
            open_points.append(f"the verdict in {VERDICT_FILE}: no attestation of the ledger's service says the same")
    verdicts = [facts for _, facts in _recorded(records, VerdictGiven) if facts.binding.report == report]
    if statement is not None and _verdict_is_on_record(verdicts, statement["predicate"], files.get(VERDICT_FILE), document):
        vouched.add(VERDICT_FILES)
    elif VERDICT_FILE in files:
        open_points.append(_REST)
    elif statement is not None:
        open_points.append(f"the verdict in {ATTESTATION_FILE}: no verdict in the ledger says the same")
    recorded = [facts.pages for facts in reports if facts.pages is not None]
    if recorded:
        pages = Check(_LEVEL, "the pages are those that the ledger recorded", tuple(_other_pages(files, recorded)))
        checks.append(pages)
        vouched |= {PAGES} if pages.passed else set()
    elif reports and statement is not None:
        vouched.add(PAGES)
    else:
        open_points.append(_OLD)
    if DECISION_FILE in files:
        decision = Check(_LEVEL, _OF_DECISION, tuple(_decided_otherwise(records, files, document)))
        checks.append(decision)
        if decision.passed:
            vouched.add(DECISION_FILES)
            open_points += on_another_report(files, report)
            open_points += _decided_since(records, sha256_hex(files[DECISION_FILE]))
    return FilesOnRecord(tuple(checks), tuple(open_points), frozenset(vouched))


_OF_DECISION = "the decision's files are those that the ledger recorded, about this change"


def _recorded(records: Records, kind: type[Any]) -> list[tuple[Entry, Any]]:
    """The sound entries of one kind."""
    sound = [entry for entry in records.entries if records.is_sound(entry)]
    return [(entry, facts) for entry in sound if isinstance(facts := entry.facts, kind)]


def _service_keys(records: Records) -> dict[str, Any]:
    return {key: service.public for key, service in records.keys.keys.items() if SERVICE in service.facts.roles}


def _attested_otherwise(
    records: Records, files: Mapping[str, bytes], document: ChangeReportDocument, statement: Mapping[str, Any]
) -> Iterator[str]:
    """The service attests many reports: this one must be about these files, this version and this ledger."""
    candidate = document.subject.candidate
    subject, *attested = statement["subject"]
    if (subject["name"], subject["digest"]["sha256"]) != (f"{candidate.name}/{candidate.version}", candidate.digest):
        yield f"it is about '{subject['name']}' with other files than the report names"
    if statement["predicate"]["ledger"] not in (None, records.ledger):
        yield "it names another ledger"
    digests = {each["name"]: each["digest"]["sha256"] for each in attested}
    for name in (REPORT_FILE, HTML_PAGE, MARKDOWN_PAGE):
        if name in files and digests.get(name) != sha256_hex(files[name]):
            yield f"{name} is not the file that was attested"


def _verdict_otherwise(content: bytes, attested: Mapping[str, Any]) -> Iterator[str]:
    try:
        raw = read_json(content, VERDICT_FILE, SignatureError)
        fields = {name: raw[name] for name in ("verdict", "reason", "materiality", "policy_sha256")}
    except (SignatureError, KeyError, TypeError) as error:
        yield f"{VERDICT_FILE} is not what we write: {error}"
        return
    policy = attested["policy"]
    attestation = {**attested, "policy_sha256": None if policy is None else policy["sha256"]}
    for name, value in fields.items():
        if value != attestation[name]:
            attested_value = str(attestation[name])[:80]
            yield f"{name}: {VERDICT_FILE} says {str(value)[:80]!r}, {ATTESTATION_FILE} says {attested_value!r}"


def _verdict_is_on_record(
    verdicts: Sequence[VerdictGiven], attested: Mapping[str, Any], content: bytes | None, document: ChangeReportDocument
) -> bool:
    """Whether one of ``verdicts``, those in the ledger on this report, is the attested one and says all of verdict.json."""
    policy = attested["policy"]
    attested_fields = (attested["verdict"], attested["materiality"], None if policy is None else policy["sha256"])
    fitting = [each for each in verdicts if (each.verdict, each.materiality, each.binding.policy) == attested_fields]
    if content is None:
        return bool(fitting)
    try:
        raw = read_json(content, VERDICT_FILE, SignatureError)
        rules = tuple(RuleFacts.model_validate(rule) for rule in raw["rules"])
        subject = type(document.subject).model_validate(raw["subject"])
        missing, others = f"Still needed: {', '.join(raw['missing'])}.", (raw["made_at"], raw["tool"])
    except (SignatureError, ValidationError, KeyError, TypeError):
        return False
    if subject != document.subject or others != (attested["made_at"], attested["tool"]):
        return False
    if (attested["verdict"] == "pass" and raw["missing"]) or (
        attested["verdict"] == "review" and not attested["reason"].startswith(missing)
    ):
        return False
    return any((each.rules, each.binding.alias) == (rules, raw.get("alias")) for each in fitting)


def _other_pages(files: Mapping[str, bytes], recorded: Sequence[Mapping[Any, str]]) -> Iterator[str]:
    """A report that was recorded again was laid out again: the pages of each time are its pages."""
    for name in (HTML_PAGE, MARKDOWN_PAGE):
        if name in files and sha256_hex(files[name]) not in {pages.get(name) for pages in recorded}:
            yield f"{name} has SHA-256 {sha256_hex(files[name])[:_DIGITS]}…, which no entry on this report names"


def _decided_since(records: Records, decision: str) -> Iterator[str]:
    """The newest record of a later decision on the same change than the one whose document has this SHA-256."""
    decisions = [
        (entry, facts, document)
        for entry, facts in _recorded(records, DecisionRecorded)
        if (document := _kept_decision(records, facts)) is not None
    ]
    own = next(((entry, document) for entry, facts, document in decisions if facts.decision == decision), None)
    if own is None:
        return
    change = _change_of(own[1])
    later = [entry for entry, _, document in decisions if _change_of(document) == change and document.entry > own[1].entry]
    if later:
        yield f"what was decided since: entry {later[-1].seq} records a newer decision on this change"


def _kept_decision(records: Records, facts: DecisionRecorded) -> DecisionDocument | None:
    content = records.blobs.get(facts.decision)
    if content is None or sha256_hex(content) != facts.decision:
        return None
    try:
        return DecisionDocument.from_bytes(content)
    except ReportFormatError:
        return None


def _change_of(decision: DecisionDocument) -> tuple[str, str | None, str]:
    return decision.name, decision.from_version, decision.to_version


def _decided_otherwise(records: Records, files: Mapping[str, bytes], document: ChangeReportDocument) -> Iterator[str]:
    digest = sha256_hex(files[DECISION_FILE])
    record = next((each for each in _recorded(records, DecisionRecorded) if each[1].decision == digest), None)
    if record is None:
        yield f"no entry of ledger {records.ledger} records a {DECISION_FILE} of SHA-256 {digest[:_DIGITS]}…"
        return
    entry, facts = record
    for name, recorded in {**facts.pages, DECISION_ATTESTATION: facts.attestation}.items():
        if name in files and sha256_hex(files[name]) != recorded:
            yield f"{name} is not the file that entry {entry.seq} names"
    try:
        decision = DecisionDocument.from_bytes(files[DECISION_FILE])
    except ReportFormatError as error:
        yield str(error)
        return
    subject = document.subject
    change = (subject.name, subject.champion.version if subject.champion else None, subject.candidate.version)
    if _change_of(decision) != change:
        yield f"{DECISION_FILE} is about another change than the report"
