"""`coordpath promote`: move a guarded alias, if the gate lets it."""

from __future__ import annotations

from pathlib import Path

import click

from coordpath_governance.cli.answers import say_line, show_answer, show_readiness
from coordpath_governance.cli.arguments import check_text
from coordpath_governance.cli.governed import alias_option, open_governed
from coordpath_governance.cli.screen import say
from coordpath_governance.cli.signing_options import key_option, ledger_options, load_key

__all__ = ["command"]


@click.command("promote")
@click.argument("name")
@click.argument("version")
@alias_option
@click.option("--dry-run", is_flag=True, help="Change no alias; say what would happen.")
@key_option
@ledger_options
def command(
    name: str,
    version: str,
    alias: str | None,
    dry_run: bool,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> int:
    """Let the alias of NAME stand for VERSION: intent, alias, read back, done. Rolling back is a promotion like any other.

    Exits 0 promoted, 1 refused, 3 approvals are missing, 4 cannot tell. After a crash, run it again to finish.
    """
    check_text(name, version, alias)
    from coordpath_governance.review.guard import Guard

    signer = load_key(key) if key is not None else None
    governed = open_governed(name, ledger, tracking_uri, registry_uri)
    number, alias = governed.version(version), governed.alias(alias)
    if dry_run:
        answer = governed.ask(number, alias)
        show_answer(answer, governed.adopted, name, number)
        if answer.readiness is not None:
            show_readiness(answer.readiness, governed.adopted, governed.ledger)
        would = f"Would let '{alias}' stand for version {number}." if answer.verdict == "pass" else "Would be refused."
        say()
        say_line(f"{would} No alias was changed.")
        return answer.exit_code
    Guard(governed.ledger).set_alias(governed.registry, name, alias, number, governed.actor(signer))
    say_line(f"{name} version {number} is '{alias}'.")
    return 0
