"""The entry point `mlflow.model_registry_store`: MLflow imports this module early, so it imports nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordpath_governance.guarded.inner_store import RegistryStore

__all__ = ["SCHEME", "build_store"]

SCHEME = "coordpath"


def build_store(store_uri: str, tracking_uri: str | None = None) -> RegistryStore:
    """The store of the URI behind ``coordpath:``, guarded. It is built even if the ledger cannot be reached."""
    from coordpath_governance.guarded.inner_store import build_inner_store, inner_uri, tell_if_advisory
    from coordpath_governance.guarded.store import put_behind_guard

    uri = inner_uri(store_uri)
    store = put_behind_guard(build_inner_store(uri, tracking_uri), uri, tracking_uri)
    tell_if_advisory(uri)
    return store
