"""What one person could have done alone, in plain sentences: it limits what an intact ledger proves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordpath_governance.ledger.events import Adoption, KeyAdded, PolicyAdopted
from coordpath_governance.ledger.keyring import KeyRing, KnownKey
from coordpath_governance.ledger.quorum import person, places_for
from coordpath_governance.policy.terms import ADMIN, SERVICE

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.policy.document import Policy

__all__ = ["could_do_alone", "few_admins"]

_DIGITS = 12


def could_do_alone(entries: Sequence[Entry], keys: KeyRing, policies: Sequence[Policy]) -> tuple[str, ...]:
    """Sentences on who could do what without anybody else. ``entries`` are sound, ``policies`` those in force."""
    people = tuple(key for key in keys.keys.values() if key.revoked is None and SERVICE not in key.facts.roles)
    return (
        *_admins(entries, keys),
        *few_admins(keys),
        *(line for policy in policies for line in _approvers(policy, people)),
        *(line for policy in policies for line in _rollbacks(policy, people)),
        *_adoptions(entries),
        *_service(keys),
        *_without_proof(entries, keys),
    )


def few_admins(keys: KeyRing) -> Iterator[str]:
    """A warning if losing one key would mean that nobody can add keys or adopt policies any more."""
    admins, needed = keys.admins, keys.proposals.needed
    if len(admins) > needed or not keys.has_admin:
        return
    make = f"add another with `coordpath key new OWNER --role {ADMIN}`"
    if not admins:
        yield f"No {ADMIN} is left, so nobody can ever add a key or adopt a policy again."
    elif needed == 1:
        yield (
            f"Only {admins[0]} is a {ADMIN}. If this person's key is lost, nobody can ever add a key or adopt a policy "
            f"again. Make two: {make}."
        )
    else:
        yield (
            f"Only {_listed(admins)} are {ADMIN}s, and both are needed. If one of their keys is lost, nobody can ever add a "
            f"key or adopt a policy again. Make three: {make}."
        )


@dataclass(frozen=True)
class _Span:
    """Since which entry two policy-admins are needed, and what one did alone before."""

    since: int | None
    keys: int
    policies: int


def _admins(entries: Sequence[Entry], keys: KeyRing) -> Iterator[str]:
    if not keys.admins:
        return
    span = _history(entries)
    if span.since is None:
        who = " or ".join(keys.admins)
        yield (
            f"One {ADMIN} ({who}) alone could add keys and adopt policies, and so approve with those keys and promote: no "
            "policy in force asks for two (`admins: 2`)."
        )
    else:
        yield (
            f"Since entry {span.since} it takes two {ADMIN}s to add a key or adopt a policy. "
            f"Keys added by one alone: {span.keys}, policies adopted by one alone: {span.policies}."
        )


def _history(entries: Sequence[Entry]) -> _Span:
    ring, since, keys, policies = KeyRing(), None, 0, 0
    for entry in entries:
        facts = entry.facts
        keys += isinstance(facts, KeyAdded) and facts.proposal is None
        policies += isinstance(facts, PolicyAdopted) and facts.proposal is None
        ring = ring.after(entry)
        since = None if ring.proposals.needed == 1 else since or entry.seq
    return _Span(since, keys, policies)


def _approvers(policy: Policy, people: Sequence[KnownKey]) -> Iterator[str]:
    """Classes of change that one person can let pass, and policy-admins who may also decide on changes."""
    for kind in policy.materiality:
        places = places_for(policy, kind.approvals, author_known=True)
        what = f"Under policy '{policy.name}' a change of class '{kind.class_}'"
        if not places:
            yield f"{what} that meets every rule takes nobody's approval if it is known who registered the version."
        elif len(places) == 1:
            may = _names(people, places[0].roles)
            if may:
                yield f"{what} takes one approval, by {' or '.join(may)}, if it is known who registered the version."
    roles = {need.role for kind in policy.materiality for need in kind.approvals} | set(policy.waivers.roles)
    admins = {person(name) for name in _names(people, (ADMIN,))}
    for name in _names(people, tuple(roles)):
        if person(name) in admins:
            yield f"{name} is a {ADMIN} and may also approve or waive under policy '{policy.name}'."


def _rollbacks(policy: Policy, people: Sequence[KnownKey]) -> Iterator[str]:
    """Who may act first and be reviewed afterwards."""
    may = () if policy.emergency is None else _names(people, policy.emergency.roles)
    if policy.emergency is not None and may:
        days = policy.emergency.days
        yield (
            f"Under policy '{policy.name}' {' or '.join(may)} alone could put the previous champion back in an emergency, "
            f"without report and approvals; others are to review it within {days} day{'s' if days != 1 else ''}."
        )


def _adoptions(entries: Sequence[Entry]) -> Iterator[str]:
    adoptions = [entry.seq for entry in entries if isinstance(entry.facts, Adoption)]
    if adoptions:
        at = f"entr{'y' if len(adoptions) == 1 else 'ies'} {', '.join(map(str, adoptions))}"
        yield f"One {ADMIN} alone took what stood under an alias as it was, without any rule: {at}."


def _service(keys: KeyRing) -> Iterator[str]:
    services = [each.facts.id[:_DIGITS] for each in keys.services]
    if services:
        yield (
            f"Whoever has the service key ({' or '.join(services)}) alone could record reports, verdicts and who registered "
            "a version as they like, and so promote what takes nobody's approval although a rule speaks against it, but not "
            "approve, add keys or adopt policies."
        )


def _without_proof(entries: Sequence[Entry], keys: KeyRing) -> Iterator[str]:
    unproved = []
    for entry in entries:
        facts = entry.facts
        if isinstance(facts, KeyAdded) and facts.proof is None and entry.key != facts.key.id:
            added = keys.keys[facts.key.id]
            if added.revoked is None and SERVICE not in facts.key.roles:
                unproved.append(facts.key.owner)
    if unproved:
        yield (
            f"Whoever added the keys of {_listed(tuple(dict.fromkeys(unproved)))} could sign with them too: no owner proved "
            "that they made the key themselves."
        )


def _names(people: Sequence[KnownKey], roles: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        {
            person(each.facts.owner): each.facts.owner for each in people if not set(each.facts.roles).isdisjoint(roles)
        }.values()
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
