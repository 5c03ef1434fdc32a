"""Decisions for people: laid out from the ledger's entries, recorded, and attached beside the report that was decided on.

Whoever has the service key records the decisions that lack a record. The newest decision on each change is attached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordpath_governance.attestation.attest import DECISION_ATTESTATION, attest_decision
from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import AttachError, LedgerConflictError
from coordpath_governance.ledger.decision_documents import decision_of
from coordpath_governance.ledger.events import DecisionRecorded, ReportMade
from coordpath_governance.registry.attachments import attaching, folder_between, present_attachments, write_attachments
from coordpath_governance.registry.versions import point_at_version
from coordpath_governance.rendering.decision_view import DECISION_LAYOUT, render_decision_html, render_decision_markdown
from coordpath_governance.reports.decision import DecisionDocument
from coordpath_governance.review.history import ModelHistory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.registry.ports import VersionClient
    from coordpath_governance.registry.versions import ModelPointer
    from coordpath_governance.signing.keys import PrivateKey

__all__ = [
    "DECISION_FILE",
    "DECISION_FILES",
    "ForeignDecision",
    "decision_record",
    "foreign_decisions",
    "put_decisions",
    "record_decisions",
    "recorded_decisions",
]

DECISION_FILE, _HTML, _MARKDOWN = "decision.json", "decision.html", "decision.md"
DECISION_FILES = (DECISION_FILE, _HTML, _MARKDOWN, DECISION_ATTESTATION)
"""All files of a decision, attached in the same folder as the report."""

_TURNS = 5


def record_decisions(ledger: Ledger, name: str) -> None:
    """Record every promotion and rejection of a model that has no record yet, oldest first.

    Without the service key nothing is recorded: the next process that has it does.
    """
    if ledger.signing_key() is None:
        return
    for _ in range(_TURNS):
        if not _record_next(ledger, name):
            return


def _record_next(ledger: Ledger, name: str) -> bool:
    """Record what lacks; True if somebody else recorded something meanwhile, so that it must be looked at again."""
    chain, service = ledger.entries(name), ledger.signing_key()
    about = {each.facts.about for each in chain if isinstance(each.facts, DecisionRecorded)}
    length = len(chain)
    for entry in chain:
        document = None if entry.hash in about else decision_of(entry, chain, ledger.keyring(), ledger.id)
        if document is None or service is None:
            continue
        facts, files = decision_record(document, service)
        try:
            ledger.record("decision record", facts, model=name, blob=tuple(files.values()), after=length)
        except LedgerConflictError:
            return True
        length += 1
    return False


def decision_record(document: DecisionDocument, service: PrivateKey) -> tuple[DecisionRecorded, dict[str, bytes]]:
    """What the ledger records of a decision, and the files that it names, by name; ``service`` attests them."""
    files = _laid_out(document)
    digests = {file: sha256_hex(content) for file, content in files.items()}
    files[DECISION_ATTESTATION] = attest_decision(document, digests, service)
    facts = DecisionRecorded(
        version=document.to_version,
        about=document.entry_sha256,
        decision=digests[DECISION_FILE],
        pages={_HTML: digests[_HTML], _MARKDOWN: digests[_MARKDOWN]},
        attestation=sha256_hex(files[DECISION_ATTESTATION]),
        layout=DECISION_LAYOUT,
    )
    return facts, files


def recorded_decisions(ledger: Ledger, name: str, version: str) -> Iterator[tuple[DecisionDocument, dict[str, bytes]]]:
    """Every recorded decision about a version, newest first, with its files by name as the ledger keeps them.

    If a decision was recorded twice, the first record counts; the audit reports the second.
    """
    first: dict[str, DecisionRecorded] = {}
    for entry in ledger.entries(name):
        if isinstance(facts := entry.facts, DecisionRecorded):
            first.setdefault(facts.about, facts)
    for facts in reversed(first.values()):
        if facts.version == version:
            digests = {DECISION_FILE: facts.decision, **facts.pages, DECISION_ATTESTATION: facts.attestation}
            files = {file: ledger.blob(digest) for file, digest in digests.items()}
            yield DecisionDocument.from_bytes(files[DECISION_FILE]), files


def _laid_out(document: DecisionDocument) -> dict[str, bytes]:
    return {
        DECISION_FILE: document.to_bytes(),
        _HTML: render_decision_html(document).encode(),
        _MARKDOWN: render_decision_markdown(document).encode(),
    }


@dataclass(frozen=True)
class ForeignDecision:
    """Attached files of no recorded decision on that change. ``on_record``: a recorded decision replaces them."""

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
            f"version {version} has attached files of a decision that is not on record ({', '.join(self.files)}); "
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
    if present_attachments(client, pointer, folder, tuple(files)) == files:
        return
    write_attachments(client, pointer, folder, files)
    if present_attachments(client, pointer, folder, tuple(files)) != files:
        raise AttachError(f"the decision in {folder} did not read back as it was written")


def foreign_decisions(client: VersionClient, ledger: Ledger, name: str, version: str) -> Iterator[ForeignDecision]:
    """Attached decision files that differ from every decision that the ledger recorded on that change.

    Files of an older decision are only out of date, and missing files may not have been attached yet: neither is reported.
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
        present = present_attachments(client, pointer, folder_between(name, before, version), DECISION_FILES)
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
