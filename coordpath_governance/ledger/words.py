"""An entry as people read it: in one line, or in full, with every field of every kind of event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from coordpath_governance.ledger.quorum import Seconded
from coordpath_governance.ledger.records import Records
from coordpath_governance.ledger.times import shown_milliseconds
from coordpath_governance.text import shorten, visible

__all__ = ["VOUCHED", "account", "actor_words", "entry_line", "signer_words"]

_DIGITS = 12
_TEXT = 160
_NAME = 60
VOUCHED = {"server": "server login", "key": "signed with a key"}

MEANINGS = {
    "ledger created": "The ledger begins, with the key that signs what machines record.",
    "key added": "A policy-admin adds a person's key; the first policy-admin signs for itself.",
    "key revoked": "A policy-admin takes a key out; from here on it signs nothing.",
    "policy adopted": "A policy-admin puts a policy in force; it replaces an earlier one of the same name.",
    "policy retired": "A policy-admin takes a policy out of force.",
    "proposal": "A policy-admin proposes a key or a policy; it counts when another one has seconded it.",
    "registration": "A version was registered.",
    "report": "A change report was made.",
    "verdict": "The gate said this about a change.",
    "approval": "A person says yes to exactly this change, once, until it expires.",
    "rejection": "A person says no to exactly this change.",
    "waiver": "A person takes responsibility for one rule that is not met.",
    "declaration": "A person vouches for the coefficients of a version that cannot be read.",
    "intent": "A promotion passed the gate and was about to happen; it uses up the approvals and waivers listed.",
    "decision record": "The decision of another entry was laid out for people, attested, and kept.",
    "emergency": "A person put back what stood there before, alone and at once; others review it afterwards.",
    "emergency review": "A person says whether an emergency rollback was right.",
    "promotion": "The alias was set and read back.",
    "refusal": "Somebody tried what the guard does not allow.",
    "outside move": "The registry did not stand where the ledger had left it.",
    "adoption": "A policy-admin takes what stands under an alias as it is; no rule was checked.",
    "version retired": "A policy-admin lets a version that was promoted once be deleted.",
    "version unreadable": "A sweep could not explain a version; that is told, and decides nothing.",
    "anchor": "The newest entry was written outside, signed.",
}
_LABELS = {
    "authenticated_by": "who vouches for that",
    "binding": "about",
    "champion": "from version",
    "champion_digest": "files of the version before",
    "candidate_digest": "files of the version",
    "from_digest": "files of the version before",
    "to_digest": "files of the version",
    "digest": "files of the version",
    "envelope": "the request as it was signed (DSSE)",
    "expires": "holds until",
    "hash": "its hash",
    "id": "key",
    "models": "for models",
    "public": "public key",
    "registry": "ledger",
}
_MILLISECONDS = frozenset(("model_created_at", "version_created_at"))
_NOTHING = {
    "from_version": "none",
    "champion": "none",
    "version": "none",
    "authenticated_by": "nobody (unverified)",
    "proof": "none",
    "proposal": "none: one policy-admin signed alone",
}


def entry_line(entry: Entry, keys: KeyRing) -> str:
    """Number, time, event, model, what happened, who signed; one line whatever was written into it."""
    known_key = keys.keys.get(entry.key)
    signer = shorten(known_key.facts.owner, _NAME) if known_key else f"key {entry.key[:_DIGITS]}"
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
    move = f"{_version(facts.to_version)} is '{shorten(facts.alias, _NAME)}' ({facts.completed})"
    who = f", promoted by {actor_words(facts.actor, facts.authenticated_by)}" if "actor" in facts.model_fields_set else ""
    return f"{move}{who}{f', finished by {shorten(facts.completed_by, _NAME)}' if facts.completed_by else ''}"


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


def account(entry: Entry, records: Records) -> Iterator[tuple[int, str, str]]:
    """Depth, label and text of every field of an entry. A text may have several lines and control characters."""
    yield 0, "Entry", f"{entry.seq}, {entry.event}"
    for problem in records.problems(entry):
        yield 0, "NOT as it should be", problem
    yield 0, "When", f"{entry.at} (clock of the ledger's database, UTC)"
    if entry.model is not None:
        yield 0, "Model", f"{entry.model} (entry {entry.model_seq} about it)"
    yield 0, "Signed by", signer_words(entry.key, records.keys)
    yield 0, "What", MEANINGS.get(entry.event, entry.event)
    yield from _fields(_body(entry, records), 1, records)
    document = records.document(entry)
    if document is not None:
        size = "missing or changed" if document.size is None else f"{document.size} bytes"
        yield 0, "Kept document", f"{document.name}, {size}, SHA-256 {document.sha256}"
    naming = records.naming(entry)
    if naming:
        yield 0, "Named by", ", ".join(f"entry {each.seq} ({each.event})" for each in naming)
    yield 0, "Hash", entry.hash
    yield 0, "Entry before", entry.previous
    if entry.model_previous is not None:
        yield 0, "Entry before, of this model", entry.model_previous
    yield 0, "Signature", entry.signature


def signer_words(key: str, keys: KeyRing) -> str:
    """Whose key it is, its roles, and where it came from and went."""
    signer = keys.keys.get(key)
    if signer is None:
        return f"an unknown key, {key}"
    gone = "" if signer.revoked is None else f", revoked by entry {signer.revoked}"
    roles = ", ".join(signer.facts.roles)
    return f"{signer.facts.owner} ({roles}), key {key}, added by entry {signer.added}{gone}"


def _body(entry: Entry, records: Records) -> dict[str, Any]:
    """What was recorded, in the order in which people read it; an entry that is not sound just as it is written."""
    if not records.is_sound(entry):
        return entry.body
    return entry.facts.model_dump(mode="json", exclude_unset=True)


def _fields(body: dict[str, Any], depth: int, records: Records) -> Iterator[tuple[int, str, str]]:
    for name, value in body.items():
        label = _LABELS.get(name, name if "." in name else name.replace("_", " "))
        if isinstance(value, dict):
            yield depth, label, ""
            yield from _fields(value, depth + 1, records)
        elif isinstance(value, list):
            yield from _as_rows(label, value, depth, records)
        else:
            yield depth, label, _text(name, value, records)


def _as_rows(label: str, values: list[Any], depth: int, records: Records) -> Iterator[tuple[int, str, str]]:
    if not values:
        yield depth, label, "none"
    for value in values:
        if isinstance(value, dict):
            yield depth, label, ""
            yield from _fields(value, depth + 1, records)
        else:
            yield depth, label, _text(label, value, records)


def _text(name: str, value: Any, records: Records) -> str:  # noqa: ANN401 - a JSON value
    """A value as it is, with the entry that it stands for if it is a digest of one."""
    if value is None:
        return _NOTHING.get(name, "not recorded")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _MILLISECONDS and isinstance(value, int):
        return f"{shown_milliseconds(value)} (clock of the registry)"
    if name == "authenticated_by":
        return VOUCHED.get(str(value), str(value))
    origin = records.origin(value) if isinstance(value, str) else None
    return str(value) if origin is None else f"{value} (entry {origin.seq}, {origin.event})"
