"""Was a promotion allowed? Answered from entries and kept documents; a signature of the service is not enough.

Rules are not judged again. What counts is what people signed, under a policy that was in force, about a report that is
kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import PolicyError, ReportFormatError
from coordpath_governance.ledger.adoption import misstated
from coordpath_governance.ledger.authors import author_of
from coordpath_governance.ledger.declarations import declared_sides, vouched_sides
from coordpath_governance.ledger.emergencies import emergency_objections, past_standings
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import (
    Adoption,
    Approval,
    Binding,
    Emergency,
    Intent,
    LedgerCreated,
    OutsideMove,
    PolicyAdopted,
    PolicyRetired,
    Promotion,
    Rejection,
    ReportMade,
    Waiver,
)
from coordpath_governance.ledger.kept_models import is_kept
from coordpath_governance.ledger.keyring import KeyRing, KnownKey
from coordpath_governance.ledger.last_verdict import last_verdict
from coordpath_governance.ledger.quorum import Need, fill, person, places_for
from coordpath_governance.ledger.times import moment
from coordpath_governance.models.formats import RECALLED_MARK, recalled_from
from coordpath_governance.policy.document import MaterialityClass, Policy
from coordpath_governance.policy.judge import class_of, who_decides
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.terms import Retention
from coordpath_governance.rendering.change_report import ChangeReport

__all__ = ["unentitled"]

_SLACK = timedelta(minutes=5)
"""The guard reads the time first, and may then wait for other writers."""

_ROUNDING = timedelta(seconds=1)
_DIGITS = 12


def unentitled(entries: Iterable[Entry], blobs: Mapping[str, bytes]) -> Iterator[tuple[int, str]]:
    """Numbers of entries that were not allowed, and why: promotions, rollbacks, and adoptions that misstate their policy."""
    record = _Record(blobs)
    for entry in entries:
        facts = entry.facts
        if isinstance(facts, Intent):
            for what in record.objections(entry, facts):
                yield entry.seq, what
        elif isinstance(facts, Emergency):
            for what in record.emergency_objections(entry, facts):
                yield entry.seq, what
        elif isinstance(facts, PolicyAdopted):
            for what in record.misstatements(facts):
                yield entry.seq, what
        record.take(entry)


class _Record:
    """The entries before the one that is checked."""

    def __init__(self, blobs: Mapping[str, bytes]) -> None:
        self._blobs = blobs
        self._keys = KeyRing()
        self._in_force: dict[str, str] = {}
        self._name = ""
        self._chains: dict[str | None, list[Entry]] = {}

    def take(self, entry: Entry) -> None:
        self._keys = self._keys.after(entry)
        self._chains.setdefault(entry.model, []).append(entry)
        facts = entry.facts
        if isinstance(facts, LedgerCreated):
            self._name = facts.ledger
        if isinstance(facts, PolicyAdopted):
            self._in_force[facts.name] = facts.policy
        if isinstance(facts, PolicyRetired):
            self._in_force.pop(facts.name, None)

    def emergency_objections(self, entry: Entry, facts: Emergency) -> Iterator[str]:
        """Why an emergency rollback was not allowed."""
        chain, in_force = self._chains.get(entry.model, []), frozenset(self._in_force.values())
        yield from emergency_objections(entry, facts, chain, self._blobs, self._keys, in_force)

    def objections(self, entry: Entry, intent: Intent) -> Iterator[str]:
        """Why a promotion was not allowed. Documents that are missing or changed are reported elsewhere in the audit."""
        binding, chain = intent.binding, self._chains.get(entry.model, [])
        if binding.policy not in self._in_force.values():
            yield f"its policy {binding.policy[:_DIGITS]} was not in force"
        if not any(_reports(each, binding) for each in chain):
            yield f"there is no earlier report {binding.report[:_DIGITS]} on this change"
        yield from self._rejections(binding, chain)
        yield from self._of_champion(binding, chain)
        content = self._document(binding.policy)
        if content is None:
            return
        try:
            policy = read_policy(content, f"its policy {binding.policy[:_DIGITS]}")
        except PolicyError as error:
            yield str(error)
            return
        if not policy.matches(binding.name):
            yield f"its policy '{policy.name}' is not for this model"
        if intent.retention != policy.retention:
            yield f"it records {_kept_for(intent.retention)}, but its policy asks for {_kept_for(policy.retention)}"
        yield from self._of_class(intent, policy)
        yield from self._of_decisions(entry, intent, policy, chain)

    def _of_champion(self, binding: Binding, chain: Sequence[Entry]) -> Iterator[str]:
        """The champion must be the version that had the alias. Recalled coefficients must be in a report there."""
        standings = past_standings(chain, binding.alias)
        if standings and (binding.from_version, binding.from_digest) != (standings[-1].version, standings[-1].digest):
            was = f"version {standings[-1].version}" if standings[-1].version is not None else "nothing"
            yield f"it is not a change of what stood there, which was {was} by the ledger"
        recalled = self._recalled(binding)
        if recalled is not None and not is_kept(
            chain, self._blobs, version=binding.from_version, digest=binding.from_digest, stated=recalled
        ):
            yield "its report takes the champion's coefficients from the ledger, and no earlier report there has them"

    def _recalled(self, binding: Binding) -> Mapping[str, Any] | None:
        """The champion as the report has it, where its files were gone and the report took it from the ledger."""
        content = self._document(binding.report)
        if content is None or RECALLED_MARK not in content:
            return None
        try:
            champion = ChangeReport.from_bytes(content).document.models.get("champion")
        except ReportFormatError:
            return None
        return champion if champion is not None and recalled_from(champion.get("source")) is not None else None

    def misstatements(self, adopted: PolicyAdopted) -> Iterator[str]:
        """Whether an entry says another number of policy-admins than its policy asks for, if that can be read today."""
        content = self._document(adopted.policy)
        if content is None:
            return
        try:
            policy = read_policy(content, "the policy")
        except PolicyError:
            return
        if "admins" in misstated(adopted, policy):
            yield f"it says admins: {adopted.admins}, but the policy that it adopts asks for {policy.admins}"

    def _document(self, digest: str) -> bytes | None:
        content = self._blobs.get(digest)
        return content if content is not None and sha256_hex(content) == digest else None

    def _rejections(self, binding: Binding, chain: Sequence[Entry]) -> Iterator[str]:
        """The newest decision of each person on exactly this change counts."""
        newest: dict[str, Entry] = {}
        for entry in chain:
            facts = entry.facts
            if isinstance(facts, Approval | Rejection) and facts.binding == binding:
                newest[person(self._keys.keys[entry.key].facts.owner)] = entry
        for entry in newest.values():
            if isinstance(entry.facts, Rejection):
                yield f"{self._keys.keys[entry.key].facts.owner} had rejected it in entry {entry.seq}"

    def _of_class(self, intent: Intent, policy: Policy) -> Iterator[str]:
        """The class must not be milder than the report says, and must count as a full validation only if it is one."""
        kind = _class(policy, intent.materiality)
        if kind is None:
            yield f"its policy has no class '{intent.materiality[:80]}'"
            return
        if intent.full_validation != kind.full_validation:
            yield f"it is {'' if intent.full_validation else 'not '}counted as a full validation, against its class"
        matters = kind != policy.materiality[0] or bool(policy.declarations.roles)
        content = self._document(intent.binding.report) if matters else None
        if content is None:
            return
        try:
            document = ChangeReport.from_bytes(content).document
        except ReportFormatError as error:
            yield f"its report {intent.binding.report[:_DIGITS]} cannot be read: {error}"
            return
        document = document.model_copy(update={"facts": policy.merged_facts(document.facts)})
        reported_class = class_of(policy.materiality, document)
        if policy.materiality.index(reported_class) < policy.materiality.index(kind):
            yield f"it is counted as '{kind.class_}', but by its report it is of class '{reported_class.class_}'"

    def _of_decisions(self, entry: Entry, intent: Intent, policy: Policy, chain: Sequence[Entry]) -> Iterator[str]:
        """There must be enough approvals, by different people, none of them the author, that were valid at that time."""
        decisions = {each.hash: each for each in chain}
        author = author_of(chain, intent.binding.to_version, intent.model_created_at, intent.version_created_at)
        moved = _last_move(chain, intent.binding.alias)
        people: dict[str, frozenset[str]] = {}
        waived = self._waived(intent, decisions)
        for digest in (*intent.approvals, *intent.waivers):
            decision = decisions.get(digest)
            facts = decision.facts if decision is not None else None
            if decision is None or not isinstance(facts, Approval | Waiver) or facts.binding != intent.binding:
                continue
            signer = self._keys.keys[decision.key]
            terms = policy.approvals if isinstance(facts, Approval) else policy.waivers
            what = f"the {decision.event} of entry {decision.seq}"
            faults = [*_faults(entry, decision, facts, signer, terms.longest_days, author)]
            if decision.seq < moved:
                faults.append(f"it was given before entry {moved} moved the alias")
            if isinstance(facts, Waiver):
                if set(signer.facts.roles).isdisjoint(policy.waivers.roles):
                    faults.append(f"the policy does not let {signer.facts.owner} waive rules")
            elif person(signer.facts.owner) in waived.values():
                faults.append(f"{signer.facts.owner} waived a rule of it")
            elif person(signer.facts.owner) in people:
                faults.append(f"{signer.facts.owner} is counted twice")
            elif not faults:
                people[person(signer.facts.owner)] = frozenset(signer.facts.roles)
            yield from (f"{what} did not count: {fault}" for fault in faults)
        kind = _class(policy, intent.materiality)
        needs: Sequence[Need] = kind.approvals if kind else ()
        declared = self._unvouched(intent, policy, chain)
        recalled = self._recalled(intent.binding) is not None
        last = last_verdict(intent.binding, chain, policy)
        if last is not None:
            yield from last.objections(waived)
        undecided = last is not None and last.undecided(waived)
        if kind is not None and (declared or recalled or undecided):
            needs = who_decides(policy.materiality, kind)
            if declared and not needs:
                yield f"too few entitled vouched for the declared coefficients of the {declared}, and nobody could approve"
            elif recalled and not needs:
                yield "the files of its champion were gone, and nobody could approve"
            elif not needs:
                yield "the gate had left a rule of it to people, and nobody could approve"
        places = places_for(policy, needs, author_known=author is not None)
        filled = len(fill(places, people))
        if filled < len(places):
            yield f"it lacks approvals: its policy asks for {len(places)}, and {filled} counted"

    def _waived(self, intent: Intent, decisions: Mapping[str, Entry]) -> dict[str, str]:
        """The rules that the promotion uses waivers of, and who signed these. They may not approve too."""
        waivers = (decisions[each] for each in intent.waivers if each in decisions)
        return {
            facts.rule: person(self._keys.keys[entry.key].facts.owner)
            for entry in waivers
            if isinstance(facts := entry.facts, Waiver) and facts.binding == intent.binding
        }

    def _unvouched(self, intent: Intent, policy: Policy, chain: Sequence[Entry]) -> str:
        """The versions with declared coefficients for which too few people vouched; empty if there are none.

        Checked only under a policy that says who may vouch. Under older policies the gate did not ask.
        """
        content = self._document(intent.binding.report) if policy.declarations.roles else None
        if content is None:
            return ""
        try:
            document = ChangeReport.from_bytes(content).document
        except ReportFormatError:
            return ""
        counted = vouched_sides(document, chain, self._keys, policy.declarations.roles, self._name)
        return " and the ".join(who for who in declared_sides(document) if who not in counted or counted[who].missing)


def _last_move(chain: Sequence[Entry], alias: str) -> int:
    """The newest entry that says where an alias stands; 0 if there is none."""
    moves = (Promotion, Adoption, OutsideMove)
    return max((each.seq for each in chain if isinstance(f := each.facts, moves) and f.alias == alias), default=0)


def _faults(
    entry: Entry, decision: Entry, facts: Approval | Waiver, signer: KnownKey, longest_days: float, author: str | None
) -> Iterator[str]:
    """Why a decision did not count when ``entry`` used it."""
    who, expires = signer.facts.owner, moment(facts.expires)
    if signer.revoked is not None:
        yield f"the key of {who} was revoked by entry {signer.revoked}"
    if expires + _SLACK <= moment(entry.at):
        yield f"it had expired at {facts.expires}"
    if expires - moment(decision.at) > timedelta(days=longest_days) + _ROUNDING:
        yield f"it ran longer than the {longest_days:g} days that the policy allows"
    if author is not None and person(who) == person(author):
        yield f"{who} registered the version"


def _kept_for(retention: Retention | None) -> str:
    if retention is None:
        return "no retention"
    return f"a retention of {retention.years} {'year' if retention.years == 1 else 'years'} as '{retention.class_}'"


def _class(policy: Policy, name: str) -> MaterialityClass | None:
    return next((each for each in policy.materiality if each.class_ == name), None)


def _reports(entry: Entry, binding: Binding) -> bool:
    """Whether an entry is the report on exactly this change."""
    facts = entry.facts
    if not isinstance(facts, ReportMade):
        return False
    reported = (facts.report, facts.version, facts.candidate_digest)
    if reported != (binding.report, binding.to_version, binding.to_digest):
        return False
    champion = (binding.from_version if binding.from_digest is not None else None, binding.from_digest)
    return (facts.champion, facts.champion_digest) == champion
