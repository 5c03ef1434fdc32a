"""What is to be said of a version now: what was decided about it, else what the gate says. It is the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from coordpath_governance.ledger.emergencies import EmergencyState, emergencies
from coordpath_governance.ledger.events import Adoption, Promotion, ReportMade, Waiver
from coordpath_governance.review.history import ModelHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.keyring import KeyRing
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.gate import Answer

__all__ = ["VersionStatus", "version_status"]

_WORDS = {"pass": "Pass", "review": "Needs review", "fail": "Fail"}
_DAY = len("2026-01-31")


@dataclass(frozen=True)
class VersionStatus:
    """``word`` and ``text`` are for people. ``report`` is the report that it is about; None if none is on record."""

    verdict: Literal["pass", "review", "fail"] | None
    decision: Literal["promoted", "rejected", "adopted", "emergency"] | None
    word: str
    text: str
    report: ReportMade | None


def version_status(ledger: Ledger, name: str, version: str, ask: Callable[[], Answer] | None = None) -> VersionStatus | None:
    """The status of a version. ``ask`` asks the gate, unless the version was replaced and not reported on since.

    None if there is nothing to be said: neither report nor decision, or nobody to ask. A version that was promoted and
    replaced since is judged anew only from the next report on it.
    """
    history, ring = ModelHistory(ledger.entries(name)), ledger.keyring()
    reports = [(entry.seq, facts) for entry, facts in history.of(ReportMade) if facts.version == version]
    decided, replaced = _put_under_alias(history, version)
    judged_anew = replaced is not None and bool(reports) and reports[-1][0] > replaced.seq
    if decided is not None and not judged_anew:
        rollback = _rollback(ledger, history, ring, decided)
        if rollback is not None:
            return _rolled_back(rollback, ledger.now(), replaced, reports[-1][1] if reports else None)
        status = _decided(history, ring, decided, replaced, [facts for _, facts in reports])
        return status if replaced is not None else _as_the_gate_says(status, history, str(decided.body["alias"]), ask)
    if not reports or ask is None:
        return None
    return _judged(ask(), ring, reports[-1][1])


def _put_under_alias(history: ModelHistory, version: str) -> tuple[Entry | None, Entry | None]:
    """The newest entry that put the version under an alias, and the one that put another there since."""
    decided: Entry | None = None
    replaced: Entry | None = None
    for entry in history.entries:
        facts = entry.facts
        if not isinstance(facts, Promotion | Adoption):
            continue
        to = facts.to_version if isinstance(facts, Promotion) else facts.version
        if to == version:
            decided, replaced = entry, None
        elif decided is not None and decided.body["alias"] == facts.alias and replaced is None:
            replaced = entry
    return decided, replaced


def _rollback(ledger: Ledger, history: ModelHistory, ring: KeyRing, decided: Entry) -> EmergencyState | None:
    """The emergency rollback that ``decided`` completed, if it was one."""
    facts = decided.facts
    states = emergencies(history.entries, ledger.blobs, ring) if isinstance(facts, Promotion) else ()
    return next((each for each in states if isinstance(facts, Promotion) and each.entry.hash == facts.intent), None)


def _rolled_back(state: EmergencyState, now: str, replaced: Entry | None, report: ReportMade | None) -> VersionStatus:
    """An emergency rollback is red, as at the gate, until others have approved it."""
    word = f"Put back as {state.facts.binding.alias} in an emergency on {state.entry.at[:_DAY]}"
    sentence = state.sentence(now)
    later = _replaced(replaced) if replaced is not None else ""
    text = f"{sentence[:1].upper()}{sentence[1:]}. Reason: {state.facts.reason}.{later}"
    return VersionStatus("pass" if state.approved else "fail", "emergency", word, text, report)


def _decided(
    history: ModelHistory, ring: KeyRing, entry: Entry, replaced: Entry | None, reports: Sequence[ReportMade]
) -> VersionStatus:
    later = _replaced(replaced) if replaced is not None else _doubt(history, str(entry.body["alias"]))
    where = f"{entry.body['alias']} on {entry.at[:_DAY]}"
    newest = reports[-1] if reports else None
    facts = entry.facts
    intent = history.intents.get(facts.intent) if isinstance(facts, Promotion) else None
    if intent is None:
        reason = entry.body.get("reason")
        text = f"By {ring.keys[entry.key].facts.owner}; no rule was checked.{f' Reason: {reason}.' if reason else ''}{later}"
        return VersionStatus(None, "adopted", f"Taken under guard as {where}", text, newest)
    parts = [f"By {intent.actor or 'somebody whom nobody vouches for'}"]
    approvals = _signers([each for each in history.entries if each.hash in intent.approvals], ring)
    parts.append(f"approved by {approvals}" if approvals else "no approval was needed")
    waivers = [
        f"{each.facts.rule} ({ring.keys[each.key].facts.owner}: {each.facts.reason})"
        for each in history.entries
        if each.hash in intent.waivers and isinstance(each.facts, Waiver)
    ]
    if waivers:
        parts.append(f"waived: {', '.join(waivers)}")
    report = next((each for each in reversed(reports) if each.report == intent.binding.report), newest)
    return VersionStatus("pass", "promoted", f"Promoted to {where}", f"{'; '.join(parts)}.{later}", report)


def _as_the_gate_says(
    status: VersionStatus, history: ModelHistory, alias: str, ask: Callable[[], Answer] | None
) -> VersionStatus:
    """Of what was promoted and stands: it stays promoted, but is red where the gate is."""
    if status.decision != "promoted":
        return status
    if history.standing(alias).doubt is not None:
        return replace(status, verdict="fail")
    answer = None if ask is None else ask()
    if answer is None or answer.alias != alias or answer.verdict != "fail":
        return status
    return replace(status, verdict="fail", text=f"{status.text} The gate says now: {answer.reason}")


def _replaced(entry: Entry) -> str:
    facts = entry.facts
    to = facts.to_version if isinstance(facts, Promotion) else entry.body["version"]
    return f" {f'Version {to}' if to else 'Nothing'} has been in its place since {entry.at[:_DAY]}."


def _doubt(history: ModelHistory, alias: str) -> str:
    return f" The alias {alias} was moved outside the gate since." if history.standing(alias).doubt is not None else ""


def _judged(answer: Answer, ring: KeyRing, report: ReportMade) -> VersionStatus:
    readiness, text = answer.readiness, answer.reason
    if readiness is None:
        return VersionStatus(answer.verdict, None, _WORDS[answer.verdict], text, report)
    counted, missing = readiness.tally.counted, len(readiness.tally.missing)
    if answer.verdict == "review" and counted:
        also = f", and by {_signers(readiness.tally.further, ring)}" if readiness.tally.further else ""
        text = f"Approved by {len(counted)} of {len(counted) + missing}: {_signers(counted, ring)}{also}. {text}"
    elif answer.verdict == "pass":
        text = f"{text} Not promoted yet."
    decision: Literal["rejected"] | None = "rejected" if readiness.rejections else None
    return VersionStatus(answer.verdict, decision, _WORDS[answer.verdict], text, report)


def _signers(entries: Sequence[Entry], ring: KeyRing) -> str:
    """Who signed, with their roles."""
    signers = [ring.keys[entry.key].facts for entry in entries]
    return ", ".join(f"{each.owner} ({', '.join(each.roles)})" for each in signers)
