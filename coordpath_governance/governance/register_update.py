"""Register an update of the champion in a few steps: a model file of its kind, for review like any other version."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from coordpath_governance.errors import RefusedError, UsageError
from coordpath_governance.governance.register import fact_tags
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.models.update_files import identify, write_update
from coordpath_governance.registry.download import download_files
from coordpath_governance.registry.log_folder import log_folder
from coordpath_governance.registry.ports import LoggedModel, RegistryClient
from coordpath_governance.registry.versions import ModelPointer, register_version

__all__ = ["RegisteredUpdate", "register_update"]

_PATIENCE = 300


@dataclass(frozen=True)
class RegisteredUpdate:
    """The version that was registered, and its model as it reads back from the files."""

    name: str
    version: str
    model: LinearModel


def register_update(
    client: RegistryClient,
    champion: ModelPointer,
    updated: LinearModel,
    *,
    steps: int,
    reason: str,
    now: datetime,
) -> RegisteredUpdate:
    """Register ``updated`` as a new version of the champion's registered model. Nothing of either model is run.

    ``updated`` is the champion as it was read, with other numbers, which ``steps`` steps have changed; if its provenance has
    a digest, the champion's files must still have it. ``reason`` becomes the version's tag ``coordpath.reason``; the tag
    ``coordpath.change_type`` says which version is updated in how many steps. ``now`` is noted in the MLmodel.

    Raises `UsageError` for a reason that no report could state, `UpdateError` if the update cannot be written as a model
    file, `RefusedError` if the champion's files have changed since they were read, and what the registry raises. If it
    raises before the model is logged, the registry has not been touched.
    """
    name, version = champion.registered
    if steps < 1:
        raise UsageError(f"an update has at least one step, not {steps}")
    how_many = "1 step" if steps == 1 else f"{steps} steps"
    tags = fact_tags({"reason": reason, "change_type": f"update of version {version} in {how_many}"})
    with tempfile.TemporaryDirectory(prefix="coordpath-", ignore_cleanup_errors=True) as place:
        files = download_files(champion, Path(place))
        digest = model_digest(files)
        if updated.provenance.digest not in (None, digest):
            raise RefusedError(
                f"the files of {champion.uri} are not those that the update was made from (digest {digest[:12]}, and it was "
                f"{str(updated.provenance.digest)[:12]}); make the update again"
            )
        folder = Path(place, "coordpath-update")
        model = write_update(files, updated, folder)
        created = now.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")

        def prepare(logged: LoggedModel) -> None:
            identify(folder, logged.model_id, logged.artifact_location, created)

        uri = log_folder(client, champion, folder, prepare)
    return RegisteredUpdate(name, register_version(uri, name, tags, _PATIENCE), model)
