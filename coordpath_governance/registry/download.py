"""A model's files into a folder of our own, read without running anything in them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from coordpath_governance.errors import CoordpathError, NotFoundError, RegistryError
from coordpath_governance.models import read_model
from coordpath_governance.models.linear_model import LinearModel, Provenance
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.versions import ModelPointer

__all__ = ["FetchedModel", "download_files", "fetch_model"]


@dataclass(frozen=True)
class FetchedModel:
    """A model that was read, and where it came from."""

    model: LinearModel
    pointer: ModelPointer
    digest: str


def fetch_model(pointer: ModelPointer) -> FetchedModel:
    """Download, digest and read a model; the copy is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="coordpath-", ignore_cleanup_errors=True) as folder:
        local = Path(pointer.uri)
        if pointer.location is None and _is_path(pointer.uri):
            if not local.exists():
                raise NotFoundError(f"there is no model at '{pointer.uri}'; give a registry URI or a path that exists")
        else:
            local = download_files(pointer, Path(folder))
        digest = model_digest(local)
        provenance = Provenance(
            uri=pointer.uri, name=pointer.name, version=pointer.version, digest=digest, run_id=pointer.run_id
        )
        try:
            return FetchedModel(read_model(local, provenance), pointer, digest)
        except CoordpathError as error:
            error.args = (str(error).replace(str(local), pointer.uri), *error.args[1:])
            raise


def download_files(pointer: ModelPointer, folder: Path) -> Path:
    """A copy of the model's files below ``folder``; `RegistryError` if a registered version has none to be had."""
    import mlflow

    try:
        with registry_errors(f"downloading {pointer.uri}"):
            where = pointer.location or pointer.uri
            return Path(mlflow.artifacts.download_artifacts(artifact_uri=where, dst_path=str(folder)))
    except NotFoundError as error:
        if pointer.location is None:
            raise
        raise RegistryError(f"the registry lists {pointer.uri}, but its files cannot be had: {error}") from error


def _is_path(uri: str) -> bool:
    return "://" not in uri and not uri.startswith(("models:", "runs:", "file:"))
