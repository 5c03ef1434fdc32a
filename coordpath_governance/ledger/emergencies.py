"""Emergency rollbacks: whether one was allowed, how far its review has come, and what stood under the alias before.

Pure: gate, sweep, pages and audit count alike. The entry of a rollback keeps the signature of the person who did it.
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
    """A version with its files' digest, since entry ``seq``; no version where an adoption said that nothing stands there."""

    version: str | None
    digest: str | None
    seq: int


def past_standings(chain: Iterable[Entry], alias: str) -> tuple[PastStanding, ...]:
    """What stands under an alias, last, and what it replaced, one after the other; empty if nothing ever stood there.

    Whoever goes back to a version with the same files, through the gate, in an emergency or by an adoption, takes back all
    that came after it: those versions are not among them any more, and no emergency rollback leads to them.
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
    """The version that what stands under an alias replaced; None if there was none."""
    standings = past_standings(chain, alias)
    return standings[-2] if len(standings) > 1 and standings[-2].version is not None else None


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
            return EmergencyState(entry, facts, True, (), (), moved_on, carried_out)
    missing = tuple(place for at, place in enumerate(places) if at not in filled)
    rejected = tuple(
        f"{keys.keys[reviewed.key].facts.owner}: {opinion.comment}"
        for reviewed, opinion in newest.values()
        if opinion.decision == "reject"
    )
    return EmergencyState(entry, facts, False, missing, rejected, moved_on, carried_out)


def rejected_since(
    chain: Sequence[Entry], states: Sequence[EmergencyState], keys: KeyRing, before: PastStanding
) -> str | None:
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
    """Whether something else was promoted since; the rollback's own entry of being done is not that."""
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
    """Everything that an emergency rollback lacks, from what had been recorded before it.

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
    """Its policy must allow it to somebody with a role of the key that signed; a lost policy is told of elsewhere."""
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
    """Away from what stood there, to what it had replaced, with the files of that time."""
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
