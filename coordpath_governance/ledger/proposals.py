"""What takes two policy-admins: which policies ask for them, and what one has proposed and no other has seconded yet.

A proposal is an entry that counts for nothing by itself. The event takes effect when another policy-admin signs it and names
the proposal. So readers of "key added" and "policy adopted" see only what everybody agreed to who had to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from coordpath_governance.ledger.events import KeyAdded, KeyRevoked, PolicyAdopted, PolicyRetired, Proposal
from coordpath_governance.ledger.quorum import person

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry

__all__ = ["Proposals", "Seconded"]

Seconded: TypeAlias = KeyAdded | PolicyAdopted | PolicyRetired
"""What takes two policy-admins where a policy asks for them."""


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
            return replace(self, waiting={each: kept for each, kept in self.waiting.items() if _outlives(kept, facts)})
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
