"""`coordpath adopt`: take an existing champion under guard."""

from __future__ import annotations

from pathlib import Path

import click

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.arguments import check_text, check_words
from coordpath_governance.cli.governed import alias_option, chosen_alias, open_registry
from coordpath_governance.cli.signing_options import key_option, ledger_options, load_key, open_ledger

__all__ = ["command"]


@click.command("adopt")
@click.argument("name")
@alias_option
@click.option("--reason", default="", help="Why it is taken as it stands.")
@key_option
@ledger_options
def command(
    name: str,
    alias: str | None,
    reason: str,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> None:
    """Take what stands under the alias of NAME as it is, signed by a policy-admin.

    For a model that had a champion before it had a gate, and after a move outside the gate was looked into.
    """
    check_text(name, alias)
    check_words("--reason", reason)
    from coordpath_governance.review.adopted import policy_for
    from coordpath_governance.review.decisions import adopt_standing

    signer = load_key(key)
    registry = open_registry(tracking_uri, registry_uri)
    opened = open_ledger(ledger, tracking_uri, registry_uri, create=False)
    alias = chosen_alias(alias, policy_for(opened, name))
    entry = adopt_standing(opened, registry, name, alias, signer, reason)
    what = f"Version {entry.body['version']}" if entry.body["version"] else "No version"
    say_line(f"{what} of {name} is under guard as '{alias}' (entry {entry.seq}); no rule was checked.")
    if entry.body["version"] and entry.body["digest"] is None:
        say_line("Its files are gone and nobody knows what it was: the next version is explained from zero.")
