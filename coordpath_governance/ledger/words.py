"""An entry in one line that people read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import (
    Adoption,
    Anchor,
    Approval,
    DecisionRecorded,
    Declaration,
    Emergency,
    EmergencyReview,
    Intent,
    KeyAdded,
    KeyRevoked,
    LedgerCreated,
    Move,
    OutsideMove,
    PolicyAdopted,
    PolicyRetired,
    Promotion,
    Proposal,
    Refusal,
    Registration,
    Rejection,
    ReportMade,
    VerdictGiven,
    VersionRetired,
    VersionUnreadable,
    Waiver,
)
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.proposals import Seconded
from coordpath_governance.text import shorten, visible

__all__ = ["VOUCHED", "actor_words", "entry_line"]

_DIGITS = 12
_TEXT = 160
_NAME = 60
VOUCHED = {"server": "server login", "key": "signed with a key"}


def entry_line(entry: Entry, keys: KeyRing) -> str:
    """Number, time, event, model, what happened, who signed; one line whatever was written into it."""
    known = keys.keys.get(entry.key)
    signer = shorten(known.facts.owner, _NAME) if known else f"key {entry.key[:_DIGITS]}"
    about = f"{shorten(entry.model, _NAME)}: " if entry.model is not None else ""
    facts = entry.facts
    return visible(f"{entry.seq:>5}  {entry.at}  {entry.event:<14}  {about}{_TELL[type(facts)](facts)}  [{signer}]")


def _change(binding: Move) -> str:
    return f"version {binding.from_version or 'none'} → {binding.to_version} as '{shorten(binding.alias, _NAME)}'"


def _version(version: str | None) -> str:
    return f"version {shorten(version, _NAME)}" if version is not None else "nothing"


def _said(text: str) -> str:
    return f": {shorten(text, _TEXT)}" if text else ""


def _key(facts: KeyAdded) -> str:
    key = facts.key
    return f"{key.id[:_DIGITS]} of {shorten(key.owner, _NAME)} ({shorten(', '.join(key.roles), _TEXT)})"


def _policy(facts: PolicyAdopted) -> str:
    return f"'{shorten(facts.name, _NAME)}' {facts.policy[:_DIGITS]} for {_listed(facts.models)}"


def _seconds(facts: Seconded) -> str:
    return f", seconding the proposal {facts.proposal[:_DIGITS]}" if facts.proposal else ""


def _registration(facts: Registration) -> str:
    author = shorten(facts.author, _NAME) if facts.author else "somebody unknown"
    return f"version {facts.version} by {author}{'' if facts.authenticated_by else ' (unverified)'}"


def _promotion(facts: Promotion) -> str:
    """Entries from before promotions named their actor say nothing about one."""
    done = f"{_version(facts.to_version)} is '{shorten(facts.alias, _NAME)}' ({facts.completed})"
    who = f", promoted by {actor_words(facts.actor, facts.authenticated_by)}" if "actor" in facts.model_fields_set else ""
    return f"{done}{who}{f', finished by {shorten(facts.completed_by, _NAME)}' if facts.completed_by else ''}"


def actor_words(actor: str | None, authenticated_by: str | None) -> str:
    """Who asked, and who vouches for that: `bob (server login)`."""
    if not actor or authenticated_by is None:
        return f"{shorten(actor, _NAME)} (unverified)" if actor else "nobody who is known (unverified)"
    return f"{shorten(actor, _NAME)} ({VOUCHED[authenticated_by]})"


def _refusal(facts: Refusal) -> str:
    alias = f" '{shorten(facts.alias, _NAME)}'" if facts.alias is not None else ""
    version = f" {_version(facts.version)}" if facts.version is not None else ""
    who = f" by {shorten(facts.actor, _NAME)}" if facts.actor is not None else ""
    return f"{shorten(facts.operation, _NAME)}{alias}{version}{who}{_said(facts.reason)}"


def _outside_move(facts: OutsideMove) -> str:
    expected, found = _version(facts.expected), _version(facts.found)
    return f"'{shorten(facts.alias, _NAME)}' should be {expected}, is {found}{_said(facts.reason)}"


_TELL: dict[type, Callable[[Any], str]] = {
    LedgerCreated: lambda facts: f"ledger {facts.ledger}",
    KeyAdded: lambda facts: f"{_key(facts)}{_seconds(facts)}",
    KeyRevoked: lambda facts: f"{facts.key[:_DIGITS]}{_said(facts.reason)}",
    PolicyAdopted: lambda facts: f"{_policy(facts)}{_seconds(facts)}",
    Proposal: lambda facts: f"{facts.event}: {_TELL[type(facts.proposed)](facts.proposed)}; waits for a second policy-admin",
    PolicyRetired: lambda facts: (
        f"'{shorten(facts.name, _NAME)}' {facts.policy[:_DIGITS]}{_said(facts.reason)}{_seconds(facts)}"
    ),
    Registration: _registration,
    ReportMade: lambda facts: f"version {facts.champion or 'none'} → {facts.version}, SHA-256 {facts.report[:_DIGITS]}",
    VerdictGiven: lambda facts: f"{facts.verdict} for {_change(facts.binding)}",
    Approval: lambda facts: f"{_change(facts.binding)}, until {facts.expires}{_said(facts.comment)}",
    Rejection: lambda facts: f"{_change(facts.binding)}{_said(facts.comment)}",
    Waiver: lambda facts: f"'{shorten(facts.rule, _NAME)}' for {_change(facts.binding)}{_said(facts.reason)}",
    Declaration: lambda facts: (
        f"version {facts.version}, files {facts.digest[:_DIGITS]}, predicts by the coefficients "
        f"{facts.coefficients[:_DIGITS]}{_said(facts.reason)}"
    ),
    Intent: lambda facts: (
        _change(facts.binding)
        + f" by {actor_words(facts.actor, facts.authenticated_by)}"
        + f", approvals: {len(facts.approvals)}, waivers: {len(facts.waivers)}"
    ),
    Promotion: _promotion,
    Emergency: lambda facts: (
        f"rollback {_change(facts.binding)} by {shorten(facts.actor, _NAME)}, to be reviewed by {facts.review_by[:10]}"
        f"{_said(facts.reason)}"
    ),
    EmergencyReview: lambda facts: f"{facts.decision} of the rollback {facts.emergency[:_DIGITS]}{_said(facts.comment)}",
    Refusal: _refusal,
    OutsideMove: _outside_move,
    Adoption: lambda facts: f"{_version(facts.version)} as '{shorten(facts.alias, _NAME)}'{_said(facts.reason)}",
    VersionRetired: lambda facts: f"version {facts.version} may be deleted{_said(facts.reason)}",
    VersionUnreadable: lambda facts: f"version {facts.version} could not be explained{_said(facts.reason)}",
    DecisionRecorded: lambda facts: f"on version {facts.version}, SHA-256 {facts.decision[:_DIGITS]}",
    Anchor: lambda facts: f"entry {facts.seq}, {facts.hash[:_DIGITS]}",
}


def _listed(names: tuple[str, ...]) -> str:
    return shorten(", ".join(names), _TEXT)
