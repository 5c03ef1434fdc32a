"""Whether a report is the one that a ledger recorded, and what was decided by it."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.ledger.declarations import declared_sides, side_of
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Binding, Declaration, PolicyAdopted, Promotion, ReportMade
from coordpath_governance.ledger.records import Records
from coordpath_governance.models.formats import DECLARED, as_read
from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.verification.result import Check

__all__ = ["RecordedReport", "recorded_report"]

_DIGITS = 16


@dataclass(frozen=True)
class RecordedReport:
    """``entry`` recorded the report, None if no sound entry did; ``newer`` is a later report on the same change.

    ``naming`` are the verdicts, approvals, waivers, rejections, intents and promotions about this report.
    """

    checks: tuple[Check, ...]
    entry: Entry | None = None
    newer: Entry | None = None
    naming: tuple[Entry, ...] = ()


def recorded_report(records: Records, sha256: str, document: ChangeReportDocument) -> RecordedReport:
    """What an audited export says of the report whose bytes have this SHA-256."""
    intact = _check_intact(records)
    reports = [(entry, facts) for entry in records.entries if isinstance(facts := _facts(records, entry), ReportMade)]
    recorded = [(entry, facts) for entry, facts in reports if facts.report == sha256]
    if not recorded:
        findings = [f"no entry of ledger {records.ledger} records a report of SHA-256 {sha256[:_DIGITS]}…"]
        others = [(e, f) for e, f in reports if (e.model, f.version) == _about(document)]
        if others:
            entry, facts = others[-1]
            findings.append(f"the newest report on this version is entry {entry.seq}, SHA-256 {facts.report[:_DIGITS]}…")
        return RecordedReport((intact, Check("ledger", _RECORDED, tuple(findings))))
    entry, facts = recorded[-1]
    checks = [intact, Check("ledger", _RECORDED), _check_subject(entry, facts, document)]
    if document.assessment.policy is not None:
        checks.append(_check_policy(records, entry, document.assessment.policy.sha256))
    checks += _check_declared(records, entry, document)
    change = (entry.model, facts.champion, facts.version)
    newer = [
        e for e, f in reports if e.seq > entry.seq and (e.model, f.champion, f.version) == change and f.report != sha256
    ]
    return RecordedReport(tuple(checks), entry, newer[-1] if newer else None, tuple(_naming(records, sha256)))


_RECORDED = "the ledger recorded this report (SHA-256 of the file)"


def _facts(records: Records, entry: Entry) -> object:
    """What an entry says; nothing if it is not to be believed."""
    return entry.facts if records.is_sound(entry) else None


def _check_intact(records: Records) -> Check:
    audit = records.audit
    conclusion = "" if audit is None else audit.conclusion
    problems = () if audit is None else tuple(str(problem) for problem in audit.problems)
    return Check("ledger", f"the export is {conclusion.partition(':')[0]}", problems)


def _about(document: ChangeReportDocument) -> tuple[str, str | None]:
    return document.subject.name, document.subject.candidate.version


def _check_subject(entry: Entry, facts: ReportMade, document: ChangeReportDocument) -> Check:
    """Whoever has the service key could record a report under the name of another change."""
    subject, champion = document.subject, document.subject.champion
    pairs = {
        "name": (subject.name, entry.model),
        "version": (subject.candidate.version, facts.version),
        "files of the candidate": (subject.candidate.digest, facts.candidate_digest),
        "champion": (champion.version if champion else None, facts.champion),
        "files of the champion": (champion.digest if champion else None, facts.champion_digest),
    }
    findings = tuple(
        f"{what}: the report says {reported!r}, entry {entry.seq} says {recorded!r}"
        for what, (reported, recorded) in pairs.items()
        if reported != recorded
    )
    return Check("ledger", "the entry is about the change that the report explains", findings)


def _check_policy(records: Records, entry: Entry, policy: str) -> Check:
    adopted = any(
        isinstance(facts := _facts(records, each), PolicyAdopted) and facts.policy == policy
        for each in records.entries
        if each.seq < entry.seq
    )
    findings = () if adopted else (f"no policy of SHA-256 {policy[:_DIGITS]}… had been adopted before entry {entry.seq}",)
    return Check("ledger", "the policy in the report had been adopted", findings)


def _check_declared(records: Records, entry: Entry, document: ChangeReportDocument) -> list[Check]:
    """Where the report says that people vouch for coefficients, they had signed exactly these, for exactly these files."""
    checks = []
    for who, coefficients in declared_sides(document).items():
        side, model = side_of(document, who), document.models.get(who)
        if side is None or model is None or as_read(model.get("source")) == DECLARED:
            continue
        about = (side.name, side.version, side.digest, coefficients)
        signed = any(
            isinstance(facts := _facts(records, each), Declaration)
            and (facts.name, facts.version, facts.digest, facts.coefficients) == about
            for each in records.entries
            if each.seq < entry.seq
        )
        findings = () if signed else (f"nobody had declared them before entry {entry.seq}",)
        checks.append(Check("ledger", f"the coefficients of the {who} are those that people declared", findings))
    return checks


def _naming(records: Records, sha256: str) -> list[Entry]:
    """Entries bound to the report, and promotions of an intent that is; an emergency rollback is bound to none."""
    naming: dict[str, Entry] = {}
    for entry in records.entries:
        facts = _facts(records, entry)
        binding = getattr(facts, "binding", None)
        by_intent = isinstance(facts, Promotion) and facts.intent in naming
        if by_intent or (isinstance(binding, Binding) and binding.report == sha256):
            naming[entry.hash] = entry
    return list(naming.values())
