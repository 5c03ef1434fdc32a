"""The store behind ``coordpath:``, built as MLflow builds it where we are: in a server, or in a client."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Protocol

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.tracking import registry as store_registries

from coordpath_governance.guarded.plugin import SCHEME
from coordpath_governance.registry.ports import LoggedModel, ModelVersion, RegisteredModel, Run, Tag

__all__ = [
    "RegistryStore",
    "TrackingStore",
    "build_inner_store",
    "in_server",
    "inner_uri",
    "primary_of",
    "tell_if_advisory",
    "tracking_store",
]

_LOG = logging.getLogger(__name__)
_SERVER = "mlflow.server.handlers"
_WORKSPACES = "MLFLOW_ENABLE_WORKSPACES"
_BACKEND = "_MLFLOW_SERVER_FILE_STORE"


class RegistryStore(Protocol):
    """What the guard uses of MLflow's registry store."""

    def get_registered_model(self, name: str) -> RegisteredModel:
        """The registered model of this name."""
        ...

    def get_model_version(self, name: str, version: str) -> ModelVersion:
        """A version, by its number."""
        ...

    def get_model_version_by_alias(self, name: str, alias: str) -> ModelVersion:
        """The version that has an alias."""
        ...

    def get_model_version_download_uri(self, name: str, version: str) -> str:
        """The URI that MLflow loads a version from."""
        ...

    def set_registered_model_alias(self, name: str, alias: str, version: str) -> None:
        """Give an alias to a version."""
        ...

    def set_model_version_tag(self, name: str, version: str, tag: Tag) -> None:
        """Set a tag of a version."""
        ...

    def delete_model_version_tag(self, name: str, version: str, key: str) -> None:
        """Delete a tag of a version."""
        ...

    def update_model_version(self, name: str, version: str, description: str) -> object:
        """Set the description of a version."""
        ...


class TrackingStore(Protocol):
    """What the guard uses of MLflow's store of runs and logged models."""

    def get_logged_model(self, model_id: str) -> LoggedModel:
        """The logged model with this id."""
        ...

    def get_run(self, run_id: str) -> Run:
        """The run with this id."""
        ...


def inner_uri(store_uri: str) -> str:
    """The URI after ``coordpath:``. Raises MLflow's INVALID_PARAMETER_VALUE if it is empty, or guarded itself."""
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
    """The error for a bad URI, without the URI: it may hold a password."""
    return MlflowException(f"this is not a registry URI we can guard: {remedy}", error_code=INVALID_PARAMETER_VALUE)


def in_server() -> bool:
    """Whether this process is an MLflow server, where clients cannot bypass the guard."""
    return _SERVER in sys.modules


def build_inner_store(uri: str, tracking_uri: str | None) -> RegistryStore:
    """The store that MLflow would have built for ``uri``.

    `get_store` cannot be used: the caller holds its lock. Raises MLflow's INVALID_PARAMETER_VALUE if workspaces are on: one
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


def _builder(uri: str) -> Callable[..., RegistryStore]:
    builder: Callable[..., RegistryStore]
    if in_server():
        from mlflow.server.handlers import _model_registry_store_registry

        try:
            builder = _model_registry_store_registry.get_store_builder(uri)
        except store_registries.UnsupportedModelRegistryStoreURIException:
            _LOG.debug("coordpath: a server knows no registry at %s:; trying what clients know", _scheme(uri))
        else:
            return builder
    from mlflow.tracking._model_registry.utils import _get_store_registry

    builder = _get_store_registry().get_store_builder(uri)
    return builder


def tracking_store(tracking_uri: str | None) -> TrackingStore:
    """The store of runs and logged models: a server's own, or the one that a client was given."""
    store: TrackingStore
    if in_server() and _BACKEND in os.environ:
        from mlflow.server.handlers import _get_tracking_store

        store = _get_tracking_store()
    else:
        from mlflow.tracking._tracking_service.utils import _get_store

        store = _get_store(tracking_uri)
    return store


def primary_of(store: RegistryStore) -> RegistryStore | None:
    """A store of the same database that reads where it writes, if ``store`` reads from a replica; None if it does not.

    A replica lags behind: a decision, and the reading back after it, must not look at yesterday's aliases.
    """
    if getattr(store, "read_engine", None) is None:
        return None
    same_class: Callable[[str], RegistryStore] = type(store)
    return same_class(vars(store)["db_uri"])


def tell_if_advisory(uri: str) -> None:
    """Log once per process that a guard in a client binds only those who use it."""
    if not in_server():
        _tell_once(_scheme(uri))


@cache
def _tell_once(scheme: str) -> None:
    _LOG.warning(
        "coordpath: this process guards its own use of the registry (%s) only: others can bypass it. "
        "What nobody can bypass is `mlflow server --registry-store-uri coordpath:…`",
        scheme or "files",
    )
