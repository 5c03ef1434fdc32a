"""A model's folder that we have written, as a logged model of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coordpath_governance.errors import RegistryError
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.ports import LoggedModel, RegistryClient
from coordpath_governance.registry.versions import ModelPointer

__all__ = ["log_folder"]

_NAME = "model"


def log_folder(client: RegistryClient, beside: ModelPointer, folder: Path, prepare: Callable[[LoggedModel], None]) -> str:
    """Log the files in ``folder`` as a new model in the experiment of the version ``beside``. Returns its URI.

    ``prepare`` is called with the new logged model, which has no files yet, before they are uploaded; it may change them. If
    anything fails, the logged model is left with the status FAILED. Raises `RegistryError` or `NotFoundError` if the
    registry does not do what is asked.
    """
    with registry_errors(f"logging an update of {beside.uri}"):
        logged = client.create_logged_model(_experiment(client, beside), _NAME)
        try:
            prepare(logged)
            client.log_model_artifacts(logged.model_id, str(folder))
        except BaseException:
            client.finalize_logged_model(logged.model_id, "FAILED")
            raise
        client.finalize_logged_model(logged.model_id, "READY")
    return f"models:/{logged.model_id}"


def _experiment(client: RegistryClient, version: ModelPointer) -> str:
    """The experiment of a version's logged model, or of its run."""
    if version.model_id is not None:
        return str(client.get_logged_model(version.model_id).experiment_id)
    if version.run_id is not None:
        return str(client.get_run(version.run_id).info.experiment_id)
    raise RegistryError(f"{version.uri} has neither a logged model nor a run, so that it is in no experiment")
