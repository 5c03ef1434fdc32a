"""One entry in full, as label and text: nothing is left out or shortened, whatever kind of event it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.records import Records
from coordpath_governance.ledger.times import shown_milliseconds
from coordpath_governance.ledger.words import VOUCHED

__all__ = ["account", "signer_words"]

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


def account(entry: Entry, records: Records) -> Iterator[tuple[int, str, str]]:
    """Depth, label and text of everything that an entry says; a text may have several lines, and is not yet made visible."""
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
    known = keys.keys.get(key)
    if known is None:
        return f"an unknown key, {key}"
    gone = "" if known.revoked is None else f", revoked by entry {known.revoked}"
    roles = ", ".join(known.facts.roles)
    return f"{known.facts.owner} ({roles}), key {key}, added by entry {known.added}{gone}"


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
            yield from _listed(label, value, depth, records)
        else:
            yield depth, label, _text(name, value, records)


def _listed(label: str, values: list[Any], depth: int, records: Records) -> Iterator[tuple[int, str, str]]:
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
