"""The registry as the guard sees it, through an MLflow client."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordpath_governance.errors import NotFoundError
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.download import download_files
from coordpath_governance.registry.versions import point_at

__all__ = ["ClientRegistry"]


@dataclass(frozen=True)
class ClientRegistry:
    """`AliasRegistry` over an MlflowClient."""

    client: Any

    def aliases(self, name: str) -> dict[str, str]:
        """All aliases of a registered model; empty if there is no such model."""
        try:
            with registry_errors(f"looking up the registered model '{name}'"):
                model = self.client.get_registered_model(name)
        except NotFoundError:
            return {}
        return {str(alias): str(version) for alias, version in model.aliases.items()}

    def set_alias(self, name: str, alias: str, version: str) -> None:
        """Set an alias, unless the registry itself is guarded and refuses."""
        with registry_errors(f"setting the alias '{alias}' of '{name}' to version {version}"):
            self.client.set_registered_model_alias(name, alias, version)

    def digest(self, name: str, version: str) -> str:
        """The digest of a version's files, downloaded now."""
        with tempfile.TemporaryDirectory(prefix="coordpath-", ignore_cleanup_errors=True) as folder:
            return model_digest(download_files(point_at(self.client, name, version), Path(folder)))
