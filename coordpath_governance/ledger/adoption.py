"""Policies in the ledger: the entry that adopts one, what it misstates, and the policy from its kept bytes."""

from __future__ import annotations

from collections.abc import Mapping

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import PolicyError
from coordpath_governance.ledger.events import (
    PolicyAdopted,
)
from coordpath_governance.policy.document import Policy
from coordpath_governance.policy.load import policy_sha256, read_policy

__all__ = ["adoption_of", "kept_policy", "misstated"]


def adoption_of(policy: Policy) -> PolicyAdopted:
    """The body of the entry that adopts ``policy``."""
    return PolicyAdopted(policy=policy_sha256(policy), name=policy.name, models=policy.models, admins=policy.admins)


def misstated(facts: PolicyAdopted, policy: Policy) -> tuple[str, ...]:
    """The fields, of `name`, `models` and `admins`, in which an entry differs from the policy that it adopts."""
    return tuple(what for what in ("name", "models", "admins") if getattr(facts, what) != getattr(policy, what))


def kept_policy(blobs: Mapping[str, bytes], sha256: str) -> Policy | None:
    """A policy as its bytes stand in the ledger; None if they are missing, changed or not a policy."""
    content = blobs.get(sha256)
    if content is None or sha256_hex(content) != sha256:
        return None
    try:
        return read_policy(content, f"the policy {sha256[:12]}")
    except PolicyError:
        return None
