"""Who has to agree, and who did: n of m by role, four eyes, once, before it expires.

Every approval is one person's, whatever number of keys that person has. No person fills two places, and an author none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Approval, Waiver
from coordpath_governance.ledger.keyring import KnownKey

if TYPE_CHECKING:
    from coordpath_governance.review.history import ModelHistory

__all__ = ["Place", "Tally", "objection_to", "parse_time", "person", "same_person", "tally"]


@dataclass(frozen=True)
class Place:
    """One approval that is needed, from somebody with one of these roles."""

    roles: tuple[str, ...]


@dataclass(frozen=True)
class Tally:
    """Places filled by approvals, and those still open."""

    counted: tuple[Entry, ...]
    missing: tuple[Place, ...]
    void: tuple[str, ...]


def parse_time(text: str) -> datetime:
    """A time of the ledger."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def objection_to(
    entry: Entry, facts: Approval | Waiver, known: KnownKey, history: ModelHistory, now: str, longest_days: float
) -> str | None:
    """Why a decision does not count now; None if it does."""
    who = known.facts.owner
    if known.revoked is not None:
        return f"the key of {who} was revoked"
    if entry.hash in history.consumed:
        return f"that of {who} was used by an earlier promotion"
    if entry.seq < history.last_move(facts.binding.alias):
        return f"that of {who} was given before the alias last moved"
    if parse_time(facts.expires) <= parse_time(now):
        return f"that of {who} expired at {facts.expires}"
    if parse_time(facts.expires) - parse_time(entry.at) > timedelta(days=longest_days, seconds=1):
        return f"that of {who} runs longer than the {longest_days:g} days that the policy allows"
    return None


def tally(
    places: Sequence[Place],
    approvals: Sequence[tuple[Entry, KnownKey]],
    involved: Mapping[str, str],
    void: Sequence[str],
) -> Tally:
    """As many places filled as there can be, each by another person; who is ``involved`` (name → how) fills none."""
    people: dict[str, tuple[Entry, frozenset[str]]] = {}
    excluded = list(void)
    barred = {person(name): how for name, how in involved.items()}
    for entry, known in approvals:
        owner = person(known.facts.owner)
        if owner in barred:
            excluded.append(f"{known.facts.owner} {barred[owner]} and cannot approve it")
            continue
        people[owner] = (entry, frozenset(known.facts.roles))
    filled = _fill(places, {owner: roles for owner, (_, roles) in people.items()})
    counted = tuple(people[owner][0] for owner in filled.values())
    missing = tuple(place for at, place in enumerate(places) if at not in filled)
    return Tally(counted, missing, tuple(excluded))


def _fill(places: Sequence[Place], people: Mapping[str, frozenset[str]]) -> dict[int, str]:
    """A largest matching of places and people (augmenting paths)."""
    taken: dict[str, int] = {}

    def seat(at: int, tried: set[str]) -> bool:
        for person, roles in people.items():
            if person in tried or roles.isdisjoint(places[at].roles):
                continue
            tried.add(person)
            if person not in taken or seat(taken[person], tried):
                taken[person] = at
                return True
        return False

    for at in range(len(places)):
        seat(at, set())
    return {at: person for person, at in taken.items()}


def person(name: str) -> str:
    """One spelling of a person's name."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def same_person(one: str, other: str) -> bool:
    """Whether two names are one person's, however they are written."""
    return person(one) == person(other)
