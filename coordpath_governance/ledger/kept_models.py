"""Models in the ledger's reports: the coefficients of a version whose files are gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import ModelReadError, ReportFormatError
from coordpath_governance.ledger.declarations import Side, side_of
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import ReportMade
from coordpath_governance.models.coefficients_json import declared_bytes, from_document
from coordpath_governance.models.formats import recalled_from
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.rendering.change_report import ChangeReport

__all__ = ["KeptModel", "is_kept", "kept_models"]


@dataclass(frozen=True)
class KeptModel:
    """A model as a report has it that was made from its files; ``report`` is that report's SHA-256."""

    model: LinearModel
    report: str


def kept_models(
    chain: Sequence[Entry], blobs: Mapping[str, bytes], version: str | None, digest: str | None
) -> Iterator[KeptModel]:
    """All accounts of a version with files of this digest in the reports of its model's ``chain``, the newest first."""
    if version is None or digest is None:
        return
    for entry in reversed(chain):
        facts = entry.facts
        if not isinstance(facts, ReportMade):
            continue
        if (facts.version, facts.candidate_digest) == (version, digest):
            side: Side = "candidate"
        elif (facts.champion, facts.champion_digest) == (version, digest):
            side = "champion"
        else:
            continue
        model = _model(blobs.get(facts.report), facts.report, side, (version, digest))
        if model is not None:
            yield KeptModel(model, facts.report)


def is_kept(
    chain: Sequence[Entry], blobs: Mapping[str, bytes], *, version: str | None, digest: str | None, stated: Mapping[str, Any]
) -> bool:
    """Whether a report made from the version's files has exactly the coefficients that ``stated``, of a report, tells."""
    try:
        coefficients = declared_bytes(from_document(stated))
    except ModelReadError:
        return False
    return any(declared_bytes(account.model) == coefficients for account in kept_models(chain, blobs, version, digest))


def _model(content: bytes | None, report: str, side: Side, subject: tuple[str, str]) -> LinearModel | None:
    """One side of a report, unless that was not read from files itself or is not about ``subject``, version and digest."""
    if content is None or sha256_hex(content) != report:
        return None
    try:
        document = ChangeReport.from_bytes(content).document
        model = document.models.get(side)
        facts = side_of(document, side)
        if model is None or facts is None or (facts.version, facts.digest) != subject:
            return None
        return None if recalled_from(model.get("source")) is not None else from_document(model)
    except (ReportFormatError, ModelReadError):
        return None
