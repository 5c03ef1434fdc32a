"""The registry as the guard sees it, through an MLflow client."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coordpath_governance.errors import NotFoundError
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.registry.beside import folder_between, present_beside
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.download import download_files
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.stores import in_this_store
from coordpath_governance.registry.versions import point_at_version, registered_model
from coordpath_governance.review.ports import Created

__all__ = ["ClientRegistry"]


@dataclass(frozen=True)
class ClientRegistry:
    """`AliasRegistry` over an MlflowClient."""

    client: RegistryClient

    @property
    def place(self) -> str:
        """The registry's URI, without passwords."""
        return f"the registry{in_this_store(self.client).replace(' in ', ' ', 1)}"

    def created(self, name: str, version: str | None = None) -> Created | None:
        """When a model and a version of it were created; None if there is no such model."""
        try:
            model = registered_model(self.client, name)
        except NotFoundError:
            return None
        if version is None:
            return Created(model.creation_timestamp)
        try:
            with registry_errors(f"looking up version {version} of '{name}'"):
                return Created(model.creation_timestamp, self.client.get_model_version(name, version).creation_timestamp)
        except NotFoundError:
            return Created(model.creation_timestamp)

    def aliases(self, name: str) -> dict[str, str]:
        """All aliases of a registered model; empty if there is no such model."""
        try:
            model = registered_model(self.client, name)
        except NotFoundError:
            return {}
        return {str(alias): str(version) for alias, version in model.aliases.items()}

    def set_alias(self, name: str, alias: str, version: str) -> None:
        """Set an alias, unless the registry itself is guarded and refuses."""
        with registry_errors(f"setting the alias '{alias}' of '{name}' to version {version}"):
            self.client.set_registered_model_alias(name, alias, version)

    def attached(self, name: str, champion: str | None, version: str, files: Sequence[str]) -> dict[str, bytes]:
        """Those of ``files`` that are attached to a version for its change from ``champion``, downloaded now."""
        folder = folder_between(name, champion, version)
        return present_beside(self.client, point_at_version(self.client, name, version), folder, files)

    def digest(self, name: str, version: str) -> str:
        """The digest of a version's files, downloaded now."""
        with tempfile.TemporaryDirectory(prefix="coordpath-", ignore_cleanup_errors=True) as folder:
            return model_digest(download_files(point_at_version(self.client, name, version), Path(folder)))
