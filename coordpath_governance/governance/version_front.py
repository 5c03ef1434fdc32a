"""A front on two versions of the registry: fetch both, fit on one set of data, score on another."""

from __future__ import annotations

from pathlib import Path

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.governance.version_report import ReadVersions
from coordpath_governance.reference.logged import LoggedMoments
from coordpath_governance.reference.sources import open_source
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.reference import find_reference
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.reports.front_document import FrontDocument
from coordpath_governance.reports.front_flow import FrontRequest, make_front
from coordpath_governance.reports.make import Progress, ReferenceData

__all__ = ["fit_data_for", "front_on_versions"]


def fit_data_for(
    client: RegistryClient, candidate: ModelPointer, reference: ReferenceData, path: Path | None
) -> ReferenceData:
    """The data to fit to: a file whose columns have the names of the reference data's, or the moments logged with the run.

    Raises `ReferenceDataError` if the run logged none.
    """
    if path is not None:
        return ReferenceData(
            open_source(path),
            reference.target,
            weight=reference.weight,
            missing=reference.missing,
            offset=reference.offset,
            exposure=reference.exposure,
        )
    try:
        found = find_reference(client, candidate)
    except ReferenceDataError as error:
        raise ReferenceDataError(f"there is nothing to fit to: give --fit-data FILE ({error})") from error
    if not isinstance(found, LoggedMoments):
        raise ReferenceDataError("there is nothing to fit to: the candidate's run logged no moments; give --fit-data FILE")
    logged = found.document
    return ReferenceData(found, logged.target, weight=logged.weight, role=logged.role, period=logged.period)


def front_on_versions(
    versions: ReadVersions,
    fit: ReferenceData,
    reference: ReferenceData,
    request: FrontRequest,
    progress: Progress | None = None,
) -> FrontDocument:
    """Updates of the champion, fitted and scored."""
    return make_front(versions.champion_model, versions.candidate.model, fit, reference, request, progress)
