"""What the guard needs of a registry, and who is asking; MLflow stands behind it, in `registry` and in `guarded`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["Actor", "AliasRegistry", "Created"]


@dataclass(frozen=True)
class Actor:
    """Who asks: a name that the server or a key vouches for, or nobody.

    ``request`` is the nonce of the signed request by which the key vouches, if there was one.
    """

    name: str | None = None
    authenticated_by: Literal["server", "key"] | None = None
    request: str | None = None


@dataclass(frozen=True)
class Created:
    """When the registry says that it created a model, and one of its versions: milliseconds since 1970.

    None where the registry does not say, or has no such version.
    """

    model: int | None
    version: int | None = None


class AliasRegistry(Protocol):
    """The registry behind the guard. Versions are decimal texts; errors are `RegistryError` or `NotFoundError`."""

    @property
    def place(self) -> str:
        """What messages call the registry, without passwords."""
        ...

    def created(self, name: str, version: str | None = None) -> Created | None:
        """When a registered model, and this version of it, were created; None if there is no such model."""
        ...

    def aliases(self, name: str) -> dict[str, str]:
        """All aliases of a registered model with the versions they stand for; empty if there is no such model."""
        ...

    def set_alias(self, name: str, alias: str, version: str) -> None:
        """Set an alias, unguarded."""
        ...

    def digest(self, name: str, version: str) -> str:
        """The model digest of a version's files as they are now."""
        ...

    def attached(self, name: str, champion: str | None, version: str, files: Sequence[str]) -> dict[str, bytes]:
        """Those of ``files`` that are attached to a version for its change from ``champion``, as they are now."""
        ...
