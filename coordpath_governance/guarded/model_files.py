"""The digest of a version's files as they are now, wherever they are stored."""

from __future__ import annotations

import tempfile
from pathlib import Path

from coordpath_governance.errors import NotFoundError
from coordpath_governance.registry.connection import registry_errors

__all__ = ["digest_of_files"]


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
