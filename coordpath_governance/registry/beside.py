"""Files of ours beside a version: below ``coordpath/`` of its logged model, or of its run if it has none.

The model digest leaves that folder out, so that nothing here changes a model.
"""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import AttachError, NotFoundError, RegistryError
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.own_artifacts import own_location
from coordpath_governance.registry.versions import ModelPointer

__all__ = ["attaching", "folder_between", "folder_name", "present_beside", "read_beside", "write_beside"]

_LONGEST_NAME = 100


def folder_name(name: str) -> str:
    """``name`` percent-encoded with = for %, and what is too long for a file system by its beginning and its digest.

    MLflow decodes artifact paths until nothing changes: a folder with %20 in it cannot be read back, and takes with it
    every download of the model it belongs to. An = is never left by percent-encoding, so different names stay different.
    """
    encoded = quote(name, safe="").replace("%", "=")
    if len(encoded) <= _LONGEST_NAME:
        return encoded
    return f"{encoded[: _LONGEST_NAME // 2]}=={sha256_hex(name.encode())[:16]}"


@contextmanager
def attaching(doing: str) -> Iterator[None]:
    """Whatever the registry refuses here is no fault of the user's arguments."""
    try:
        with registry_errors(doing):
            yield
    except (NotFoundError, RegistryError) as error:
        raise AttachError(str(error)) from error


def write_beside(client: Any, version: ModelPointer, folder: str, files: dict[str, bytes]) -> None:  # noqa: ANN401 - MlflowClient
    """Upload a folder that holds ``folder``: MLflow 3.10 cannot be told where in a model files should go."""
    with tempfile.TemporaryDirectory(prefix="coordpath-") as local:
        inside = Path(local, folder)
        inside.mkdir(parents=True)
        for name, content in files.items():
            (inside / name).write_bytes(content)
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        with attaching(f"writing {folder} beside {version.uri}"):
            if version.model_id is not None:
                stored = str(client.get_logged_model(version.model_id).artifact_location)
                if own_location(stored) == stored:
                    client.log_model_artifacts(version.model_id, local)
                else:
                    get_artifact_repository(own_location(stored)).log_artifacts(local)
            else:
                client.log_artifacts(version.run_id, local)


def folder_between(name: str, champion: str | None, version: str) -> str:
    """Where the report on the change from one version of a model to another is; no champion is "none"."""
    before = "none" if champion is None else f"v{champion}"
    return f"coordpath/{folder_name(name)}/{before}-to-v{version}"


def present_beside(lookup: Any, version: ModelPointer, folder: str, files: Iterable[str]) -> dict[str, bytes]:  # noqa: ANN401 - MlflowClient
    """Those of ``files`` that are in ``folder`` beside a version now.

    ``lookup`` finds runs as MLflow's client does. Raises `RegistryError` if the artifacts cannot be reached.
    """
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    with registry_errors(f"looking at {folder} beside {version.uri}"):
        if version.model_id is not None:
            base = str(version.location)
        elif version.run_id is not None:
            base = own_location(str(lookup.get_run(version.run_id).info.artifact_uri))
        else:
            return {}
        artifacts = get_artifact_repository(base)
        names = {posixpath.basename(each.path) for each in artifacts.list_artifacts(folder) if not each.is_dir}
        with tempfile.TemporaryDirectory(prefix="coordpath-") as local:
            found = {file: artifacts.download_artifacts(f"{folder}/{file}", local) for file in files if file in names}
            return {file: Path(path).read_bytes() for file, path in found.items()}


def read_beside(version: ModelPointer, folder: str, files: Iterable[str]) -> dict[str, bytes]:
    """These files of ``folder`` as they can be read back now; empty if they are not all there.

    Raises `AttachError` if a folder is in the place of one of them: no upload replaces it.
    """
    import mlflow

    base = version.location if version.model_id is not None else f"runs:/{version.run_id}"
    with tempfile.TemporaryDirectory(prefix="coordpath-") as local:
        content = {}
        for name in files:
            try:
                with registry_errors(f"reading back {folder}/{name}"):
                    path = mlflow.artifacts.download_artifacts(artifact_uri=f"{base}/{folder}/{name}", dst_path=local)
            except (NotFoundError, RegistryError):
                return {}
            if Path(path).is_dir():
                raise AttachError(
                    f"{folder}/{name} beside {version.uri} is a folder, where a file of ours belongs: find out who put it "
                    "there, and remove it from the artifact store"
                )
            content[name] = Path(path).read_bytes()
    return content
