"""What a policy-admin signs about policies: that one is in force from now on, or no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from coordpath_governance.errors import LedgerConflictError, RefusedError, UsageError
from coordpath_governance.ledger.adoption import adoption_of
from coordpath_governance.ledger.events import PolicyAdopted, PolicyRetired
from coordpath_governance.ledger.seconding import record_or_propose
from coordpath_governance.policy.load import policy_bytes
from coordpath_governance.review.adopted import policy_records

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import Policy
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["adopt_policy", "retire_policy"]


def adopt_policy(ledger: Ledger, policy: Policy, key: PrivateKey, seen: int) -> Entry:
    """Put a policy in force, in place of the one of the same name; ``seen`` is the entry up to which it was checked.

    The entry is a "proposal" where the policies in force ask for two policy-admins; the same for `retire_policy`.
    Raises `SigningKeyError` if the key is no policy-admin's, and `RefusedError` if a policy or key was recorded since.
    """
    return _sign(ledger, "policy adopted", adoption_of(policy), key, seen, policy_bytes(policy))


def retire_policy(ledger: Ledger, name: str, key: PrivateKey, reason: str) -> Entry:
    """Put the policy ``name`` out of force. A model that only it matched is refused then, and stays guarded.

    Raises `RefusedError` if no policy of that name is in force, `UsageError` without a reason, and `SigningKeyError` if the
    key is no policy-admin's.
    """
    if not reason.strip():
        raise UsageError("retiring a policy needs a --reason")
    entries = ledger.entries()
    in_force = {record.name: record for record in policy_records(entries) if record.state == "in force"}
    if name not in in_force:
        others = ", ".join(f"'{each}'" for each in sorted(in_force)) or "none"
        raise RefusedError(f"no policy '{name}' is in force, so it cannot be retired; in force: {others}")
    body = PolicyRetired(policy=in_force[name].sha256, name=name, reason=reason)
    return _sign(ledger, "policy retired", body, key, entries[-1].seq)


def _sign(
    ledger: Ledger,
    event: Literal["policy adopted", "policy retired"],
    body: PolicyAdopted | PolicyRetired,
    key: PrivateKey,
    seen: int,
    blob: bytes | None = None,
) -> Entry:
    """The one place where an event about a policy is recorded or, where two policy-admins are asked for, proposed."""
    try:
        return record_or_propose(ledger, event, body, key, blob=blob, since=seen)
    except LedgerConflictError as error:
        raise RefusedError(f"nothing was recorded, since policies or keys changed meanwhile: {error}") from error
