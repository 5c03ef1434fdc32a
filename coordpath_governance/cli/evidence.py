"""Files of evidence: anchors are read as they are, and what is written never overwrites anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from coordpath_governance.files import reading, write_new
from coordpath_governance.ledger.export import AnchorFile, read_anchor

__all__ = ["read_anchors", "write_evidence"]


def read_anchors(paths: Sequence[Path]) -> list[AnchorFile]:
    """Anchor files, unopened. Raises as `reading` does, or `LedgerError` for one that is no anchor."""
    return [_anchor(path) for path in paths]


def _anchor(path: Path) -> AnchorFile:
    with reading(path):
        return read_anchor(path.read_bytes(), f"'{path}'")


def write_evidence(path: Path, lines: Iterable[bytes]) -> None:
    """A new file, whole or not at all. Raises `UsageError` if there is one of that name, or it cannot be written."""
    write_new(path, lines, "evidence is never overwritten: name another file")
