"""Who has to agree: places with roles, different people who fill them, and what takes two policy-admins.

Gate and audit use the same functions. A proposal is an entry that counts for nothing by itself: the event takes
effect when another policy-admin signs it and names the proposal. So readers of "key added" and "policy adopted" see only
what everybody agreed to who had to.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from coordpath_governance.ledger.events import KeyAdded, KeyRevoked, PolicyAdopted, PolicyRetired, Proposal

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.policy.document import Policy

__all__ = ["Need", "Place", "Proposals", "Seconded", "approvals_by", "fill", "person", "places_for"]

Seconded: TypeAlias = KeyAdded | PolicyAdopted | PolicyRetired
"""What takes two policy-admins where a policy asks for them."""


class Need(Protocol):
    """So many people with this role, as a policy or a judgement asks for them."""

    @property
    def role(self) -> str:
        """The role."""
        ...

    @property
    def count(self) -> int:
        """How many people with that role."""
        ...


@dataclass(frozen=True)
class Place:
    """One approval that is needed, from somebody with one of these roles."""

    roles: tuple[str, ...]


def places_for(policy: Policy, needs: Iterable[Need], *, author_known: bool) -> tuple[Place, ...]:
    """The approvals that are asked for, and more if nobody vouches for the author."""
    places = [Place((need.role,)) for need in needs for _ in range(need.count)]
    if not author_known:
        anyone = Place(tuple(sorted({need.role for each in policy.materiality for need in each.approvals})))
        places += [anyone] * policy.approvals.extra_for_unverified_author
    return tuple(places)


def fill(places: Sequence[Place], people: Mapping[str, frozenset[str]]) -> dict[int, str]:
    """A largest matching of places and people with roles (augmenting paths): who fills which place."""
    seats: dict[str, int] = {}

    def seat(at: int, tried: set[str]) -> bool:
        for who, roles in people.items():
            if who in tried or roles.isdisjoint(places[at].roles):
                continue
            tried.add(who)
            if who not in seats or seat(seats[who], tried):
                seats[who] = at
                return True
        return False

    for at in range(len(places)):
        seat(at, set())
    return {at: who for who, at in seats.items()}


def approvals_by(places: Iterable[Place]) -> tuple[str, ...]:
    """Open places in words, such as "2 approvals by owner or validator"."""
    counts = Counter(" or ".join(place.roles) or "nobody that the policy names" for place in places)
    return tuple(f"{count} approval{'s' if count > 1 else ''} by {roles}" for roles, count in counts.items())


def person(name: str) -> str:
    """One spelling of a person's name, however it is written."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@dataclass(frozen=True)
class Proposals:
    """``asked``: how many policy-admins each policy in force asks for, by its name. ``waiting``: proposals by their hash."""

    asked: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def needed(self) -> int:
        """How many policy-admins have to agree now: keys serve all models, so the strictest policy in force decides."""
        return max(self.asked.values(), default=1)

    def after(self, entry: Entry) -> Proposals:
        """The state after one more entry. A proposal ends with the keys and policies that it was made against."""
        facts = entry.facts
        if isinstance(facts, Proposal):
            return replace(self, waiting={**self.waiting, entry.hash: entry})
        if isinstance(facts, KeyAdded):
            return replace(
                self, waiting={each: proposal for each, proposal in self.waiting.items() if _outlives(proposal, facts)}
            )
        if isinstance(facts, PolicyAdopted):
            return Proposals({**self.asked, facts.name: facts.admins})
        if isinstance(facts, PolicyRetired):
            return Proposals({name: admins for name, admins in self.asked.items() if name != facts.name})
        return Proposals(self.asked) if isinstance(facts, KeyRevoked) else self

    def objection(self, facts: Seconded, owner: str, proposer: str | None) -> str | None:
        """Why ``owner`` may not sign this alone or as the second; ``proposer`` is who signed the proposal that it names."""
        if facts.proposal is None:
            if self.needed == 1:
                return None
            return (
                f"the policies in force ask for {self.needed} policy-admins: one proposes it, and another seconds it with "
                "`coordpath second ENTRY --key FILE`"
            )
        proposal = self.waiting.get(facts.proposal)
        if proposal is None or proposer is None:
            return (
                f"it seconds {facts.proposal[:12]}, which is not a proposal that waits: there is none, it was used, or "
                "keys or policies have changed since"
            )
        if not isinstance(proposal.facts, Proposal) or not _same(facts, proposal.facts.proposed):
            return f"it is not what entry {proposal.seq} proposed"
        if person(owner) == person(proposer):
            return f"{owner} proposed it in entry {proposal.seq}; another person has to second it"
        return None


def _outlives(proposal: Entry, added: KeyAdded) -> bool:
    """Whether a proposal waits after a key was added: several keys can be proposed, then seconded one after the other."""
    proposed = proposal.facts.proposed if isinstance(proposal.facts, Proposal) else None
    return isinstance(proposed, KeyAdded) and proposed.key.id != added.key.id


def _same(seconded: Seconded, proposed: Seconded) -> bool:
    return type(seconded) is type(proposed) and seconded.model_copy(update={"proposal": None}) == proposed
