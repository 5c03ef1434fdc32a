"""What earlier versions recorded is verified, gated, reviewed, promoted and loaded by the present one."""

import base64
import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import mlflow
import pytest
from helpers.mlflow_store import use

from coordpath_governance.ledger.events import EVENTS
from coordpath_governance.registry.verified import load_verified

GOLDEN = Path(__file__).parents[1] / "golden"
ENTRIES = {"governance-0.1": 44, "governance-0.1-second": 61}
REPORTS = {"governance-0.1": 5, "governance-0.1-second": 5}
PLACES = {
    "experiments": "artifact_location",
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "model_versions": "storage_location",
}


@pytest.fixture(params=ENTRIES)
def golden(request):
    """What one version left."""
    return GOLDEN / request.param


@pytest.fixture
def old(golden, tmp_path, monkeypatch):
    """Its registry and ledger, in a folder of their own."""
    with zipfile.ZipFile(golden / "registry.zip") as archive:
        archive.extractall(tmp_path)
    shutil.copy(golden / "ledger.db", tmp_path / "coordpath-ledger.db")
    shutil.copy(golden / "keys" / "test-only-service.pem", tmp_path / "coordpath-ledger.key")
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database:
        for table, column in PLACES.items():
            database.execute(f"UPDATE {table} SET {column} = replace({column}, 'file:///fixture', ?)", (tmp_path.as_uri(),))
        database.commit()
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    use(uri)
    yield tmp_path
    use(None)


def reports_of(place):
    return sorted(place.rglob("change_report.json"))


def test_the_ledger_and_its_export_are_intact(old, golden, coordpath):
    for what in ((), (golden / "ledger.jsonl",)):
        done = coordpath("audit", "verify", *what, "--anchor", golden / "anchor.json")
        assert done.code == 0, done.plain
        assert f"{ENTRIES[golden.name]} entries" in done.plain


def test_every_report_verifies_with_its_data(old, golden, coordpath):
    reports = reports_of(old)
    assert len(reports) == REPORTS[golden.name]
    for report in reports:
        assert coordpath("verify", report).code == 0
        done = coordpath("verify", report, "--data", golden / f"{report.parents[1].name}.csv")
        assert done.code == 0, done.plain


def test_a_report_is_about_the_files_of_its_versions_in_the_registry(old, coordpath):
    report = next(path for path in reports_of(old) if path.parent.name == "v1-to-v2")
    done = coordpath("verify", report, "--model", "models:/price/2", "--champion-model", "models:/price/1")
    assert done.code == 0, done.plain
    assert "the comparison with the model files" in done.out
    assert coordpath("verify", report, "--model", "models:/price/3").code == 1
    assert coordpath("verify", report, "--model", "models:/price/99").code == 2


def test_what_was_approved_is_promoted_and_loaded(old, golden, coordpath):
    assert load_verified("models:/price@champion") is not None
    assert [coordpath("gate", "price", version).code for version in ("3", "4", "5")] == [1, 0, 3]
    done = coordpath("promote", "price", "4")
    assert done.code == 0, done.plain
    assert str(mlflow.MlflowClient().get_model_version_by_alias("price", "champion").version) == "4"
    assert load_verified("models:/price@champion") is not None
    assert coordpath("audit", "verify", "--anchor", golden / "anchor.json").code == 0


def test_what_waits_for_a_review_is_approved_and_promoted(old, golden, coordpath):
    assert (
        coordpath(
            "review", "price", "5", "--approve", "--comment", "ok", "--key", golden / "keys" / "test-only-cleo.pem"
        ).code
        == 0
    )
    done = coordpath("promote", "price", "5")
    assert done.code == 0, done.plain
    assert coordpath("audit", "verify", "--anchor", golden / "anchor.json").code == 0


def recorded_fields(export):
    """Event and field of every body in an export."""
    header, *lines = export.read_bytes().splitlines()
    for line in lines[: json.loads(header)["entries"]]:
        entry = json.loads(base64.b64decode(json.loads(line)["payload"]))
        yield entry["event"], None
        yield from ((entry["event"], field) for field in entry["body"])


def test_the_export_of_what_came_since_is_intact(coordpath):
    done = coordpath("audit", "verify", GOLDEN / "governance-0.1-third" / "ledger.jsonl")
    assert done.code == 0, done.plain


def test_every_event_and_every_field_of_it_is_in_some_fixture():
    """Whoever changes a recorded body adds a fixture of what was recorded before and of what is recorded now."""
    seen = {each for export in GOLDEN.glob("governance-*/ledger.jsonl") for each in recorded_fields(export)}
    known = {(event, field) for event, body in EVENTS.items() for field in (None, *body.model_fields)}
    assert known == seen
