"""`coordpath sweep`: find what lacks a report, and what went round the guard."""

from __future__ import annotations

import click

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.governed import open_registry
from coordpath_governance.cli.signing_options import ledger_options, open_ledger
from coordpath_governance.errors import EXIT_NO, EXIT_UNKNOWN

__all__ = ["command"]


@click.command("sweep")
@ledger_options
def command(ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> int:
    """Look at every model under a policy: aliases against the ledger, champions' files hashed again, missing reports made.

    Run it now and then, and after registering where reports are left to it. Exits 0 fine, 1 if something was moved,
    changed or deleted outside the gate, 4 if something could not be looked at or reported.
    """
    from coordpath_governance.registry.sweep import sweep

    client = open_registry(tracking_uri, registry_uri).client
    opened = open_ledger(ledger, tracking_uri, registry_uri, create=False)
    kinds = set()
    for swept in sweep(client, opened):
        kinds.add(swept.kind)
        say_line(f"{swept.kind:9} {swept.name}: {swept.text}")
    if not kinds:
        say_line("No registered model is under an adopted policy, or has anything to look at.")
    return EXIT_NO if kinds & {"moved", "gone"} else EXIT_UNKNOWN if "failed" in kinds else 0
