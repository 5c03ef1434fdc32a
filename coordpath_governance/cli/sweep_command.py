"""`coordpath sweep`: find what lacks a report, and what bypassed the guard."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from coordpath_governance.cli.answers import print_json, say_line
from coordpath_governance.cli.governed import open_registry
from coordpath_governance.cli.options import check_text, ledger_options, open_ledger
from coordpath_governance.errors import UsageError
from coordpath_governance.ledger.times import moment

__all__ = ["command"]

_THOUSAND = 1000


@click.command("sweep")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Look at this model only; repeatable.")
@click.option(
    "--since",
    metavar="DATE|DAYS",
    help="Make reports only on versions created since this day (2026-11-01), or in so many days.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="NAME",
    help="Of models of this name or pattern (old_*) let nothing count but a move; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (coordpath.sweep/1) instead of lines.")
@ledger_options
def command(
    models: tuple[str, ...],
    since: str | None,
    ignore: tuple[str, ...],
    as_json: bool,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> int:
    """Look at every model under a policy: aliases against the ledger, champions' files hashed again, missing reports made.

    Attached reports are compared with the recorded ones. Run it now and then, and after registering where reports are left
    to it. A champion from before the policy is told as `unguarded`, for `coordpath adopt`. A version that cannot be read
    counts once, and only if it is the newest of its model. Exits 0 fine, 1 if something was moved, changed or deleted
    outside the gate, a report is not the recorded one or an emergency rollback waits for its review, 4 if something could
    not be looked at or reported.
    """
    check_text(*models, since, *ignore)
    from coordpath_governance.governance.sweep import Scope, exit_code, sweep, sweep_document

    client = open_registry(tracking_uri, registry_uri).client
    opened = open_ledger(ledger, tracking_uri=tracking_uri, registry_uri=registry_uri, create=False)
    findings = []
    for swept in sweep(client, opened, Scope(models, _milliseconds(since, moment(opened.now())), ignore)):
        findings.append(swept)
        if not as_json:
            say_line(f"{swept.kind:9} {swept.name}: {swept.text}")
    if as_json:
        print_json(sweep_document(findings))
    elif not findings:
        say_line("No registered model is under an adopted policy, or has anything to look at.")
    return exit_code(findings)


def _milliseconds(since: str | None, now: datetime) -> int:
    """The time of --since, in milliseconds since 1970; 0 if it was not given."""
    if since is None:
        return 0
    try:
        start = now - timedelta(days=int(since)) if since.isdecimal() else datetime.fromisoformat(since)
        return int((start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp() * _THOUSAND)
    except (ValueError, OverflowError):
        raise UsageError(f"--since {since}: give a day such as 2026-11-01, or a number of days such as 30") from None
