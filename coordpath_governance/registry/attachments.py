"""Files attached to a version: below ``coordpath/`` of its logged model, or of its run if it has none.

The model digest leaves that folder out, so that no attached file changes a model.
"""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.errors import AttachError, NotFoundError, RegistryError
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.own_artifacts import own_location
from coordpath_governance.registry.ports import VersionClient
from coordpath_governance.registry.versions import ModelPointer

__all__ = ["attaching", "folder_between", "folder_name", "present_attachments", "read_attachments", "write_attachments"]

_LONGEST_NAME = 100


def folder_name(name: str) -> str:
    """``name`` percent-encoded with = for %; a long one is cut and ends with its digest.

    MLflow decodes artifact paths until nothing changes: a folder with %20 in it cannot be read back, and takes with it
    every download of the model it belongs to. An = is never left by percent-encoding, so different names stay different.
    """
    encoded = quote(name, safe="").replace("%", "=")
    if len(encoded) <= _LONGEST_NAME:
        return encoded
    return f"{encoded[: _LONGEST_NAME // 2]}=={sha256_hex(name.encode())[:16]}"


@contextmanager
def attaching(doing: str) -> Iterator[None]:
    """Raise an error of the registry as `AttachError`; ``doing`` says in its text what was tried."""
    try:
        with registry_errors(doing):
            yield
    except (NotFoundError, RegistryError) as error:
        raise AttachError(str(error)) from error


def write_attachments(client: VersionClient, version: ModelPointer, folder: str, files: dict[str, bytes]) -> None:
    """Attach ``files``, contents by name, in the folder ``folder`` of a version. Raises `AttachError` if they are refused.

    MLflow 3.10 cannot upload into a folder of a logged model, so a local folder that contains ``folder`` is uploaded.
    """
    with tempfile.TemporaryDirectory(prefix="coordpath-") as local:
        inside = Path(local, folder)
        inside.mkdir(parents=True)
        for name, content in files.items():
            (inside / name).write_bytes(content)
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        with attaching(f"writing {folder} at {version.uri}"):
            if version.model_id is not None:
                stored = str(client.get_logged_model(version.model_id).artifact_location)
                if own_location(stored) == stored:
                    client.log_model_artifacts(version.model_id, local)
                else:
                    get_artifact_repository(own_location(stored)).log_artifacts(local)
            elif version.run_id is not None:
                client.log_artifacts(version.run_id, local)
            else:
                raise RegistryError("the version has neither a logged model nor a run")


def folder_between(name: str, champion: str | None, version: str) -> str:
    """The folder of the report on the change between two versions of a model; without a champion it is "none-to-v…"."""
    before = "none" if champion is None else f"v{champion}"
    return f"coordpath/{folder_name(name)}/{before}-to-v{version}"


def present_attachments(client: VersionClient, version: ModelPointer, folder: str, files: Iterable[str]) -> dict[str, bytes]:
    """Those of ``files`` that are attached to a version in ``folder`` now, contents by name.

    Raises `RegistryError` if the artifacts cannot be reached.
    """
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    with registry_errors(f"looking for {folder} at {version.uri}"):
        if version.model_id is not None:
            base = str(version.location)
        elif version.run_id is not None:
            base = own_location(str(client.get_run(version.run_id).info.artifact_uri))
        else:
            return {}
        artifacts = get_artifact_repository(base)
        names = {posixpath.basename(each.path) for each in artifacts.list_artifacts(folder) if not each.is_dir}
        with tempfile.TemporaryDirectory(prefix="coordpath-") as local:
            downloaded = {file: artifacts.download_artifacts(f"{folder}/{file}", local) for file in files if file in names}
            return {file: Path(path).read_bytes() for file, path in downloaded.items()}


def read_attachments(version: ModelPointer, folder: str, files: Iterable[str]) -> dict[str, bytes]:
    """These files of ``folder``, downloaded now, contents by name; empty if not all of them are there.

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
