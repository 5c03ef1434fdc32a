"""Who has to agree, and who did: n of m by role, four eyes, once, before it expires.

Every approval is one person's, whatever number of keys that person has. No person fills two places, and an author none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Approval, Waiver
from coordpath_governance.ledger.keyring import KnownKey
from coordpath_governance.ledger.quorum import Place, fill, person
from coordpath_governance.ledger.times import moment

if TYPE_CHECKING:
    from coordpath_governance.review.history import ModelHistory

__all__ = ["Tally", "objection_to", "tally"]


@dataclass(frozen=True)
class Tally:
    """Approvals that fill places, further valid approvals, the places still open, and why others do not count (``void``)."""

    counted: tuple[Entry, ...]
    further: tuple[Entry, ...]
    missing: tuple[Place, ...]
    void: tuple[str, ...]

    @property
    def given(self) -> tuple[Entry, ...]:
        """Every valid approval, in the order of the ledger."""
        return tuple(sorted((*self.counted, *self.further), key=lambda entry: entry.seq))


def objection_to(
    entry: Entry, facts: Approval | Waiver, signer: KnownKey, history: ModelHistory, now: str, longest_days: float
) -> str | None:
    """Why an approval or a waiver does not count now; None if it does. ``longest_days`` is the policy's limit in days."""
    who = signer.facts.owner
    if signer.revoked is not None:
        return f"the key of {who} was revoked"
    if entry.hash in history.consumed:
        return f"that of {who} was used by an earlier promotion"
    if entry.seq < history.last_move(facts.binding.alias):
        return f"that of {who} was given before the alias last moved"
    if moment(facts.expires) <= moment(now):
        return f"that of {who} expired at {facts.expires}"
    if moment(facts.expires) - moment(entry.at) > timedelta(days=longest_days, seconds=1):
        return f"that of {who} runs longer than the {longest_days:g} days that the policy allows"
    return None


def tally(
    places: Sequence[Place],
    approvals: Sequence[tuple[Entry, KnownKey]],
    *,
    involved: Mapping[str, str],
    void: Sequence[str],
    approvers: frozenset[str],
) -> Tally:
    """Fill as many places as possible, each by another person.

    ``involved`` are people who may fill none, with the reason (name → reason). Approvals beyond the places are kept too, if
    their signer has one of the roles ``approvers``, which may approve changes of some class.
    """
    people: dict[str, tuple[Entry, frozenset[str]]] = {}
    excluded = list(void)
    barred = {person(name): involvement for name, involvement in involved.items()}
    for entry, signer in approvals:
        owner = person(signer.facts.owner)
        if owner in barred:
            excluded.append(f"{signer.facts.owner} {barred[owner]} and cannot approve it")
            continue
        people[owner] = (entry, frozenset(signer.facts.roles))
    filled = fill(places, {owner: roles for owner, (_, roles) in people.items()})
    counted = tuple(people[owner][0] for owner in filled.values())
    further = tuple(entry for entry, roles in people.values() if entry not in counted and not roles.isdisjoint(approvers))
    missing = tuple(place for at, place in enumerate(places) if at not in filled)
    return Tally(counted, further, missing, tuple(excluded))
