"""Who has to agree: places with roles, and different people who fill them. Pure, so that a gate and an audit count alike."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from coordpath_governance.policy.document import Policy

__all__ = ["Need", "Place", "approvals_by", "fill", "person", "places_for"]


class Need(Protocol):
    """So many people with this role, as a policy or a judgement asks for them."""

    @property
    def role(self) -> str:
        """Who."""
        ...

    @property
    def count(self) -> int:
        """How many of them."""
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
    taken: dict[str, int] = {}

    def seat(at: int, tried: set[str]) -> bool:
        for who, roles in people.items():
            if who in tried or roles.isdisjoint(places[at].roles):
                continue
            tried.add(who)
            if who not in taken or seat(taken[who], tried):
                taken[who] = at
                return True
        return False

    for at in range(len(places)):
        seat(at, set())
    return {at: who for who, at in taken.items()}


def approvals_by(places: Iterable[Place]) -> tuple[str, ...]:
    """Open places in words, such as "2 approvals by owner or validator"."""
    counts = Counter(" or ".join(place.roles) or "nobody that the policy names" for place in places)
    return tuple(f"{count} approval{'s' if count > 1 else ''} by {roles}" for roles, count in counts.items())


def person(name: str) -> str:
    """One spelling of a person's name, however it is written."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
