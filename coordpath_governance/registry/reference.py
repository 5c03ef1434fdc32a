"""Reference data that MLflow knows of: moments logged by the training script, or the dataset inputs of its run."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from coordpath_governance.errors import NotFoundError, ReferenceDataError, RegistryError, UsageError
from coordpath_governance.reference.logged import LoggedMoments, Role, moments_to_log, read_logged_moments
from coordpath_governance.reference.sources import RowSource, open_source
from coordpath_governance.registry.connection import connect, registry_errors
from coordpath_governance.registry.ports import RegistryClient
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.reports.make import ReferenceData

__all__ = ["REFERENCE_ARTIFACT", "FoundRows", "find_reference", "log_reference", "reference_of"]

REFERENCE_ARTIFACT = "coordpath/reference.json"
_HOLDOUT_CONTEXTS = ("eval", "evaluation", "test", "testing", "validation", "holdout")


@dataclass(frozen=True)
class FoundRows:
    """Rows behind a dataset input of a run, with the role that the run gave them."""

    source: RowSource
    role: Role


def log_reference(
    X: Any,  # noqa: ANN401, N803 - DataFrame or array, named as everywhere in scikit-learn
    y: Any,  # noqa: ANN401 - array-like
    *,
    weight: Any = None,  # noqa: ANN401 - array-like
    role: Role = "training",
    period: str | None = None,
    missing: Literal["fail", "drop"] = "fail",
    target: str | None = None,
) -> None:
    """Log the moments of ``X`` and ``y`` with the active MLflow run, so that later reports need no rows.

    Rows with a level that fewer than 10 rows have are left out before anything is stored, and counted. Moments logged by a
    model's author serve the report; they can never by themselves let a change pass a gate. They tell the squared error of
    linear models: reports on classifiers and rates need rows.
    """
    import mlflow

    run = mlflow.active_run()
    if run is None:
        raise UsageError("log_reference needs an active run; call it inside `with mlflow.start_run():`")
    frame, target_name = _frame(X, y, target)
    weight_name = None
    if weight is not None:
        weight_name = "(weight)"
        frame[weight_name] = weight
    content = moments_to_log(frame, target_name, weight=weight_name, role=role, period=period, missing=missing)
    with tempfile.TemporaryDirectory(prefix="coordpath-") as folder:
        path = Path(folder) / Path(REFERENCE_ARTIFACT).name
        path.write_bytes(content)
        with registry_errors("logging the reference moments"):
            connect().log_artifact(run.info.run_id, str(path), str(Path(REFERENCE_ARTIFACT).parent))


def _frame(X: Any, y: Any, target: str | None) -> tuple[Any, str]:  # noqa: ANN401, N803 - see log_reference
    """One DataFrame of inputs and target; arrays get the names x0, x1, … that readers give unnamed features."""
    import pandas as pd

    frame = X.copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(X).rename(columns=lambda i: f"x{i}")
    name = target or (str(y.name) if getattr(y, "name", None) is not None else "target")
    if name in frame.columns:
        raise ReferenceDataError(f"the target '{name}' is also a column of X; take it out of X, or name the target")
    values = pd.Series(y).to_numpy() if not hasattr(y, "to_numpy") else y.to_numpy().reshape(-1)
    if len(values) != len(frame):
        raise ReferenceDataError(f"X has {len(frame)} rows and y has {len(values)}; they must be the same rows")
    if values.dtype.kind not in "biuf" and pd.to_numeric(pd.Series(values), errors="coerce").notna().sum() == 0:
        raise ReferenceDataError(
            f"the target '{name}' holds no numbers: moments tell the squared error of linear models only; a report on a "
            "classifier needs rows, `coordpath report --data FILE`"
        )
    frame[name] = values
    return frame, name


def reference_of(
    client: RegistryClient,
    candidate: ModelPointer,
    *,
    target: str | None,
    weight: str | None,
    role: Role | None,
    period: str | None,
    missing: Literal["fail", "drop"],
    offset: str | None = None,
    exposure: str | None = None,
) -> ReferenceData:
    """The reference data that MLflow has for the candidate; role and period of the caller replace those that were logged.

    Raises `ReferenceDataError` if there are none, `UsageError` if ``target`` is missing or is not the logged one.
    """
    data = find_reference(client, candidate)
    if isinstance(data, LoggedMoments):
        logged = data.document
        if target is not None and target != logged.target:
            raise UsageError(
                f"the logged reference moments are of the target '{logged.target}', not '{target}'; give --data"
            )
        return ReferenceData(
            data, logged.target, weight=logged.weight, role=role or logged.role, period=period or logged.period
        )
    if target is None:
        raise UsageError(
            f"the run's dataset '{data.source.name}' can be read, but MLflow does not record its target column; "
            "give --target"
        )
    return ReferenceData(
        data.source,
        target,
        weight=weight,
        role=role or data.role,
        period=period,
        missing=missing,
        offset=offset,
        exposure=exposure,
    )


def find_reference(client: RegistryClient, candidate: ModelPointer) -> LoggedMoments | FoundRows:
    """The candidate's logged moments, else the first dataset input of its run that can be loaded.

    If there is neither, the error lists everything that was tried.
    """
    tried = ["--data was not given"]
    if candidate.run_id is None:
        tried.append("the candidate has no source run")
    else:
        logged = _logged_moments(candidate.run_id, tried)
        if logged is not None:
            return logged
        rows = _dataset_rows(client, candidate.run_id, tried)
        if rows is not None:
            return rows
    raise ReferenceDataError(
        f"no reference data found: {'; '.join(tried)}. What to do: give --data FILE --target COLUMN, "
        "or call coordpath_governance.log_reference(X, y) in the training script."
    )


def _logged_moments(run_id: str, tried: list[str]) -> LoggedMoments | None:
    import mlflow

    with tempfile.TemporaryDirectory(prefix="coordpath-") as folder:
        try:
            with registry_errors("reading logged reference moments"):
                path = mlflow.artifacts.download_artifacts(
                    artifact_uri=f"runs:/{run_id}/{REFERENCE_ARTIFACT}", dst_path=folder
                )
        except NotFoundError:
            tried.append(f"run {run_id} has no {REFERENCE_ARTIFACT} (log_reference was not called)")
            return None
        except RegistryError as error:
            tried.append(f"{REFERENCE_ARTIFACT} of run {run_id} cannot be read ({error})")
            return None
        return read_logged_moments(Path(path).read_bytes())


def _dataset_rows(client: RegistryClient, run_id: str, tried: list[str]) -> FoundRows | None:
    """The first dataset input that is a readable file.

    Only sources that are files are loaded: others can run code that the author of the run has chosen.
    """
    import mlflow
    from mlflow.data.filesystem_dataset_source import FileSystemDatasetSource

    with registry_errors(f"reading run {run_id}"):
        inputs = client.get_run(run_id).inputs
    dataset_inputs = () if inputs is None else inputs.dataset_inputs
    if not dataset_inputs:
        tried.append(f"run {run_id} has no dataset inputs (mlflow.log_input was not called)")
    for dataset in dataset_inputs:
        name = dataset.dataset.name
        try:
            source = mlflow.data.get_source(dataset)
            if not isinstance(source, FileSystemDatasetSource):
                tried.append(f"dataset '{name}' is not a file")
                continue
            rows = open_source(Path(source.load()))
        except Exception as error:  # noqa: BLE001 - dataset sources are plugins: whatever they raise, this one is not loadable
            tried.append(f"dataset '{name}' cannot be loaded ({type(error).__name__}: {str(error)[:100]})")
            continue
        context = next((tag.value for tag in dataset.tags if tag.key == "mlflow.data.context"), "")
        return FoundRows(rows, _role(context))
    return None


def _role(context: str) -> Role:
    if context.lower() in ("train", "training"):
        return "training"
    return "holdout" if context.lower() in _HOLDOUT_CONTEXTS else "not stated"
