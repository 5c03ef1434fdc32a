"""Environment files of registered versions, in the report and at the gate."""

import json
from pathlib import Path

import pytest
from helpers.mlflow_store import pipeline
from helpers.office import Office

from coordpath_governance import explain_change

LENIENT = [
    {"class": "first", "when": {"first_version": 1}, "approvals": [{"role": "validator", "count": 1}]},
    {"class": "ordinary"},
]


@pytest.fixture
def office(store, coordpath, tmp_path):
    """Version 1 is champion with one set of packages; version 2 asks for others."""
    made = Office(store, coordpath, tmp_path)
    made.adopt_policy(materiality=LENIENT)
    old, new = (store.log(pipeline(rows)) for rows in (store.rows.frame[:120], store.rows.frame))
    for logged, version in ((old, "1.5.0"), (new, "1.9.1")):
        set_requirements(store, logged, f"scikit-learn=={version}\nnumpy\n")
    made.models = {"1": old, "2": new}
    store.register(made.name, old, new)
    made.champion()
    return made


def set_requirements(store, logged, text):
    """As MLflow would have written them, in both files."""
    folder = Path(store.path(logged))
    (folder / "requirements.txt").write_text(text)
    lines = "".join(f"  - {line}\n" for line in text.splitlines())
    (folder / "conda.yaml").write_text(f"channels: [conda-forge]\ndependencies:\n- pip\n- pip:\n{lines}")


def gate_line(office):
    return next(each for each in office.run("gate", office.name, "2").out.splitlines() if " environment " in each)


def test_changed_versions_are_shown_and_pass(office, store, coordpath):
    assert office.run("report", office.name, "--candidate", "2").code == 0
    attached = office.attached("2", "v1-to-v2")
    document = json.loads((attached / "change_report.json").read_text())
    assert {"package": "scikit-learn", "version": "==1.9.1"} in document["environments"]["candidate"]["pins"]
    for page in ("change_report.html", "change_report.md"):
        text = (attached / page).read_text().replace("<wbr>", "").replace("\\", "")
        assert "1.5.0" in text
        assert "1.9.1" in text
    assert "1 changed." in (attached / "change_report.md").read_text().replace("\\", "")
    assert gate_line(office).strip().startswith("met")
    assert coordpath("verify", attached / "change_report.json", "--data", store.rows.csv).code == 0


def test_another_index_is_for_a_person(office, store):
    set_requirements(store, office.models["2"], "--extra-index-url https://me:secret@evil.example/simple\nnumpy\n")
    assert office.run("report", office.name, "--candidate", "2").code == 0
    answer = office.run("gate", office.name, "2")
    assert answer.code == 3
    assert "NEEDS REVIEW environment" in answer.plain
    assert (
        "requirements.txt line 1: another package index: --extra-index-url https://***@evil.example/simple" in answer.plain
    )
    assert "secret" not in answer.plain
    waived = office.run("waive", office.name, "2", "environment", "--reason", "known", "--key", office.key("Rita"))
    assert waived.code == 2
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0


def test_a_damaged_file_is_not_known(office, store):
    (Path(store.path(office.models["2"])) / "python_env.yaml").write_text("[" * 50_000)
    assert office.run("report", office.name, "--candidate", "2").code == 0
    assert gate_line(office).strip().startswith("NOT KNOWN")


def test_a_report_made_in_python_tells_the_same(office, store):
    uris = [f"models:/{office.name}/{version}" for version in "12"]
    report = explain_change(*uris, data=store.rows.csv, target="price")
    assert report.document.environments.candidate.pins[-1].version == "==1.9.1"
    live = explain_change(None, pipeline(store.rows.frame), data=store.rows.frame, target="price")
    assert live.document.environments is None
