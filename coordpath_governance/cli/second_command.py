"""`coordpath second`: what one policy-admin proposed takes effect when another has looked at it and signs it too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coordpath_governance.cli.answers import say_line
from coordpath_governance.cli.options import key_option, ledger_options, load_key, open_ledger
from coordpath_governance.cli.screen import say
from coordpath_governance.errors import EXIT_NO, EXIT_REVIEW, CoordpathError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordpath_governance.ledger.entries import Entry
    from coordpath_governance.ledger.events import KeyAdded, PolicyAdopted, Proposal
    from coordpath_governance.ledger.store import Ledger

__all__ = ["command", "say_proposed"]


@click.command("second")
@click.argument("entry", type=click.IntRange(min=1), required=False)
@click.option("--yes", is_flag=True, help="Sign without being asked at a terminal.")
@key_option
@ledger_options
def command(entry: int | None, yes: bool, key: Path | None, **where: str | None) -> int:
    """Show the proposal of entry ENTRY and, with --key, second it; without ENTRY, list the proposals that wait.

    Where a policy in force asks for two policy-admins (`admins: 2`), a key or policy counts only when another one has
    seconded it. --key is that of the other policy-admin. Exits 3 if it still waits, and a list exits 1 if a proposal in it
    cannot be read.
    """
    from coordpath_governance.ledger.seconding import proposal_at, second, waiting

    ledger = open_ledger(**where, create=False)
    if entry is None:
        return _list(ledger, waiting(ledger))
    _show(ledger, *proposal_at(ledger, entry))
    if key is None:
        say(f"To second it: coordpath second {entry} --key FILE")
        return EXIT_REVIEW
    signer = load_key(key)
    if not yes and sys.stdin.isatty() and not click.confirm("Sign this?"):
        say("Nothing was signed.")
        return EXIT_REVIEW
    seconded = second(ledger, entry, signer)
    say_line(f"Seconded: '{seconded.event}' is entry {seconded.seq} of {ledger.url}")
    return 0


def say_proposed(entry: Entry) -> int:
    """Say what has to follow a proposal; returns the exit code for something that waits for a person."""
    say_line(
        f"Proposed as entry {entry.seq}. It counts when another policy-admin has seconded it: "
        f"coordpath second {entry.seq} --key FILE"
    )
    return EXIT_REVIEW


def _list(ledger: Ledger, proposals: Iterable[tuple[Entry, Proposal]]) -> int:
    """Show every proposal; one that cannot be read does not hide the others. The exit code says whether there was one."""
    shown, unreadable = 0, 0
    for entry, facts in proposals:
        shown += 1
        try:
            _show(ledger, entry, facts)
        except CoordpathError as error:
            unreadable += 1
            say_line(f"  Do not second entry {entry.seq}: {error}")
    if not shown:
        say("Nothing waits for a second policy-admin.")
    return EXIT_NO if unreadable else 0


def _show(ledger: Ledger, entry: Entry, proposal: Proposal) -> None:
    """Everything that the person who seconds it signs."""
    from coordpath_governance.ledger.events import KeyAdded, PolicyAdopted

    proposer = ledger.keyring().keys[entry.key].facts.owner
    say_line(f"Entry {entry.seq} of {entry.at}: {proposer} proposes '{proposal.event}'")
    proposed = proposal.proposed
    if isinstance(proposed, KeyAdded):
        _show_key(proposed)
    elif isinstance(proposed, PolicyAdopted):
        _show_policy(ledger, proposed)
    else:
        say_line(f"  policy '{proposed.name}', SHA-256 {proposed.policy}, goes out of force: {proposed.reason}")


def _show_key(facts: KeyAdded) -> None:
    key = facts.key
    say_line(f"  key {key.id}")
    say_line(f"  of {key.owner}, with the roles {', '.join(key.roles)}")
    if facts.proof is None:
        say_line("  without proof that its owner has it: whoever proposed it may have made it")
    else:
        naming = f"named {facts.proof.owner}" if facts.proof.owner else "naming nobody"
        say_line(f"  with its owner's proof of {facts.proof.at}, {naming}")


def _show_policy(ledger: Ledger, facts: PolicyAdopted) -> None:
    from coordpath_governance.ledger.seconding import proposed_policy
    from coordpath_governance.policy.load import policy_changes
    from coordpath_governance.review.policies import adopted_policies

    policy = proposed_policy(ledger, facts)
    before = next((each for each in adopted_policies(ledger) if each.policy.name == policy.name), None)
    say_line(f"  policy '{policy.name}', SHA-256 {facts.policy}, for models {', '.join(policy.models)}")
    say_line(f"  {'a new policy' if before is None else f'in place of SHA-256 {before.sha256}'}; what it changes:")
    for line in policy_changes(None if before is None else before.policy, policy):
        say_line(f"    {line}")
