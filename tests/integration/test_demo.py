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
    assert "PERMISSION_DENIED" in first.out
    assert first.out.count("refused, exit code 3") == 1
    assert "progression version 2 is 'champion'." in first.out
    assert "intact, and anchored at entry" in first.out
    assert {"ok"} == set(re.findall(r"^(\S+) +(?:arithmetic|certificate|data):", first.out, re.MULTILINE))
    assert first.out.count("\nverified against the data; ") == 1
    assert not list(folder.parent.glob("mlruns"))
    assert sorted(path.name for path in folder.parent.iterdir()) == ["my demo"]


def test_the_report_it_names_verifies(told, spawn):
    folder, _ = told
    outcome = spawn("verify", folder / "report" / "change_report.json", "--data", folder / "holdout.csv")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].startswith("verified against the data; ")


def test_a_second_run_tells_it_of_another_model(told):
    folder, (_, second) = told
    assert second.code == 0, second.err
    assert "progression-2 version 2 is 'champion'." in second.out
    with sqlite3.connect(folder / "mlflow.db") as database:
        tags = set(
            database.execute("SELECT name, version, value FROM model_version_tags WHERE key = 'coordpath.report_path'")
        )
        aliases = set(database.execute("SELECT name, alias, version FROM registered_model_aliases"))
    assert tags == {
        (name, version, f"coordpath/{name}/{folder}")
        for name in ("progression", "progression-2")
        for version, folder in ((1, "none-to-v1"), (2, "v1-to-v2"))
    }
    assert aliases == {("progression", "champion", 2), ("progression-2", "champion", 2)}
    document = json.loads((folder / "report" / "change_report.json").read_text(encoding="utf-8"))
    assert document["subject"]["name"] == "progression-2"


def test_a_folder_with_other_things_in_it_is_left_alone(coordpath, tmp_path):
    (tmp_path / "thesis.txt").write_text("do not touch")
    outcome = coordpath("demo", tmp_path)
    assert outcome.code == 2
    assert "is not empty and not a demo store; name another folder" in outcome.plain
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    outcome = coordpath("demo", tmp_path / "thesis.txt")
    assert outcome.code == 2
    assert "is a file" in outcome.plain
