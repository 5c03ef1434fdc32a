"""What the ledger says of a policy when it is adopted, so that keys and models can be judged without the policy's bytes."""

from __future__ import annotations

from coordpath_governance.ledger.events import PolicyAdopted
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.load import policy_sha256

__all__ = ["adoption_of", "misstated"]


def adoption_of(policy: Policy) -> PolicyAdopted:
    """The body of the entry that adopts ``policy``."""
    return PolicyAdopted(policy=policy_sha256(policy), name=policy.name, models=policy.models, admins=policy.admins)


def misstated(facts: PolicyAdopted, policy: Policy) -> tuple[str, ...]:
    """What an entry says otherwise than the policy that it adopts, of `name`, `models` and `admins`."""
    return tuple(what for what in ("name", "models", "admins") if getattr(facts, what) != getattr(policy, what))
