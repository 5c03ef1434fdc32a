"""What takes two policy-admins: one proposes a key or a policy, another looks at it and seconds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from coordpath_governance.errors import NotFoundError, PolicyError, RefusedError
from coordpath_governance.ledger.adoption import misstated
from coordpath_governance.ledger.events import PolicyAdopted, Proposal
from coordpath_governance.policy.load import read_policy

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.quorum import Seconded
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import Policy
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["proposal_at", "proposed_policy", "record_or_propose", "second", "waiting"]


def record_or_propose(
    ledger: Ledger,
    event: Literal["key added", "policy adopted", "policy retired"],
    body: Seconded,
    key: PrivateKey,
    *,
    blob: bytes | None = None,
    since: int | None = None,
) -> Entry:
    """Record an event about a key or a policy; where the policies in force ask for two policy-admins, only propose it.

    The entry that comes back is a "proposal" then. ``blob`` and ``since`` as in `Ledger.append`, which says what is raised.
    """
    if ledger.keyring().proposals.needed == 1:
        return ledger.append(event, body, key, blob=blob, since=since)
    proposal = Proposal(event=event, body=body.model_dump(mode="json"))
    return ledger.append("proposal", proposal, key, blob=blob, since=since)


def waiting(ledger: Ledger) -> tuple[tuple[Entry, Proposal], ...]:
    """The proposals that another policy-admin can second now, oldest first."""
    entries = ledger.keyring().proposals.waiting.values()
    return tuple((entry, facts) for entry in entries if isinstance(facts := entry.facts, Proposal))


def proposal_at(ledger: Ledger, seq: int) -> tuple[Entry, Proposal]:
    """The proposal of entry ``seq``; `NotFoundError` if the entry is none, `RefusedError` if it waits no longer."""
    for entry, facts in waiting(ledger):
        if entry.seq == seq:
            return entry, facts
    entries = ledger.entries()
    if not 1 <= seq <= len(entries) or entries[seq - 1].event != "proposal":
        raise NotFoundError(f"entry {seq} is not a proposal; `coordpath second` lists those that wait")
    proposal = entries[seq - 1]
    for later in entries[seq:]:
        if later.body.get("proposal") == proposal.hash:
            raise RefusedError(f"entry {later.seq} has seconded the proposal of entry {seq} already")
    raise RefusedError(
        f"the proposal of entry {seq} no longer counts, because keys or policies have changed since; propose it again"
    )


def proposed_policy(ledger: Ledger, facts: PolicyAdopted) -> Policy:
    """The policy that is proposed; `RefusedError` if it is not what the proposal says, so that nobody should second it."""
    where = f"the proposed policy {facts.policy[:12]}"
    try:
        policy = read_policy(ledger.blob(facts.policy), where)
    except PolicyError as error:
        raise RefusedError(f"{where} cannot be read, so it cannot be seconded: {error}") from error
    for what in misstated(facts, policy):
        raise RefusedError(f"the proposal says other {what} than {where} itself; do not second it")
    return policy


def second(ledger: Ledger, seq: int, key: PrivateKey) -> Entry:
    """Sign what entry ``seq`` proposes, so that it takes effect; the entry by which it does.

    Raises `NotFoundError` and `RefusedError` as `proposal_at` and `proposed_policy` do, and `SigningKeyError` if the key is
    not another policy-admin's.
    """
    entry, proposal = proposal_at(ledger, seq)
    facts = proposal.proposed
    if isinstance(facts, PolicyAdopted):
        proposed_policy(ledger, facts)
    return ledger.append(proposal.event, facts.model_copy(update={"proposal": entry.hash}), key)
