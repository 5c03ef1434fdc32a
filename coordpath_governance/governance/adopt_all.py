"""Adopt every champion that was there before its policy, and none that was moved since."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from coordpath_governance.errors import (
    EXIT_NO,
    EXIT_UNKNOWN,
    CoordpathError,
    LedgerError,
    RefusedError,
    SigningKeyError,
    UnguardedError,
)
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import registered_names
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.decisions import adopt_standing
from coordpath_governance.review.policies import adopted_policies, policy_for
from coordpath_governance.review.promotion import look
from coordpath_governance.signing.keys import PrivateKey

__all__ = ["ModelTaken", "adopt_all", "exit_code"]

_EXIT_CODES = {"moved": EXIT_NO, "failed": EXIT_UNKNOWN}


@dataclass(frozen=True)
class ModelTaken:
    """What happened to one alias of a model: adopted now, guarded before, moved, failed, or no version there."""

    kind: Literal["adopted", "guarded", "moved", "failed", "nothing"]
    name: str
    text: str


def adopt_all(client: RegistryClient, ledger: Ledger, key: PrivateKey, reason: str) -> Iterator[ModelTaken]:
    """Adopt the champions of all registered models that a policy matches, by name.

    If one fails, the others are still adopted. Raises `ForeignRegistryError` if the ledger belongs to another registry, and
    `SigningKeyError` if the key may not adopt.
    """
    registry = ClientRegistry(client)
    check_belongs(ledger, registry)
    policies = [adopted.policy for adopted in adopted_policies(ledger)]
    for name in registered_names(client):
        if not any(policy.matches(name) for policy in policies):
            continue
        try:
            aliases = policy_for(ledger, name).policy.aliases
        except RefusedError as error:
            yield ModelTaken("failed", name, str(error))
            continue
        for alias in aliases:
            yield _take(ledger, registry, name, alias, key, reason)


def exit_code(kinds: Collection[str]) -> int:
    """1 if a person has to look at a moved alias, 4 if a version could not be adopted, else 0."""
    return next((code for kind, code in _EXIT_CODES.items() if kind in kinds), 0)


def _take(ledger: Ledger, registry: ClientRegistry, name: str, alias: str, key: PrivateKey, reason: str) -> ModelTaken:
    """What happened to one alias. A version whose files are gone has to be adopted by naming its model."""
    try:
        version = look(ledger, registry, name, alias).standing(alias).version
        if version is None:
            return ModelTaken("nothing", name, f"no version is '{alias}'")
        return ModelTaken("guarded", name, f"version {version} is under guard as '{alias}' already")
    except UnguardedError as error:
        standing = error.version
    except RefusedError as error:
        return ModelTaken("moved", name, str(error))
    except CoordpathError as error:
        return ModelTaken("failed", name, str(error))
    try:
        registry.digest(name, standing)
        entry = adopt_standing(ledger, registry, name, alias, key, reason=reason)
    except (SigningKeyError, LedgerError):
        raise
    except CoordpathError as error:
        return ModelTaken("failed", name, str(error))
    return ModelTaken(
        "adopted", name, f"version {entry.body['version']} is under guard as '{alias}' now (entry {entry.seq})"
    )
