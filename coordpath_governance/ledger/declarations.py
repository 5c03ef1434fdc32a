"""Who vouches for the coefficients of a version that cannot be read. Gate and audit use the same functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from coordpath_governance.canonical import read_json, sha256_hex
from coordpath_governance.errors import ModelReadError
from coordpath_governance.ledger.authors import author_of
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import Declaration
from coordpath_governance.ledger.keyring import KeyRing
from coordpath_governance.ledger.quorum import person
from coordpath_governance.models.coefficients_json import declared_bytes, from_document
from coordpath_governance.models.formats import DECLARED_FORMAT, format_of
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.reports.document import ChangeReportDocument, VersionFacts

__all__ = ["Side", "Vouched", "declared_model", "declared_sides", "side_of", "vouched", "vouched_sides"]

Side = Literal["champion", "candidate"]
"""One of the two models of a report."""

_UNKNOWN_AUTHOR = 2
"""How many people have to vouch for a version if nobody knows who registered it."""


@dataclass(frozen=True)
class Vouched:
    """What was declared last by somebody who counts, and everybody whose last word is the same, by name.

    ``signed`` is each person's name and newest such entry. ``missing``: how many more people have to vouch for it.
    """

    coefficients: str
    signed: tuple[tuple[str, Entry], ...]
    missing: int

    @property
    def owners(self) -> tuple[str, ...]:
        """The names of all who count."""
        return tuple(owner for owner, _ in self.signed)


def vouched(
    chain: Iterable[Entry], keys: KeyRing, roles: Collection[str], *, registry: str, name: str, version: str, digest: str
) -> Vouched | None:
    """The newest declaration that counts for a version of these files; a newer one of other coefficients replaces it.

    It counts if its signer has one of ``roles``, the key is not revoked, and the signer did not register the version. One
    person is enough if it is known who registered it. Otherwise it may have been that person, so it takes two.
    ``chain`` are the entries of the model ``name`` in the ledger called ``registry``.
    """
    entries = tuple(chain)
    author = author_of(entries, version)
    subject = (registry, name, version, digest)
    last: dict[str, tuple[str, Entry, str]] = {}
    for entry in entries:
        facts = entry.facts
        if not isinstance(facts, Declaration) or entry.model != name:
            continue
        if (facts.registry, facts.name, facts.version, facts.digest) != subject:
            continue
        signer = keys.keys.get(entry.key)
        if signer is None or signer.revoked is not None or set(signer.facts.roles).isdisjoint(roles):
            continue
        who = person(signer.facts.owner)
        if author is None or person(author) != who:
            last.pop(who, None)
            last[who] = (signer.facts.owner, entry, facts.coefficients)
    if not last:
        return None
    newest = next(reversed(last.values()))[2]
    signed = tuple((owner, entry) for _, (owner, entry, declared) in sorted(last.items()) if declared == newest)
    needed = 1 if author is not None else _UNKNOWN_AUTHOR
    return Vouched(newest, signed, max(0, needed - len(signed)))


def declared_model(content: bytes, where: str) -> LinearModel:
    """The model that the bytes of a declaration state; `ModelReadError` if they are not its canonical document."""
    document: Any = read_json(content, where, ModelReadError)
    model = from_document(document if isinstance(document, dict) else {})
    if declared_bytes(model) != content:
        raise ModelReadError(f"{where}: is not written as a declaration is")
    return model


def declared_sides(document: ChangeReportDocument) -> dict[Side, str]:
    """The versions of a report whose coefficients are declared, and the SHA-256 of what is declared of each.

    The digest is empty where the report's own account of a model cannot be read; nobody can have vouched for that.
    """
    models: dict[Side, dict[str, Any] | None] = {
        "champion": document.models.get("champion"),
        "candidate": document.models.get("candidate"),
    }
    return {
        who: _stated(model)
        for who, model in models.items()
        if model is not None and format_of(model.get("source")) == DECLARED_FORMAT
    }


def _stated(model: dict[str, Any]) -> str:
    try:
        return sha256_hex(declared_bytes(from_document(model)))
    except ModelReadError:
        return ""


def vouched_sides(
    document: ChangeReportDocument, chain: Sequence[Entry], keys: KeyRing, roles: Collection[str], registry: str
) -> dict[Side, Vouched]:
    """Of the declared versions of a report those for which somebody vouches, for exactly what the report states.

    Of some of them a person may be ``missing`` still.
    """
    sides = {}
    for who, coefficients in declared_sides(document).items():
        side = side_of(document, who)
        if side is None or side.name is None or side.version is None or side.digest is None:
            continue
        vouched_side = vouched(
            chain, keys, roles, registry=registry, name=side.name, version=side.version, digest=side.digest
        )
        if vouched_side is not None and vouched_side.coefficients == coefficients:
            sides[who] = vouched_side
    return sides


def side_of(document: ChangeReportDocument, who: Side) -> VersionFacts | None:
    """The champion or the candidate of a report, as ``who`` says; None for the champion of a first version."""
    return document.subject.champion if who == "champion" else document.subject.candidate
