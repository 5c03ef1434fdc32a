"""`coordpath waive`: a signed exception from one rule."""

from __future__ import annotations

from pathlib import Path

import click

from coordpath_governance.cli.governed import (
    alias_option,
    check_text,
    check_words,
    chosen_alias,
    open_governed,
    show_answer,
    told_change,
)
from coordpath_governance.cli.screen import say
from coordpath_governance.cli.signing_options import key_option, ledger_options, load_key
from coordpath_governance.errors import RefusedError

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
) -> int:
    """Take responsibility for RULE, which the change of NAME to VERSION does not meet; signed, for this change only.

    The policy says who may do that. Checks of the report itself (pinned data, digests) cannot be waived.
    """
    check_text(name, version, rule, alias)
    check_words("--reason", reason)
    from coordpath_governance.review.decisions import waive
    from coordpath_governance.review.gate import ask_gate

    signer = load_key(key)
    governed = open_governed(name, ledger, tracking_uri, registry_uri)
    number = governed.version(version)
    alias = chosen_alias(alias, governed.adopted)
    before = ask_gate(governed.ledger, governed.registry, governed.adopted, name, alias, number)
    if before.readiness is None:
        raise RefusedError(f"there is nothing to waive yet: {before.reason}")
    entry = waive(governed.ledger, before.readiness, governed.adopted.policy, signer, rule, reason, days)
    say(f"The waiver of '{rule}' for {told_change(before.readiness.binding)} is entry {entry.seq}.\n")
    answer = ask_gate(governed.ledger, governed.registry, governed.adopted, name, alias, number)
    show_answer(answer, governed, name, number, rules=False)
    return 0
