"""May this version have this alias? Everything that a promotion depends on, put together from what is there now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Literal

from coordpath_governance.errors import FilesGoneError, RefusedError
from coordpath_governance.ledger.declarations import Vouched, vouched_sides
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Binding, Rejection, ReportMade, VerdictGiven
from coordpath_governance.ledger.quorum import approvals_by, person, places_for
from coordpath_governance.policy.judge import GateFacts, Judgement, judge
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import GateRule, GateWord
from coordpath_governance.review.approvals import Tally, objection_to, tally
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.pages import page_states
from coordpath_governance.review.ports import Created

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordpath_governance.ledger.events import Approval
    from coordpath_governance.ledger.keyring import KeyRing, KnownKey
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import Policy
    from coordpath_governance.policy.rules.base import PageState
    from coordpath_governance.reports.document import ChangeReportDocument
    from coordpath_governance.review.policies import AdoptedPolicy
    from coordpath_governance.review.ports import AliasRegistry

__all__ = ["Readiness", "assess_readiness", "bind", "gate_word", "record_verdict"]


@dataclass(frozen=True)
class Readiness:
    """What the gate says of one change, and why. ``author`` registered the version; None if nobody vouches for who did."""

    binding: Binding
    judgement: Judgement
    tally: Tally
    waivers: tuple[Entry, ...]
    rejections: tuple[str, ...]
    author: str | None

    @property
    def verdict(self) -> Literal["pass", "review", "fail"]:
        """Fail if a rule or a person says no or nobody could ever approve, review while approvals are missing, else pass."""
        if self.judgement.verdict == "fail" or self.rejections or not all(place.roles for place in self.tally.missing):
            return "fail"
        return "review" if self.tally.missing else "pass"

    @property
    def reason(self) -> str:
        """The verdict in a sentence or two."""
        if self.rejections:
            return f"Rejected by {'; '.join(self.rejections)}."
        if self.judgement.verdict == "fail":
            return self.judgement.reason
        if self.tally.missing:
            void = f" Not counted: {'; '.join(self.tally.void)}." if self.tally.void else ""
            why = "" if self.author is not None else " One more than otherwise, since nobody vouches for who registered it."
            return f"Still needed: {', '.join(self.missing)}.{why}{void}"
        undecided = sum(each.result in ("review", "unknown") for each in self.judgement.results)
        people = len(self.tally.given)
        approved = f"Approved by {people} {'person' if people == 1 else 'people'}"
        if undecided:
            return f"{approved}, who had to decide what {undecided} of the checks left open."
        return f"Every rule is met{' or waived' if self.waivers else ''}. {approved if people else 'No approval is needed'}."

    @property
    def missing(self) -> tuple[str, ...]:
        """The approvals still needed, in words."""
        return approvals_by(self.tally.missing)

    def facts(self) -> VerdictGiven:
        """The verdict as the ledger records it."""
        return VerdictGiven(
            binding=self.binding,
            verdict=self.verdict,
            materiality=self.judgement.materiality,
            rules=self.judgement.results,
        )


@dataclass(frozen=True)
class BoundChange:
    """A change with everything it is bound to. ``champion_gone``: the champion's files are not there any more.

    ``created``: when the registry created the model and the version, which tells whether a registration is about them.
    """

    binding: Binding
    document: ChangeReportDocument
    made_at: str
    champion_gone: bool = False
    created: Created = field(default_factory=lambda: Created(None))
    pages: Mapping[str, PageState] | None = None


def bind(
    ledger: Ledger,
    registry: AliasRegistry,
    adopted: AdoptedPolicy,
    *,
    name: str,
    alias: str,
    version: str,
    history: ModelHistory,
) -> BoundChange:
    """The change from the version that has the alias to ``version``, with its report and the files of both as they are now.

    `RefusedError` if there is no report, if it is about another change, or if a model's files are not those it explains.
    A champion whose files are gone is what the ledger says it is; its files being others is refused.
    """
    standing = history.standing(alias)
    newest = history.report(version, standing.explained_from)
    remake = f"make it with `coordpath report {quote(name)} --candidate {version}`"
    if newest is None:
        raise RefusedError(f"version {version} of '{name}' has no report in the ledger; {remake}")
    entry, report = newest
    if (report.champion, report.champion_digest) != (standing.explained_from, standing.digest):
        before = f"version {standing.version}" if standing.version else "no version"
        before += ", of which nothing is known," if standing.version and standing.digest is None else ""
        explained = f"version {report.champion}" if report.champion else "nothing"
        raise RefusedError(
            f"the report on version {version} of '{name}' explains the change from {explained}, but {before} has the "
            f"alias '{alias}' now; {remake}"
        )
    document = ChangeReport.from_bytes(ledger.blob(report.report)).document
    _check_subject(document, report, name)
    try:
        _check_files(registry, name, version, report.candidate_digest, remake)
    except FilesGoneError as error:
        raise RefusedError(f"version {version} of '{name}' cannot be served: {error}; register the model again") from error
    gone = False
    if standing.version is not None and standing.digest is not None:
        try:
            _check_files(registry, name, standing.version, standing.digest, "look into it, then `coordpath adopt`")
        except FilesGoneError:
            gone = True
    binding = Binding(
        registry=ledger.id,
        name=name,
        alias=alias,
        from_version=standing.version,
        to_version=version,
        from_digest=standing.digest,
        to_digest=report.candidate_digest,
        report=report.report,
        policy=adopted.sha256,
    )
    created = registry.created(name, version) or Created(None)
    return BoundChange(binding, document, entry.at, gone, created, page_states(registry, name, report))


def assess_readiness(ledger: Ledger, bound: BoundChange, policy: Policy, history: ModelHistory) -> Readiness:
    """Rules, waivers and approvals together, at the ledger's time."""
    now, ring = ledger.now(), ledger.keyring()
    binding = bound.binding
    author = history.author(binding.to_version, bound.created.model, bound.created.version)
    waivers = _valid_waivers(policy, history, binding, ring, now, author)
    gate = _gate_facts(ledger, bound.document, policy, history, alias=binding.alias, now=now, made_at=bound.made_at)
    gate = replace(gate, champion_gone=bound.champion_gone, pages=bound.pages)
    judgement = judge(policy, bound.document, gate, frozenset(rule for rule, _ in waivers))
    approvals, rejections, void = [], [], []
    for entry, signer, facts in _newest_by_person(history.decisions(binding), ring):
        if isinstance(facts, Rejection):
            rejections.append(f"{signer.facts.owner}: {facts.comment}")
            continue
        objection = objection_to(entry, facts, signer, history, now, policy.approvals.longest_days)
        if objection is not None:
            void.append(objection)
        else:
            approvals.append((entry, signer))
    places = places_for(policy, judgement.approvals, author_known=author is not None)
    involved = {ring.keys[entry.key].facts.owner: "waived a rule of it" for _, entry in waivers}
    if author is not None:
        involved[author] = "registered the version"
    approvers = frozenset(need.role for kind in policy.materiality for need in kind.approvals)
    counted = tally(places, approvals, involved=involved, void=void, approvers=approvers)
    consumed = tuple(entry for _, entry in waivers)
    return Readiness(binding, judgement, counted, consumed, tuple(rejections), author)


def record_verdict(ledger: Ledger, readiness: Readiness, history: ModelHistory) -> None:
    """Record what the gate said, unless the newest verdict on this change says the same or this process cannot."""
    facts = readiness.facts()
    before = [verdict for _, verdict in history.of(VerdictGiven) if verdict.binding == facts.binding]
    if ledger.service is not None and (not before or before[-1] != facts):
        ledger.record("verdict", facts, model=facts.binding.name)


def gate_word(
    ledger: Ledger, document: ChangeReportDocument, policy: Policy, *, name: str, alias: str, version: str
) -> GateWord:
    """What the gate would say of a report made now that the report alone cannot tell, before any approval or waiver."""
    now, history = ledger.now(), ModelHistory(ledger.entries(name))
    alone = {each.rule: each.result for each in judge(policy, document).results}
    judged = judge(
        policy, document, _gate_facts(ledger, document, policy, history, alias=alias, now=now, made_at=now)
    ).results
    other = tuple(
        GateRule(rule=each.rule, result=each.result)
        for each in judged
        if each.result != "waived" and alone.get(each.rule) != each.result
    )
    return GateWord(author_known=history.author(version) is not None, rules=other)


def _gate_facts(
    ledger: Ledger,
    document: ChangeReportDocument,
    policy: Policy,
    history: ModelHistory,
    *,
    alias: str,
    now: str,
    made_at: str,
) -> GateFacts:
    reports, validated_at = history.since_validation(alias)
    vouched = vouched_sides(document, history.entries, ledger.keyring(), policy.declarations.roles, ledger.id)
    return GateFacts(
        now=now,
        report_made_at=made_at,
        since_validation=tuple(ChangeReport.from_bytes(ledger.blob(report)).document for report in reports),
        validated_at=validated_at,
        vouched={who: _signers(declared) for who, declared in vouched.items() if not declared.missing},
        too_few={who: _signers(declared) for who, declared in vouched.items() if declared.missing},
    )


def _signers(vouched: Vouched) -> str:
    return " and ".join(f"{owner} (entry {entry.seq})" for owner, entry in vouched.signed)


def _newest_by_person(
    decisions: Sequence[tuple[Entry, Approval | Rejection]], ring: KeyRing
) -> list[tuple[Entry, KnownKey, Approval | Rejection]]:
    """Of every person the newest decision, whichever of their keys signed it. A no stands even if its key is revoked."""
    newest = {}
    for entry, facts in decisions:
        signer = ring.keys[entry.key]
        newest[person(signer.facts.owner)] = (entry, signer, facts)
    return list(newest.values())


def _valid_waivers(
    policy: Policy, history: ModelHistory, binding: Binding, ring: KeyRing, now: str, author: str | None
) -> tuple[tuple[str, Entry], ...]:
    """Rules waived by somebody whom the policy lets, and the entries that say so; an author waives nothing."""
    waivers: dict[str, Entry] = {}
    for entry, facts in history.waivers(binding):
        signer = ring.keys[entry.key]
        if objection_to(entry, facts, signer, history, now, policy.waivers.longest_days) is not None:
            continue
        if set(signer.facts.roles).isdisjoint(policy.waivers.roles) or (
            author and person(signer.facts.owner) == person(author)
        ):
            continue
        waivers[facts.rule] = entry
    return tuple(waivers.items())


def _check_subject(document: ChangeReportDocument, report: ReportMade, name: str) -> None:
    """The report's own words about what it explains must be those of its entry."""
    subject = document.subject
    champion = subject.champion
    stated = (
        subject.name,
        subject.candidate.version,
        subject.candidate.digest,
        champion.version if champion else None,
        champion.digest if champion else None,
    )
    recorded = (name, report.version, report.candidate_digest, report.champion, report.champion_digest)
    if stated != recorded:
        raise RefusedError(f"the report in the ledger is not about what its entry says; make it again for '{name}'")


def _check_files(registry: AliasRegistry, name: str, version: str, digest: str, remedy: str) -> None:
    actual = registry.digest(name, version)
    if actual != digest:
        raise RefusedError(
            f"the files of version {version} of '{name}' have changed: their digest is {actual[:12]}…, "
            f"not {digest[:12]}…; {remedy}"
        )
