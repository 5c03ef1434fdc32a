"""What commands about a guarded model begin with: the registry, its ledger and the policy the model is under."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from coordpath_governance.cli.screen import say
from coordpath_governance.cli.signing_options import find_ledger, open_ledger
from coordpath_governance.errors import RefusedError, UsageError
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.connection import connect
from coordpath_governance.registry.versions import CHAMPION_ALIAS, point_at
from coordpath_governance.review.adopted import AdoptedPolicy, policy_for
from coordpath_governance.review.ports import Actor

if TYPE_CHECKING:
    from coordpath_governance.ledger.events import Binding
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.registry.governed_report import GovernedModel
    from coordpath_governance.review.gate import Answer
    from coordpath_governance.signing.keys import PrivateKey

__all__ = [
    "Governed",
    "alias_option",
    "check_text",
    "check_words",
    "chosen_alias",
    "find_governed",
    "open_governed",
    "open_registry",
    "show_answer",
    "told_change",
]

GUARDED_SCHEME = "coordpath:"
LONGEST_WORDS = 4000
_MARKS = {"pass": "met", "review": "NEEDS REVIEW", "fail": "NOT MET", "unknown": "NOT KNOWN", "waived": "waived"}
_ORDER = ("fail", "unknown", "review", "waived", "pass")
_SHORT = 12


def alias_option(function: Any) -> Any:  # noqa: ANN401 - a click command
    """--alias, as ``alias``: None if it is left to `chosen_alias`."""
    told = f"The guarded alias; default: '{CHAMPION_ALIAS}', or the first that the policy guards if that is not among them."
    return click.option("--alias", help=told)(function)


def chosen_alias(alias: str | None, adopted: AdoptedPolicy | None) -> str:
    """The alias that was asked for; else the champion's, unless the policy guards only others."""
    guarded = (CHAMPION_ALIAS,) if adopted is None else adopted.policy.aliases
    return alias or (CHAMPION_ALIAS if CHAMPION_ALIAS in guarded else guarded[0])


def check_text(*values: object) -> None:
    """Bytes that are not UTF-8 reach Python as lone surrogates, which neither a report nor the ledger can hold."""
    for value in values:
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str | Path) and any("\ud800" <= char <= "\udfff" for char in str(text)):
                raise UsageError(f"'{text}' is not valid UTF-8; write it in UTF-8")


def check_words(option: str, words: str) -> None:
    """What a person writes into the ledger has a longest length."""
    check_text(words)
    if len(words) > LONGEST_WORDS:
        raise UsageError(f"{option} has {len(words)} characters; the ledger holds up to {LONGEST_WORDS}")


@dataclass(frozen=True)
class Governed:
    """One registered model, its ledger and its policy."""

    name: str
    client: Any
    registry: ClientRegistry
    ledger: Ledger
    adopted: AdoptedPolicy

    def version(self, which: str) -> str:
        """A version's number, from a number, `latest` or an alias; a URI could be of another model."""
        if any(char in which for char in "/\\:"):
            raise UsageError(f"'{which}' is a URI; name the version of '{self.name}' by its number, 'latest' or an alias")
        return str(point_at(self.client, self.name, which).version)

    def actor(self, key: PrivateKey | None) -> Actor:
        """The owner of a key that the ledger knows; nobody without one."""
        known = self.ledger.keyring().keys.get(key.public.id) if key is not None else None
        return Actor(known.facts.owner, "key") if known is not None and known.revoked is None else Actor()


def open_registry(tracking_uri: str | None, registry_uri: str | None) -> ClientRegistry:
    """The registry itself: commands are their own guard, so that of a ``coordpath:`` URI is not asked twice."""
    bare = registry_uri.removeprefix(GUARDED_SCHEME) if registry_uri else None
    return ClientRegistry(connect(tracking_uri, bare))


def open_governed(name: str, ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> Governed:
    """All of it; `RefusedError` for a model that no policy matches."""
    registry = open_registry(tracking_uri, registry_uri)
    opened = open_ledger(ledger, tracking_uri, registry_uri, create=False)
    return Governed(name, registry.client, registry, opened, policy_for(opened, name))


def told_change(binding: Binding) -> str:
    """A change in a few words."""
    before = f"{binding.from_version} → " if binding.from_version else ""
    return f"version {before}{binding.to_version} as '{binding.alias}'"


def find_governed(
    client: Any,  # noqa: ANN401 - MlflowClient
    name: str,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> GovernedModel | None:
    """The model with its policy; None, and a word why, where there is no ledger or no policy matches."""
    from coordpath_governance.registry.governed_report import GovernedModel

    opened = find_ledger(ledger, tracking_uri, registry_uri)
    if opened is None:
        return None
    try:
        return GovernedModel(client, opened, policy_for(opened, name))
    except RefusedError as error:
        say(f"Not assessed: {error}\n")
        return None


def show_answer(answer: Answer, governed: Governed | GovernedModel, name: str, version: str, *, rules: bool = True) -> None:
    """The verdict, why, and a line a rule: what is not met first, and its reason on a line of its own."""
    say(f"{name} version {version} → {answer.alias}: {answer.verdict.upper()}\n{answer.reason}")
    readiness = answer.readiness
    if readiness is None:
        return
    if answer.verdict == "review":
        other = "" if answer.alias == chosen_alias(None, governed.adopted) else f" --alias {answer.alias}"
        say(f"Next: `coordpath review {quote(name)} {version} --approve{other}` by somebody who may")
    if not rules:
        return
    before = f"From version {readiness.binding.from_version}" if readiness.binding.from_version else "First version"
    policy = f"policy '{governed.adopted.policy.name}' ({readiness.binding.policy[:_SHORT]})"
    say(f"{before}; class '{readiness.judgement.materiality}'; {policy}\n")
    width = max((len(each.rule) for each in readiness.judgement.results), default=0)
    for each in sorted(readiness.judgement.results, key=lambda each: _ORDER.index(each.result)):
        limit = "" if each.limit == each.observed else f"  (limit: {each.limit})"
        say(f"  {_MARKS[each.result]:13}{each.rule:{width}}  {each.observed}{limit}")
        if each.result != "pass":
            say(f"{'':15}{each.reason}")
    for entry in readiness.tally.counted:
        known = governed.ledger.keyring().keys[entry.key].facts
        say(f"  approved by {known.owner} ({', '.join(known.roles)}), until {entry.body['expires'][:10]}, entry {entry.seq}")
    for void in readiness.tally.void:
        say(f"  not counted: {void}")
