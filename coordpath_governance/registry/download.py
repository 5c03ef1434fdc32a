"""A model's files into a folder of our own, read without running anything in them; and what to do if they cannot be read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from coordpath_governance.errors import CoordpathError, FilesGoneError, NotFoundError, UnsupportedModelError
from coordpath_governance.models import read_model
from coordpath_governance.models.environment import Environment, read_environment
from coordpath_governance.models.formats import DECLARED
from coordpath_governance.models.linear_model import LinearModel, Provenance
from coordpath_governance.models.manifest import has_model_files, model_digest
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.versions import ModelPointer

__all__ = ["DeclaredModel", "FetchedModel", "download_files", "fetch_artifact", "fetch_model", "load_files", "way_out"]

DeclaredModel = Callable[[ModelPointer, str], "LinearModel | None"]
"""What somebody vouches for of a version whose files have this digest; None if nobody does."""


@dataclass(frozen=True)
class FetchedModel:
    """A model that was read, where it came from, and what its environment files ask for."""

    model: LinearModel
    pointer: ModelPointer
    digest: str
    environment: Environment | None = None


def fetch_model(pointer: ModelPointer, declared: DeclaredModel | None = None) -> FetchedModel:
    """Download, digest and read a model; the copy is gone afterwards.

    ``declared`` is asked about a model that cannot be read, or of which only its author declares the coefficients.
    """
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
            model = _read(local, provenance, pointer, declared)
            return FetchedModel(model, pointer, digest, read_environment(local))
        except CoordpathError as error:
            error.args = (str(error).replace(str(local), pointer.uri), *error.args[1:])
            raise


def _read(local: Path, provenance: Provenance, pointer: ModelPointer, declared: DeclaredModel | None) -> LinearModel:
    try:
        model = read_model(local, provenance)
    except UnsupportedModelError:
        vouched = None if declared is None else declared(pointer, str(provenance.digest))
        if vouched is None:
            raise
        return replace(vouched, provenance=provenance)
    if declared is None or model.source != DECLARED:
        return model
    vouched = declared(pointer, str(provenance.digest))
    return model if vouched is None else replace(vouched, provenance=provenance)


def download_files(pointer: ModelPointer, folder: Path) -> Path:
    """A copy of the model's files below ``folder``.

    Raises `FilesGoneError` if the files of a registered version are not there, `RegistryError` if that cannot be found out.
    """
    lost = f"the registry lists {pointer.uri}, but its files are gone"
    if pointer.gone is not None:
        raise FilesGoneError(f"{lost}: {pointer.gone}")
    try:
        with registry_errors(f"downloading {pointer.uri}"):
            local = fetch_artifact(pointer.location or pointer.uri, folder)
    except NotFoundError as error:
        if pointer.location is None:
            raise
        raise FilesGoneError(f"{lost}: {error}") from error
    if pointer.location is not None and not has_model_files(local):
        raise FilesGoneError(f"{lost}: no file of the model is left")
    return local


def fetch_artifact(uri: str, folder: Path) -> Path:
    """A copy, below ``folder``, of the files at an artifact URI. Raises what MLflow raises."""
    import mlflow

    return Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(folder)))


def load_files(folder: Path) -> Any:  # noqa: ANN401 - mlflow.pyfunc.PyFuncModel
    """The model in ``folder``, loaded by MLflow, which runs code of the files. Raises what MLflow raises."""
    import mlflow

    return mlflow.pyfunc.load_model(str(folder))


def _is_path(uri: str) -> bool:
    return "://" not in uri and not uri.startswith(("models:", "runs:", "file:"))


def way_out(name: str | None, version: str | None, *, declared: bool = False) -> str:
    """The commands by which a person vouches for a registered version; empty for any other model.

    ``declared``: its author has put coefficients beside it, so none have to be written down.
    """
    if name is None or version is None:
        return ""
    command = f"coordpath declare {quote(name)} {version}"
    if declared:
        return f"A person whom the policy lets vouches for what its author declares: `{command} --key KEY`."
    return (
        "If it is a linear model all the same, write the coefficients of the model within down where it is trained "
        "(cg.to_coefficients(model, FILE)) and let a person whom the policy lets vouch for them: "
        f"`{command} --coefficients FILE --key KEY`."
    )
