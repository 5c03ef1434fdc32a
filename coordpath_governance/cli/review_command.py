"""`coordpath review`: approve or reject a change, signed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from coordpath_governance.cli.answers import say_line, tell_emergencies
from coordpath_governance.cli.governed import alias_option, decide, open_governed, open_recorded, version_number
from coordpath_governance.cli.options import check_text, check_words, key_option, ledger_options, load_key
from coordpath_governance.errors import UsageError

if TYPE_CHECKING:
    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.review.readiness import Readiness

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
    decision: Literal["approve", "reject"] | None,
    comment: str,
    days: int | None,
    alias: str | None,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> None:
    """Approve or reject the change of NAME to VERSION, signed with your key.

    An approval binds registry, name, alias, both versions and the digests of both models, the report and the policy; it is
    used once and is void if any of these changes. Where VERSION stands by an emergency rollback, it is that which is
    approved or rejected.
    """
    if decision is None:
        raise UsageError("say --approve or --reject")
    check_text(name, version, alias)
    check_words("--comment", comment)
    from coordpath_governance.review.belonging import check_belongs
    from coordpath_governance.review.decisions import approve, reject
    from coordpath_governance.review.emergency import review_emergency, under_review

    signer = load_key(key)
    registry, opened = open_recorded(ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
    number = str(int(version)) if version.isdecimal() else version_number(registry.client, name, version)
    state = under_review(opened, name, alias, number)
    if state is not None:
        check_belongs(opened, registry, name)
        if days is not None:
            raise UsageError("--days is for approvals of a change; the review of an emergency rollback holds for ever")
        entry = review_emergency(opened, state, signer, decision, comment)
        say_line(f"The review of the emergency rollback (entry {state.entry.seq}) is entry {entry.seq}.")
        tell_emergencies(opened, name)
        return
    governed = open_governed(name, ledger=ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)

    def sign(readiness: Readiness) -> Entry:
        if decision == "approve":
            return approve(governed.ledger, readiness, governed.adopted.policy, signer, comment=comment, days=days)
        return reject(governed.ledger, readiness.binding, signer, comment)

    decide(governed, version, alias, sign)
