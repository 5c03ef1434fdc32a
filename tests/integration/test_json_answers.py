"""`--json`: one document on standard output and nothing else; what is an answer, and what is an error without one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.office import Office


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.fresh())
    return made


def asked(office, *arguments):
    """The exit code and the document of a command."""
    outcome = office.run(*arguments, "--json")
    document = json.loads(outcome.out)
    assert document["exit_code"] == outcome.code
    return document


def test_a_report_under_no_policy(office, store):
    where = ("--data", store.rows.csv, "--target", "price")
    document = asked(office, "report", office.name, "--champion", "1", *where)
    assert document["schema"] == "coordpath.report/1"
    assert (document["name"], document["version"], document["champion"]) == (office.name, "2", "1")
    assert (document["verdict"], document["rules"], document["policy"]) == ("not assessed", [], None)
    assert (document["attached"], document["new"], document["replaced"], document["exit_code"]) == (True, True, None, 0)
    assert document["path"] == {"status": "optimal", "gap": document["path"]["gap"], "steps": document["path"]["steps"]}
    assert document["sha256"] == store.tags(office.name, 2)["coordpath.report_sha256"]
    assert document["folder"] == store.tags(office.name, 2)["coordpath.report_path"]
    assert asked(office, "report", office.name, "--champion", "1", *where)["new"] is False
    other = asked(office, "report", office.name, "--champion", "1", *where, "--reason", "drift")
    assert (other["new"], other["replaced"]) == (True, document["sha256"])


def test_a_report_that_is_not_attached(office, store, tmp_path):
    where = ("--data", store.rows.csv, "--target", "price", "--no-attach", "--out", tmp_path / "out")
    document = asked(office, "report", office.name, "--champion", "none", *where)
    assert (document["attached"], document["folder"], document["champion"]) == (False, None, None)
    assert (tmp_path / "out" / "change_report.json").exists()


def test_a_report_and_a_promotion_under_a_policy(office):
    office.adopt_policy()
    document = asked(office, "report", office.name, "--candidate", "1", "--gate")
    gate = asked(office, "gate", office.name, "1")
    assert document["verdict"] == gate["verdict"] == "review"
    assert document["exit_code"] == 3
    assert all(document[key] == gate[key] for key in ("alias", "reason", "materiality", "policy", "rules", "missing"))
    assert asked(office, "report", office.name, "--candidate", "1")["exit_code"] == 0

    refused = asked(office, "promote", office.name, "1")
    assert (refused["schema"], refused["promoted"], refused["verdict"]) == ("coordpath.promotion/1", False, "review")
    assert refused["exit_code"] == 3
    assert "--approve" in refused["reason"]
    assert (refused["alias"], refused["entry"], refused["completed"]) == ("champion", None, None)
    office.approve("1", "Bob", "Cleo")
    would = asked(office, "promote", office.name, "1", "--dry-run")
    assert (would["promoted"], would["verdict"], would["exit_code"]) == (False, "pass", 0)
    promoted = asked(office, "promote", office.name, "1", "--key", office.key("Bob"))
    assert (promoted["promoted"], promoted["verdict"], promoted["exit_code"]) == (True, "pass", 0)
    assert (promoted["actor"], promoted["authenticated_by"], promoted["completed"]) == ("Bob", "key", "at once")
    newest = next(entry for entry in reversed(office.ledger.entries(office.name)) if entry.event == "promotion")
    assert (promoted["entry"], promoted["ledger"]) == (newest.seq, office.ledger.id)
    again = asked(office, "promote", office.name, "1")
    assert (again["promoted"], again["entry"]) == (True, newest.seq)


def test_a_model_under_no_policy_is_refused_in_the_document(office):
    refused = asked(office, "promote", office.name, "1")
    assert (refused["promoted"], refused["verdict"], refused["exit_code"]) == (False, "fail", 1)
    assert "no policy matches" in refused["reason"]
    gate = asked(office, "gate", office.name, "latest")
    assert (gate["schema"], gate["verdict"], gate["exit_code"]) == ("coordpath.gate/1", "fail", 1)
    assert (gate["name"], gate["version"], gate["alias"]) == (office.name, "2", "champion")
    assert "no policy matches" in gate["reason"]
    assert (gate["policy"], gate["materiality"], gate["rules"], gate["missing"]) == (None, None, [], [])
    office.adopt_policy()
    assert set(asked(office, "gate", office.name, "2")) == set(gate)


DOCUMENTED = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        ("gate", "{}", "1"),
        ("report", "{}", "--candidate", "1"),
        ("promote", "{}", "1", "--dry-run"),
        ("sweep",),
        ("audit", "log"),
        ("audit", "show", "1"),
        ("audit", "keys"),
        ("audit", "verify"),
        ("scan",),
        ("policy", "list"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_key_of_a_document_is_documented(office, command):
    office.adopt_policy()
    document = json.loads(office.run(*(part.format(office.name) for part in command), "--json").out)
    section = next(part for part in DOCUMENTED.split("\n## ") if f"`{document['schema']}`" in part.partition("\n")[0])
    named = set(re.findall(r"`([a-z_0-9]+)`", section))
    assert set(document) - {"schema"} - named == set()


@pytest.mark.parametrize(
    "command",
    [
        ("gate", "{}", "99"),
        ("report", "{}", "--candidate", "99"),
        ("promote", "{}", "99"),
        ("promote", "other", "1"),
        ("promote", "{}", "1", "--alias", ""),
    ],
)
def test_after_an_error_standard_output_is_empty(office, command):
    office.adopt_policy()
    outcome = office.run(*(part.format(office.name) for part in command), "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("coordpath: error: ")


@pytest.mark.parametrize(
    "command",
    [("policy", "list", "--json"), ("audit", "log"), ("gate", "{}", "1", "--json"), ("policy", "init", "--model", "m")],
)
def test_a_reader_that_leaves_is_no_error(office, command):
    office.adopt_policy()
    arguments = [part.format(office.name) for part in command]
    at = 2 if command[0] in ("policy", "audit") else 1
    if "init" not in command:
        arguments[at:at] = ["--ledger", office.ledger_url]
    line = [sys.executable, "-m", "coordpath_governance", *arguments]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    said = process.stderr.read().decode()
    assert process.wait(60) in (0, 1)
    assert "error" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "command",
    [
        ("policy", "init", "--model", "m", "--out"),
        ("policy", "init", "--model", "m", "--target", "y", "--data"),
        ("policy", "check"),
        ("audit", "export", "-o"),
        ("audit", "anchor", "-o"),
        ("audit", "log", "--export"),
        ("audit", "verify"),
        ("audit", "verify", "--anchor"),
        ("verify", "report.json", "--ledger"),
        ("key", "make", "--out"),
        ("demo",),
    ],
)
@pytest.mark.parametrize("path", ["x" * 300, "no folder/" + "y" * 300 + "/file"])
def test_a_path_that_is_too_long_is_wrong_use(office, command, path):
    arguments = [*command, office.folder / path]
    free = command[0] in ("demo", "verify") or command[1] in ("init", "make", "log") or command == ("audit", "verify")
    outcome = office.without_ledger(*arguments) if free else office.run(*arguments)
    assert outcome.code == 2
    assert "unexpected" not in outcome.err
