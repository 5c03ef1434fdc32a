"""The registry through an MLflow client: as the guard needs it, and as a registry that guards itself answers.

A registry that guards itself decides and records. A client that asks it needs neither its ledger nor its service key. What
MLflow's error codes cannot say is in fields of our own in MLflow's JSON of an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordpath_governance.errors import EXIT_NO, EXIT_REVIEW, NotFoundError, RefusedError, RegistryError, ReviewNeededError
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.registry.attachments import folder_between, present_attachments
from coordpath_governance.registry.connection import in_this_store, registry_errors
from coordpath_governance.registry.download import download_files
from coordpath_governance.registry.ports import RegistryClient, VersionClient
from coordpath_governance.registry.versions import point_at_version, registered_model
from coordpath_governance.review.ports import Created

__all__ = [
    "EXIT_FIELD",
    "GUARD_ALIAS",
    "GUARD_FIELD",
    "ClientRegistry",
    "RegistryGuard",
    "ask_to_promote",
    "number_at",
    "registry_guard",
]

GUARD_ALIAS = "coordpath-guard"
"""An alias that clients look up to learn whether a registry is guarded: a guarded one answers by itself, whatever has it."""

GUARD_FIELD = "coordpath_guard"
EXIT_FIELD = "coordpath_exit_code"
_REFUSALS = {EXIT_NO: RefusedError, EXIT_REVIEW: ReviewNeededError}


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
        return present_attachments(self.client, point_at_version(self.client, name, version), folder, files)

    def digest(self, name: str, version: str) -> str:
        """The digest of a version's files, downloaded now."""
        with tempfile.TemporaryDirectory(prefix="coordpath-", ignore_cleanup_errors=True) as folder:
            return model_digest(download_files(point_at_version(self.client, name, version), Path(folder)))


@dataclass(frozen=True)
class RegistryGuard:
    """Who guards a registry: the ledger's own name, and the alias that is meant if none is named."""

    ledger: str
    alias: str


def registry_guard(client: VersionClient, name: str) -> RegistryGuard | None:
    """Which ledger guards the registry of a model; None if it is not guarded.

    Raises `RegistryError` if a guarded registry cannot open its ledger now, or if the registry does not answer.
    """
    try:
        with registry_errors(f"looking up the registered model '{name}'"):
            client.get_model_version_by_alias(name, GUARD_ALIAS)
    except NotFoundError as error:
        introduction = _fields(error).get(GUARD_FIELD)
        return (
            RegistryGuard(str(introduction["ledger"]), str(introduction["alias"]))
            if isinstance(introduction, dict)
            else None
        )
    return None


def ask_to_promote(
    client: VersionClient,
    name: str,
    version: str,
    alias: str,
    *,
    request: tuple[str, str] | None = None,
) -> None:
    """Set the alias through a guarded registry, and read it back. ``request`` is the tag and value of a signed request.

    Raises `RefusedError` or `ReviewNeededError` with what the registry answered, `RegistryError` if it cannot tell.
    """
    doing = f"setting the alias '{alias}' of '{name}' to version {version}"
    if request is not None:
        with registry_errors(f"leaving a signed request with version {version} of '{name}'"):
            client.set_model_version_tag(name, version, *request)
    try:
        with registry_errors(doing):
            client.set_registered_model_alias(name, alias, version)
    except RegistryError as error:
        fields = _fields(error)
        refusal = _REFUSALS.get(fields.get(EXIT_FIELD, -1))
        if refusal is None:
            raise
        raise refusal(f"the registry answered: {fields.get('message') or error.__cause__}") from error
    with registry_errors(f"reading back the alias '{alias}' of '{name}'"):
        number = str(client.get_model_version_by_alias(name, alias).version)
    if number != version:
        raise RegistryError(f"{doing}: it was accepted, but '{alias}' is version {number} now; somebody else was faster")


def number_at(client: VersionClient, name: str, alias: str) -> str | None:
    """The version that has an alias now; None if none has it."""
    try:
        with registry_errors(f"looking up the alias '{alias}' of '{name}'"):
            return str(client.get_model_version_by_alias(name, alias).version)
    except NotFoundError:
        return None


def _fields(error: RegistryError | NotFoundError) -> dict[str, Any]:
    """The JSON of the MLflow error behind ours: as a server sent it, or as it was raised in this process."""
    cause = error.__cause__
    fields = getattr(cause, "json", None) or getattr(cause, "json_kwargs", None)
    return fields if isinstance(fields, dict) else {}
