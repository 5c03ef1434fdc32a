"""`coordpath retire`: let a version that was promoted once be deleted, on record."""

from __future__ import annotations

from pathlib import Path

import click

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.governed import open_registry, version_number
from coordpath_governance.cli.options import check_text, check_words, key_option, ledger_options, load_key, open_ledger

__all__ = ["command"]


@click.command("retire")
@click.argument("name")
@click.argument("version")
@click.option("--reason", required=True, help="Why it may go.")
@key_option
@ledger_options
def command(
    name: str,
    version: str,
    reason: str,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> None:
    """Let VERSION of NAME, which was promoted once, be deleted from the registry; signed by a policy-admin.

    A guarded registry deletes neither such a version nor the coordpath tags of any version until that is on record. The
    command deletes nothing itself, and the ledger keeps the reports and decisions about the version.
    """
    check_text(name, version)
    check_words("--reason", reason)
    from coordpath_governance.review.belonging import check_belongs
    from coordpath_governance.review.decisions import retire

    signer = load_key(key)
    registry = open_registry(tracking_uri, registry_uri)
    opened = open_ledger(ledger, tracking_uri=tracking_uri, registry_uri=registry_uri, create=False)
    check_belongs(opened, registry, name)
    number = version_number(registry.client, name, version)
    entry = retire(opened, registry, name, number, signer, reason)
    say_line(
        f"Version {number} of {name} may be deleted from the registry now (entry {entry.seq}); the ledger keeps its record."
    )
