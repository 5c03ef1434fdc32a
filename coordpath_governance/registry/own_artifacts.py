"""Artifacts that a server offers over HTTP: the server and its own processes read them directly.

A server that asks itself over HTTP could wait for ever.
"""

from __future__ import annotations

import os
import posixpath
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from coordpath_governance.errors import RegistryError

__all__ = ["own_location", "same_place"]

_DESTINATION = "_MLFLOW_SERVER_ARTIFACT_DESTINATION"
_SERVES = "_MLFLOW_SERVER_SERVE_ARTIFACTS"
_SERVER = "mlflow.server.handlers"
_ROUTE = "/api/2.0/mlflow-artifacts/artifacts/"
_PROXIED = ("mlflow-artifacts", "http", "https")


def own_location(location: str) -> str:
    """The location of files as this process reaches them: below the artifacts destination, if its own server serves them."""
    path = _own_path(location)
    if path is None:
        return location
    return f"{os.environ[_DESTINATION].rstrip('/')}/{path}"


def same_place(first: str, second: str) -> bool:
    """Whether two locations name the same files, however they are written."""
    return _spelled(first) == _spelled(second)


def _spelled(location: str) -> str:
    """One spelling of a location: local ones as paths, those behind any server's proxy without its address."""
    location = own_location(location)
    parts = urlsplit(location)
    if parts.scheme in ("", "file"):
        return str(Path(url2pathname(parts.path) if parts.scheme else location).resolve())
    _, proxied, path = parts.path.partition(_ROUTE)
    if parts.scheme == "mlflow-artifacts" or (proxied and parts.scheme in _PROXIED):
        return "mlflow-artifacts:/" + (path if proxied else parts.path).strip("/")
    return location.rstrip("/")


def _own_path(location: str) -> str | None:
    """The path below this server's artifacts destination; None if the location is not served by it."""
    if os.environ.get(_SERVES) != "true" or _DESTINATION not in os.environ:
        return None
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
    """With workspaces on, MLflow keeps each one's artifacts apart; a server knows how."""
    scope = getattr(sys.modules.get(_SERVER), "_get_workspace_scoped_repo_path_if_enabled", None)
    return path if scope is None else str(scope(path))
