"""The guard: what may happen to the aliases, versions and names of models under a policy. What it refuses is recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from coordpath_governance.errors import CoordpathError, ForeignRegistryError, LedgerError, RefusedError, UsedError
from coordpath_governance.ledger.events import LONGEST_WORDS, Adoption, Promotion, Refusal, Registration
from coordpath_governance.policy.document import USUAL_ALIAS
from coordpath_governance.review.belonging import check_belongs, is_own_registry
from coordpath_governance.review.emergency import roll_back
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.lookalikes import looks_like, same_to_a_database
from coordpath_governance.review.policies import guarding_policies, policy_for
from coordpath_governance.review.ports import Created
from coordpath_governance.review.promotion import promote
from coordpath_governance.review.requests import SignedRequest, asks_for_emergency, requested_by

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.ports import Actor, AliasRegistry

__all__ = ["ALWAYS_GUARDED", "HIDING_TAGS", "OWN_TAGS", "Guard"]

ALWAYS_GUARDED = USUAL_ALIAS
"""An alias that is guarded whether or not a policy matches: a model that no policy matches is refused."""

HIDING_TAGS = frozenset({"mlflow.prompt.is_prompt"})
"""Tags that make MLflow treat a registered model as something else, which no list of models shows."""

OWN_TAGS = "coordpath."
"""Tags that we set on versions begin so."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Guard:
    """Decides what may happen in one registry, by one ledger.

    ``report`` makes the report of a new version, if reports are made at once. ``after`` is called with each version
    that a promotion gave an alias or took it from, and with those explained from one of them. If it fails, the promotion
    still holds.
    """

    ledger: Ledger
    report: Callable[[str, str], None] | None = None
    after: Callable[[AliasRegistry, str, str], None] | None = None

    def set_alias(
        self,
        registry: AliasRegistry,
        name: str,
        alias: str,
        version: str,
        actor: Actor,
        take_request: Callable[[], str | None] | None = None,
    ) -> None:
        """Set an alias; a guarded one only as a promotion that passes the gate.

        ``take_request`` takes the signed request away from where its author put it. It says who asks where nobody else
        vouches for ``actor``, and whether an emergency rollback is asked for; one that does not count is refused. One for an
        alias that is not guarded is taken away too: left there, it would stop the next promotion of the version.
        """
        guarded = self.guarded_aliases(name)
        if alias not in guarded and not looks_like(alias, guarded):
            if take_request is not None:
                take_request()
            registry.set_alias(name, alias, version)
            return
        check_belongs(self.ledger, registry, name)
        request = take_request() if take_request is not None else None
        signed: SignedRequest | None = None
        if request is not None and (actor.name is None or asks_for_emergency(self.ledger, request)):
            with self._refusals("set alias", name, actor, alias, version):
                signed = requested_by(self.ledger, request, name=name, version=version, alias=alias)
                actor = signed.actor
        with self._refusals("set alias", name, actor, alias, version):
            if alias not in guarded:
                raise RefusedError(f"'{alias}' looks like a guarded alias of '{name}'; choose another name")
            before = ModelHistory(self.ledger.entries(name)).standing(alias).version
            if signed is not None and signed.request.emergency is not None:
                roll_back(self.ledger, registry, signed, signed.request.emergency)
            else:
                promote(self.ledger, registry, name, alias, version, actor)
        others: tuple[str, ...] = ()
        with suppress(LedgerError):
            others = ModelHistory(self.ledger.entries(name)).reported_from(before, version)
        for changed in dict.fromkeys((version, before, *others)):
            if changed is not None:
                self._tell(registry, name, changed)

    def forbid(
        self,
        registry: AliasRegistry,
        operation: str,
        name: str,
        actor: Actor,
        *,
        alias: str | None = None,
        version: str | None = None,
        new_name: str | None = None,
        tag: str | None = None,
    ) -> None:
        """Raise `RefusedError`, and record that, if the operation would bypass the gate.

        Raises `ForeignRegistryError`, and records nothing, if a guarded name is concerned and the ledger belongs to another
        registry.
        """
        if any(self.is_guarded(each) for each in (name, new_name) if each is not None):
            check_belongs(self.ledger, registry, name)
        with self._refusals(operation, name, actor, alias, version):
            reason = self._objection(registry, operation, name, alias=alias, version=version, new_name=new_name, tag=tag)
            if reason is not None:
                raise RefusedError(reason)

    def registered(self, registry: AliasRegistry, name: str, version: str, actor: Actor) -> None:
        """Record a new version and, if so configured, make its report. Never fails.

        If anything goes wrong, the version just cannot be promoted.

        A version of a model that was created again is recorded even before a policy-admin has adopted the new model:
        otherwise a registration of the old model would seem to be about it. For another registry nothing is recorded.
        """
        try:
            created_again: ForeignRegistryError | None = None
            try:
                check_belongs(self.ledger, registry, name)
            except ForeignRegistryError as error:
                if not is_own_registry(self.ledger, registry):
                    raise
                created_again = error
            created = registry.created(name, version) or Created(None)
            digest = None
            if self.is_guarded(name):
                with suppress(CoordpathError):
                    digest = registry.digest(name, version)
            facts = Registration(
                version=version,
                digest=digest,
                author=actor.name,
                authenticated_by=actor.authenticated_by if actor.name else None,
                model_created_at=created.model,
                version_created_at=created.version,
            )
            self.ledger.record("registration", facts, model=name)
            if created_again is not None:
                _LOG.warning("coordpath: version %s of %r was registered without report: %s", version, name, created_again)
            elif self.report is not None:
                self.report(name, version)
        except Exception as error:  # noqa: BLE001 - creating a version must not fail because of what we do about it
            _LOG.warning("coordpath: version %s of %r was registered without record or report: %s", version, name, error)

    def guarded_aliases(self, name: str) -> frozenset[str]:
        """The aliases that only a promotion may set. Those of a retired policy stay among them."""
        guarded = {ALWAYS_GUARDED}
        for adopted in guarding_policies(self.ledger):
            guarded |= set(adopted.policy.aliases) if adopted.policy.matches(name) else set()
        return frozenset(guarded | ModelHistory(self.ledger.entries(name)).aliases)

    def usual_alias(self, name: str) -> str:
        """The alias that is meant if none is named."""
        try:
            return policy_for(self.ledger, name).policy.usual_alias
        except RefusedError:
            return ALWAYS_GUARDED

    def is_guarded(self, name: str) -> bool:
        """Whether a policy, in force or retired, matches the name, or anything was ever promoted or adopted under it."""
        if any(adopted.policy.matches(name) for adopted in guarding_policies(self.ledger)):
            return True
        history = ModelHistory(self.ledger.entries(name))
        return any(True for _ in history.of(Promotion)) or any(True for _ in history.of(Adoption))

    def _tell(self, registry: AliasRegistry, name: str, version: str) -> None:
        try:
            if self.after is not None:
                self.after(registry, name, version)
        except Exception as error:  # noqa: BLE001 - what was promoted was promoted
            _LOG.warning("coordpath: what is shown of version %s of %r is out of date: %s", version, name, error)

    def _objection(
        self,
        registry: AliasRegistry,
        operation: str,
        name: str,
        *,
        alias: str | None,
        version: str | None,
        new_name: str | None,
        tag: str | None,
    ) -> str | None:
        if operation == "rename model" and new_name is not None and self.is_guarded(new_name):
            return f"'{new_name}' is a guarded name; register the model under it instead of renaming '{name}'"
        if not self.is_guarded(name):
            return None
        standing = {each: registry.aliases(name).get(each) for each in self.guarded_aliases(name)}
        match operation:
            case "delete alias":
                spellings = {same_to_a_database(each) for each in standing}
                guarded = alias is not None and same_to_a_database(alias) in spellings
                return f"'{alias}' of '{name}' is guarded; promote another version instead" if guarded else None
            case "transition stage":
                return f"'{name}' is guarded, and stages would bypass its gate; use `coordpath promote`"
            case "delete version":
                begun = {each: self._begun(name, each) for each in standing}
                held = sorted(each for each, number in standing.items() if version in (number, begun[each]))
                if held:
                    return f"version {version} of '{name}' has the alias '{held[0]}'; promote another first"
                return self._promoted_once(name, version)
            case "rename model":
                return f"'{name}' is guarded; under another name it would leave its policy and its ledger behind"
            case "delete model":
                held = sorted(each for each, number in standing.items() if number)
                if held:
                    return f"'{name}' has a version with the alias '{held[0]}'; a guarded model is not deleted"
                return self._promoted_ever(name)
            case "delete tag" if tag is not None and tag.startswith(OWN_TAGS):
                return self._own_tag(name, version, tag)
            case "set tag" | "delete tag":
                return f"the tag '{tag}' would hide '{name}' from lists of models" if tag in HIDING_TAGS else None
            case _:
                return f"'{operation}' of the guarded model '{name}' is not known to be harmless"

    def _promoted_once(self, name: str, version: str | None) -> str | None:
        """Why a version that had a guarded alias is not deleted: what was served must remain available."""
        entry = ModelHistory(self.ledger.entries(name)).kept(version or "")
        if entry is None:
            return None
        return (
            f"version {version} of '{name}' was promoted or adopted (entry {entry.seq} of the ledger); "
            f"`coordpath retire {quote(name)} {version} --reason …` lets it be deleted, on record"
        )

    def _promoted_ever(self, name: str) -> str | None:
        """Why a model without a guarded alias is not deleted: its versions would be deleted with it."""
        numbers = ModelHistory(self.ledger.entries(name)).kept_versions
        if not numbers:
            return None
        versions = f"version {numbers[0]}, which was" if len(numbers) == 1 else f"versions {', '.join(numbers)}, which were"
        return (
            f"deleting '{name}' would delete with it {versions} promoted or adopted; "
            f"`coordpath retire {quote(name)} VERSION --reason …` lets each be deleted, on record"
        )

    def _own_tag(self, name: str, version: str | None, tag: str) -> str | None:
        """Why a tag of ours is not deleted: it leads to the report of the version."""
        if version is None or ModelHistory(self.ledger.entries(name)).retired(version):
            return None
        return (
            f"the tag '{tag}' leads to what was decided about version {version} of '{name}'; "
            f"`coordpath retire {quote(name)} {version} --reason …` lets it be deleted, on record"
        )

    def _begun(self, name: str, alias: str) -> str | None:
        """The version of a promotion that is under way."""
        waiting = ModelHistory(self.ledger.entries(name)).open_intent(alias)
        return None if waiting is None else waiting[1].binding.to_version

    def _refusals(self, operation: str, name: str, actor: Actor, alias: str | None, version: str | None) -> _Recorded:
        return _Recorded(self.ledger, operation, name, actor, alias, version)


@dataclass(frozen=True)
class _Recorded:
    """Records a refusal that is raised inside; and any other error, if somebody signed a request for the operation.

    Each request is used by one entry: by this one, unless an intent has used it already.
    """

    ledger: Ledger
    operation: str
    name: str
    actor: Actor
    alias: str | None
    version: str | None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        refused = isinstance(error, RefusedError)
        if not refused and (self.actor.request is None or not isinstance(error, Exception)):
            return
        reason = str(error) if refused else f"it cannot be told whether this is allowed: {error}"
        refusal = Refusal(
            operation=self.operation,
            alias=self.alias,
            version=self.version,
            actor=self.actor.name,
            reason=reason[:LONGEST_WORDS],
            request=self.actor.request,
        )
        with suppress(LedgerError):
            try:
                self._record(refusal)
            except UsedError:
                if refused:
                    self._record(refusal.model_copy(update={"request": None}))

    def _record(self, refusal: Refusal) -> None:
        """Record a refusal, unless the newest entry says the same."""
        newest = self.ledger.entries(self.name)[-1:]
        if not newest or newest[0].body != refusal.model_dump(mode="json"):
            self.ledger.record("refusal", refusal, model=self.name)
