"""What the audit commands share: JSON documents for scripts, anchors and files of evidence, and emergencies that are open.

Anchors are read as they are, and what is written never overwrites anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coordpath_governance.cli.clock import utc_now
from coordpath_governance.errors import EXIT_NO
from coordpath_governance.files import reading, write_new
from coordpath_governance.ledger.emergencies import open_emergencies
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.export import AnchorFile, read_anchor
from coordpath_governance.ledger.keyring import KeyRecord, KeyRing
from coordpath_governance.ledger.records import PastRetention, Records
from coordpath_governance.ledger.verify import Audit

__all__ = [
    "keys_document",
    "log_document",
    "open_words",
    "read_anchors",
    "show_document",
    "verify_document",
    "write_evidence",
]


def read_anchors(paths: Sequence[Path]) -> list[AnchorFile]:
    """Anchor files, unopened. Raises as `reading` does, or `LedgerError` for one that is no anchor."""
    return [_anchor(path) for path in paths]


def _anchor(path: Path) -> AnchorFile:
    with reading(path):
        return read_anchor(path.read_bytes(), f"'{path}'")


def write_evidence(path: Path, lines: Iterable[bytes]) -> None:
    """A new file, whole or not at all. Raises `UsageError` if there is one of that name, or it cannot be written."""
    write_new(path, lines, "evidence is never overwritten: name another file")


def log_document(records: Records, entries: Sequence[Entry], left_out: int) -> dict[str, Any]:
    """What `audit log --json` prints."""
    listed = [_entry(entry, records) for entry in entries]
    return {"schema": "coordpath.audit_log/1", **_source(records), "left_out": left_out, "entries": listed}


def show_document(records: Records, entry: Entry, written_to: str | None) -> dict[str, Any]:
    """What `audit show --json` prints."""
    document = records.document(entry)
    kept_document = None
    if document is not None:
        kept_document = {"name": document.name, "sha256": document.sha256, "bytes": document.size, "written_to": written_to}
    naming = [{"entry": each.seq, "event": each.event} for each in records.naming(entry)]
    return {
        "schema": "coordpath.audit_show/1",
        **_source(records),
        "entry": _entry(entry, records),
        "document": kept_document,
        "named_by": naming,
    }


def keys_document(records: Records, keys: Sequence[KeyRecord]) -> dict[str, Any]:
    """What `audit keys --json` prints."""
    return {"schema": "coordpath.audit_keys/1", **_source(records), "keys": [_key(each) for each in keys]}


def verify_document(
    result: Audit, missing_triggers: Sequence[str], past: Sequence[PastRetention], emergencies: Sequence[str]
) -> dict[str, Any]:
    """What `audit verify --json` prints; ``emergencies`` are those that others have still to settle."""
    head = result.head
    return {
        "schema": "coordpath.audit_verify/1",
        "ledger": result.ledger,
        "intact": result.intact,
        "conclusion": result.conclusion,
        "exit_code": 0 if result.intact else EXIT_NO,
        "entries": result.entries,
        "models": result.models,
        "keys": result.keys,
        "documents": result.blobs,
        "head": None if head is None else {"seq": head.seq, "at": head.at, "hash": head.hash},
        "anchored": result.anchored,
        "after_anchor": result.tail,
        "problems": [{"entry": each.seq, "problem": each.what} for each in result.problems],
        "alone": list(result.alone),
        "decision_pages_not_compared": result.pages_not_compared,
        "missing_triggers": list(missing_triggers),
        "emergencies": list(emergencies),
        "past_retention": [
            {
                "model": each.model,
                "class": each.class_,
                "years": each.years,
                "promotions": each.promotions,
                "oldest": each.oldest,
            }
            for each in past
        ],
    }


def _source(records: Records) -> dict[str, Any]:
    """What was read; ``intact`` and ``conclusion`` are those of an audit, null for an open ledger."""
    audit = records.audit
    return {
        "source": records.where,
        "ledger": records.ledger,
        "intact": None if audit is None else audit.intact,
        "conclusion": None if audit is None else audit.conclusion,
    }


def _entry(entry: Entry, records: Records) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "event": entry.event,
        "model": entry.model,
        "model_seq": entry.model_seq,
        "body": entry.body,
        "signed_by": _signer(entry.key, records.keys),
        "hash": entry.hash,
        "previous": entry.previous,
        "model_previous": entry.model_previous,
        "signature": entry.signature,
        "sound": records.is_sound(entry),
        "problems": list(records.problems(entry)),
    }


def _signer(key: str, keys: KeyRing) -> dict[str, Any]:
    signer = keys.keys.get(key)
    if signer is None:
        return {"key": key, "owner": None, "roles": []}
    return {"key": key, "owner": signer.facts.owner, "roles": list(signer.facts.roles)}


def _key(record: KeyRecord) -> dict[str, Any]:
    revoked = None
    if record.revoked is not None:
        revoked = {
            "entry": record.revoked.seq,
            "at": record.revoked.at,
            "by": record.revoked_by,
            "reason": record.reason,
        }
    return {
        "key": record.facts.id,
        "public": record.facts.public,
        "owner": record.facts.owner,
        "roles": list(record.facts.roles),
        "added": {"entry": record.added.seq, "at": record.added.at, "by": record.added_by},
        "revoked": revoked,
    }


def open_words(entries: Sequence[Entry], blobs: Mapping[str, bytes], name: str | None = None) -> tuple[str, ...]:
    """A line for each of all models, or of the model ``name``; ``entries`` are all of a ledger that is sound."""
    keys = KeyRing.of(entries)
    models = sorted({entry.model for entry in entries if entry.model is not None and name in (None, entry.model)})
    return tuple(
        f"{model}: {each.sentence(utc_now())} (entry {each.entry.seq})"
        for model in models
        for each in open_emergencies([entry for entry in entries if entry.model == model], blobs, keys)
    )
