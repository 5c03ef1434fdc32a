"""The connection to MLflow, and its errors as ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from coordpath_governance.errors import CoordpathError, NotFoundError, RegistryError, RegistryMissingError
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.stores import GUARDED_SCHEME, check_answers, check_store, without_credentials

__all__ = ["connect", "registry_errors", "registry_uri_in_use"]

_SHOWN = 400

_PATIENCE = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
}
"""How long one request to a server may take where the user says nothing: four attempts, each of which waits at most 30
seconds for the next byte, with pauses of 0, 2 and 4 seconds and a little chance. That is 10 seconds for a server that is
down or answers 500 and two minutes for one that is silent; MLflow by itself takes 4 and 20 minutes, and pauses for as long
as a server asks it to. MLflow reads these settings anew for every request.
"""


_NO_BARS = ("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
"""MLflow draws a bar for every download, in which errors drown."""


def connect(tracking_uri: str | None = None, registry_uri: str | None = None, *, create: bool = False) -> RegistryClient:
    """A client of the given stores, by default those that MLflow's own settings name.

    The global URIs are set too: creating versions and reading artifacts use them whatever the client was given. So are
    bounds on how long a server is waited for, where MLflow's own settings say nothing. Where only a registry is named, it
    is the tracking store too unless MLflow's default one is there.

    Raises `RegistryMissingError` if MLflow would make one of the stores, which it does whenever it is asked; with
    ``create`` it may.
    """
    import mlflow

    for name, value in (*_PATIENCE.items(), _NO_BARS):
        os.environ.setdefault(name, value)

    if tracking_uri is not None:
        mlflow.set_tracking_uri(tracking_uri)
    if registry_uri is not None:
        mlflow.set_registry_uri(registry_uri)
    with registry_errors("finding MLflow's stores"):
        for uri in dict.fromkeys((mlflow.get_tracking_uri(), mlflow.get_registry_uri())):
            check_answers(uri)
    if not create:
        _check_stores()
    with registry_errors("connecting to MLflow"):
        client: RegistryClient = mlflow.MlflowClient()
    return client


def registry_uri_in_use() -> str:
    """The URI of the registry that MLflow asks where nobody names one."""
    import mlflow

    return str(mlflow.get_registry_uri())


def _check_stores() -> None:
    """Both stores must be there."""
    import mlflow

    was_set = mlflow.tracking.is_tracking_uri_set()
    with registry_errors("finding MLflow's stores"):
        tracking, registry = mlflow.get_tracking_uri(), mlflow.get_registry_uri()
    if registry != tracking:
        check_store(registry, "MLflow registry")
        if not was_set and not _is_there(tracking):
            mlflow.set_tracking_uri(registry.removeprefix(GUARDED_SCHEME))
            return
    check_store(tracking, "MLflow registry" if registry == tracking else "MLflow tracking store", was_set=was_set)


def _is_there(uri: str) -> bool:
    try:
        check_store(uri, "store")
    except RegistryMissingError:
        return False
    return True


@contextmanager
def registry_errors(doing: str) -> Iterator[None]:
    """Turn what MLflow, its stores and the network raise into a `RegistryError`, or a `NotFoundError` for what is not there.

    Stores are plugins over database drivers and cloud libraries: whatever they raise, it is an answer we did not get.
    """
    from mlflow.exceptions import MlflowException

    try:
        yield
    except CoordpathError:
        raise
    except MlflowException as error:
        message = f"{doing}: {_message(error)}"
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "NOT_FOUND"):
            raise NotFoundError(message) from error
        raise RegistryError(message) from error
    except Exception as error:
        raise RegistryError(f"{doing}: {type(error).__name__}: {_message(error)}") from error


def _message(error: Exception) -> str:
    """What an error says, without the user name and password that a URI may hold."""
    return without_credentials(str(error))[:_SHOWN]
