"""Versions that cannot be explained whatever is tried: recorded once, so that they do not turn every sweep red."""

from __future__ import annotations

from contextlib import suppress

from coordpath_governance.errors import AlignmentError, CoordpathError, FilesGoneError, ModelReadError
from coordpath_governance.ledger.events import LONGEST_WORDS, VersionUnreadable
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.ports import AliasRegistry

__all__ = ["is_about_the_files", "seen_before"]


def is_about_the_files(error: CoordpathError) -> bool:
    """Whether trying again would end the same way: the files are not there, or cannot be read or compared."""
    return isinstance(error, FilesGoneError | ModelReadError | AlignmentError)


def seen_before(
    ledger: Ledger, registry: AliasRegistry, name: str, version: str, champion: str | None, error: CoordpathError
) -> bool:
    """Whether the version failed before with the same files against the same champion; if not, record that it did now."""
    digest = None
    with suppress(CoordpathError):
        digest = registry.digest(name, version)
    what = (version, champion, digest)
    history = ModelHistory(ledger.entries(name))
    if any((each.version, each.champion, each.digest) == what for _, each in history.of(VersionUnreadable)):
        return True
    if ledger.service is not None:
        facts = VersionUnreadable(version=version, champion=champion, digest=digest, reason=str(error)[:LONGEST_WORDS])
        ledger.record("version unreadable", facts, model=name)
    return False
