"""Promotion: the gate is asked, and then intent → set the alias → read it back → done."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from coordpath_governance.errors import (
    FilesGoneError,
    LedgerConflictError,
    RefusedError,
    ReviewNeededError,
    StandingFilesGoneError,
)
from coordpath_governance.ledger.events import Intent
from coordpath_governance.review.adopted import policy_for
from coordpath_governance.review.ports import Created
from coordpath_governance.review.readiness import Readiness, assess_readiness, bind, record_verdict
from coordpath_governance.review.reconcile import busy, complete, reconcile

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.history import ModelHistory
    from coordpath_governance.review.ports import Actor, AliasRegistry

__all__ = ["promote", "stands_already"]

_TURNS = 5
"""How often a promotion looks again because something that matters was recorded meanwhile."""


def promote(ledger: Ledger, registry: AliasRegistry, name: str, alias: str, version: str, actor: Actor) -> None:
    """Move the alias if the gate passes; `RefusedError` or `ReviewNeededError` with the reason if it does not.

    The intent is recorded only if neither policies nor keys nor anything about the model changed since it was judged.
    """
    for _ in range(_TURNS):
        seen = ledger.head()
        history = reconcile(ledger, registry, name, alias, actor)
        if stands_already(registry, history, name, alias, version):
            return
        adopted = policy_for(ledger, name)
        bound = bind(ledger, registry, adopted, name, alias, version, history)
        readiness = assess_readiness(ledger, bound, adopted.policy, history)
        _refuse(readiness, name, alias, version)
        record_verdict(ledger, readiness, history)
        created = registry.created(name, version) or Created(None)
        intent = Intent(
            binding=readiness.binding,
            actor=actor.name,
            authenticated_by=actor.authenticated_by,
            approvals=tuple(entry.hash for entry in readiness.tally.given),
            waivers=tuple(entry.hash for entry in readiness.waivers),
            materiality=readiness.judgement.materiality,
            full_validation=readiness.judgement.full_validation,
            request=actor.request,
            retention=adopted.policy.retention,
            model_created_at=created.model,
            version_created_at=created.version,
        )
        try:
            entry = ledger.record("intent", intent, model=name, since=seen)
        except LedgerConflictError:
            continue
        complete(ledger, registry, name, entry, intent, "at once")
        return
    raise busy(name)


def stands_already(registry: AliasRegistry, history: ModelHistory, name: str, alias: str, version: str) -> bool:
    """Whether the version stands under the alias with the files that were promoted.

    Raises `RefusedError` if they are others, `StandingFilesGoneError` if they are not there.
    """
    standing = history.standing(alias)
    if standing.version != version:
        return False
    try:
        digest = registry.digest(name, version)
    except FilesGoneError as error:
        raise StandingFilesGoneError(
            f"version {version} of '{name}' is '{alias}', but its files are gone: {error}. Put them back, or promote "
            f"another version: `coordpath report {quote(name)} --candidate VERSION` explains it by what the ledger keeps of "
            f"version {version}"
        ) from error
    if digest != standing.digest:
        raise RefusedError(
            f"'{name}' was changed outside the gate: the files of version {version} are not those that were promoted. "
            f"Look into it, then take it as it is with `coordpath adopt {quote(name)}`"
        )
    return True


def _refuse(readiness: Readiness, name: str, alias: str, version: str) -> None:
    if readiness.verdict == "fail":
        raise RefusedError(
            f"'{name}' version {version} may not become '{alias}'. {readiness.reason} "
            f"Next: `coordpath gate {quote(name)} {version} --alias {alias}` says more"
        )
    if readiness.verdict == "review":
        raise ReviewNeededError(
            f"'{name}' version {version} may not become '{alias}' yet. {readiness.reason} "
            f"Next: `coordpath review {quote(name)} {version} --approve --alias {alias}`"
        )
