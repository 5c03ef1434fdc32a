"""Emergency rollbacks: whether one was allowed, how far its review is, and what had the alias before.

Gate, sweep, pages and audit use the same functions, which need entries only. The entry of a rollback keeps the signature
of the person who did it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.adoption import kept_policy
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import (
    Adoption,
    Approval,
    Emergency,
    EmergencyReview,
    Promotion,
    Rejection,
    VersionRetired,
)
from coordpath_governance.ledger.keyring import KeyRing, KnownKey
from coordpath_governance.ledger.promotion_requests import PromotionRequest, open_request
from coordpath_governance.ledger.quorum import Place, approvals_by, fill, person, places_for
from coordpath_governance.ledger.times import moment
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.terms import SERVICE

__all__ = [
    "EmergencyState",
    "PastStanding",
    "emergencies",
    "emergency_objections",
    "open_emergencies",
    "past_standings",
    "rejected_since",
    "reviewers",
    "standing_before",
]

_SLACK = timedelta(minutes=5)
_LONGEST = timedelta(hours=1)


@dataclass(frozen=True)
class PastStanding:
    """A version that had an alias since entry ``seq``, and its files' digest. No version: an adoption said so."""

    version: str | None
    digest: str | None
    seq: int


def past_standings(chain: Iterable[Entry], alias: str) -> tuple[PastStanding, ...]:
    """The versions that had an alias, oldest first; the last one has it now. Empty if no version ever had it.

    Going back to a version with the same files (through the gate, in an emergency or by an adoption) removes the versions
    that came after it from the list. No emergency rollback leads to those.
    """
    standings: list[PastStanding] = []
    for entry in chain:
        facts = entry.facts
        if isinstance(facts, Promotion) and facts.alias == alias:
            now = PastStanding(facts.to_version, facts.to_digest, entry.seq)
        elif isinstance(facts, Adoption) and facts.alias == alias:
            now = PastStanding(facts.version, facts.digest, entry.seq)
        else:
            continue
        earlier = [at for at, each in enumerate(standings) if (each.version, each.digest) == (now.version, now.digest)]
        standings = [*(standings[: earlier[0]] if earlier else standings), now]
    return tuple(standings)


def standing_before(chain: Iterable[Entry], alias: str) -> PastStanding | None:
    """The version that had the alias before the one that has it now; None if there was none."""
    standings = past_standings(chain, alias)
    return standings[-2] if len(standings) > 1 and standings[-2].version is not None else None


@dataclass(frozen=True)
class EmergencyState:
    """One emergency rollback. ``missing``: reviewers still needed; ``rejected_by``: who rejected it, and why.

    ``moved_on``: another version was promoted to the alias since. ``carried_out`` is False if the rollback was left
    unfinished and then another version was adopted or promoted.
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
        """The state of the review. A rollback that was not carried out needs none."""
        if not self.carried_out:
            return "not carried out"
        if self.approved:
            return "approved"
        return "rejected" if self.rejected_by else "to be reviewed"

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do: not carried out, approved, or rejected and followed by another promotion."""
        return not self.carried_out or self.approved or (bool(self.rejected_by) and self.moved_on)

    def sentence(self, now: str) -> str:
        """The rollback, and what is still to be done, in one sentence; ``now`` is the time (ISO 8601)."""
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
    """The emergency rollbacks that are not settled."""
    return tuple(each for each in emergencies(chain, blobs, keys) if not each.settled)


def reviewers(policy: Policy) -> tuple[Place, ...]:
    """Who reviews an emergency: the approvers of the most severe class, and at least one person who may approve a change."""
    places = places_for(policy, policy.materiality[0].approvals, author_known=True)
    if places:
        return places
    roles = {need.role for each in policy.materiality for need in each.approvals}
    return (Place(tuple(sorted(roles or (policy.emergency.roles if policy.emergency else ())))),)


def _state(
    entry: Entry, facts: Emergency, later: Sequence[Entry], blobs: Mapping[str, bytes], keys: KeyRing
) -> EmergencyState:
    """The person who rolled back may not review. Once enough people have approved, the approval is final."""
    moved_on, carried_out = _moved_on(entry, facts, later), _carried_out(entry, facts, later)
    policy = kept_policy(blobs, facts.binding.policy)
    places = () if policy is None else reviewers(policy)
    roles = {role for place in places for role in place.roles}
    newest: dict[str, tuple[Entry, EmergencyReview]] = {}
    filled: dict[int, str] = {}
    for each, review in _reviews(entry, later):
        reviewer = keys.keys.get(each.key)
        if reviewer is None or roles.isdisjoint(reviewer.facts.roles) or person(reviewer.facts.owner) == person(facts.actor):
            continue
        newest[person(reviewer.facts.owner)] = (each, review)
        yes = {
            who: frozenset(keys.keys[reviewed.key].facts.roles)
            for who, (reviewed, opinion) in newest.items()
            if opinion.decision == "approve" and _active(keys, reviewed.key, each.seq)
        }
        filled = fill(places, yes)
        if len(filled) == len(places) and all(opinion.decision == "approve" for _, opinion in newest.values()):
            return EmergencyState(
                entry,
                facts,
                approved=True,
                missing=(),
                rejected_by=(),
                moved_on=moved_on,
                carried_out=carried_out,
            )
    missing = tuple(place for at, place in enumerate(places) if at not in filled)
    rejected = tuple(
        f"{keys.keys[reviewed.key].facts.owner}: {opinion.comment}"
        for reviewed, opinion in newest.values()
        if opinion.decision == "reject"
    )
    return EmergencyState(
        entry,
        facts,
        approved=False,
        missing=missing,
        rejected_by=rejected,
        moved_on=moved_on,
        carried_out=carried_out,
    )


def rejected_since(
    chain: Sequence[Entry], states: Sequence[EmergencyState], keys: KeyRing, before: PastStanding
) -> str | None:
    """Who rejected this version since it last had the alias, and has not approved it later; None if nobody did."""
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
    """Whether the rollback set the alias, as far as the ledger can tell: not if the next move there is another one."""
    for each in later:
        move = each.facts
        if isinstance(move, Promotion) and move.alias == facts.binding.alias:
            return move.intent == entry.hash
        if isinstance(move, Adoption) and move.alias == facts.binding.alias:
            return move.version == facts.binding.to_version
    return True


def _reviews(entry: Entry, later: Sequence[Entry]) -> Iterator[tuple[Entry, EmergencyReview]]:
    for each in later:
        facts = each.facts
        if isinstance(facts, EmergencyReview) and facts.emergency == entry.hash:
            yield each, facts


def _active(keys: KeyRing, key: str, seq: int) -> bool:
    signer = keys.keys[key]
    return signer.revoked is None or signer.revoked > seq


def _moved_on(entry: Entry, facts: Emergency, later: Sequence[Entry]) -> bool:
    """Whether another version was promoted since; the promotion entry of the rollback itself does not count."""
    promoted = [f for each in later if isinstance(f := each.facts, Promotion) and f.alias == facts.binding.alias]
    return any(each.intent != entry.hash for each in promoted)


def emergency_objections(
    entry: Entry,
    facts: Emergency,
    chain: Sequence[Entry],
    blobs: Mapping[str, bytes],
    keys: KeyRing,
    in_force: Collection[str],
) -> Iterator[str]:
    """Why an emergency rollback was not allowed, from the entries before it.

    ``chain`` are the earlier entries of its model, ``keys`` those known by then, ``in_force`` the SHA-256 of the policies.
    """
    people = {
        owned.facts.id: owned.public
        for owned in keys.keys.values()
        if owned.revoked is None and SERVICE not in owned.facts.roles
    }
    try:
        request, key = open_request(facts.envelope, "its request", people)
    except SignatureError as error:
        yield f"no person signed it: {error}"
    else:
        yield from _of_request(entry, facts, request, keys.keys[key])
        yield from _of_policy(entry, facts, kept_policy(blobs, facts.binding.policy), keys.keys[key])
    if facts.binding.policy not in in_force:
        yield f"its policy {facts.binding.policy[:12]} was not in force"
    states = emergencies(chain, blobs, keys)
    yield from _of_versions(facts, chain, states, keys)
    if any(each.status == "to be reviewed" for each in states):
        yield "an earlier emergency rollback of this model was not reviewed by then"


def _of_request(entry: Entry, facts: Emergency, request: PromotionRequest, signer: KnownKey) -> Iterator[str]:
    """The person's own signature must be over exactly this rollback, at that time."""
    owner = signer.facts.owner
    if person(owner) != person(facts.actor):
        yield f"it names {facts.actor}, but {owner} signed it"
    binding, wish = facts.binding, request.emergency
    requested = (request.registry, request.name, request.version, request.alias, request.nonce)
    if requested != (binding.registry, binding.name, binding.to_version, binding.alias, facts.request):
        yield f"{owner} signed a request for something else"
    if wish is None or (wish.from_version, wish.reason) != (binding.from_version, facts.reason):
        yield f"{owner} signed no request for this emergency rollback"
    at, expires = moment(entry.at), moment(request.expires)
    if expires + _SLACK <= at or expires > at + _LONGEST + _SLACK:
        yield f"its request, which expired at {request.expires}, did not hold then"


def _of_policy(entry: Entry, facts: Emergency, policy: Policy | None, signer: KnownKey) -> Iterator[str]:
    """Its policy must allow it to somebody with a role of the key that signed; the audit reports a lost policy elsewhere."""
    binding = facts.binding
    if policy is None:
        return
    if not policy.matches(binding.name) or binding.alias not in policy.aliases:
        yield f"its policy '{policy.name}' is not for this alias of this model"
    if facts.retention != policy.retention:
        yield f"it records another retention than its policy '{policy.name}' asks for"
    if policy.emergency is None:
        yield f"its policy '{policy.name}' allows no emergency rollbacks"
        return
    if set(signer.facts.roles).isdisjoint(policy.emergency.roles):
        yield f"its policy does not let {signer.facts.owner} roll back in an emergency"
    if moment(facts.review_by) > moment(entry.at) + timedelta(days=policy.emergency.days) + _SLACK:
        yield f"its review was put off beyond the {policy.emergency.days} days that the policy allows"


def _of_versions(facts: Emergency, chain: Sequence[Entry], states: Sequence[EmergencyState], keys: KeyRing) -> Iterator[str]:
    """It must lead from the version that had the alias to the one that had it before, with the files of that time."""
    binding = facts.binding
    standings, before = past_standings(chain, binding.alias), standing_before(chain, binding.alias)
    if not standings or (standings[-1].version, standings[-1].digest) != (binding.from_version, binding.from_digest):
        yield f"version {binding.from_version} was not what stood there"
    if before is None or (before.version, before.digest) != (binding.to_version, binding.to_digest):
        yield f"version {binding.to_version} is not what stood there before"
    elif any(_retires(each, before) for each in chain):
        yield f"version {binding.to_version} was retired"
    else:
        no = rejected_since(chain, states, keys, before)
        if no is not None:
            yield f"version {binding.to_version} was rejected since it stood there, {no}"


def _retires(entry: Entry, standing: PastStanding) -> bool:
    facts = entry.facts
    return isinstance(facts, VersionRetired) and facts.version == standing.version and entry.seq > standing.seq
