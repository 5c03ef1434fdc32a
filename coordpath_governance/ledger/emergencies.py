"""Emergency rollbacks and how far their review has come. Pure: gate, sweep, pages and audit count alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import PolicyError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Approval, Emergency, EmergencyReview, Promotion, Rejection
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.quorum import Place, approvals_by, fill, person, places_for
from coordpath_governance.ledger.standing import Stood
from coordpath_governance.ledger.times import moment
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.load import read_policy

__all__ = ["EmergencyState", "emergencies", "kept_policy", "open_emergencies", "rejected_since", "reviewers"]


@dataclass(frozen=True)
class EmergencyState:
    """One emergency rollback. ``missing``: places of reviewers still open; ``rejected_by``: who said no, and why.

    ``moved_on``: another promotion put something else under the alias since. Not ``carried_out``: it was left unfinished,
    and then somebody took another version under guard, or promoted one.
    """

    entry: Entry
    facts: Emergency
    approved: bool
    missing: tuple[Place, ...]
    rejected_by: tuple[str, ...]
    moved_on: bool
    carried_out: bool = True

    @property
    def status(self) -> Literal["to be reviewed", "approved", "rejected", "not carried out"]:
        """What its reviewers have said so far; nobody has to review what never happened."""
        if not self.carried_out:
            return "not carried out"
        if self.approved:
            return "approved"
        return "rejected" if self.rejected_by else "to be reviewed"

    @property
    def settled(self) -> bool:
        """Whether nobody has to do anything: it never happened, was approved, or rejected and another promotion followed."""
        return not self.carried_out or self.approved or (bool(self.rejected_by) and self.moved_on)

    def sentence(self, now: str) -> str:
        """What it is and what is still to be done, at the time ``now`` (ISO 8601)."""
        binding = self.facts.binding
        what = (
            f"emergency rollback of {self.entry.at[:10]} by {self.facts.actor} "
            f"(version {binding.from_version} → {binding.to_version} as '{binding.alias}')"
        )
        if self.status == "not carried out":
            return f"{what}, not carried out"
        if self.status == "approved":
            return f"{what}, reviewed and approved"
        if self.status == "rejected":
            after = "" if self.moved_on else "; promote another version through the gate"
            return f"{what}, rejected by {'; '.join(self.rejected_by)}{after}"
        overdue = ", overdue" if moment(now) > moment(self.facts.review_by) else ""
        needed = f"; still needed: {', '.join(approvals_by(self.missing))}" if self.missing else ""
        return f"{what}, to be reviewed by {self.facts.review_by[:10]}{overdue}{needed}"

    def words(self, now: str) -> str:
        """The sentence, with the number of its entry."""
        return f"{self.sentence(now)} (entry {self.entry.seq})"


def emergencies(chain: Sequence[Entry], blobs: Mapping[str, bytes], keys: KeyRing) -> tuple[EmergencyState, ...]:
    """All emergency rollbacks in a model's ``chain``, oldest first, with the ``keys`` known after it."""
    return tuple(
        _state(entry, entry.facts, chain[at + 1 :], blobs, keys)
        for at, entry in enumerate(chain)
        if isinstance(entry.facts, Emergency)
    )


def open_emergencies(chain: Sequence[Entry], blobs: Mapping[str, bytes], keys: KeyRing) -> tuple[EmergencyState, ...]:
    """Those of which somebody still has to do something."""
    return tuple(each for each in emergencies(chain, blobs, keys) if not each.settled)


def kept_policy(blobs: Mapping[str, bytes], sha256: str) -> Policy | None:
    """A policy as its bytes stand in the ledger; None if they are missing, changed or no policy."""
    content = blobs.get(sha256)
    if content is None or sha256_hex(content) != sha256:
        return None
    try:
        return read_policy(content, f"the policy {sha256[:12]}")
    except PolicyError:
        return None


def reviewers(policy: Policy) -> tuple[Place, ...]:
    """Who reviews an emergency: those whom the most severe class asks for, at least one person who approves anything."""
    places = places_for(policy, policy.materiality[0].approvals, author_known=True)
    if places:
        return places
    roles = {need.role for each in policy.materiality for need in each.approvals}
    return (Place(tuple(sorted(roles or (policy.emergency.roles if policy.emergency else ())))),)


def _state(
    entry: Entry, facts: Emergency, later: Sequence[Entry], blobs: Mapping[str, bytes], keys: KeyRing
) -> EmergencyState:
    """Whoever did it has no say. Once enough people have approved it, that stands."""
    moved_on, carried_out = _moved_on(entry, facts, later), _carried_out(entry, facts, later)
    policy = kept_policy(blobs, facts.binding.policy)
    places = () if policy is None else reviewers(policy)
    roles = {role for place in places for role in place.roles}
    newest: dict[str, tuple[Entry, EmergencyReview]] = {}
    filled: dict[int, str] = {}
    for each, review in _reviews(entry, later):
        known = keys.keys.get(each.key)
        if known is None or roles.isdisjoint(known.facts.roles) or person(known.facts.owner) == person(facts.actor):
            continue
        newest[person(known.facts.owner)] = (each, review)
        yes = {
            who: frozenset(keys.keys[one.key].facts.roles)
            for who, (one, said) in newest.items()
            if said.decision == "approve" and _active(keys, one.key, each.seq)
        }
        filled = fill(places, yes)
        if len(filled) == len(places) and all(said.decision == "approve" for _, said in newest.values()):
            return EmergencyState(entry, facts, True, (), (), moved_on, carried_out)
    missing = tuple(place for at, place in enumerate(places) if at not in filled)
    rejected = tuple(
        f"{keys.keys[one.key].facts.owner}: {said.comment}" for one, said in newest.values() if said.decision == "reject"
    )
    return EmergencyState(entry, facts, False, missing, rejected, moved_on, carried_out)


def rejected_since(chain: Sequence[Entry], states: Sequence[EmergencyState], keys: KeyRing, before: Stood) -> str | None:
    """Who said no to this version since it last stood there, and has not thought again; None if nobody."""
    for state in states:
        if state.status == "rejected" and state.facts.binding.to_version == before.version:
            return f"by {'; '.join(state.rejected_by)}"
    newest: dict[tuple[str, str], Entry] = {}
    for entry in chain:
        facts = entry.facts
        if isinstance(facts, Approval | Rejection) and facts.binding.to_version == before.version:
            newest[person(keys.keys[entry.key].facts.owner), facts.binding.model_dump_json()] = entry
    for entry in newest.values():
        if isinstance(entry.facts, Rejection) and entry.seq > before.seq:
            return f"by {keys.keys[entry.key].facts.owner} in entry {entry.seq}"
    return None


def _carried_out(entry: Entry, facts: Emergency, later: Sequence[Entry]) -> bool:
    """Whether it put its version there, as far as the ledger can tell: no, if what came next there is something else."""
    for each in later:
        said = each.facts
        if isinstance(said, Promotion) and said.alias == facts.binding.alias:
            return said.intent == entry.hash
        if isinstance(said, Adoption) and said.alias == facts.binding.alias:
            return said.version == facts.binding.to_version
    return True


def _reviews(entry: Entry, later: Sequence[Entry]) -> Iterator[tuple[Entry, EmergencyReview]]:
    for each in later:
        facts = each.facts
        if isinstance(facts, EmergencyReview) and facts.emergency == entry.hash:
            yield each, facts


def _active(keys: KeyRing, key: str, seq: int) -> bool:
    known = keys.keys[key]
    return known.revoked is None or known.revoked > seq


def _moved_on(entry: Entry, facts: Emergency, later: Sequence[Entry]) -> bool:
    """Whether something else was promoted since; the rollback's own entry of being done is not that."""
    promoted = [f for each in later if isinstance(f := each.facts, Promotion) and f.alias == facts.binding.alias]
    return any(each.intent != entry.hash for each in promoted)
