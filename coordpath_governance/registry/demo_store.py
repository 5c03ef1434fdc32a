"""The demo's MLflow store, used as training scripts and plain clients use one: experiment, runs, versions, downloads."""

from __future__ import annotations

import logging
import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coordpath_governance.registry.connection import connect

__all__ = ["DemoStore"]


class DemoStore:
    """An MLflow store in a SQLite file of ``folder``, behind a guarded registry. Reports wait for the command that asks."""

    def __init__(self, folder: Path) -> None:
        import mlflow

        logging.getLogger("mlflow").setLevel(logging.ERROR)
        logging.getLogger("coordpath_governance").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module="mlflow")
        self.uri = f"sqlite:///{folder / 'mlflow.db'}"
        os.environ.update(MLFLOW_TRACKING_URI=self.uri, COORDPATH_REPORTS="sweep")
        self._client = connect(self.uri, self.guarded_uri, create=True)
        if mlflow.get_experiment_by_name("demo") is None:
            mlflow.create_experiment("demo", artifact_location=(folder / "artifacts").as_uri())
        mlflow.set_experiment("demo")

    @property
    def guarded_uri(self) -> str:
        """The registry's URI, with the guard in front."""
        return f"coordpath:{self.uri}"

    def new_name(self, stem: str) -> str:
        """``stem`` as the name of a registered model, with a number if it is taken."""
        number = len(self._client.search_registered_models(f"name LIKE '{stem}%'"))
        return stem if not number else f"{stem}-{number + 1}"

    def register(self, model: Any, name: str, run_name: str) -> None:  # noqa: ANN401 - a scikit-learn estimator
        """Log a fitted model in a run of its own and register it, as the last lines of a training script do."""
        import mlflow

        mlflow.set_registry_uri(self.guarded_uri)
        with mlflow.start_run(run_name=run_name):
            mlflow.sklearn.log_model(
                model,
                name="model",
                registered_model_name=name,
                serialization_format="skops",  # the default from MLflow 3.14 on
                skops_trusted_types=["numpy.dtype", "sklearn.compose._column_transformer._RemainderColsList"],
                pip_requirements=["scikit-learn"],
            )

    def try_alias(self, name: str, alias: str, version: str) -> str | None:
        """Set an alias as any MLflow client would; the registry's refusal as text, or None if it let that happen."""
        from mlflow.exceptions import MlflowException

        try:
            self._client.set_registered_model_alias(name, alias, version)
        except MlflowException as error:
            return f"{error.error_code}: {error.message}"
        return None

    def copy_files(self, uri: str, folder: Path) -> None:
        """The files below an artifact URI into ``folder``."""
        import mlflow

        with TemporaryDirectory() as copy:
            for file in Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=copy)).iterdir():
                (folder / file.name).write_bytes(file.read_bytes())
