"""What commands about a guarded model begin with: the registry, its ledger and the policy the model is under."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from coordpath_governance.cli.answers import change_words, say_line, show_answer
from coordpath_governance.cli.options import Command, find_ledger, open_ledger
from coordpath_governance.cli.screen import say
from coordpath_governance.errors import CoordpathError, RefusedError, RegistryMissingError, UsageError
from coordpath_governance.governance.shown import show_after_promotion, show_version
from coordpath_governance.ledger.location import LEDGER_VARIABLE
from coordpath_governance.registry.client_registry import ClientRegistry, registry_guard
from coordpath_governance.registry.connection import GUARDED_SCHEME, connect
from coordpath_governance.registry.versions import CHAMPION_ALIAS, point_at
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.gate import Answer, ask_gate
from coordpath_governance.review.policies import AdoptedPolicy, policy_for
from coordpath_governance.review.ports import Actor

if TYPE_CHECKING:
    from coordpath_governance.governance.governed_report import GovernedModel
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.registry.ports import RegistryClient
    from coordpath_governance.review.readiness import Readiness
    from coordpath_governance.signing.keys import PrivateKey

__all__ = [
    "Governed",
    "alias_option",
    "chosen_alias",
    "decide",
    "find_governed",
    "open_governed",
    "open_recorded",
    "open_registry",
    "registry_at_hand",
    "show_moved",
    "version_number",
]


def alias_option(function: Command) -> Command:
    """--alias, as ``alias``: None if it is left to `chosen_alias`."""
    text = f"The guarded alias; default: '{CHAMPION_ALIAS}', or the first that the policy guards if that is not among them."
    return click.option("--alias", callback=_not_empty, help=text)(function)


def _not_empty(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """The alias, or None if none was given. Raises `UsageError` for an empty one, which a script's unset variable gives."""
    if value is not None and not value.strip():
        raise UsageError("--alias: an empty name is no alias; name one, or leave the option away")
    return value


def chosen_alias(alias: str | None, adopted: AdoptedPolicy | None) -> str:
    """The alias that was asked for; else the one that is usual under the policy."""
    return alias or (CHAMPION_ALIAS if adopted is None else adopted.policy.usual_alias)


@dataclass(frozen=True)
class Governed:
    """One registered model, its ledger and its policy."""

    name: str
    client: RegistryClient
    registry: ClientRegistry
    ledger: Ledger
    adopted: AdoptedPolicy

    def version(self, which: str) -> str:
        """A version's number, from a number, `latest` or an alias; a URI could be of another model."""
        return version_number(self.client, self.name, which)

    def alias(self, alias: str | None) -> str:
        """The alias that was asked for, or the usual one."""
        return chosen_alias(alias, self.adopted)

    def ask(self, version: str, alias: str) -> Answer:
        """What the gate says now."""
        return ask_gate(self.ledger, self.registry, self.adopted, name=self.name, alias=alias, version=version)

    def show(self, version: str, ask: Callable[[], Answer]) -> None:
        """Refresh the version's tags and description. What was decided holds even if the registry refuses that."""
        show_or_warn(lambda: show_version(self.client, self.ledger, self.name, version, ask), version)

    def actor(self, key: PrivateKey | None) -> Actor:
        """The owner of a key that the ledger knows; nobody without one."""
        known_key = self.ledger.keyring().keys.get(key.public.id) if key is not None else None
        return Actor(known_key.facts.owner, "key") if known_key is not None and known_key.revoked is None else Actor()


def show_or_warn(show: Callable[[], None], version: str, *, quiet: bool = False) -> None:
    """Let ``show`` refresh what the registry shows of a version, with a line of warning in place of an error.

    Without one where ``quiet``, for a JSON answer.
    """
    try:
        show()
    except CoordpathError as error:
        shown = f"what the registry shows of version {version} is out of date, until `coordpath sweep` refreshes it"
        if not quiet:
            say_line(f"Warning: {shown}: {error}")


def show_moved(registry: ClientRegistry, ledger: Ledger, name: str, version: str, *, quiet: bool = False) -> None:
    """Refresh one of the versions that a promotion or adoption concerns; see `show_or_warn`."""
    show_or_warn(lambda: show_after_promotion(registry, ledger, name, version), version, quiet=quiet)


def version_number(client: RegistryClient, name: str, which: str) -> str:
    """The number of a version of ``name``, from a number, `latest` or an alias."""
    if any(char in which for char in "/\\:"):
        raise UsageError(f"'{which}' is a URI; name the version of '{name}' by its number, 'latest' or an alias")
    return str(point_at(client, name, which).version)


def open_registry(tracking_uri: str | None, registry_uri: str | None) -> ClientRegistry:
    """The registry itself: commands are their own guard, so that of a ``coordpath:`` URI is not asked twice."""
    bare = registry_uri.removeprefix(GUARDED_SCHEME) if registry_uri else None
    return ClientRegistry(connect(tracking_uri, bare))


def registry_at_hand(tracking_uri: str | None, registry_uri: str | None) -> ClientRegistry | None:
    """The registry that was named and exists; None where asking would create an empty one."""
    if not (registry_uri or tracking_uri):
        return None
    try:
        return open_registry(tracking_uri, registry_uri)
    except RegistryMissingError:
        return None


def open_governed(name: str, *, ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> Governed:
    """Registry, ledger and policy of a model.

    Raises `RefusedError` for a model that no policy matches, `ForeignRegistryError` if the ledger is of another registry.
    """
    registry, opened = open_recorded(ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
    adopted = policy_for(opened, name)
    check_belongs(opened, registry, name)
    return Governed(name, registry.client, registry, opened, adopted)


def open_recorded(
    ledger: str | None, *, tracking_uri: str | None, registry_uri: str | None
) -> tuple[ClientRegistry, Ledger]:
    """The registry and the ledger that should be its own, whether or not a policy is in force."""
    registry = open_registry(tracking_uri, registry_uri)
    return registry, open_ledger(ledger, tracking_uri=tracking_uri, registry_uri=registry_uri, create=False)


def find_governed(
    client: RegistryClient,
    name: str,
    *,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> GovernedModel | None:
    """The model with its policy. None, after a line that says why, if there is no ledger or no policy matches."""
    from coordpath_governance.governance.governed_report import GovernedModel

    opened = find_ledger(ledger, tracking_uri, registry_uri)
    if opened is None:
        behind = registry_guard(client, name)
        if behind is not None:
            raise UsageError(
                f"the registry of '{name}' is guarded, and a report without its ledger would not count: give --ledger URL "
                f"(or {LEDGER_VARIABLE}) of ledger {behind.ledger}"
            )
        return None
    try:
        governed = GovernedModel(client, opened, policy_for(opened, name))
    except RefusedError as error:
        say_line(f"Not assessed: {error}")
        say()
        return None
    check_belongs(opened, ClientRegistry(client), name)
    return governed


def decide(governed: Governed, version: str, alias: str | None, sign: Callable[[Readiness], Entry]) -> None:
    """Let ``sign`` record a decision on the change to ``version`` as it stands now; `RefusedError` if none can be judged."""
    number, alias = governed.version(version), governed.alias(alias)
    before = governed.ask(number, alias)
    if before.readiness is None:
        raise RefusedError(f"there is nothing to decide yet: {before.reason}")
    entry = sign(before.readiness)
    say_line(f"The {entry.event} for {change_words(before.readiness.binding)} is entry {entry.seq}.")
    say()
    answer = governed.ask(number, alias)
    show_answer(answer, governed.adopted, governed.name, number)
    governed.show(number, lambda: answer)
