"""`coordpath waive`: a signed exception from one rule."""

from __future__ import annotations

from pathlib import Path

import click

from coordpath_governance.cli.governed import alias_option, decide, open_governed
from coordpath_governance.cli.options import check_text, check_words, key_option, ledger_options, load_key

__all__ = ["command"]


@click.command("waive")
@click.argument("name")
@click.argument("version")
@click.argument("rule")
@click.option("--reason", required=True, help="Why this rule may be left unmet this once.")
@click.option("--days", type=int, help="How long the waiver holds; default: as long as the policy allows.")
@alias_option
@key_option
@ledger_options
def command(
    name: str,
    version: str,
    rule: str,
    reason: str,
    days: int | None,
    alias: str | None,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> None:
    """Take responsibility for RULE, which the change of NAME to VERSION does not meet; signed, for this change only.

    The policy says who may do that. Checks of the report itself (pinned data, digests) cannot be waived.
    """
    check_text(name, version, rule, alias)
    check_words("--reason", reason)
    from coordpath_governance.review.decisions import waive

    signer = load_key(key)
    governed = open_governed(name, ledger=ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
    terms = governed.adopted.policy
    decide(
        governed,
        version,
        alias,
        lambda change: waive(governed.ledger, change, terms, signer, rule=rule, reason=reason, days=days),
    )
