"""Emergency rollbacks that others have not settled, in a line each, from the entries of a ledger or of its export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordpath_governance.cli.clock import utc_now
from coordpath_governance.ledger.emergencies import open_emergencies
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.keyring import KeyRing

__all__ = ["open_words"]


def open_words(entries: Sequence[Entry], blobs: Mapping[str, bytes], name: str | None = None) -> tuple[str, ...]:
    """A line for each of all models, or of the model ``name``; ``entries`` are all of a ledger that is sound."""
    keys = KeyRing.of(entries)
    models = sorted({entry.model for entry in entries if entry.model is not None and name in (None, entry.model)})
    return tuple(
        f"{model}: {each.sentence(utc_now())} (entry {each.entry.seq})"
        for model in models
        for each in open_emergencies([entry for entry in entries if entry.model == model], blobs, keys)
    )
