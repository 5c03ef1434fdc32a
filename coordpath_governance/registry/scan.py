"""What of a registry can be read: every registered model, the version that has the alias, and if it cannot be read, why not.

It reads files and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coordpath_governance.errors import CoordpathError, NoVersionError, UnsupportedModelError
from coordpath_governance.models.formats import DECLARED, DECLARED_FORMAT, format_of
from coordpath_governance.registry.download import DeclaredModel, fetch_model, way_out
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import ModelPointer, find_champion, point_at, registered_names

__all__ = ["SCAN_SCHEMA", "ScanResult", "count_outcomes", "scan", "scan_document"]

SCAN_SCHEMA = "coordpath.scan/1"
_FAILED = "Look into its files: they are missing, out of reach or damaged. Log the model again if they are."

OUTCOMES = ("read", "declared", "refused", "failed", "empty")
"""Read from its files; only declared beside them; refused with a reason; could not be fetched or is damaged; no version."""


@dataclass(frozen=True)
class ScanResult:
    """One registered model. ``under``: the alias of its version; None if no version has it and the latest one was read.

    ``reason`` says why it is not read, ``remedy`` what to do about it.
    """

    name: str
    version: str | None
    under: str | None
    outcome: str
    estimator: str = ""
    columns: int = 0
    how: str = ""
    reason: str = ""
    remarks: tuple[str, ...] = ()
    remedy: str = ""

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        return {key: value for key, value in vars(self).items() if value not in ("", 0, ()) or key in ("version", "under")}


def scan(client: RegistryClient, alias: str, declared: DeclaredModel | None = None) -> Iterator[ScanResult]:
    """Read every registered model, by name; if one fails, the others are still read.

    ``declared`` returns the coefficients that somebody vouches for, of a version that cannot be read.
    """
    for name in registered_names(client):
        yield _look_at(client, name, alias, declared)


def scan_document(results: list[ScanResult], alias: str) -> dict[str, object]:
    """The results as one JSON document."""
    models = [each.to_dict() for each in results]
    return {"schema": SCAN_SCHEMA, "alias": alias, "models": models, "counts": count_outcomes(results)}


def count_outcomes(results: list[ScanResult]) -> dict[str, int]:
    """How many models came out in each way."""
    return {outcome: sum(each.outcome == outcome for each in results) for outcome in OUTCOMES}


def _look_at(client: RegistryClient, name: str, alias: str, declared: DeclaredModel | None) -> ScanResult:
    pointer: ModelPointer | None = None
    under: str | None = alias
    try:
        pointer = find_champion(client, name, alias)
        if pointer is None:
            under, pointer = None, point_at(client, name, "latest")
        model = fetch_model(pointer, declared).model
    except NoVersionError as error:
        return ScanResult(name, None, None, "empty", reason=str(error), remedy="Register a version.")
    except UnsupportedModelError as error:
        version = pointer.version if pointer else None
        return ScanResult(name, version, under, "refused", reason=str(error), remedy=way_out(name, version))
    except CoordpathError as error:
        return ScanResult(name, pointer.version if pointer else None, under, "failed", reason=str(error), remedy=_FAILED)
    outcome = "declared" if format_of(model.source) == DECLARED_FORMAT else "read"
    remedy = way_out(name, pointer.version, declared=True) if model.source == DECLARED else ""
    facts = (model.estimator, len(model.columns), model.source)
    return ScanResult(name, pointer.version, under, outcome, *facts, remarks=model.remarks, remedy=remedy)
