"""The guard as its environment configures it."""

import subprocess
import threading
from types import SimpleNamespace

import pytest

from coordpath_governance.errors import LedgerError, UsageError
from coordpath_governance.guarded import inline_report
from coordpath_governance.guarded.lazy_guard import open_guard

NAME = "credit"


@pytest.fixture
def registry(world, tmp_path, monkeypatch):
    """The URI of a registry whose ledger is the world's."""
    monkeypatch.setenv("COORDPATH_LEDGER", f"sqlite:///{tmp_path / 'ledger.db'}")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Commands that were started, and a function that says what a shell does in their place."""
    commands = []

    def instead(script):
        def popen(command, *, env, **options):
            commands.append((command, env))
            return subprocess.Popen(["sh", "-c", script], env=env, **options)

        patched = SimpleNamespace(Popen=popen, TimeoutExpired=subprocess.TimeoutExpired, DEVNULL=subprocess.DEVNULL)
        monkeypatch.setattr(inline_report, "subprocess", patched)

    instead("exit 0")
    return commands, instead


def test_a_ledger_that_nobody_began_is_not_begun_here(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_guard(f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert list(tmp_path.iterdir()) == []


def test_reports_in_line_or_left_to_the_sweep(registry, monkeypatch):
    assert open_guard(registry).report is not None
    monkeypatch.setenv("COORDPATH_REPORTS", "sweep")
    assert open_guard(registry).report is None
    monkeypatch.setenv("COORDPATH_REPORTS", "sometimes")
    with pytest.raises(UsageError, match="COORDPATH_REPORTS=sometimes: reports are made 'inline'"):
        open_guard(registry)


def test_a_report_is_made_by_a_process_of_its_own(world, registry, started, monkeypatch):
    commands, _ = started
    guard = open_guard(registry)
    guard.report("unguarded", "1")
    guard.report(NAME, "1")
    assert commands == []
    world.adopt_policy(reference={"uri": "/data/rows.csv"})
    guard.report(NAME, "1")
    monkeypatch.setenv("COORDPATH_TRACKING_URI", "http://127.0.0.1:1")
    guard.report("credit --help", "7")
    (first, environment), (second, places) = commands
    assert first[-2:] == ["--", NAME]
    assert environment["COORDPATH_LEDGER"].endswith("ledger.db")
    assert environment["MLFLOW_REGISTRY_URI"] == registry
    assert places["MLFLOW_TRACKING_URI"] == "http://127.0.0.1:1"
    assert not [part for part in first + second if "://" in part]
    assert second[-2:] == ["--", "credit --help"]


def test_a_report_that_fails_is_told_in_the_log(world, registry, started, caplog):
    _, instead = started
    instead("echo 'coordpath: error: no rows' >&2; exit 4")
    world.adopt_policy(reference={"uri": "/data/rows.csv"})
    open_guard(registry).report(NAME, "1")
    assert "no report on version 1 of 'credit': coordpath: error: no rows" in caplog.text


def test_registering_does_not_wait_for_a_slow_report_until_the_client_gives_up(
    world, registry, started, caplog, monkeypatch, tmp_path
):
    """MLflow's client gives up after 30 seconds and registers the version once more, four times in all."""
    _, instead = started
    go = tmp_path / "go"
    instead(f"until [ -e '{go}' ]; do sleep 0.05; done; echo 'coordpath: error: no rows' >&2; exit 4")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    caplog.set_level("INFO")
    world.adopt_policy(reference={"uri": "/data/rows.csv"})
    open_guard(registry).report(NAME, "1")
    assert "the report on version 1 of 'credit' is still being made" in caplog.text
    assert "no rows" not in caplog.text
    go.touch()
    (thread,) = [each for each in threading.enumerate() if each.name == "coordpath report on credit 1"]
    thread.join(20)
    assert "no report on version 1 of 'credit': coordpath: error: no rows" in caplog.text


def test_a_report_that_never_ends_is_ended(world, registry, started, caplog, monkeypatch):
    _, instead = started
    instead("exec sleep 60")
    monkeypatch.setattr(inline_report, "_TIMEOUT", 0.2)
    world.adopt_policy(reference={"uri": "/data/rows.csv"})
    open_guard(registry).report(NAME, "1")
    assert "no report on version 1 of 'credit': it took longer than 0.2 seconds" in caplog.text


def test_a_process_that_cannot_be_started_is_told_in_the_log(world, registry, caplog, monkeypatch):
    monkeypatch.setattr(inline_report.sys, "executable", "/no/such/python")
    world.adopt_policy(reference={"uri": "/data/rows.csv"})
    open_guard(registry).report(NAME, "1")
    assert "no report on version 1 of 'credit': " in caplog.text
    assert "/no/such/python" in caplog.text
