"""The guard as its environment configures it."""

import subprocess
from types import SimpleNamespace

import pytest

from coordpath_governance.errors import LedgerError, UsageError
from coordpath_governance.guarded import lazy_guard
from coordpath_governance.guarded.lazy_guard import open_guard

NAME = "credit"


@pytest.fixture
def registry(world, tmp_path, monkeypatch):
    """The URI of a registry whose ledger is the world's."""
    monkeypatch.setenv("COORDPATH_LEDGER", f"sqlite:///{tmp_path / 'ledger.db'}")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


@pytest.fixture
def started(monkeypatch):
    """Commands that would have been started, and how they end."""
    commands = []

    def run(command, *, env, **_):
        commands.append((command, env))
        return subprocess.CompletedProcess(command, run.code, "", "coordpath: error: no rows")

    run.code = 0
    monkeypatch.setattr(lazy_guard, "subprocess", SimpleNamespace(run=run))
    return commands, run


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
    _, run = started
    run.code = 4
    world.adopt_policy(reference={"uri": "/data/rows.csv"})
    open_guard(registry).report(NAME, "1")
    assert "no report on version 1 of 'credit': coordpath: error: no rows" in caplog.text
