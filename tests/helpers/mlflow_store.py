"""An MLflow store with trained models, and the rows they were trained on."""

from __future__ import annotations

import contextlib
import logging
import os
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path

TARGET = "price"
MLFLOW_SETTINGS = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI")


@dataclass(frozen=True)
class Logged:
    """A model that a run has logged, not yet registered."""

    model_id: str
    run_id: str

    @property
    def uri(self) -> str:
        return f"models:/{self.model_id}"


class Rows:
    """Reference data with two numeric columns, one categorical and a target, as files of every kind."""

    def __init__(self, folder: Path) -> None:
        import numpy as np
        import pandas as pd

        rng = np.random.default_rng(7)
        n = 240
        frame = pd.DataFrame({"area": rng.normal(80, 20, n), "age": rng.uniform(0, 60, n)})
        frame["town"] = rng.choice(["Ayr", "Bath", "Cork"], n)
        effect = frame["town"].map({"Ayr": 0.0, "Bath": 12.0, "Cork": -7.0})
        frame[TARGET] = 3.0 * frame["area"] - 0.8 * frame["age"] + effect + rng.normal(0, 9, n)
        self.frame = frame
        folder.mkdir(parents=True, exist_ok=True)
        self.csv = folder / "rows.csv"
        self.parquet = folder / "rows.parquet"
        self.folder = folder / "parts"
        self.folder.mkdir()
        frame.to_csv(self.csv, index=False)
        frame.to_parquet(self.parquet)
        frame[:100].to_parquet(self.folder / "1.parquet")
        frame[100:].to_parquet(self.folder / "2.parquet")
        self.args = ("--data", str(self.csv), "--target", TARGET)


class Store:
    """An MLflow store with a few logged models that tests register under names of their own."""

    def __init__(self, uri: str, folder: Path, artifacts: str | None) -> None:
        import mlflow

        self.uri = uri
        self.folder = folder
        self.rows = Rows(folder / "data")
        use(uri)
        self.client = mlflow.MlflowClient()
        self.experiment = self.client.create_experiment(f"integration {uuid.uuid4().hex[:8]}", artifact_location=artifacts)
        frame = self.rows.frame
        self.first = self.log(pipeline(frame[:120]))
        self.second = self.log(pipeline(frame))

    def log(self, model: object, **options: object) -> Logged:
        """Log a fitted estimator; no requirements are inferred, which takes seconds."""
        import mlflow

        with mlflow.start_run(experiment_id=self.experiment) as run:
            logged = mlflow.sklearn.log_model(model, name="model", pip_requirements=[], **options)
        return Logged(logged.model_id, run.info.run_id)

    def register(self, name: str, *models: Logged) -> str:
        """A registered model with one version for each logged model; the name, for convenience."""
        with contextlib.suppress(Exception):
            self.client.create_registered_model(name)
        for model in models:
            self.client.create_model_version(name, model.uri, model.run_id, model_id=model.model_id)
        return name

    def two_versions(self, name: str | None = None) -> str:
        """A fresh registered model with versions 1 and 2."""
        return self.register(name or f"model {uuid.uuid4().hex}", self.first, self.second)

    def fresh(self) -> Logged:
        """A logged model that no other test attaches anything to."""
        return self.log(pipeline(self.rows.frame[20:]))

    def tags(self, name: str, version: object) -> dict[str, str]:
        return dict(self.client.get_model_version(name, str(version)).tags)

    def describe(self, name: str, version: object, text: str) -> None:
        self.client.update_model_version(name, str(version), description=text)

    def description(self, name: str, version: object) -> str:
        return self.client.get_model_version(name, str(version)).description or ""

    def path(self, logged: Logged) -> Path:
        """The folder of a logged model's files (local stores only)."""
        location = self.client.get_logged_model(logged.model_id).artifact_location
        return Path(urllib.request.url2pathname(location.removeprefix("file://")))


def use(uri: str | None) -> None:
    """Make ``uri`` the store that MLflow's global settings name."""
    import mlflow

    logging.getLogger("mlflow").setLevel(logging.ERROR)
    mlflow.set_registry_uri(None)
    mlflow.set_tracking_uri(uri)
    for name in MLFLOW_SETTINGS:
        os.environ.pop(name, None)
    if uri is not None:
        os.environ["MLFLOW_TRACKING_URI"] = uri


def pipeline(rows):
    """A pipeline as people write them: scaled numbers, encoded town, ridge."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encode = make_column_transformer((StandardScaler(), ["area", "age"]), (OneHotEncoder(drop="first"), ["town"]))
    return make_pipeline(encode, Ridge(alpha=1.0)).fit(rows.drop(columns=TARGET), rows[TARGET])
