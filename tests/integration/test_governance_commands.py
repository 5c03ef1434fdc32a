"""Policy, review and promotion from the command line, on a real registry; and what people try to get round them."""

import json
import os
import signal
import subprocess
import sys
import uuid
from functools import cache

import pytest
from helpers.office import Office

from coordpath_governance.attestation.attest import read_attestation
from coordpath_governance.errors import SigningKeyError
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.signing.keys import PrivateKey


@cache
def _third(store):
    """One more logged model for all of these tests: reports have folders of their own."""
    return store.fresh()


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second, _third(store))
    made.adopt_policy()
    return made


@pytest.fixture
def running(office):
    """Version 1 is champion, version 2 has its report."""
    office.champion()
    assert office.run("report", office.name, "--candidate", "2").code == 0
    return office


def test_the_whole_way_with_its_exit_codes(office):
    name = office.name
    first = office.run("report", name, "--candidate", "1", "--gate")
    assert first.code == 3
    assert "Still needed: 2 approvals by validator. One more than otherwise" in first.plain
    assert office.run("gate", name, "1").code == 3
    refused = office.run("promote", name, "1")
    assert refused.code == 3
    assert "--approve" in refused.err
    office.approve("1", "Bob", "Cleo")
    assert office.run("gate", name, "1").code == 0
    assert office.run("promote", name, "1", "--dry-run").code == 0
    assert office.alias() == "None"
    assert office.run("promote", name, "1", "--key", office.key("Bob")).code == 0
    assert office.alias() == "1"
    assert [each.facts.actor for each in office.ledger.entries(name) if each.event == "intent"] == ["Bob"]
    assert office.run("report", name, "--candidate", "2", "--gate").code == 3
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", name, "2").code == 0
    assert office.alias() == "2"
    assert office.run("audit", "verify").code == 0


def test_the_gate_as_json(running):
    asked = running.run("gate", running.name, "2", "--json")
    document = json.loads(asked.out)
    assert asked.code == document["exit_code"] == 3
    assert (document["schema"], document["name"], document["version"]) == ("coordpath.gate/1", running.name, "2")
    assert (document["verdict"], document["alias"], document["from_version"]) == ("review", "champion", "1")
    assert document["policy"]["name"] == "prices"
    assert document["missing"] == ["2 approvals by validator"]
    assert {rule["rule"]: rule["result"] for rule in document["rules"]}["final_cost_increase"] == "pass"
    running.approve("2", "Bob")
    document = json.loads(running.run("gate", running.name, "2", "--json").out)
    assert [(each["by"], each["roles"]) for each in document["approvals"]] == [("Bob", ["validator"])]
    assert document["missing"] == ["1 approval by validator"]
    standing = json.loads(running.run("gate", running.name, "1", "--json").out)
    assert (standing["verdict"], standing["materiality"], standing["rules"]) == ("pass", None, [])
    wrong = running.run("gate", running.name, "99", "--json")
    assert (wrong.code, wrong.out) == (2, "")


def test_what_is_attached_carries_the_verdict_and_an_attestation(running):
    folder = running.attached("2", "v1-to-v2")
    verdict = json.loads((folder / "verdict.json").read_bytes())
    policy = next(e.facts.policy for e in running.ledger.entries() if e.event == "policy adopted")
    assert verdict["verdict"] == "review"
    assert verdict["policy_sha256"] == policy
    assert verdict["missing"] == ["2 approvals by validator"]
    assert {rule["rule"]: rule["result"] for rule in verdict["rules"]}["final_cost_increase"] == "pass"
    keys = {known.public.id: known.public for known in running.ledger.keyring().keys.values()}
    statement = read_attestation((folder / "attestation.json").read_bytes(), keys)
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert subjects["change_report.json"] == verdict["files"]["change_report.json"]
    assert statement["predicate"]["verdict"] == "review"
    document = ChangeReport.from_bytes((folder / "change_report.json").read_bytes()).document
    assert document.assessment.policy.sha256 == policy
    assert running.store.tags(running.name, 2)["coordpath.verdict"] == "review"
    again = running.run("report", running.name, "--candidate", "2")
    assert "Already attached" in again.plain


def test_rejecting_and_waiving(running):
    running.adopt_policy(rules={"final_cost_increase": {"absolute": -1e9}})
    assert running.run("report", running.name, "--candidate", "2", "--gate").code == 1
    waived = running.run(
        "waive", running.name, "2", "final_cost_increase", "--reason", "agreed", "--key", running.key("Rita")
    )
    assert waived.code == 0
    running.approve("2", "Bob")
    assert running.run("review", running.name, "2", "--reject", "--comment", "no", "--key", running.key("Cleo")).code == 0
    refused = running.run("promote", running.name, "2")
    assert refused.code == 1
    assert "Rejected by Cleo: no" in refused.plain
    running.approve("2", "Cleo")
    assert running.run("promote", running.name, "2").code == 0


@pytest.mark.parametrize("asked", [(), ("--alias", "production")], ids=["by default", "by name"])
def test_a_policy_that_guards_another_alias(office, asked):
    """Its first alias is the default, and reports explain from what stands there."""
    office.adopt_policy(aliases=["production", "fallback"])
    office.store.client.set_registered_model_alias(office.name, "champion", "3")
    for version, before in (("1", None), ("2", "1")):
        assert office.run("report", office.name, "--candidate", version, *asked).code == 0
        folder = office.attached(version, f"v{before}-to-v{version}" if before else f"none-to-v{version}")
        champion = ChangeReport.from_bytes((folder / "change_report.json").read_bytes()).document.subject.champion
        assert (champion.version if champion else None) == before
        gate = office.run("gate", office.name, version, *asked)
        assert gate.code == 3
        assert f"`coordpath review '{office.name}' {version} --approve` by" in gate.plain
        for owner in ("Bob", "Cleo"):
            assert office.run("review", office.name, version, "--approve", *asked, "--key", office.key(owner)).code == 0
        assert office.run("promote", office.name, version, *asked).code == 0
        assert str(office.store.client.get_registered_model(office.name).aliases["production"]) == version
    assert office.run("promote", office.name, "2", "--alias", "fallback").code == 1
    assert office.run("report", office.name, "--candidate", "2", "--alias", "fallback").code == 0
    assert "--approve --alias fallback` by" in office.run("gate", office.name, "2", "--alias", "fallback").plain
    office.store.client.set_registered_model_alias(office.name, "production", "3")
    adopted = office.run("adopt", office.name, "--reason", "looked into", *asked, "--key", office.key("Ann"))
    assert "is under guard as 'production'" in adopted.plain


def test_options_that_the_policy_pins_are_told(running):
    outcome = running.run("report", running.name, "--candidate", "2", "--threshold", "3", "--segment", "town")
    assert outcome.code == 0
    assert "As policy 'prices' pins, not as given: --threshold, --segment" in outcome.plain


def test_a_report_that_takes_the_place_of_another_says_so(running):
    outcome = running.run("report", running.name, "--candidate", "2", "--reason", "another")
    assert outcome.code == 0
    assert "It replaces the report with SHA-256" in outcome.plain


def test_wrong_use(running):
    assert running.run("review", running.name, "2", "--key", running.key("Bob")).code == 2
    assert running.run("review", running.name, "2", "--approve").code == 2
    assert running.run("gate", running.name, "99").code == 2
    assert running.run("gate", running.name, "2", "--alias", "shadow").code == 2
    assert running.run("gate", "no such model", "1").code == 1
    assert running.run("report", running.name, "--no-attach", "--gate").code == 2
    nothing = running.run("review", running.name, "3", "--approve", "--key", running.key("Bob"))
    assert nothing.code == 1
    assert "there is nothing to decide yet" in nothing.plain
    nothing = running.run("waive", running.name, "3", "gap", "--reason", "x", "--key", running.key("Rita"))
    assert nothing.code == 1


@pytest.mark.parametrize("version", ["models:/other/2", "runs:/abc/model", "models:/m-" + "0" * 32, "folder\\model", "./2"])
def test_a_version_is_no_uri(office, version):
    """It could be of another model."""
    for command in (("gate",), ("promote",), ("promote", "--dry-run"), ("review", "--approve"), ("waive", "--reason", "x")):
        rule = ("gap",) if command[0] == "waive" else ()
        key = () if command[0] == "gate" else ("--key", office.key("Bob"))
        outcome = office.run(*command, *key, "--", office.name, version, *rule)
        assert outcome.code == 2
        assert f"'{version}' is a URI; name the version of '{office.name}' by its number" in outcome.err
        assert len(outcome.err.splitlines()) == 1


LONG = "x" * 4001
BYTES = "m\udcff"
"""What Python makes of the byte FF on the command line."""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("review", "{name}", "1", "--reject", "--comment", LONG),
            "--comment has 4001 characters; the ledger holds up to",
        ),
        (("waive", "{name}", "1", "gap", "--reason", LONG), "--reason has 4001 characters"),
        (("adopt", "{name}", "--reason", LONG), "--reason has 4001 characters"),
        (("review", "{name}", "1", "--approve", "--comment", BYTES), "is not valid UTF-8"),
        (("review", BYTES, "1", "--approve"), "is not valid UTF-8"),
        (("waive", "{name}", "1", "gap", "--reason", BYTES), "is not valid UTF-8"),
        (("waive", "{name}", "1", BYTES, "--reason", "x"), "is not valid UTF-8"),
        (("adopt", "{name}", "--reason", BYTES), "is not valid UTF-8"),
        (("adopt", BYTES), "is not valid UTF-8"),
        (("gate", BYTES, "1"), "is not valid UTF-8"),
        (("gate", "{name}", "1", "--alias", BYTES), "is not valid UTF-8"),
        (("promote", BYTES, "1"), "is not valid UTF-8"),
        (("promote", "{name}", BYTES), "is not valid UTF-8"),
        (("report", "{name}", "--alias", BYTES), "is not valid UTF-8"),
    ],
)
def test_words_that_the_ledger_cannot_hold(office, arguments, says):
    before = office.ledger.entries()
    key = () if arguments[0] in ("gate", "report") else ("--key", office.key("Ann"))
    outcome = office.run(*(argument.format(name=office.name) for argument in arguments), *key)
    assert outcome.code == 2
    assert says in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert office.ledger.entries() == before


def test_a_gate_without_a_policy_is_no_pass(office):
    office.store.register("lonely", office.store.first)
    outcome = office.run("report", "lonely", "--gate", *office.store.rows.args)
    assert outcome.code == 1
    assert "there is no gate to ask" in outcome.plain
    assert office.run("report", "lonely", *office.store.rows.args).code == 0


@pytest.mark.no_cover
class TestNothingIsGained:
    """By somebody who …"""

    def test_sets_our_tags(self, running):
        for key, value in (
            ("coordpath.verdict", "pass"),
            ("coordpath.status", "optimal"),
            ("coordpath.report_sha256", "0" * 64),
        ):
            running.store.client.set_model_version_tag(running.name, "3", key, value)
        assert running.run("promote", running.name, "3").code == 1
        assert running.alias() == "1"

    def test_supplies_their_own_policy(self, running):
        lax = running.write_policy(rules={"steps": {"most": 1000}})
        outcome = running.run("policy", "adopt", str(lax), "--key", running.key("Bob"))
        assert outcome.code == 2
        assert "lacks the role 'policy-admin'" in outcome.plain

    def test_picks_their_own_reference_data(self, running, tmp_path):
        other = tmp_path / "nicer.csv"
        running.store.rows.frame[:50].to_csv(other, index=False)
        outcome = running.run("report", running.name, "--candidate", "3", "--data", other, "--target", "price")
        assert outcome.code == 2
        assert "is not the reference data that policy 'prices' pins" in outcome.plain

    def test_writes_a_report_into_the_artifacts(self, running):
        report = running.run(
            "report",
            running.name,
            "--candidate",
            "3",
            "--out",
            running.folder / "mine",
            "--no-attach",
            *running.store.rows.args,
        )
        assert report.code == 0
        assert running.run("promote", running.name, "3").code == 1

    def test_has_other_files_explained_than_those_that_are_loaded(self, running):
        """A copy keeps the files of its origin; its origin is deleted and made anew with other files."""
        client, other = running.store.client, f"other {uuid.uuid4().hex}"
        running.store.register(other, running.store.first)
        copy = str(client.copy_model_version(f"models:/{other}/1", running.name).version)
        client.delete_registered_model(other)
        running.store.register(other, running.store.second)
        outcomes = [running.run("report", running.name, "--candidate", copy), running.run("promote", running.name, copy)]
        for outcome in outcomes:
            assert outcome.code == 1
            assert f"version {copy} of '{running.name}' is loaded from other files" in outcome.plain
            assert len(outcome.err.splitlines()) == 1
        assert running.alias() == "1"

    def test_has_it_explained_under_the_policy_of_another_name(self, running):
        lenient = f"toy {uuid.uuid4().hex}"
        running.store.register(lenient, running.store.first)
        running.adopt_policy(name="lenient", pattern=lenient, rules={"steps": {"most": 1000}})
        before = running.ledger.entries()
        tags = running.store.tags(running.name, 3)
        outcome = running.run(
            *(
                "report",
                lenient,
                "--candidate",
                f"models:/{running.name}/3",
                "--champion",
                f"models:/{running.name}/1",
                "--gate",
            )
        )
        assert outcome.code == 2
        assert "explain it under its own name" in outcome.plain
        assert running.store.tags(running.name, 3) == tags
        assert running.ledger.entries() == before

    def test_adds_a_key_for_themselves(self, running):
        outcome = running.run(
            "key",
            "new",
            "Bob 2",
            "--role",
            "validator",
            "--out",
            running.folder / "x.pem",
            "--no-passphrase",
            "--key",
            running.key("Bob"),
        )
        assert outcome.code == 2
        assert not (running.folder / "x.pem").exists()

    def test_replays_an_approval_in_another_registry(self, running, coordpath, tmp_path):
        """The same people, policy and model, but another ledger: the entry does not belong there."""
        running.approve("2", "Bob", "Cleo")
        approval = next(entry for entry in running.ledger.entries(running.name) if entry.event == "approval")
        other = Ledger.open(f"sqlite:///{tmp_path / 'other.db'}")
        bob = PrivateKey.load(running.key("Bob"))
        with pytest.raises(SigningKeyError, match="is not known to this ledger"):
            other.append("approval", approval.facts, bob, model=running.name)
        assert approval.facts.binding.registry == running.ledger.id != other.id


def test_an_existing_champion_is_adopted(office):
    office.store.client.set_registered_model_alias(office.name, "champion", "1")
    assert office.run("report", office.name, "--candidate", "2").code == 0
    refused = office.run("promote", office.name, "2")
    assert refused.code == 1
    assert f"coordpath adopt '{office.name}'" in refused.plain
    assert office.run("adopt", office.name, "--key", office.key("Bob")).code == 2
    adopted = office.run("adopt", office.name, "--reason", "was there before", "--key", office.key("Ann"))
    assert adopted.code == 0
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    assert office.run("adopt", "no such model", "--key", office.key("Ann")).code == 1


KILLED = """
import os, signal, sys
target, name, when, event = {point!r}
module = __import__(target[0], fromlist=["x"])
owner = getattr(module, target[1])
original = getattr(owner, name)
def killed(self, *args, **kwargs):
    mine = event is None or (args and args[0] == event)
    if mine and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(self, *args, **kwargs)
    if mine:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(owner, name, killed)
from coordpath_governance.cli.main import main
sys.argv = ["coordpath", *{arguments!r}]
main()
"""
LEDGER = ("coordpath_governance.ledger.store", "Ledger")
CLIENT = ("mlflow", "MlflowClient")
POINTS = [
    *[("report", (LEDGER, "record", when, event)) for event in ("report", "verdict") for when in ("before", "after")],
    ("report", (CLIENT, "log_model_artifacts", "before", None)),
    ("report", (CLIENT, "log_model_artifacts", "after", None)),
    ("report", (CLIENT, "set_model_version_tag", "after", None)),
    *[("promote", (LEDGER, "record", when, event)) for event in ("intent", "promotion") for when in ("before", "after")],
    *[("promote", (CLIENT, "set_registered_model_alias", when, None)) for when in ("before", "after")],
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("command", "point"), POINTS, ids=[f"{c}-{p[1]}-{p[3]}-{p[2]}" for c, p in POINTS])
def test_killed_anywhere_and_run_again(office, command, point):
    """One report, one entry each, and alias and ledger agree."""
    report = ["report", "--ledger", office.ledger_url, office.name, "--candidate", "1"]
    promote = ["promote", "--ledger", office.ledger_url, office.name, "1"]
    if command == "promote":
        assert office.run("report", office.name, "--candidate", "1").code == 0
        office.approve("1", "Bob", "Cleo")
    script = KILLED.format(point=point, arguments=report if command == "report" else promote)
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, timeout=240)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    if command == "report":
        assert office.run("report", office.name, "--candidate", "1").code == 0
        office.approve("1", "Bob", "Cleo")
    assert office.run("promote", office.name, "1").code == 0
    assert office.alias() == "1"
    events = office.events()
    assert {event: events.count(event) for event in ("report", "intent", "promotion")} == {
        "report": 1,
        "intent": 1,
        "promotion": 1,
    }
    assert office.store.tags(office.name, 1)["coordpath.report_sha256"] == office.ledger.entries(office.name)[0].facts.report
    assert office.run("audit", "verify").code == 0


@pytest.mark.no_cover
def test_two_promotions_at_once(running):
    """Two processes: one wins, the other is told why."""
    assert running.run("report", running.name, "--candidate", "3").code == 0
    for version in ("2", "3"):
        running.approve(version, "Bob", "Cleo")
    commands = [
        [sys.executable, "-m", "coordpath_governance", "promote", "--ledger", running.ledger_url, running.name, version]
        for version in ("2", "3")
    ]
    started = [subprocess.Popen(c, env=os.environ, stderr=subprocess.PIPE, stdout=subprocess.PIPE) for c in commands]
    said = [process.communicate(timeout=240) for process in started]
    codes = [process.returncode for process in started]
    assert sorted(codes) == [0, 1], said
    winner = codes.index(0)
    assert running.alias() == ("2", "3")[winner]
    assert b"has the alias 'champion' now" in said[1 - winner][1]
    assert running.run("audit", "verify").code == 0


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "| a | b |\n# heading [x](javascript%3A1)",
    "\x1b[31mred\x1b[0m\x07",
    "abc\u202egnp.exe",
    "-rf --help",
    "%2e%2e%2fetc%2fpasswd",
    "n" * 200,
]


@pytest.mark.no_cover
@pytest.mark.parametrize("text", HOSTILE, ids=["html", "markdown", "terminal", "bidi", "option", "path", "long"])
def test_hostile_names_are_harmless_in_every_output(store, coordpath, tmp_path, text):
    office = Office(store, coordpath, tmp_path)
    office.name = f"{text} {uuid.uuid4().hex[:6]}"
    store.register(office.name, store.fresh())
    office.adopt_policy(pattern="*" + office.name[-6:])
    said = [
        office.run("report", "--candidate", "1", "--", office.name),
        office.run("review", "--approve", "--comment", text, "--key", office.key("Bob"), "--", office.name, "1"),
        office.run("review", "--approve", "--comment", text, "--key", office.key("Cleo"), "--", office.name, "1"),
        office.run("gate", "--", office.name, "1"),
        office.run("promote", "--", office.name, "1"),
        office.run("audit", "log"),
        office.run("audit", "verify"),
    ]
    assert [outcome.code for outcome in said] == [0] * 7, [outcome.err for outcome in said]
    for outcome in said:
        for character in ("\x1b", "\x07", "\u202e"):
            assert character not in outcome.out + outcome.err
        assert not [line for line in (outcome.out + outcome.err).splitlines() if line.startswith("# heading")]
    assert office.alias() == "1"
