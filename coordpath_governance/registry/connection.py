"""The connection to MLflow, and its errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coordpath_governance.errors import CoordpathError, NotFoundError, RegistryError

__all__ = ["connect", "registry_errors"]

_SHOWN = 400


def connect(tracking_uri: str | None = None, registry_uri: str | None = None) -> Any:  # noqa: ANN401 - MlflowClient
    """A client of the given stores, by default those that MLflow's own settings name.

    The global URIs are set too: creating versions and reading artifacts use them whatever the client was given.
    """
    import mlflow

    if tracking_uri is not None:
        mlflow.set_tracking_uri(tracking_uri)
    if registry_uri is not None:
        mlflow.set_registry_uri(registry_uri)
    with registry_errors("connecting to MLflow"):
        return mlflow.MlflowClient()


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
        message = f"{doing}: {str(error)[:_SHOWN]}"
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "NOT_FOUND"):
            raise NotFoundError(message) from error
        raise RegistryError(message) from error
    except Exception as error:
        raise RegistryError(f"{doing}: {type(error).__name__}: {str(error)[:_SHOWN]}") from error
