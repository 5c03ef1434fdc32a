"""Promotion: intent → set the alias → read it back → done; and how a promotion that crashed in between is finished."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from coordpath_governance.errors import LedgerConflictError, RefusedError, RegistryError, ReviewNeededError
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Binding, Intent, OutsideMove, Promotion
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.readiness import Readiness, assess_readiness, bind

if TYPE_CHECKING:
    from typing import Literal

    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.adopted import AdoptedPolicy
    from coordpath_governance.review.ports import Actor, AliasRegistry

__all__ = ["check", "promote", "reconcile", "stands_already"]

_TURNS = 5
"""How often a promotion looks again because something else was recorded for the model meanwhile."""


def check(
    ledger: Ledger, registry: AliasRegistry, adopted: AdoptedPolicy, name: str, alias: str, version: str
) -> tuple[Readiness, ModelHistory]:
    """What the gate says now; finishes or finds first whatever was left undone or moved."""
    history = reconcile(ledger, registry, name, alias)
    bound = bind(ledger, registry, adopted, name, alias, version, history)
    return assess_readiness(ledger, bound, adopted.policy, history), history


def promote(
    ledger: Ledger, registry: AliasRegistry, adopted: AdoptedPolicy, name: str, alias: str, version: str, actor: Actor
) -> Readiness:
    """Move the alias if the gate passes; `RefusedError` or `ReviewNeededError` with the reason if it does not."""
    for _ in range(_TURNS):
        readiness, history = check(ledger, registry, adopted, name, alias, version)
        if readiness.verdict == "fail":
            raise RefusedError(f"'{name}' version {version} may not become '{alias}'. {readiness.reason}")
        if readiness.verdict == "review":
            raise ReviewNeededError(
                f"'{name}' version {version} may not become '{alias}' yet. {readiness.reason} "
                f"Next: `coordpath review {name} {version} --approve`"
            )
        intent = Intent(
            binding=readiness.binding,
            actor=actor.name,
            authenticated_by=actor.authenticated_by,
            approvals=tuple(entry.hash for entry in readiness.tally.counted),
            waivers=tuple(entry.hash for entry in readiness.waivers),
            materiality=readiness.judgement.materiality,
            full_validation=readiness.judgement.full_validation,
        )
        try:
            entry = ledger.record("intent", intent, model=name, after=history.newest)
        except LedgerConflictError:
            continue
        _complete(ledger, registry, name, entry, intent, "at once")
        return readiness
    raise RefusedError(f"others keep changing '{name}'; try again in a moment")


def stands_already(ledger: Ledger, registry: AliasRegistry, name: str, alias: str, version: str) -> bool:
    """Whether the version stands under the alias by the ledger's word and with the files that were promoted.

    `RefusedError` if the alias was moved outside, or the files are others.
    """
    standing = reconcile(ledger, registry, name, alias).standing(alias)
    if standing.version != version:
        return False
    if registry.digest(name, version) != standing.digest:
        raise RefusedError(_moved(name, f"the files of version {version} are not those that were promoted"))
    return True


def reconcile(ledger: Ledger, registry: AliasRegistry, name: str, alias: str) -> ModelHistory:
    """The model's history once nothing is half-done; `RefusedError` if the alias does not stand where the ledger says.

    An intent without its promotion is finished: whoever comes first does it. A move that nobody here made is recorded once.
    """
    for _ in range(_TURNS):
        history = ModelHistory(ledger.entries(name))
        waiting = history.open_intent(alias)
        found = registry.aliases(name).get(alias)
        standing = history.standing(alias)
        if waiting is not None and _can_be_finished(registry, name, waiting[1].binding, found):
            _complete(ledger, registry, name, *waiting, "after a crash")
            continue
        if standing.doubt is not None:
            raise RefusedError(_moved(name, standing.doubt))
        if waiting is None and found == standing.version:
            return history
        says = f"version {standing.version}" if standing.version else "nothing"
        reason = f"the ledger knows {says} under '{alias}', the registry has {f'version {found}' if found else 'nothing'}"
        if waiting is not None:
            to = waiting[1].binding.to_version
            reason = f"a promotion to version {to} was left unfinished and cannot be finished, and {reason}"
        move = OutsideMove(alias=alias, expected=standing.version, found=found, reason=reason)
        with suppress(LedgerConflictError):
            ledger.record("outside move", move, model=name, after=history.newest)
    raise RefusedError(f"others keep changing '{name}'; try again in a moment")


def _can_be_finished(registry: AliasRegistry, name: str, binding: Binding, found: str | None) -> bool:
    """Whether the alias is where the promotion found or put it, and the version is still the one that was approved."""
    if found not in (binding.from_version, binding.to_version):
        return False
    return registry.digest(name, binding.to_version) == binding.to_digest


def _moved(name: str, reason: str) -> str:
    return (
        f"'{name}' was moved outside the gate: {reason}. Look into it, then take it as it is with `coordpath adopt {name}`"
    )


def _complete(
    ledger: Ledger,
    registry: AliasRegistry,
    name: str,
    intent_entry: Entry,
    intent: Intent,
    how: Literal["at once", "after a crash"],
) -> None:
    """Set the alias, read it back, record it: once, whoever else is doing the same."""
    binding = intent.binding
    registry.set_alias(name, binding.alias, binding.to_version)
    done = Promotion(
        intent=intent_entry.hash,
        alias=binding.alias,
        from_version=binding.from_version,
        to_version=binding.to_version,
        to_digest=binding.to_digest,
        completed=how,
    )
    while True:
        history = ModelHistory(ledger.entries(name))
        if intent_entry.hash in history.promoted:
            _put_back(registry, name, binding.alias, history)
            return
        if registry.aliases(name).get(binding.alias) != binding.to_version:
            raise RegistryError(
                f"the alias '{binding.alias}' of '{name}' did not read back as version {binding.to_version}; "
                "run the same command again to finish or find out"
            )
        try:
            ledger.record("promotion", done, model=name, after=history.newest)
        except LedgerConflictError:
            continue
        return


def _put_back(registry: AliasRegistry, name: str, alias: str, history: ModelHistory) -> None:
    """Somebody finished this promotion for us; if another came after it, ours must not be the last to set the alias."""
    standing = history.standing(alias)
    if standing.version is not None and registry.aliases(name).get(alias) != standing.version:
        registry.set_alias(name, alias, standing.version)
