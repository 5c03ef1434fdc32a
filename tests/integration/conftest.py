"""A real MLflow: one SQLite store with trained models for a whole session, one server, one browser."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # no background workers beside the server

TARGET = "price"
PATIENCE = 120.0
_MLFLOW_SETTINGS = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI")


def load(stem: str) -> ModuleType:
    """A module beside this file: tests are imported by path, so it is too."""
    name = f"coordpath_integration_{stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{stem}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def plain(self) -> str:
        """Everything that was printed, with the line breaks of a narrow terminal taken out."""
        return " ".join((self.out + " " + self.err).split())


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
    for name in _MLFLOW_SETTINGS:
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


@pytest.fixture(scope="session")
def _sqlite_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow store")
    return Store(f"sqlite:///{folder / 'mlflow.db'}", folder, (folder / "artifacts").as_uri())


@pytest.fixture
def store(_sqlite_store, monkeypatch):
    """The session's SQLite store, as MLflow's current one while the test runs."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", _sqlite_store.uri)
    use(_sqlite_store.uri)
    yield _sqlite_store
    use(None)


@pytest.fixture
def coordpath(monkeypatch, capsys):
    """Run a command in this process, through the same door as the console script."""
    from coordpath_governance.cli.main import _run

    def run(*args: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["coordpath", *map(str, args)])
        capsys.readouterr()
        code = _run()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return Outcome(code, printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def spawn():
    """Run a command in a process of its own."""

    def run(*args: object, stdin: str | bytes = b"", env: dict[str, str] | None = None, cwd: Path | None = None) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "coordpath_governance", *map(str, args)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})},
            cwd=cwd,
            timeout=PATIENCE,
        )
        outcome = Outcome(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
        assert "Traceback" not in outcome.err
        return outcome

    return run


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(ready, what: str, process: subprocess.Popen | None = None) -> None:
    """Poll until ``ready()`` is true; a process that ends, or endless patience, is a failure."""
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if process is not None and process.poll() is not None:
            pytest.fail(f"{what}: the process ended with {process.returncode}")
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The URI of a real `mlflow server` on loopback that stores and proxies artifacts."""
    folder = tmp_path_factory.mktemp("mlflow server")
    port = free_port()
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
            *("--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--serve-artifacts"),
            *("--artifacts-destination", str(folder / "artifacts")),
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=folder,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name not in _MLFLOW_SETTINGS},
    )
    try:
        wait_until(lambda: _answers(f"http://127.0.0.1:{port}/health"), f"mlflow server, see {folder / 'log'}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


@pytest.fixture(scope="session")
def _server_store(server, tmp_path_factory):
    return Store(server, tmp_path_factory.mktemp("client"), None)


@pytest.fixture
def remote(_server_store, monkeypatch):
    """The server's store, as MLflow's current one while the test runs."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", _server_store.uri)
    use(_server_store.uri)
    yield _server_store
    use(None)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A headless Chromium driven through the DevTools protocol."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium found: install the package 'chromium'")
    browser = load("browser").Browser(program, tmp_path_factory.mktemp("chromium"))
    try:
        yield browser
    finally:
        browser.close()
