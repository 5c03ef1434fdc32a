"""Promotion: ask the gate, record the intent, set the alias, read it back, record the promotion.

Before that the registry is compared with the ledger: a promotion that a crash interrupted is finished, and a move outside
the gate is recorded.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from shlex import quote
from typing import TYPE_CHECKING, Literal

from coordpath_governance.errors import (
    FilesGoneError,
    LedgerConflictError,
    LedgerError,
    NotFoundError,
    RefusedError,
    RegistryError,
    ReviewNeededError,
    StandingFilesGoneError,
    UnguardedError,
)
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Emergency, Intent, Move, OutsideMove, Promotion
from coordpath_governance.ledger.times import moment
from coordpath_governance.policy.document import USUAL_ALIAS
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.policies import policy_for
from coordpath_governance.review.ports import Created
from coordpath_governance.review.readiness import Readiness, assess_readiness, bind, record_verdict

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.ports import Actor, AliasRegistry

__all__ = ["busy", "complete", "look", "promote", "reconcile", "stands_already"]

_GRACE = timedelta(seconds=3)
"""A process that has recorded an intent sets the alias at once. A younger intent is not taken for one that a crash left."""

_PAUSE = 0.05

_TURNS = 5
"""How often a promotion starts again because something that matters was recorded meanwhile."""


def reconcile(ledger: Ledger, registry: AliasRegistry, name: str, alias: str, actor: Actor) -> ModelHistory:
    """The model's history, after a promotion that was begun and not completed has been finished, on behalf of ``actor``."""
    for _ in range(_TURNS):
        history = ModelHistory(ledger.entries(name))
        waiting = history.open_intent(alias)
        if waiting is None or not _can_be_finished(registry, name, waiting[1].binding):
            return look(ledger, registry, name, alias)
        check_belongs(ledger, registry, name)
        if not _was_finished(ledger, name, alias, waiting[0]):
            complete(ledger, registry, name, *waiting, "after a crash", actor.name)
    raise busy(name)


def _was_finished(ledger: Ledger, name: str, alias: str, intent: Entry) -> bool:
    """Wait while an intent is young. True as soon as it is finished, False if nobody finishes it."""
    while moment(ledger.now()) - moment(intent.at) < _GRACE:
        waiting = ModelHistory(ledger.entries(name)).open_intent(alias)
        if waiting is None or waiting[0] != intent:
            return True
        time.sleep(_PAUSE)
    return False


def look(ledger: Ledger, registry: AliasRegistry, name: str, alias: str) -> ModelHistory:
    """The model's history; no alias is moved.

    Raises `RefusedError` if a promotion is half-done or another version has the alias than the ledger says. That move is
    recorded once, if this process has the service key. Raises `UnguardedError` if the alias was set before anything was
    recorded about it. Raises `ForeignRegistryError`, and records nothing, if the ledger
    belongs to another registry.
    """
    check_belongs(ledger, registry, name)
    for _ in range(_TURNS):
        head = ledger.head()
        history = ModelHistory(ledger.entries(name))
        waiting = history.open_intent(alias)
        actual = registry.aliases(name).get(alias)
        standing = history.standing(alias)
        if waiting is not None and _can_be_finished(registry, name, waiting[1].binding):
            to = waiting[1].binding.to_version
            raise RefusedError(
                f"a promotion of '{name}' to version {to} was begun and not finished; finish it with "
                f"`coordpath promote {quote(name)} {to} --alias {alias}`"
            )
        if standing.doubt is not None:
            raise RefusedError(_moved(name, standing.doubt))
        if waiting is None and actual == standing.version:
            return history
        if actual is not None and waiting is None and history.last_move(alias) == 0:
            raise UnguardedError(_not_under_guard(name, alias, actual), actual)
        says = f"version {standing.version}" if standing.version else "nothing"
        reason = f"the ledger knows {says} under '{alias}', the registry had {f'version {actual}' if actual else 'nothing'}"
        if waiting is not None:
            to = waiting[1].binding.to_version
            reason = f"a promotion to version {to} was left unfinished and cannot be finished, and {reason}"
        if ledger.service is None:
            raise RefusedError(_moved(name, reason))
        move = OutsideMove(alias=alias, expected=standing.version, found=actual, reason=reason)
        with suppress(LedgerConflictError):
            ledger.record("outside move", move, model=name, since=head)
    raise busy(name)


def complete(
    ledger: Ledger,
    registry: AliasRegistry,
    name: str,
    intent_entry: Entry,
    intent: Intent | Emergency,
    completed: Literal["at once", "after a crash"],
    completed_by: str | None = None,
) -> None:
    """Set the alias, read it back and record the promotion, exactly once, even if others do the same at the same time.

    ``completed_by`` is who finishes what another call has begun, if the server or a key vouches for that person.
    """
    if ledger.service is None:
        raise LedgerError("to finish a promotion the service key is needed: set COORDPATH_SERVICE_KEY to its file")
    binding = intent.binding
    registry.set_alias(name, binding.alias, binding.to_version)
    promotion = Promotion(
        intent=intent_entry.hash,
        alias=binding.alias,
        from_version=binding.from_version,
        to_version=binding.to_version,
        to_digest=binding.to_digest,
        completed=completed,
        actor=intent.actor,
        authenticated_by=intent.authenticated_by,
        completed_by=completed_by,
        retention=intent.retention,
    )
    while True:
        head = ledger.head()
        history = ModelHistory(ledger.entries(name))
        if intent_entry.hash in history.promoted:
            _put_back(registry, name, binding.alias, history)
            return
        if history.open_intent(binding.alias) != (intent_entry, intent):
            _put_back(registry, name, binding.alias, history)
            raise RefusedError(f"the promotion of '{name}' to version {binding.to_version} was overtaken; look again")
        if registry.aliases(name).get(binding.alias) != binding.to_version:
            raise RegistryError(
                f"the alias '{binding.alias}' of '{name}' did not read back as version {binding.to_version}; "
                "run the same command again to finish or find out"
            )
        try:
            ledger.record("promotion", promotion, model=name, since=head)
        except LedgerConflictError:
            continue
        return


def busy(name: str) -> RefusedError:
    """The error when other writers are always faster."""
    return RefusedError(f"others keep changing '{name}'; try again in a moment")


def _can_be_finished(registry: AliasRegistry, name: str, binding: Move) -> bool:
    """Whether the alias still has the old or the new version, and the new one still has the approved files."""
    if registry.aliases(name).get(binding.alias) not in (binding.from_version, binding.to_version):
        return False
    try:
        return registry.digest(name, binding.to_version) == binding.to_digest
    except NotFoundError:
        return False


def _not_under_guard(name: str, alias: str, version: str) -> str:
    other = "" if alias == USUAL_ALIAS else f" --alias {quote(alias)}"
    return (
        f"version {version} of '{name}' is '{alias}' and not under guard yet: nothing was ever promoted or adopted there. A "
        f"policy-admin takes it as it is with `coordpath adopt {quote(name)}{other}`"
    )


def _moved(name: str, reason: str) -> str:
    return (
        f"'{name}' was moved outside the gate: {reason}. Look into it; then a policy-admin takes it as it is with "
        f"`coordpath adopt {quote(name)}`"
    )


def _put_back(registry: AliasRegistry, name: str, alias: str, history: ModelHistory) -> None:
    """Set the alias to what the ledger says, if another process has finished this promotion or made another one."""
    standing = history.standing(alias)
    if standing.version is not None and registry.aliases(name).get(alias) != standing.version:
        registry.set_alias(name, alias, standing.version)


def promote(ledger: Ledger, registry: AliasRegistry, name: str, alias: str, version: str, actor: Actor) -> None:
    """Move the alias if the gate passes.

    Raises `RefusedError` or `ReviewNeededError` with the reason if it does not. The intent is recorded only if neither
    policies nor keys nor anything about the model changed since it was judged.
    """
    for _ in range(_TURNS):
        head = ledger.head()
        history = reconcile(ledger, registry, name, alias, actor)
        if stands_already(registry, history, name, alias, version):
            return
        adopted = policy_for(ledger, name)
        bound = bind(ledger, registry, adopted, name=name, alias=alias, version=version, history=history)
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
            entry = ledger.record("intent", intent, model=name, since=head)
        except LedgerConflictError:
            continue
        complete(ledger, registry, name, entry, intent, "at once")
        return
    raise busy(name)


def stands_already(registry: AliasRegistry, history: ModelHistory, name: str, alias: str, version: str) -> bool:
    """Whether the version has the alias, with the files that were promoted.

    Raises `RefusedError` if its files are others, `StandingFilesGoneError` if they are not there.
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
