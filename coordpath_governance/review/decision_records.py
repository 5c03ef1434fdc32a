"""Decisions put on record as people read them: whoever has the service key writes what lacks, from the entries alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordpath_governance.attestation.attest import DECISION_ATTESTATION, attest_decision
from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import LedgerConflictError
from coordpath_governance.ledger.decided import decided
from coordpath_governance.ledger.events import DecisionRecorded
from coordpath_governance.rendering.decision_view import DECISION_LAYOUT, render_decision_html, render_decision_markdown
from coordpath_governance.reports.decision import DecisionDocument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["DECISION_FILE", "DECISION_FILES", "decision_record", "newest_decision", "record_decisions", "recorded_decisions"]

DECISION_FILE, _HTML, _MARKDOWN = "decision.json", "decision.html", "decision.md"
DECISION_FILES = (DECISION_FILE, _HTML, _MARKDOWN, DECISION_ATTESTATION)
"""All files of a decision, as they lie beside the report."""

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
    seen = len(chain)
    for entry in chain:
        document = None if entry.hash in about else decided(entry, chain, ledger.keyring(), ledger.id)
        if document is None or service is None:
            continue
        facts, files = decision_record(document, service)
        try:
            ledger.record("decision record", facts, model=name, blob=tuple(files.values()), after=seen)
        except LedgerConflictError:
            return True
        seen += 1
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

    A second record of the same decision is none of ours: the first counts, and the audit names the second.
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


def newest_decision(ledger: Ledger, name: str, version: str) -> tuple[DecisionDocument, dict[str, bytes]] | None:
    """The newest recorded decision about a version; see `recorded_decisions`."""
    return next(recorded_decisions(ledger, name, version), None)


def _laid_out(document: DecisionDocument) -> dict[str, bytes]:
    return {
        DECISION_FILE: document.to_bytes(),
        _HTML: render_decision_html(document).encode(),
        _MARKDOWN: render_decision_markdown(document).encode(),
    }
