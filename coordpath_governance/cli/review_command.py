"""`coordpath review`: approve or reject a change, signed."""

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
from coordpath_governance.errors import RefusedError, UsageError

__all__ = ["command"]


@click.command("review")
@click.argument("name")
@click.argument("version")
@click.option("--approve", "decision", flag_value="approve", help="Say yes to exactly this change.")
@click.option("--reject", "decision", flag_value="reject", help="Say no; that stands until there is a new report.")
@click.option("--comment", default="", help="Why; a rejection needs one.")
@click.option("--days", type=int, help="How long an approval holds; default: as long as the policy allows.")
@alias_option
@key_option
@ledger_options
def command(
    name: str,
    version: str,
    decision: str | None,
    comment: str,
    days: int | None,
    alias: str | None,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> int:
    """Approve or reject the change of NAME to VERSION, signed with your key.

    An approval binds registry, name, alias, both versions and the digests of both models, the report and the policy; it is
    used once and is void if any of these changes.
    """
    if decision is None:
        raise UsageError("say --approve or --reject")
    check_text(name, version, alias)
    check_words("--comment", comment)
    from coordpath_governance.review.decisions import approve, reject
    from coordpath_governance.review.gate import ask_gate

    signer = load_key(key)
    governed = open_governed(name, ledger, tracking_uri, registry_uri)
    number = governed.version(version)
    alias = chosen_alias(alias, governed.adopted)
    before = ask_gate(governed.ledger, governed.registry, governed.adopted, name, alias, number)
    if before.readiness is None:
        raise RefusedError(f"there is nothing to decide yet: {before.reason}")
    if decision == "approve":
        entry = approve(governed.ledger, before.readiness, governed.adopted.policy, signer, comment, days)
    else:
        entry = reject(governed.ledger, before.readiness.binding, signer, comment)
    say(f"The {entry.event} of {told_change(before.readiness.binding)} is entry {entry.seq}.\n")
    answer = ask_gate(governed.ledger, governed.registry, governed.adopted, name, alias, number)
    show_answer(answer, governed, name, number, rules=False)
    return 0
