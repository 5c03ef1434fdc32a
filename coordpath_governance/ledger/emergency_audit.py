"""Was an emergency rollback allowed to the person who did it? The entry keeps that person's own signature."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta

from coordpath_governance.errors import SignatureError
from coordpath_governance.ledger.emergencies import EmergencyState, emergencies, kept_policy, rejected_since
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Emergency, VersionRetired
from coordpath_governance.ledger.keyring import KeyRing, KnownKey
from coordpath_governance.ledger.promotion_requests import PromotionRequest, open_request
from coordpath_governance.ledger.quorum import person
from coordpath_governance.ledger.standing import Stood, stood_before, what_stood
from coordpath_governance.ledger.times import moment
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.terms import SERVICE

__all__ = ["emergency_objections"]

_SLACK = timedelta(minutes=5)
_LONGEST = timedelta(hours=1)


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
        known.facts.id: known.public
        for known in keys.keys.values()
        if known.revoked is None and SERVICE not in known.facts.roles
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
    asked = (request.registry, request.name, request.version, request.alias, request.nonce)
    if asked != (binding.registry, binding.name, binding.to_version, binding.alias, facts.request):
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
    stood, before = what_stood(chain, binding.alias), stood_before(chain, binding.alias)
    if not stood or (stood[-1].version, stood[-1].digest) != (binding.from_version, binding.from_digest):
        yield f"version {binding.from_version} was not what stood there"
    if before is None or (before.version, before.digest) != (binding.to_version, binding.to_digest):
        yield f"version {binding.to_version} is not what stood there before"
    elif any(_retires(each, before) for each in chain):
        yield f"version {binding.to_version} was retired"
    else:
        no = rejected_since(chain, states, keys, before)
        if no is not None:
            yield f"version {binding.to_version} was rejected since it stood there, {no}"


def _retires(entry: Entry, stood: Stood) -> bool:
    facts = entry.facts
    return isinstance(facts, VersionRetired) and facts.version == stood.version and entry.seq > stood.seq
