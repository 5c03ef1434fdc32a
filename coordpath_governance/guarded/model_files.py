"""The digest of a version's files as they are now, wherever they are stored."""

from __future__ import annotations

import os
import posixpath
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from coordpath_governance.errors import RegistryError
from coordpath_governance.guarded.inner_store import in_server
from coordpath_governance.registry.connection import registry_errors

if TYPE_CHECKING:
    from typing import Any

__all__ = ["digest_of_files"]

_DESTINATION = "_MLFLOW_SERVER_ARTIFACT_DESTINATION"
_SERVES = "_MLFLOW_SERVER_SERVE_ARTIFACTS"
_ROUTE = "/api/2.0/mlflow-artifacts/artifacts/"
_PROXIED = ("mlflow-artifacts", "http", "https")


def digest_of_files(location: str, what: str) -> str:
    """Download what is at ``location`` into a folder of our own and digest it; ``what`` names it in errors."""
    from coordpath_governance.models.manifest import model_digest

    with tempfile.TemporaryDirectory(prefix="coordpath-") as folder:
        with registry_errors(f"reading the files of {what}"):
            local = _download(location, folder)
        return model_digest(Path(local))


def _download(location: str, folder: str) -> Any:  # noqa: ANN401 - a path from MLflow
    path = _proxied_path(location) if in_server() and os.environ.get(_SERVES) == "true" else None
    if path is None:
        from mlflow.artifacts import download_artifacts

        return download_artifacts(artifact_uri=location, dst_path=folder)
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    return get_artifact_repository(os.environ[_DESTINATION]).download_artifacts(path, folder)


def _proxied_path(location: str) -> str | None:
    """Where below its own artifacts destination a server keeps what clients reach through it; None if it does not.

    A server that asked itself over HTTP could wait for itself for ever.
    """
    parts = urlsplit(location)
    if parts.scheme not in _PROXIED:
        return None
    if parts.scheme == "mlflow-artifacts":
        path = parts.path
    elif _ROUTE in parts.path:
        path = parts.path.partition(_ROUTE)[2]
    else:
        return None
    path = path.strip("/")
    if not path or ".." in unquote(path).split("/") or posixpath.isabs(unquote(path)):
        raise RegistryError(f"'{location}' does not name a folder of this server's artifacts")
    return _in_workspace(path)


def _in_workspace(path: str) -> str:
    """With workspaces on, MLflow keeps each one's artifacts apart; it knows how."""
    from mlflow.server import handlers

    scope = getattr(handlers, "_get_workspace_scoped_repo_path_if_enabled", None)
    return path if scope is None else str(scope(path))
