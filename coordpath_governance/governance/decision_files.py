"""The newest decision on each change to a version, attached to it beside the report on the change that was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordpath_governance.errors import AttachError
from coordpath_governance.ledger.events import ReportMade
from coordpath_governance.registry.beside import attaching, folder_between, present_beside, write_beside
from coordpath_governance.registry.versions import point_at_version
from coordpath_governance.review.decision_records import DECISION_FILES, record_decisions, recorded_decisions
from coordpath_governance.review.history import ModelHistory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.registry.ports import VersionClient
    from coordpath_governance.registry.versions import ModelPointer

__all__ = ["ForeignDecision", "foreign_decisions", "put_decisions"]


@dataclass(frozen=True)
class ForeignDecision:
    """Files beside a version that are of no recorded decision on that change; whether one is on record to replace them."""

    files: tuple[str, ...]
    on_record: bool

    def sentence(self, version: str) -> str:
        """What is wrong, and what becomes of it."""
        if self.on_record:
            files = ", ".join(f"{file}: changed" for file in self.files)
            return (
                f"the attached decision on version {version} is not the recorded one ({files}); the recorded one replaces it"
            )
        return (
            f"beside version {version} lie files of a decision that is not on record ({', '.join(self.files)}); "
            "find out who put them there, and remove them"
        )


def put_decisions(client: VersionClient, ledger: Ledger, name: str, version: str) -> None:
    """Record what decisions about a model lack a record, and attach the newest on each change to a version.

    Done again, it does nothing. Raises `AttachError` if the registry refuses the files.
    """
    record_decisions(ledger, name)
    newest = {before: files[0] for before, files in _on_record(ledger, name, version).items()}
    if not newest:
        return
    with attaching(f"attaching the decision on version {version} of '{name}'"):
        pointer = point_at_version(client, name, version)
        if pointer.gone is not None or (pointer.model_id is None and pointer.run_id is None):
            return
        for before, files in newest.items():
            _put(client, pointer, folder_between(name, before, version), files)


def _put(client: VersionClient, pointer: ModelPointer, folder: str, files: dict[str, bytes]) -> None:
    if present_beside(client, pointer, folder, tuple(files)) == files:
        return
    write_beside(client, pointer, folder, files)
    if present_beside(client, pointer, folder, tuple(files)) != files:
        raise AttachError(f"the decision in {folder} did not read back as it was written")


def foreign_decisions(client: VersionClient, ledger: Ledger, name: str, version: str) -> Iterator[ForeignDecision]:
    """What lies beside a version as a decision, and is none that the ledger recorded on the change it lies with.

    An older decision's files are only out of date, and files that are not there may not have been attached yet.
    Raises `RegistryError` if the artifacts cannot be reached.
    """
    recorded = _on_record(ledger, name, version)
    reported = [
        report.champion for _, report in ModelHistory(ledger.entries(name)).of(ReportMade) if report.version == version
    ]
    if not (reported or recorded):
        return
    pointer = point_at_version(client, name, version)
    if pointer.gone is not None:
        return
    for before in dict.fromkeys((*reported, *recorded)):
        present = present_beside(client, pointer, folder_between(name, before, version), DECISION_FILES)
        own_files = recorded.get(before, [])
        files = tuple(
            file for file in DECISION_FILES if file in present and all(present[file] != own[file] for own in own_files)
        )
        if files:
            yield ForeignDecision(files, bool(own_files))


def _on_record(ledger: Ledger, name: str, version: str) -> dict[str | None, list[dict[str, bytes]]]:
    """The files of every recorded decision about a version, newest first, by the version that the change starts from."""
    recorded: dict[str | None, list[dict[str, bytes]]] = {}
    for document, files in recorded_decisions(ledger, name, version):
        recorded.setdefault(document.from_version, []).append(files)
    return recorded
