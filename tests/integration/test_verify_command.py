"""`coordpath verify --model --champion-model --ledger`: is the report about these files, and is it the recorded one?"""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.offline import run_offline
from sklearn.linear_model import LinearRegression

import coordpath_governance as cg
from coordpath_governance.canonical import canonical_bytes, sha256_hex
from coordpath_governance.models.manifest import model_digest
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import document_digest

GOLDEN = Path(__file__).parents[1] / "golden" / "governance-0.1"
LEDGER, ANCHOR, DATA = GOLDEN / "ledger.jsonl", GOLDEN / "anchor.json", GOLDEN / "price.csv"


@pytest.fixture(scope="module")
def price(tmp_path_factory):
    """The model folders and reports of version 0.1's registry, by name and version."""
    folder = tmp_path_factory.mktemp("registry")
    with zipfile.ZipFile(GOLDEN / "registry.zip") as archive:
        archive.extractall(folder)
    reports = {path.parent.name: path for path in folder.rglob("change_report.json")}
    names = {"2": "v1-to-v2", "3": "v2-to-v3", "4": "v2-to-v4", "5": "v2-to-v5", "late": "none-to-v1"}
    return {version: (reports[name].parents[3], reports[name]) for version, name in names.items()}


def forged(report, folder, change):
    """The report with its document changed, and a digest that fits again."""
    raw = json.loads(report.read_bytes())
    change(raw)
    document = ChangeReport.from_bytes(canonical_bytes(raw)).document
    raw["digest"] = document_digest(document)
    path = folder / "forged.json"
    path.write_bytes(canonical_bytes(raw))
    return path


def mismatches(done):
    return [line for line in done.out.splitlines() if line.startswith("MISMATCH")]


def test_the_files_and_the_ledger_without_mlflow_or_database(price):
    files, report = price["4"]
    champion, _ = price["2"]
    done = run_offline(
        "verify",
        report,
        "--model",
        files,
        "--champion-model",
        champion,
        "--ledger",
        LEDGER,
        "--anchor",
        ANCHOR,
        "--data",
        DATA,
    )
    assert (done.returncode, "coordpath:" in done.stderr) == (0, False)  # past two seconds, it says how far it has come
    lines = done.stdout.splitlines()
    assert lines[-1] == "verified against the data, the model files and the ledger"
    assert "ok        model: the report states the coefficients of the candidate that its files hold" in lines
    assert "ok        ledger: the export is intact, and anchored at entry 43" in lines
    assert "  it is the newest report on this change" in lines
    assert any(
        line.startswith("  recorded as entry ") and "signed by coordpath service (service), key " in line for line in lines
    )
    assert [line.split()[2] for line in lines if line[:4].strip().isdigit()] == ["verdict", "approval", "verdict"]
    assert not any("the models: whether" in line or "the policy: whether" in line for line in lines)


OLD = "; the sentences are of an earlier edition and were not checked"
"""Of the reports of 0.1, unless a ledger recorded exactly these bytes."""
CONCLUSIONS = {
    (): f"arithmetic and certificate hold; the data were not rechecked{OLD}",
    ("data",): f"the figures hold against the data; the model files were not checked, nor was the ledger{OLD}",
    ("data", "model"): (
        "the figures hold against the data and the candidate's model files; the champion's model files were not checked, "
        f"nor was the ledger{OLD}"
    ),
    (
        "data",
        "model",
        "champion-model",
    ): f"the figures hold against the data and the model files; the ledger was not checked{OLD}",
    ("data", "ledger"): "verified against the data and the ledger; the model files were not checked",
    ("model", "champion-model", "ledger"): (
        "arithmetic and certificate hold, and so does the comparison with the model files and the ledger; "
        "the data were not rechecked"
    ),
}


@pytest.mark.parametrize(("options", "conclusion"), CONCLUSIONS.items(), ids=map(" ".join, CONCLUSIONS))
def test_the_last_line_names_what_was_checked(coordpath, price, options, conclusion):
    files, report = price["4"]
    values = {"data": DATA, "model": files, "champion-model": price["2"][0], "ledger": LEDGER}
    done = coordpath("verify", report, *(part for name in options for part in (f"--{name}", values[name])))
    assert (done.code, done.out.splitlines()[-1]) == (0, conclusion)
    assert ("verified" in done.out) is ({"data", "ledger"} <= set(options))


def test_the_pages_of_an_older_ledger_are_those_that_its_service_signed(coordpath, price, tmp_path, monkeypatch):
    """Its entries name no pages."""
    from coordpath_governance.verification import folder as folders

    monkeypatch.setattr(folders, "__version__", "9.9")
    folder = shutil.copytree(price["4"][1].parent, tmp_path / "folder")
    done = coordpath("verify", folder, "--ledger", LEDGER)
    assert (done.code, "were not checked" in done.out.splitlines()[-1]) == (0, False), done.out
    (folder / "change_report.html").write_bytes(b"<h1>Nothing changed.</h1>")
    assert "change_report.html is not the file that was attested" in coordpath("verify", folder, "--ledger", LEDGER).out
    (folder / "attestation.json").unlink()
    (folder / "verdict.json").unlink()
    done = coordpath("verify", folder, "--ledger", LEDGER)
    assert (done.code, done.out.splitlines()[-1].endswith("; the pages were not checked")) == (0, True), done.out


def test_files_that_are_not_ours_are_named(coordpath, price, tmp_path):
    """A page of somebody else's beside ours, with a name that people take for it."""
    folder = shutil.copytree(price["4"][1].parent, tmp_path / "folder")
    (folder / "Change_Report.html").write_bytes(b"<h1>Nothing changed.</h1>")
    (folder / "decision.html").mkdir()
    done = coordpath("verify", folder, "--ledger", LEDGER)
    assert done.code == 0, done.out
    assert "not rechecked: what is not ours in the folder: Change_Report.html, decision.html" in done.plain


def test_other_files_are_a_mismatch(coordpath, price, tmp_path):
    files, report = price["4"]
    other = coordpath("verify", report, "--model", price["5"][0])
    assert (other.code, mismatches(other)) == (1, ["MISMATCH  model: these are the files of the candidate (model digest)"])
    assert "the report names " in other.out
    swapped = coordpath("verify", report, "--model", price["2"][0])
    assert swapped.code == 1
    assert "these are the files of the champion, not of the candidate; give them with --champion-model" in swapped.out
    assert "not of the champion; give them with --model" in coordpath("verify", report, "--champion-model", files).out
    changed = shutil.copytree(files, tmp_path / "changed")
    (changed / "MLmodel").write_text((changed / "MLmodel").read_text() + "\n")
    assert coordpath("verify", report, "--model", changed).code == 1


def test_a_report_that_borrows_the_digest_of_other_files(coordpath, price, tmp_path):
    """The digest fits the files, but the coefficients are another model's."""
    files, _ = price["5"]
    digest = model_digest(files)
    report = forged(price["4"][1], tmp_path, lambda raw: raw["subject"]["candidate"].update(digest=digest))
    assert coordpath("verify", report).code == 0
    done = coordpath("verify", report, "--model", files)
    assert done.code == 1
    assert "model: the report states the coefficients of the candidate that its files hold" in mismatches(done)[0]


def test_a_report_that_hides_how_its_model_was_read(coordpath, price, tmp_path):
    """Called declared, so that nobody would look into files that can be read."""

    def declare(raw):
        raw["models"]["candidate"]["source"] = "declared, vouched for by Bob"

    done = coordpath("verify", forged(price["4"][1], tmp_path, declare), "--model", price["4"][0])
    assert done.code == 1
    assert "models.candidate.format: 'declared', recomputed " in done.out


def test_a_report_that_tells_another_environment(coordpath, price, tmp_path):
    def unpin(raw):
        raw["environments"]["candidate"]["pins"] = []
        raw["environments"]["candidate"]["remarks"] = [{"file": "conda.yaml", "line": 1, "what": "x"}]

    done = coordpath("verify", forged(price["4"][1], tmp_path, unpin), "--model", price["4"][0])
    assert done.code == 1
    assert "environments.candidate.pins: differs" in done.out
    assert "environments.candidate.remarks: has 1 entries, should have 0" in done.out


def test_a_first_version_has_no_champion(coordpath, price):
    files, report = price["late"]
    done = coordpath("verify", report, "--model", files, "--ledger", LEDGER, "--data", GOLDEN / "late.csv")
    assert (done.code, done.out.splitlines()[-1]) == (0, "verified against the data, the model files and the ledger")
    done = coordpath("verify", report, "--champion-model", files)
    assert (done.code, "a first version and has no champion" in done.plain) == (2, True)


def test_a_report_that_was_not_recorded(coordpath, price, tmp_path):
    _, report = price["4"]
    rewritten = tmp_path / "rewritten.json"
    rewritten.write_text(json.dumps(json.loads(report.read_bytes()), indent=1), encoding="utf-8")
    done = coordpath("verify", rewritten, "--ledger", LEDGER)
    assert (done.code, mismatches(done)) == (1, ["MISMATCH  ledger: the ledger recorded this report (SHA-256 of the file)"])
    assert "the newest report on this version is entry " in done.out
    assert "not rechecked: the policy: whether it is the adopted one" in done.out


def test_a_damaged_or_cut_export_is_a_mismatch(coordpath, price, tmp_path):
    _, report = price["4"]
    lines = LEDGER.read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join([canonical_bytes(header | {"entries": 42}), *lines[1:43], *lines[45:]]))
    assert coordpath("verify", report, "--ledger", cut).code == 0
    done = coordpath("verify", report, "--ledger", cut, "--anchor", ANCHOR)
    assert (done.code, mismatches(done)) == (1, ["MISMATCH  ledger: the export is NOT intact"])
    assert "it was cut" in done.out
    assert done.out.splitlines()[-1].startswith("NOT verified: 1 of ")
    swapped = tmp_path / "swapped.jsonl"
    swapped.write_bytes(b"".join([lines[0], *lines[2:3], *lines[1:2], *lines[3:]]))
    assert coordpath("verify", report, "--ledger", swapped).code == 1
    assert coordpath("verify", report, "--ledger", GOLDEN / "price.yaml").code == 4
    assert coordpath("verify", report, "--ledger", tmp_path / "none").code == 2


def test_verify_as_json(coordpath, price):
    files, report = price["2"]
    done = coordpath("verify", report, "--model", files, "--ledger", LEDGER, "--json")
    document = json.loads(done.out)
    assert done.code == document["exit_code"] == 0
    assert (document["schema"], document["passed"]) == ("coordpath.verification/1", True)
    assert document["sha256"] == sha256_hex(report.read_bytes())
    assert {check["level"] for check in document["checks"]} == {"arithmetic", "certificate", "model", "ledger"}
    assert document["ledger"]["recorded"]["by"] == "coordpath service"
    assert document["ledger"]["newer"] is None
    assert [each["event"] for each in document["ledger"]["named_by"]][-2:] == ["intent", "promotion"]
    assert document["conclusion"] not in ("verified", "")
    wrong = coordpath("verify", report, "--model", price["5"][0], "--json")
    document = json.loads(wrong.out)
    assert wrong.code == document["exit_code"] == 1
    assert (document["passed"], document["ledger"]) == (False, None)


def test_wrong_use(coordpath, price, tmp_path):
    files, report = price["2"]
    done = coordpath("verify", report, "--model", tmp_path / "none")
    assert (done.code, "there is no model at" in done.plain) == (2, True)
    done = coordpath("verify", report, "--model", "")
    assert (done.code, "an empty name is no model" in done.plain) == (2, True)
    done = coordpath("verify", report, "--anchor", ANCHOR)
    assert (done.code, "--anchor is for --ledger" in done.plain) == (2, True)
    frame = pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) % 7})
    frame["y"] = frame["a"] - frame["b"]
    old, new = (LinearRegression().fit(rows[["a", "b"]], rows["y"]) for rows in (frame[:20], frame))
    in_memory = tmp_path / "in memory.json"
    in_memory.write_bytes(cg.explain_change(old, new, data=frame, target="y").to_bytes())
    done = coordpath("verify", in_memory, "--model", files)
    assert (done.code, "made from a model in memory" in done.plain) == (2, True)
