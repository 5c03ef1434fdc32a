"""Everything that a registry lists, page by page. A filter by name cannot be written for every name that MLflow allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from coordpath_governance.registry.connection import registry_errors

__all__ = ["ListedVersion", "registered_names", "registered_versions"]

_PAGE = 200


@dataclass(frozen=True, order=True)
class ListedVersion:
    """A version's number, and when the registry created it (milliseconds since 1970)."""

    number: int
    created_at: int


def registered_names(client: Any) -> list[str]:  # noqa: ANN401 - MlflowClient
    """The names of all registered models, sorted. Raises `RegistryError` if the registry does not answer."""
    return sorted(str(model.name) for model in _pages(client.search_registered_models, "listing the registered models"))


def registered_versions(client: Any) -> dict[str, list[ListedVersion]]:  # noqa: ANN401 - MlflowClient
    """All versions of all models, the oldest first."""
    found: defaultdict[str, list[ListedVersion]] = defaultdict(list)
    for version in _pages(client.search_model_versions, "listing the registered versions"):
        found[str(version.name)].append(ListedVersion(int(version.version), int(version.creation_timestamp or 0)))
    return {name: sorted(versions) for name, versions in found.items()}


def _pages(search: Callable[..., Any], doing: str) -> Iterator[Any]:
    """Everything that a search of MLflow's finds."""
    token = None
    while True:
        with registry_errors(doing):
            page = search(max_results=_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return
