"""The names of the registered models, where there is a registry that can be asked without making one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from coordpath_governance.registry.connection import registry_errors

__all__ = ["can_be_asked", "registered_names"]

_PAGE = 200
_GUARDED = "coordpath:"


def registered_names(client: Any) -> list[str]:  # noqa: ANN401 - MlflowClient
    """All of them, sorted. Raises `RegistryError` if the registry does not answer."""
    names: list[str] = []
    token = None
    while True:
        with registry_errors("listing the registered models"):
            page = client.search_registered_models(max_results=_PAGE, page_token=token)
        names += [str(model.name) for model in page]
        token = page.token
        if not token:
            return sorted(names)


def can_be_asked(uri: str | None) -> bool:
    """Whether ``uri`` names a registry that asking does not create: MLflow makes files and folders that are missing."""
    if not uri:
        return False
    bare = uri.removeprefix(_GUARDED)
    scheme = urlsplit(bare).scheme
    if scheme.startswith("sqlite"):
        file = bare.partition("://")[2].partition("?")[0].removeprefix("/")
        return bool(file) and Path(file).exists()
    if scheme == "file":
        return Path(url2pathname(urlsplit(bare).path)).exists()
    return bool(scheme) or Path(bare).exists()
