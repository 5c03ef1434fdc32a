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
import tempfile
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


@pytest.fixture(scope="session")
def office_class():
    """A ledger, people with keys and a policy."""
    return load("office").Office


class PostgreSQL:
    """A throw-away PostgreSQL server that listens on a socket in its own folder and nowhere else."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._data = folder / "data"
        self._as: dict[str, object] = {}
        if os.geteuid() == 0:
            import pwd

            owner = next(each for each in pwd.getpwall() if each.pw_name in ("postgres", "nobody"))
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            self._as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        self._run("initdb", "-D", self._data, "-U", "coordpath", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-l", folder / "log", "-o", options, "-w", "start")

    def _run(self, program: str, *args: object) -> None:
        command = [str(self._programs / program), *map(str, args)]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder, **self._as
        )
        assert done.returncode == 0, f"{program}: {done.stderr.decode(errors='replace')}"

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://coordpath@/{database}?host={self.folder}"

    def fresh(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"ledger_{uuid.uuid4().hex}"
        with psycopg.connect(f"host={self.folder} user=coordpath dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")


def _postgresql_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    beside = shutil.which("initdb")
    return found[-1].parent if found else Path(beside).resolve().parent if beside else None


@pytest.fixture(scope="session")
def postgresql():
    """A real PostgreSQL server of our own."""
    programs = _postgresql_programs()
    if programs is None:
        pytest.skip("no PostgreSQL found: install the package 'postgresql'")
    with tempfile.TemporaryDirectory(prefix="coordpath-pg-", ignore_cleanup_errors=True) as folder:
        server = PostgreSQL(programs, Path(folder))
        try:
            yield server
        finally:
            server.stop()


@dataclass(frozen=True)
class LedgerPlace:
    """Where a ledger is or will be, and its service key."""

    url: str
    key: Path

    def open(self, **options: object):
        from coordpath_governance.ledger.store import Ledger

        return Ledger.open(self.url, **{"service_key": self.key, **options})

    def tamper(self, *statements: str, **values: object) -> None:
        """What somebody with the right to write to the database can do: the triggers are no obstacle."""
        from sqlalchemy import create_engine, text

        engine = create_engine(self.url)
        with engine.begin() as connection:
            for table in ("coordpath_ledger", "coordpath_blobs"):
                if engine.dialect.name == "postgresql":
                    connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
                else:
                    for guard in ("update", "delete", "replace"):
                        connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_{guard}"))
            for statement in statements:
                connection.execute(text(statement), values)
        engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """A place for a ledger in SQLite and, once more, in PostgreSQL."""
    if request.param == "sqlite":
        return LedgerPlace(f"sqlite:///{tmp_path / 'coordpath-ledger.db'}", tmp_path / "coordpath-ledger.key")
    return LedgerPlace(request.getfixturevalue("postgresql").fresh(), tmp_path / "service.key")


@pytest.fixture(autouse=True)
def _nobodys_ledger(monkeypatch):
    """No test signs with the keys, or writes to the ledger, of whoever runs it."""
    for name in ("COORDPATH_LEDGER", "COORDPATH_SERVICE_KEY", "COORDPATH_KEY", "COORDPATH_KEY_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)
