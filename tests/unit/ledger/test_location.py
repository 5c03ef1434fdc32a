"""Where a registry's ledger is."""

from pathlib import Path

import pytest

from coordpath_governance.errors import UsageError
from coordpath_governance.ledger.location import ledger_url, named_service_key, service_key_beside


@pytest.mark.parametrize(
    ("registry", "ledger"),
    [
        ("sqlite:////dir/mlflow.db", "sqlite:////dir/coordpath-ledger.db"),
        ("sqlite:////a dir/m.db?timeout=5", "sqlite:////a dir/coordpath-ledger.db"),
        ("sqlite+pysqlite:////dir/mlflow.db", "sqlite:////dir/coordpath-ledger.db"),
        ("sqlite:///mlflow.db", "sqlite:///coordpath-ledger.db"),
        ("sqlite:///sub/mlflow.db", "sqlite:///sub/coordpath-ledger.db"),
        ("coordpath:sqlite:////dir/mlflow.db", "sqlite:////dir/coordpath-ledger.db"),
        ("/dir/mlruns", "sqlite:////dir/mlruns/coordpath-ledger.db"),
        ("./mlruns", "sqlite:///mlruns/coordpath-ledger.db"),
        ("file:///dir/ml%20runs", "sqlite:////dir/ml runs/coordpath-ledger.db"),
        ("coordpath:file:/dir/mlruns", "sqlite:////dir/mlruns/coordpath-ledger.db"),
        ("postgresql://u:p@h:5/d?sslmode=require", "postgresql+psycopg://u:p@h:5/d?sslmode=require"),
        ("postgres://h/d", "postgresql+psycopg://h/d"),
        ("postgresql+psycopg2://h/d", "postgresql+psycopg://h/d"),
        ("coordpath:postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_beside_the_registry(registry, ledger):
    assert ledger_url(registry, None) == ledger


@pytest.mark.parametrize(
    ("given", "ledger"),
    [
        ("sqlite:////dir/l.db", "sqlite:////dir/l.db"),
        ("postgresql://h/d", "postgresql+psycopg://h/d"),
        ("/dir/l.db", "sqlite:////dir/l.db"),
    ],
)
def test_what_is_given_wins(monkeypatch, given, ledger):
    assert ledger_url("sqlite:////other/mlflow.db", given) == ledger
    monkeypatch.setenv("COORDPATH_LEDGER", given)
    assert ledger_url("http://server", None) == ledger
    assert ledger_url(None, "sqlite:///mine.db") == "sqlite:///mine.db"


@pytest.mark.parametrize(
    "registry",
    [
        *("http://server:5000", "https://u:secret@server", "databricks", "databricks-uc", "databricks://profile"),
        *("mysql://h/d", "sqlite://", "sqlite:///:memory:", "uc:http://x", "coordpath:http://server"),
    ],
)
def test_what_cannot_be_told_is_a_usage_error_without_secrets(registry):
    with pytest.raises(UsageError, match="--ledger") as raised:
        ledger_url(registry, None)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("registry", [None, "", "coordpath:"])
def test_nothing_given(registry):
    with pytest.raises(UsageError, match="which ledger"):
        ledger_url(registry, None)


def test_a_question_mark_in_a_folder_cannot_be_part_of_a_url():
    with pytest.raises(UsageError, match=r"because of the '\?'"):
        ledger_url("/what?/mlruns", None)


def test_the_service_key(monkeypatch):
    assert named_service_key() is None
    assert service_key_beside(Path("/dir/coordpath-ledger.db")) == Path("/dir/coordpath-ledger.key")
    monkeypatch.setenv("COORDPATH_SERVICE_KEY", "/keys/service.pem")
    assert named_service_key() == Path("/keys/service.pem")
    assert named_service_key(Path("/mine.pem")) == Path("/mine.pem")
