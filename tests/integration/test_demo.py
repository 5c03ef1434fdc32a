"""`coordpath demo` from an empty folder to a verified report, as a newcomer runs it."""

import json
import re
import sqlite3

import pytest


@pytest.fixture(scope="module")
def told(tmp_path_factory, spawn):
    """The folder and what was printed, for a first and a second run in the same folder."""
    folder = tmp_path_factory.mktemp("demo") / "my demo"
    environment = {"MLFLOW_REQUIREMENTS_INFERENCE_TIMEOUT": "1", "MLFLOW_TRACKING_URI": ""}
    runs = [spawn("demo", "my demo", cwd=folder.parent, env=environment) for _ in range(2)]
    return folder, runs


def test_the_story_ends_well(told):
    folder, (first, _) = told
    assert first.code == 0, first.err
    assert "progression: v1 → v2" in first.out
    assert "Where to look" in first.out
    assert "MISMATCH" not in first.out
    assert {"ok"} == set(re.findall(r"^   (\S+)  (?:arithmetic|certificate|data):", first.out, re.MULTILINE))
    assert not list(folder.parent.glob("mlruns"))
    assert sorted(path.name for path in folder.parent.iterdir()) == ["my demo"]


def test_the_report_it_names_verifies(told, spawn):
    folder, _ = told
    outcome = spawn("verify", folder / "report" / "change_report.json", "--data", folder / "holdout.csv")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "verified"


def test_a_second_run_carries_on(told):
    folder, (_, second) = told
    assert second.code == 0, second.err
    assert "progression: v3 → v4" in second.out
    with sqlite3.connect(folder / "mlflow.db") as database:
        tags = dict(database.execute("SELECT version, value FROM model_version_tags WHERE key = 'coordpath.report_path'"))
    assert tags == {
        1: "coordpath/progression/none-to-v1",
        2: "coordpath/progression/v1-to-v2",
        3: "coordpath/progression/none-to-v3",
        4: "coordpath/progression/v3-to-v4",
    }
    document = json.loads((folder / "report" / "change_report.json").read_text(encoding="utf-8"))
    assert document["subject"]["candidate"]["version"] == "4"


def test_a_folder_with_other_things_in_it_is_left_alone(coordpath, tmp_path):
    (tmp_path / "thesis.txt").write_text("do not touch")
    outcome = coordpath("demo", tmp_path)
    assert outcome.code == 2
    assert "is not empty and not a demo store; name another folder" in outcome.plain
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    outcome = coordpath("demo", tmp_path / "thesis.txt")
    assert outcome.code == 2
    assert "is a file" in outcome.plain
