"""The reference data that a policy pins, opened, and the settings that go with them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from coordpath_governance.errors import NotFoundError, ReferenceDataError
from coordpath_governance.policy.document import Policy
from coordpath_governance.reference.sources import RowSource, open_source
from coordpath_governance.registry.connection import registry_errors
from coordpath_governance.registry.download import fetch_artifact
from coordpath_governance.reports.document import Settings
from coordpath_governance.reports.make import ReferenceData, settings_for

__all__ = ["is_local", "pinned_reference", "pinned_settings", "pinned_source"]


@contextmanager
def pinned_reference(policy: Policy, data: Path | None = None) -> Iterator[ReferenceData]:
    """The pinned rows, from ``data`` or from where the policy says. Raises `ReferenceDataError` if their bytes differ."""
    pinned = policy.reference
    with pinned_source(policy, data) as source:
        if source.sha256 != pinned.sha256:
            raise ReferenceDataError(
                f"'{source.name}' is not the reference data that policy '{policy.name}' pins: its SHA-256 is "
                f"{source.sha256[:12]}…, not {pinned.sha256[:12]}…; give the pinned file with --data"
            )
        yield ReferenceData(
            source,
            pinned.target,
            weight=pinned.weight,
            role=pinned.role,
            period=pinned.period,
            missing=pinned.missing,
            offset=pinned.offset,
            exposure=pinned.exposure,
        )


@contextmanager
def pinned_source(policy: Policy, data: Path | None = None) -> Iterator[RowSource]:
    """The rows in ``data`` or where the policy says, whatever their digest is."""
    with tempfile.TemporaryDirectory(prefix="coordpath-") as folder:
        yield open_source(data or _local(policy, Path(folder)))


def pinned_settings(policy: Policy) -> Settings:
    """The settings of reports under the policy."""
    pinned = policy.reference
    return settings_for(
        max_steps=pinned.max_steps,
        gamma=pinned.gamma,
        threshold=pinned.threshold_value,
        threshold_class=pinned.threshold_class,
        segments=pinned.segments,
    )


def is_local(uri: str) -> bool:
    """Whether a URI of data is a path on this machine."""
    return urlsplit(uri).scheme in ("", "file")


def _local(policy: Policy, folder: Path) -> Path:
    """The pinned file where it is, or a copy of it in ``folder`` if it is in a store that MLflow reads."""
    uri = policy.reference.uri
    if uri is None:
        raise ReferenceDataError(f"policy '{policy.name}' does not say where its reference data are; give them with --data")
    if is_local(uri):
        return Path(url2pathname(urlsplit(uri).path)) if urlsplit(uri).scheme else Path(uri)
    try:
        with registry_errors(f"reading the reference data of policy '{policy.name}'"):
            return fetch_artifact(uri, folder)
    except NotFoundError as error:
        raise ReferenceDataError(f"the reference data of policy '{policy.name}' are not at '{uri}': {error}") from error
