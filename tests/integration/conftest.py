"""A real MLflow: one SQLite store with trained models for a whole session, one server, one browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from helpers.browser import Browser
from helpers.commands import PATIENCE, Outcome
from helpers.ledger_place import LedgerPlace
from helpers.mlflow_server import mlflow_server
from helpers.mlflow_store import Store, use
from helpers.postgresql import PostgreSQL, postgresql_programs

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # no background workers beside the server


def sqlite_store(folder):
    """A store with trained models in this folder."""
    return Store(f"sqlite:///{folder / 'mlflow.db'}", folder, (folder / "artifacts").as_uri())


@pytest.fixture(scope="session")
def _sqlite_store(tmp_path_factory):
    return sqlite_store(tmp_path_factory.mktemp("mlflow store"))


@pytest.fixture(scope="module")
def _store_of_a_module(tmp_path_factory):
    return sqlite_store(tmp_path_factory.mktemp("store of a module"))


@pytest.fixture
def small_store(_store_of_a_module, monkeypatch):
    """The same with the models of one module only: for what goes through all of a registry."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", _store_of_a_module.uri)
    use(_store_of_a_module.uri)
    yield _store_of_a_module
    use(None)


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


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The URI of a real `mlflow server` on loopback that stores and proxies artifacts."""
    folder = tmp_path_factory.mktemp("mlflow server")
    database, artifacts = f"sqlite:///{folder / 'mlflow.db'}", folder / "artifacts"
    options = ("--backend-store-uri", database, "--serve-artifacts", "--artifacts-destination", artifacts)
    with mlflow_server(folder, *options) as uri:
        yield uri


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
    browser = Browser(program, tmp_path_factory.mktemp("chromium"))
    try:
        yield browser
    finally:
        browser.close()


@pytest.fixture(scope="session")
def postgresql():
    """A real PostgreSQL server of our own."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("no PostgreSQL found: install the package 'postgresql'")
    with tempfile.TemporaryDirectory(prefix="coordpath-pg-", ignore_cleanup_errors=True) as folder:
        server = PostgreSQL(programs, Path(folder))
        try:
            yield server
        finally:
            server.stop()


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
