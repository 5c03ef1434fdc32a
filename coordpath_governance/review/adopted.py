"""Which policy a model is under: the newest adopted one of each name, and exactly one that matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordpath_governance.ledger.events import PolicyAdopted
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.matching import matching

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import Policy

__all__ = ["AdoptedPolicy", "adopted_policies", "policy_for"]


@dataclass(frozen=True)
class AdoptedPolicy:
    """A policy and the digest under which it was adopted."""

    policy: Policy
    sha256: str


def adopted_policies(ledger: Ledger) -> tuple[AdoptedPolicy, ...]:
    """Of every policy name the newest, as its bytes stand in the ledger."""
    newest: dict[str, str] = {}
    for entry in ledger.entries():
        facts = entry.facts if entry.event == "policy adopted" else None
        if isinstance(facts, PolicyAdopted):
            newest[facts.name] = facts.policy
    return tuple(
        AdoptedPolicy(read_policy(ledger.blob(sha256), f"the adopted policy {sha256[:12]}"), sha256)
        for sha256 in newest.values()
    )


def policy_for(ledger: Ledger, name: str) -> AdoptedPolicy:
    """The one policy that matches a model's name; `RefusedError` if there is none, or more than one."""
    known = adopted_policies(ledger)
    chosen = matching([each.policy for each in known], name)
    return next(each for each in known if each.policy is chosen)
