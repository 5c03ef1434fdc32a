"""`coordpath gate`: whether a version may have an alias, and why."""

from __future__ import annotations

import click

from coordpath_governance.cli.answers import answer_document, print_json, refusal_document, show_answer, show_readiness
from coordpath_governance.cli.governed import alias_option, chosen_alias, open_governed, open_registry, version_number
from coordpath_governance.cli.options import check_text, ledger_options
from coordpath_governance.errors import RefusedError

__all__ = ["command"]


@click.command("gate")
@click.argument("name")
@click.argument("version")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (coordpath.gate/1) instead of lines.")
@alias_option
@ledger_options
def command(
    name: str,
    version: str,
    as_json: bool,
    alias: str | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> int:
    """Say whether VERSION of the registered model NAME may have the alias, one line per rule.

    VERSION is a number, `latest` or an alias. Exits 0 pass, 1 fail, 3 needs review, 4 cannot tell.
    """
    check_text(name, version, alias)
    try:
        governed = open_governed(name, ledger=ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
    except RefusedError as error:
        if not as_json:
            raise
        number = version_number(open_registry(tracking_uri, registry_uri).client, name, version)
        print_json(refusal_document(error, name, number, chosen_alias(alias, None)))
        return error.exit_code
    number = governed.version(version)
    answer = governed.ask(number, governed.alias(alias))
    if as_json:
        print_json(answer_document(answer, governed.adopted, governed.ledger, name, number))
        return answer.exit_code
    show_answer(answer, governed.adopted, name, number)
    if answer.readiness is not None:
        show_readiness(answer.readiness, governed.adopted, governed.ledger)
    return answer.exit_code
