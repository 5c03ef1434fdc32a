"""When the models on record were created, by which a ledger knows its registry again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Adoption, Intent

__all__ = ["CreationOnRecord", "after_entry", "creations_on_record"]

_EVENTS = ("intent", "adoption")


@dataclass(frozen=True)
class CreationOnRecord:
    """A model that was to be put under a guarded alias: when it, and its versions, were created (milliseconds since 1970).

    ``newest`` is the version that the newest entry is about. Times are None, or not there, in ledgers from before them.
    """

    created_at: int | None = None
    newest: str | None = None
    versions: dict[str, int] = field(default_factory=dict)


def creations_on_record(entries: Iterable[Entry]) -> dict[str, CreationOnRecord]:
    """All models with an intent or adoption on record, those of the newest entries first."""
    known: dict[str, CreationOnRecord] = {}
    for entry in entries:
        if entry.event in _EVENTS and entry.model is not None:
            after = after_entry(known.pop(entry.model, None), entry)
            if after is not None:
                known[entry.model] = after
    return dict(reversed(known.items()))


def after_entry(before: CreationOnRecord | None, entry: Entry) -> CreationOnRecord | None:
    """What is known of a model after one more entry of its chain; None if nothing is.

    Whoever adopts that there is nothing, where the registry has no such model, says that the model is gone. A model that was
    created again has its versions anew.
    """
    facts = entry.facts
    if not isinstance(facts, Intent | Adoption):
        return before
    version = facts.binding.to_version if isinstance(facts, Intent) else facts.version
    model_at, version_at = facts.model_created_at, facts.version_created_at
    if version is None and model_at is None:
        return None
    before = before or CreationOnRecord()
    again = model_at is not None and before.created_at not in (None, model_at)
    versions = {} if again else dict(before.versions)
    if version is not None and version_at is not None:
        versions[version] = version_at
    return CreationOnRecord(before.created_at if model_at is None else model_at, version or before.newest, versions)
