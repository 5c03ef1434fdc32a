"""The inner store as the guard needs it: aliases, setting one, and the digest of a version's files as they are now."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlflow.entities.model_registry import ModelVersionTag

from coordpath_governance.errors import FilesGoneError, ModelReadError, NotFoundError, RegistryError
from coordpath_governance.guarded.inner_store import RegistryStore, tracking_store
from coordpath_governance.registry.attachments import folder_between, present_attachments
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.own_artifacts import own_location
from coordpath_governance.registry.ports import LoggedModel, ModelVersion, RegisteredModel, Run, VersionClient
from coordpath_governance.registry.versions import point_at_version
from coordpath_governance.review.ports import Created

__all__ = ["InnerRegistry", "digest_of_files"]


@dataclass(frozen=True)
class InnerRegistry:
    """An `AliasRegistry` over ``store``, MLflow's own store without the guard."""

    store: RegistryStore
    tracking_uri: str | None = None

    @property
    def client(self) -> VersionClient:
        """The store, with the methods of MLflow's client."""
        return _StoreClient(self)

    @property
    def place(self) -> str:
        """What messages call it; the store does not know by which URI its clients reach it."""
        return "this registry"

    def created(self, name: str, version: str | None = None) -> Created | None:
        """When a model and a version of it were created; None if there is no such model."""
        try:
            with registry_errors(f"looking up the registered model '{name}'"):
                model = self.store.get_registered_model(name).creation_timestamp
        except NotFoundError:
            return None
        if version is None:
            return Created(model)
        try:
            with registry_errors(f"looking up version {version} of '{name}'"):
                return Created(model, self.store.get_model_version(name, version).creation_timestamp)
        except NotFoundError:
            return Created(model)

    def aliases(self, name: str) -> dict[str, str]:
        """All aliases of a registered model with the versions they stand for; empty if there is no such model."""
        try:
            with registry_errors(f"looking up the registered model '{name}'"):
                aliases = self.store.get_registered_model(name).aliases
        except NotFoundError:
            return {}
        return {str(alias): str(version) for alias, version in aliases.items()}

    def set_alias(self, name: str, alias: str, version: str) -> None:
        """Set an alias, unguarded."""
        with registry_errors(f"setting the alias '{alias}' of '{name}' to version {version}"):
            self.store.set_registered_model_alias(name, alias, version)

    def take_tag(self, name: str, version: str, key: str) -> str | None:
        """Delete a version's tag and return its value; None if there is no such tag or version."""
        try:
            with registry_errors(f"taking the tag '{key}' of version {version} of '{name}'"):
                value = self.store.get_model_version(name, version).tags.get(key)
                if value is not None:
                    self.store.delete_model_version_tag(name, version, key)
        except NotFoundError:
            return None
        return None if value is None else str(value)

    def attached(self, name: str, champion: str | None, version: str, files: Sequence[str]) -> dict[str, bytes]:
        """Those of ``files`` that are attached to a version for its change from ``champion``, as they are now."""
        folder = folder_between(name, champion, version)
        return present_attachments(self.client, point_at_version(self.client, name, version), folder, files)

    def digest(self, name: str, version: str) -> str:
        """The model digest of a version's files as they are now.

        Raises `FilesGoneError` if the files are not there, `NotFoundError` if they are not a model, `RegistryError` if they
        cannot be reached.
        """
        pointer = point_at_version(self.client, name, version)
        lost = f"the registry lists version {version} of '{name}', but its files are gone"
        if pointer.gone is not None:
            raise FilesGoneError(f"{lost}: {pointer.gone}")
        try:
            return digest_of_files(str(pointer.location), f"version {version} of '{name}'")
        except NotFoundError as error:
            raise FilesGoneError(f"{lost}: {error}") from error
        except ModelReadError as error:
            raise NotFoundError(f"the registry lists version {version} of '{name}', but not its files: {error}") from error
        except RegistryError as error:
            raise RegistryError(str(error)) from error


@dataclass(frozen=True)
class _StoreClient:
    """A `VersionClient` over the stores: MLflow's own client would ask the guard."""

    registry: InnerRegistry

    def get_registered_model(self, name: str) -> RegisteredModel:
        return self.registry.store.get_registered_model(name)

    def get_model_version(self, name: str, version: str) -> ModelVersion:
        return self.registry.store.get_model_version(name, version)

    def get_model_version_by_alias(self, name: str, alias: str) -> ModelVersion:
        return self.registry.store.get_model_version_by_alias(name, alias)

    def set_registered_model_alias(self, name: str, alias: str, version: str) -> None:
        self.registry.store.set_registered_model_alias(name, alias, version)

    def get_model_version_download_uri(self, name: str, version: str) -> str:
        return self.registry.store.get_model_version_download_uri(name, version)

    def get_logged_model(self, model_id: str) -> LoggedModel:
        return tracking_store(self.registry.tracking_uri).get_logged_model(model_id)

    def get_run(self, run_id: str) -> Run:
        return tracking_store(self.registry.tracking_uri).get_run(run_id)

    def set_model_version_tag(self, name: str, version: str, key: str, value: str) -> None:
        self.registry.store.set_model_version_tag(name, version, ModelVersionTag(key, value))

    def update_model_version(self, name: str, version: str, description: str) -> None:
        self.registry.store.update_model_version(name, version, description)

    def log_model_artifacts(self, model_id: str, local_dir: str) -> None:
        _write(str(self.get_logged_model(model_id).artifact_location), local_dir)

    def log_artifacts(self, run_id: str, local_dir: str) -> None:
        _write(str(self.get_run(run_id).info.artifact_uri), local_dir)


def _write(location: str, local: str) -> None:
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    get_artifact_repository(own_location(location)).log_artifacts(local)


def digest_of_files(location: str, what: str) -> str:
    """Download what is at ``location`` into a folder of our own and digest it; ``what`` names it in errors.

    Raises `NotFoundError` if there is nothing of a model at ``location``.
    """
    from coordpath_governance.models.manifest import has_model_files, model_digest

    with tempfile.TemporaryDirectory(prefix="coordpath-") as folder:
        with registry_errors(f"reading the files of {what}"):
            from mlflow.artifacts import download_artifacts

            local = Path(download_artifacts(artifact_uri=location, dst_path=folder))
        if not has_model_files(local):
            raise NotFoundError(f"no file of {what} is left")
        return model_digest(local)
