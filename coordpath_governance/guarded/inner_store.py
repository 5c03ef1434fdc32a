"""The store behind ``coordpath:``, built as MLflow builds it where we are: in a server, or in a client."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from functools import cache
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.tracking import registry as store_registries

from coordpath_governance.guarded.plugin import SCHEME

__all__ = ["build_inner_store", "in_server", "inner_uri", "primary_of", "tell_if_advisory", "tracking_store"]

_LOG = logging.getLogger(__name__)
_SERVER = "mlflow.server.handlers"
_WORKSPACES = "MLFLOW_ENABLE_WORKSPACES"
_BACKEND = "_MLFLOW_SERVER_FILE_STORE"


def inner_uri(store_uri: str) -> str:
    """What follows ``coordpath:``; MLflow's INVALID_PARAMETER_VALUE if that is nothing, or guarded itself."""
    scheme, _, inner = store_uri.partition(":")
    if scheme.lower() != SCHEME or not inner or inner.startswith("//"):
        raise _unusable("write coordpath: in front of a whole registry URI, as in coordpath:sqlite:////dir/mlflow.db")
    if _scheme(inner) == SCHEME:
        raise _unusable("one coordpath: is enough")
    return inner


def _scheme(uri: str) -> str:
    """What stands before the first colon; empty for a path."""
    return uri.partition(":")[0].lower() if ":" in uri else ""


def _unusable(remedy: str) -> MlflowException:
    """The URI is not repeated: there may be a password in it."""
    return MlflowException(f"this is not a registry URI we can guard: {remedy}", error_code=INVALID_PARAMETER_VALUE)


def in_server() -> bool:
    """Whether this process is an MLflow server, which is where the guard cannot be gone round."""
    return _SERVER in sys.modules


def build_inner_store(uri: str, tracking_uri: str | None) -> Any:  # noqa: ANN401 - AbstractStore
    """The store that MLflow would have built for ``uri`` itself.

    Not through `get_store`: whoever builds us holds its lock. MLflow's INVALID_PARAMETER_VALUE where workspaces are on: one
    name is then several models, and the ledger knows names only.
    """
    if os.environ.get(_WORKSPACES, "").strip().lower() in ("true", "1"):
        raise MlflowException(
            "coordpath cannot guard a registry with workspaces: its ledger knows models by name only, and a workspace has "
            f"its own; start the server without --enable-workspaces ({_WORKSPACES})",
            error_code=INVALID_PARAMETER_VALUE,
        )
    builder = _builder(uri)
    if "tracking_uri" in inspect.signature(builder).parameters:
        return builder(store_uri=uri, tracking_uri=tracking_uri)
    return builder(store_uri=uri)


def _builder(uri: str) -> Any:  # noqa: ANN401 - a function of MLflow's
    if in_server():
        from mlflow.server.handlers import _model_registry_store_registry

        try:
            return _model_registry_store_registry.get_store_builder(uri)
        except store_registries.UnsupportedModelRegistryStoreURIException:
            _LOG.debug("coordpath: a server knows no registry at %s:; trying what clients know", _scheme(uri))
    from mlflow.tracking._model_registry.utils import _get_store_registry

    return _get_store_registry().get_store_builder(uri)


def tracking_store(tracking_uri: str | None) -> Any:  # noqa: ANN401 - AbstractStore of tracking
    """The store of runs and logged models: a server's own, or the one that a client was given."""
    if in_server() and _BACKEND in os.environ:
        from mlflow.server.handlers import _get_tracking_store

        return _get_tracking_store()
    from mlflow.tracking._tracking_service.utils import _get_store

    return _get_store(tracking_uri)


def primary_of(store: Any) -> Any | None:  # noqa: ANN401 - AbstractStore
    """A store of the same database that reads where it writes, if ``store`` reads from a replica; None if it does not.

    A replica lags behind: a decision, and the reading back after it, must not look at yesterday's aliases.
    """
    if getattr(store, "read_engine", None) is None:
        return None
    return type(store)(store.db_uri)


def tell_if_advisory(uri: str) -> None:
    """Say once in a process that a guard on the client's side binds only those who use it."""
    if not in_server():
        _tell_once(_scheme(uri))


@cache
def _tell_once(scheme: str) -> None:
    _LOG.warning(
        "coordpath: this process guards its own use of the registry (%s) only: others can bypass it. "
        "What nobody can bypass is `mlflow server --registry-store-uri coordpath:…`",
        scheme or "files",
    )
