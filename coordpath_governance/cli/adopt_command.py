"""`coordpath adopt`: take an existing champion under guard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.governed import alias_option, chosen_alias, open_registry, show_moved
from coordpath_governance.cli.options import check_text, check_words, key_option, ledger_options, load_key, open_ledger
from coordpath_governance.errors import UsageError

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.registry.ports import RegistryClient
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["command"]


@click.command("adopt")
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Every model that a policy matches and that is not under guard yet.")
@alias_option
@click.option(
    "--created-again",
    is_flag=True,
    help="You know that NAME was deleted and created again, or is gone, or came with a registry that moved.",
)
@click.option("--reason", default="", help="Why it is taken as it stands.")
@key_option
@ledger_options
def command(
    name: str | None,
    everything: bool,
    alias: str | None,
    created_again: bool,
    reason: str,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> int:
    """Accept the version that has the alias of NAME as it is, signed by a policy-admin.

    For a model that had a champion before it had a gate, and after a move outside the gate was looked into. With --all every
    champion that was there before its policy; none that was moved since. Exits 0, with --all also 1 if a model was moved and
    is left to you, 4 if one could not be taken.
    """
    if everything == (name is not None):
        raise UsageError("name one model, or say --all")
    if everything and (alias is not None or created_again):
        raise UsageError("--alias and --created-again are about one model: leave them out, or name it instead of --all")
    check_text(name, alias)
    check_words("--reason", reason)
    signer = load_key(key)
    registry = open_registry(tracking_uri, registry_uri)
    opened = open_ledger(ledger, tracking_uri=tracking_uri, registry_uri=registry_uri, create=False)
    if name is None:
        return _adopt_all(registry.client, opened, signer, reason)
    from coordpath_governance.review.decisions import adopt_standing
    from coordpath_governance.review.history import ModelHistory
    from coordpath_governance.review.policies import policy_for

    alias = chosen_alias(alias, policy_for(opened, name))
    before = ModelHistory(opened.entries(name)).standing(alias).version
    entry = adopt_standing(opened, registry, name, alias, signer, reason=reason, created_again=created_again)
    what = f"Version {entry.body['version']}" if entry.body["version"] else "No version"
    say_line(f"{what} of {name} is under guard as '{alias}' (entry {entry.seq}); no rule was checked.")
    if entry.body["version"] and entry.body["digest"] is None:
        say_line("Its files are gone and nobody knows what it was: the next version is explained from zero.")
    others = ModelHistory(opened.entries(name)).reported_from(before, entry.body["version"])
    for concerned in dict.fromkeys((entry.body["version"], before, *others)):
        if concerned is not None:
            show_moved(registry, opened, name, concerned)
    return 0


def _adopt_all(client: RegistryClient, ledger: Ledger, signer: PrivateKey, reason: str) -> int:
    """One line per model; the exit code tells whether any is left."""
    from coordpath_governance.governance.adopt_all import adopt_all, exit_code

    kinds = set()
    for result in adopt_all(client, ledger, signer, reason):
        kinds.add(result.kind)
        say_line(f"{result.kind:8} {result.name}: {result.text}")
    if not kinds:
        say_line("No registered model is under an adopted policy.")
    elif "adopted" in kinds:
        say_line("No rule was checked.")
    return exit_code(kinds)
