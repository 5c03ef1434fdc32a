"""`coordpath scan`: what of an existing registry can be read, and what to do about the rest."""

from __future__ import annotations

import json

import click

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.governed import open_registry
from coordpath_governance.cli.options import find_ledger, ledger_options
from coordpath_governance.registry.versions import CHAMPION_ALIAS

__all__ = ["command"]

_WORDS = {
    "read": "read",
    "declared": "DECLARED",
    "refused": "NOT READ",
    "failed": "FAILED",
    "empty": "no version",
}


@click.command("scan")
@click.option(
    "--alias",
    default=CHAMPION_ALIAS,
    show_default=True,
    help="Look at the version with this alias; without one, at the latest.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (coordpath.scan/1) instead of lines.")
@ledger_options
def command(alias: str, as_json: bool, ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> int:
    """List every registered model and whether its champion can be read: if not, why, and what to do.

    It reads the models' files, runs nothing in them and changes nothing. If there is a ledger, it knows what people vouch
    for. Exits 0 whatever it finds, 4 if the registry does not answer.
    """
    from coordpath_governance.governance.declared import declared_in
    from coordpath_governance.registry.scan import count_outcomes, scan, scan_document

    opened = find_ledger(ledger, tracking_uri, registry_uri)
    declared = None if opened is None else declared_in(opened)
    client = open_registry(tracking_uri, registry_uri).client
    results = []
    for each in scan(client, alias, declared):
        results.append(each)
        if as_json:
            continue
        version = f"version {each.version}" if each.version else "-"
        where = f"{version} ({each.under or 'latest'})" if each.version else version
        findings = (
            f"{each.estimator}, {each.columns} columns, {each.how}" if each.outcome in ("read", "declared") else each.reason
        )
        say_line(f"{_WORDS[each.outcome]:10}  {each.name}  {where}: {findings}")
        for remark in each.remarks:
            say_line(f"{'':10}  note: {remark}")
        if each.remedy:
            say_line(f"{'':10}  → {each.remedy}")
    if as_json:
        click.echo(json.dumps(scan_document(results, alias), indent=2, ensure_ascii=False))
        return 0
    counts = count_outcomes(results)
    readable = ", ".join(f"{count} {_WORDS[outcome].lower()}" for outcome, count in counts.items() if count)
    say_line(f"{len(results)} registered model{'' if len(results) == 1 else 's'}{': ' if readable else ''}{readable}.")
    return 0
