"""Which policy a model is under: of each name the newest adopted one that was not retired, and exactly one that matches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from coordpath_governance.errors import LedgerError
from coordpath_governance.ledger.events import PolicyAdopted, PolicyRetired
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.matching import matching

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.policy.document import Policy

__all__ = [
    "AdoptedPolicy",
    "PolicyRecord",
    "adopted_policies",
    "guarding_policies",
    "policy_for",
    "policy_records",
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
    """Of every policy name the newest, also if it was retired: what it guarded stays guarded."""
    newest = {record.name: record for record in policy_records(ledger.entries())}
    return _read(ledger, newest.values())


def policy_for(ledger: Ledger, name: str) -> AdoptedPolicy:
    """The one policy that matches a model's name; `RefusedError` if there is none, or more than one.

    Raises `LedgerError` if a policy in force asks for another number of policy-admins than the entry that adopted it says.
    """
    known = adopted_policies(ledger)
    asked = ledger.keyring().proposals.asked
    for each in known:
        if each.policy.admins != asked.get(each.policy.name, 1):
            raise LedgerError(
                f"policy '{each.policy.name}' asks for {each.policy.admins} policy-admins, but the entry that adopted it "
                "says otherwise: see `coordpath audit verify`, then adopt the policy again"
            )
    chosen = matching([each.policy for each in known], name)
    return next(each for each in known if each.policy is chosen)


def _read(ledger: Ledger, records: Iterable[PolicyRecord]) -> tuple[AdoptedPolicy, ...]:
    return tuple(
        AdoptedPolicy(read_policy(ledger.blob(record.sha256), f"the adopted policy {record.sha256[:12]}"), record.sha256)
        for record in records
    )
