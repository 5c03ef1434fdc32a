"""`coordpath gate`: whether a version may stand under an alias, and why."""

from __future__ import annotations

import click

from coordpath_governance.cli.governed import alias_option, check_text, chosen_alias, open_governed, show_answer
from coordpath_governance.cli.signing_options import ledger_options

__all__ = ["command"]


@click.command("gate")
@click.argument("name")
@click.argument("version")
@alias_option
@ledger_options
def command(
    name: str, version: str, alias: str | None, ledger: str | None, tracking_uri: str | None, registry_uri: str | None
) -> int:
    """Say whether VERSION of the registered model NAME may stand under the alias, a line a rule.

    VERSION is a number, `latest` or an alias. Exits 0 pass, 1 fail, 3 needs review, 4 cannot tell.
    """
    check_text(name, version, alias)
    from coordpath_governance.review.gate import ask_gate

    governed = open_governed(name, ledger, tracking_uri, registry_uri)
    number = governed.version(version)
    alias = chosen_alias(alias, governed.adopted)
    answer = ask_gate(governed.ledger, governed.registry, governed.adopted, name, alias, number)
    show_answer(answer, governed, name, number)
    return answer.exit_code
