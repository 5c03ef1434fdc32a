"""The newest decision about a version, attached to it beside the report on the change that was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import AttachError
from coordpath_governance.ledger.events import DecisionRecorded
from coordpath_governance.registry.beside import attaching, folder_between, present_beside, write_beside
from coordpath_governance.registry.versions import point_at
from coordpath_governance.review.decision_records import newest_decision, record_decisions

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger

__all__ = ["changed_decision_files", "put_decision"]


def put_decision(client: Any, ledger: Ledger, name: str, version: str) -> None:  # noqa: ANN401 - MlflowClient, or what imitates it
    """Record what decisions about a model lack a record, and attach the newest about a version. Done again, it does nothing.

    Raises `AttachError` if the registry refuses the files.
    """
    record_decisions(ledger, name)
    newest = newest_decision(ledger, name, version)
    if newest is None:
        return
    document, files = newest
    folder = folder_between(name, document.from_version, document.to_version)
    with attaching(f"attaching the decision on version {version} of '{name}'"):
        pointer = point_at(client, name, version)
        if pointer.gone is not None or (pointer.model_id is None and pointer.run_id is None):
            return
        if present_beside(client, pointer, folder, tuple(files)) == files:
            return
        write_beside(client, pointer, folder, files)
        if present_beside(client, pointer, folder, tuple(files)) != files:
            raise AttachError(f"the decision on version {version} of '{name}' did not read back as it was written")


def changed_decision_files(client: Any, ledger: Ledger, name: str, version: str) -> tuple[str, ...]:  # noqa: ANN401 - MlflowClient
    """Files beside a version that are no file of any decision about it that the ledger recorded.

    An older decision's files are only out of date, and files that are not there may not have been attached yet.
    Raises `RegistryError` if the artifacts cannot be reached.
    """
    newest = newest_decision(ledger, name, version)
    if newest is None:
        return ()
    document, files = newest
    pointer = point_at(client, name, version)
    if pointer.gone is not None:
        return ()
    folder = folder_between(name, document.from_version, version)
    present = present_beside(client, pointer, folder, tuple(files))
    recorded = _recorded_digests(ledger, name, version)
    return tuple(file for file in files if file in present and sha256_hex(present[file]) not in recorded)


def _recorded_digests(ledger: Ledger, name: str, version: str) -> set[str]:
    facts = [each.facts for each in ledger.entries(name) if isinstance(each.facts, DecisionRecorded)]
    mine = [each for each in facts if each.version == version]
    return {digest for each in mine for digest in (each.decision, *each.pages.values(), each.attestation)}
