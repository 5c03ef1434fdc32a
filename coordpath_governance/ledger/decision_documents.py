"""One document for every promotion and every rejection, built from the ledger's entries alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coordpath_governance.attestation.attest import read_decision_attestation
from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import (
    Approval,
    Binding,
    Body,
    DecisionPage,
    DecisionRecorded,
    Emergency,
    Intent,
    LedgerCreated,
    Move,
    Promotion,
    Rejection,
    ReportMade,
    VerdictGiven,
    Waiver,
)
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.policy.terms import SERVICE
from coordpath_governance.rendering.decision_view import (
    DECISION_LAYOUT,
    render_decision_html,
    render_decision_markdown,
)
from coordpath_governance.reports.decision import (
    ApprovalGiven,
    ChangeDigests,
    DecisionDocument,
    EmergencyTold,
    GateVerdict,
    RejectionGiven,
    WaiverGiven,
)

__all__ = ["decision_of", "misrecorded", "pages_not_compared"]


def decision_of(entry: Entry, chain: Sequence[Entry], ring: KeyRing, ledger: str) -> DecisionDocument | None:
    """The decision that ``entry`` is, from the entries of its model before it; None if it is not one, or names no intent."""
    build = _BUILDERS.get(type(entry.facts))
    before = [each for each in chain if each.seq < entry.seq]
    return None if build is None else build(entry, entry.facts, before, ring, ledger)


def misrecorded(entries: Sequence[Entry], blobs: Mapping[str, bytes]) -> Iterator[tuple[int, str]]:
    """Numbers of entries that record a decision wrongly, and how they differ from the entries that they name."""
    ring, name = KeyRing(), ""
    chains: dict[str | None, list[Entry]] = {}
    for entry in entries:
        facts = entry.facts
        ring = ring.after(entry)
        if isinstance(facts, LedgerCreated):
            name = facts.ledger
        chain = chains.setdefault(entry.model, [])
        if isinstance(facts, DecisionRecorded):
            earlier = [
                each for each in chain if isinstance(record := each.facts, DecisionRecorded) and record.about == facts.about
            ]
            if earlier:
                yield entry.seq, f"entry {earlier[0].seq} recorded the same decision before"
            for what in _objections(facts, chain, ring, name, blobs):
                yield entry.seq, what
        chain.append(entry)


def _objections(
    facts: DecisionRecorded, chain: Sequence[Entry], ring: KeyRing, ledger: str, blobs: Mapping[str, bytes]
) -> Iterator[str]:
    about = next((each for each in chain if each.hash == facts.about), None)
    document = None if about is None else decision_of(about, chain, ring, ledger)
    if document is None:
        yield "it names no earlier promotion or rejection of its model"
        return
    if facts.version != document.to_version:
        yield f"it is about version {facts.version}, but entry {document.entry} is about version {document.to_version}"
    if facts.decision != sha256_hex(document.to_bytes()):
        yield f"the decision that it keeps says something else than entry {document.entry} and those before it"
    if facts.layout == DECISION_LAYOUT:
        for page, laid_out in _PAGES.items():
            if facts.pages.get(page) != sha256_hex(laid_out(document).encode()):
                yield f"the {page} that it keeps is not what its decision gives"
    yield from _unattested(facts, document, ring, blobs.get(facts.attestation))


_PAGES: dict[DecisionPage, Callable[[DecisionDocument], str]] = {
    "decision.html": render_decision_html,
    "decision.md": render_decision_markdown,
}


def pages_not_compared(entries: Sequence[Entry]) -> int:
    """How many records have pages that were laid out in another way than this program does it."""
    records = [each.facts for each in entries if isinstance(each.facts, DecisionRecorded)]
    return sum(each.layout != DECISION_LAYOUT for each in records)


def _unattested(facts: DecisionRecorded, document: DecisionDocument, ring: KeyRing, content: bytes | None) -> Iterator[str]:
    """Whether the service attested exactly these files; missing bytes are reported elsewhere in the audit."""
    if content is None:
        return
    try:
        keys = {key: service.public for key, service in ring.keys.items() if SERVICE in service.facts.roles}
        statement = read_decision_attestation(content, keys)
    except SignatureError as error:
        yield f"the attestation that it keeps does not count: {error}"
        return
    files = {each.name: each.digest.sha256 for each in statement.subject[1:]}
    if files != {"decision.json": facts.decision, **facts.pages} or statement.predicate.entry_sha256 != facts.about:
        yield f"the attestation that it keeps is about something else than the decision of entry {document.entry}"


def _promoted(
    entry: Entry, facts: Promotion, before: Sequence[Entry], ring: KeyRing, ledger: str
) -> DecisionDocument | None:
    announced = next((each for each in before if each.hash == facts.intent), None)
    intent = None if announced is None else announced.facts
    if announced is not None and isinstance(intent, Emergency):
        return _rolled_back(entry, facts, announced, intent, ledger)
    if announced is None or not isinstance(intent, Intent):
        return None
    earlier = [each for each in before if each.seq < announced.seq]
    consumed = [each for each in earlier if each.hash in (*intent.approvals, *intent.waivers)]
    return DecisionDocument(
        decision="promoted",
        actor=intent.actor,
        authenticated_by=intent.authenticated_by,
        completed=facts.completed,
        full_validation=intent.full_validation,
        intent=announced.seq,
        **_about(entry, intent.binding, earlier, consumed, ring, ledger),
    )


def _rolled_back(entry: Entry, facts: Promotion, announced: Entry, emergency: Emergency, ledger: str) -> DecisionDocument:
    """An emergency rollback: nobody was asked before, and there is no report on it."""
    binding = emergency.binding
    return DecisionDocument(
        decision="promoted",
        actor=emergency.actor,
        authenticated_by=emergency.authenticated_by,
        completed=facts.completed,
        full_validation=False,
        intent=announced.seq,
        verdict=None,
        approvals=(),
        waivers=(),
        rejections=(),
        digests=_digests(binding, None, {}),
        emergency=EmergencyTold(reason=emergency.reason, review_by=emergency.review_by),
        **_where(entry, binding, ledger),
    )


def _rejected(entry: Entry, facts: Rejection, before: Sequence[Entry], ring: KeyRing, ledger: str) -> DecisionDocument:
    """With the approvals and waivers that there were already."""
    signed = [each for each in before if isinstance(each.facts, Approval | Waiver) and each.facts.binding == facts.binding]
    return DecisionDocument(
        decision="rejected",
        actor=ring.keys[entry.key].facts.owner,
        authenticated_by="key",
        completed=None,
        full_validation=None,
        intent=None,
        **_about(entry, facts.binding, before, [*signed, entry], ring, ledger),
    )


_BUILDERS: dict[type[Body], Callable[..., DecisionDocument | None]] = {Promotion: _promoted, Rejection: _rejected}
"""The function that builds the document of each kind of decision."""


def _about(
    entry: Entry, binding: Binding, before: Sequence[Entry], signed: Sequence[Entry], ring: KeyRing, ledger: str
) -> dict[str, Any]:
    """The fields that every decision has."""
    verdicts = [
        (each, facts) for each in before if isinstance(facts := each.facts, VerdictGiven) and facts.binding == binding
    ]
    reports = [facts for each in before if isinstance(facts := each.facts, ReportMade) and facts.report == binding.report]
    approvals = [ApprovalGiven(**_signed(each, ring, "comment", "expires")) for each in _of(signed, Approval)]
    waivers = [WaiverGiven(**_signed(each, ring, "rule", "reason", "expires")) for each in _of(signed, Waiver)]
    rejections = [RejectionGiven(**_signed(each, ring, "comment")) for each in _of(signed, Rejection)]
    return {
        "verdict": _verdict(*verdicts[-1]) if verdicts else None,
        "approvals": tuple(approvals),
        "waivers": tuple(waivers),
        "rejections": tuple(rejections),
        "digests": _digests(binding, binding.report, dict((reports[-1].pages or {}) if reports else {})),
        **_where(entry, binding, ledger),
    }


def _where(entry: Entry, binding: Move, ledger: str) -> dict[str, Any]:
    """Which versions the decision of ``entry`` is about, and where it is recorded."""
    return {
        "name": binding.name,
        "alias": binding.alias,
        "from_version": binding.from_version,
        "to_version": binding.to_version,
        "at": entry.at,
        "ledger": ledger,
        "entry": entry.seq,
        "entry_sha256": entry.hash,
    }


def _digests(binding: Move, report: str | None, pages: dict[str, str]) -> ChangeDigests:
    return ChangeDigests(
        from_model=binding.from_digest, to_model=binding.to_digest, report=report, policy=binding.policy, pages=pages
    )


def _of(entries: Sequence[Entry], kind: type[Body]) -> list[Entry]:
    return [each for each in entries if isinstance(each.facts, kind)]


def _signed(entry: Entry, ring: KeyRing, *fields: str) -> dict[str, Any]:
    """Who signed an entry, and the named fields of its body."""
    signer = ring.keys[entry.key].facts
    who = {"by": signer.owner, "roles": signer.roles, "key": entry.key, "at": entry.at, "entry": entry.seq}
    return who | {name: entry.body[name] for name in fields}


def _verdict(entry: Entry, given_verdict: VerdictGiven) -> GateVerdict:
    return GateVerdict(
        verdict=given_verdict.verdict, materiality=given_verdict.materiality, rules=given_verdict.rules, entry=entry.seq
    )
