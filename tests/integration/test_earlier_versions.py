"""What earlier versions recorded is verified, gated, reviewed, promoted and loaded by the present one."""

import base64
import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import mlflow
import pytest
from helpers.mlflow_store import use
from pydantic import BaseModel

from coordpath_governance.governance.load_verified import load_verified
from coordpath_governance.ledger.events import EVENTS

GOLDEN = Path(__file__).parents[1] / "golden"
ENTRIES = {"governance-0.1": 44, "governance-0.1-second": 61, "governance-0.1-fourth": 72}
REPORTS = {"governance-0.1": 5, "governance-0.1-second": 5, "governance-0.1-fourth": 6}
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
    report = next(path for path in reports_of(old) if path.parts[-3:-1] == ("price", "v1-to-v2"))
    done = coordpath("verify", report, "--model", "models:/price/2", "--champion-model", "models:/price/1")
    assert done.code == 0, done.plain
    assert "the comparison with the model files" in done.out
    assert coordpath("verify", report, "--model", "models:/price/3").code == 1
    assert coordpath("verify", report, "--model", "models:/price/99").code == 2


def test_the_pages_of_a_report_are_the_recorded_ones_whatever_reports_look_like_now(old, golden, coordpath):
    for report in reports_of(old):
        done = coordpath("verify", report.parent)
        assert done.code == 0, done.plain
        assert "this is " in done.plain
        done = coordpath("verify", report.parent, "--ledger", golden / "ledger.jsonl")
        assert done.code == 0, done.plain


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


PROPOSED = ("proposal", "body")
"""The body of another event, which has its own; it never names a proposal."""


def filled_in(value, *path):
    """The path of everything that is there: no null, no empty list. What has no parts comes with its text."""
    parts = (
        value.items() if isinstance(value, dict) else [("each", part) for part in value] if isinstance(value, list) else ()
    )
    for name, part in parts:
        yield from filled_in(part, *path, name)
    if parts:
        yield path, None
    elif value not in (None, [], {}):
        yield path, None
        yield path, value if isinstance(value, str) else None


def recorded(export):
    """What the bodies of an export fill in, and with which words."""
    header, *lines = export.read_bytes().splitlines()
    for line in lines[: json.loads(header)["entries"]]:
        entry = json.loads(base64.b64decode(json.loads(line)["payload"]))
        yield (entry["event"],), None
        yield from filled_in(entry["body"], entry["event"])


def possible(kind, *path):
    """The path of everything that a body of this type can fill in, and every word where there is a choice."""
    yield path, None
    if path == PROPOSED:
        return
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from possible(parts[0], *path)
    elif origin is Literal:
        yield from ((path, word) for word in parts)
    elif origin in (Union, UnionType):
        for part in parts:
            yield from () if part is NoneType else possible(part, *path)
    elif origin is tuple:
        yield from possible(parts[0], *path, "each")
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield from possible(field.annotation, *path, field.alias or name)


def test_the_export_of_what_came_since_is_intact(coordpath):
    done = coordpath("audit", "verify", GOLDEN / "governance-0.1-third" / "ledger.jsonl")
    assert done.code == 0, done.plain


def test_every_event_and_every_field_of_it_is_in_some_fixture():
    """Whoever changes a recorded body adds a fixture of what was recorded before and of what is recorded now.

    A field that is null in every fixture would not show that what it holds can still be read.
    """
    seen = {each for export in GOLDEN.glob("governance-*/ledger.jsonl") for each in recorded(export)}
    known = {each for event, body in EVENTS.items() for each in possible(body, event)}
    assert known - seen == set()
    tops = {path[:2] for path, _ in seen}
    assert tops - {path for path, _ in known} == set()
