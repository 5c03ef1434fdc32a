"""Policies in force: which one a model is under, and what a policy-admin signs to adopt one or to retire it.

Of each name the newest adopted policy counts that was not retired. Exactly one must match a model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from coordpath_governance.errors import LedgerConflictError, LedgerError, RefusedError, UsageError
from coordpath_governance.ledger.adoption import adoption_of
from coordpath_governance.ledger.events import PolicyAdopted, PolicyRetired
from coordpath_governance.ledger.seconding import record_or_propose
from coordpath_governance.policy.load import policy_bytes, read_policy
from coordpath_governance.policy.patterns import matching_policy

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import Policy
    from coordpath_governance.signing.keys import PrivateKey

__all__ = [
    "AdoptedPolicy",
    "PolicyRecord",
    "adopt_policy",
    "adopted_policies",
    "guarding_policies",
    "policy_for",
    "policy_records",
    "retire_policy",
]


@dataclass(frozen=True)
class AdoptedPolicy:
    """A policy and the digest under which it was adopted."""

    policy: Policy
    sha256: str


@dataclass(frozen=True)
class PolicyRecord:
    """One adoption of a policy: the entry that adopted it and the entry, if any, by which it went out of force."""

    name: str
    sha256: str
    models: tuple[str, ...]
    adopted: Entry
    ended: Entry | None = None

    @property
    def state(self) -> Literal["in force", "replaced", "retired"]:
        """Whether it is in force, and if not, why."""
        if self.ended is None:
            return "in force"
        return "retired" if self.ended.event == "policy retired" else "replaced"


def policy_records(entries: Iterable[Entry]) -> tuple[PolicyRecord, ...]:
    """Every adoption among the entries of a ledger, in order."""
    records: list[PolicyRecord] = []
    newest: dict[str, int] = {}
    for entry in entries:
        facts = entry.facts if entry.event in ("policy adopted", "policy retired") else None
        if not isinstance(facts, PolicyAdopted | PolicyRetired):
            continue
        before = newest.get(facts.name)
        if before is not None and records[before].ended is None:
            records[before] = replace(records[before], ended=entry)
        if isinstance(facts, PolicyAdopted):
            newest[facts.name] = len(records)
            records.append(PolicyRecord(facts.name, facts.policy, facts.models, entry))
    return tuple(records)


def adopted_policies(ledger: Ledger) -> tuple[AdoptedPolicy, ...]:
    """The policies in force, as their bytes stand in the ledger."""
    return _read(ledger, (record for record in policy_records(ledger.entries()) if record.state == "in force"))


def guarding_policies(ledger: Ledger) -> tuple[AdoptedPolicy, ...]:
    """The newest policy of every name, also a retired one: its models stay guarded."""
    newest = {record.name: record for record in policy_records(ledger.entries())}
    return _read(ledger, newest.values())


def policy_for(ledger: Ledger, name: str) -> AdoptedPolicy:
    """The one policy that matches a model's name; `RefusedError` if there is none, or more than one.

    Raises `LedgerError` if a policy in force asks for another number of policy-admins than the entry that adopted it says.
    """
    in_force = adopted_policies(ledger)
    admins = ledger.keyring().proposals.asked
    for each in in_force:
        if each.policy.admins != admins.get(each.policy.name, 1):
            raise LedgerError(
                f"policy '{each.policy.name}' asks for {each.policy.admins} policy-admins, but the entry that adopted it "
                "says otherwise: see `coordpath audit verify`, then adopt the policy again"
            )
    chosen = matching_policy([each.policy for each in in_force], name)
    return next(each for each in in_force if each.policy is chosen)


def _read(ledger: Ledger, records: Iterable[PolicyRecord]) -> tuple[AdoptedPolicy, ...]:
    return tuple(
        AdoptedPolicy(read_policy(ledger.blob(record.sha256), f"the adopted policy {record.sha256[:12]}"), record.sha256)
        for record in records
    )


def adopt_policy(ledger: Ledger, policy: Policy, key: PrivateKey, head: int) -> Entry:
    """Put a policy in force, in place of the one of the same name; ``head`` is the entry up to which it was checked.

    The entry is a "proposal" where the policies in force ask for two policy-admins; the same for `retire_policy`.
    Raises `SigningKeyError` if the key is no policy-admin's, and `RefusedError` if a policy or key was recorded since.
    """
    return _sign(ledger, "policy adopted", adoption_of(policy), key, head, policy_bytes(policy))


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
    head: int,
    blob: bytes | None = None,
) -> Entry:
    """Record an event about a policy or, where two policy-admins are needed, propose it."""
    try:
        return record_or_propose(ledger, event, body, key, blob=blob, since=head)
    except LedgerConflictError as error:
        raise RefusedError(f"nothing was recorded, since policies or keys changed meanwhile: {error}") from error
