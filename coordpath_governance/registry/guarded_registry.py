"""A registry that guards itself, seen from a client: whether it is guarded, and what it says to a promotion.

The registry decides and records; who asks needs neither its ledger nor its service key. What is more than MLflow's own error
codes can tell comes in fields of our own in MLflow's JSON of an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coordpath_governance.errors import EXIT_NO, EXIT_REVIEW, NotFoundError, RefusedError, RegistryError, ReviewNeededError
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.ports import VersionClient

__all__ = ["EXIT_FIELD", "GUARD_ALIAS", "GUARD_FIELD", "RegistryGuard", "ask_to_promote", "number_at", "registry_guard"]

GUARD_ALIAS = "coordpath-guard"
"""An alias that clients look up to learn whether a registry is guarded: a guarded one answers by itself, whatever has it."""

GUARD_FIELD = "coordpath_guard"
EXIT_FIELD = "coordpath_exit_code"
_REFUSALS = {EXIT_NO: RefusedError, EXIT_REVIEW: ReviewNeededError}


@dataclass(frozen=True)
class RegistryGuard:
    """The ledger's own name, and the alias that is meant if none is named."""

    ledger: str
    alias: str


def registry_guard(client: VersionClient, name: str) -> RegistryGuard | None:
    """By what the registry of a model is guarded; None if it is not guarded.

    Raises `RegistryError` if a guarded registry cannot open its ledger now, or if nobody answers.
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
