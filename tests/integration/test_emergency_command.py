"""`coordpath promote --emergency`: one command at three in the morning, and what everybody sees afterwards."""

import json

import pytest
from helpers.office import Office

from coordpath_governance.governance.load_verified import load_verified

TERMS = {"emergency": {"roles": ["risk"], "days": 2}, "rules": {"steps": {"most": 100}}}


@pytest.fixture
def office(store, coordpath, tmp_path):
    """Version 2 has replaced version 1; Rita may roll back in an emergency."""
    made = Office(store, coordpath, tmp_path)
    store.two_versions(made.name)
    made.adopt_policy(**TERMS)
    made.champion()
    assert made.run("report", made.name, "--candidate", "2").code == 0
    made.approve("2", "Bob", "Cleo")
    assert made.run("promote", made.name, "2").code == 0
    return made


def roll_back(office, *more, owner="Rita", reason="it fails"):
    key = ("--key", office.key(owner)) if owner else ()
    said = ("--reason", reason) if reason is not None else ()
    return office.run("promote", office.name, "1", "--emergency", *said, *key, *more)


def test_rolling_back_reviewing_and_what_is_said_meanwhile(office, tmp_path):
    done = roll_back(office)
    assert done.code == 0, done.err
    assert "This was an emergency rollback" in done.plain
    assert office.alias() == "1"
    for command, code in ((("gate", office.name, "1"), 1), (("sweep",), 1), (("audit", "verify"), 0), (("audit", "log"), 0)):
        said = office.run(*command)
        assert said.code == code, said.plain
        assert "emergency rollback of " in said.plain
        assert "by Rita (version 2 → 1 as 'champion'), to be reviewed by " in said.plain
    assert any(line.startswith(f"emergency {office.name}: ") for line in office.run("sweep").out.splitlines())
    report = office.run("report", office.name, "--candidate", "2")
    assert "Red: emergency rollback of " in report.plain
    export = tmp_path / "ledger.jsonl"
    assert office.run("audit", "export", "-o", export).code == 0
    offline = office.run("audit", "verify", str(export))
    assert offline.code == 0
    assert "Red: " in offline.plain
    assert load_verified(f"models:/{office.name}@champion", ledger=office.ledger_url) is not None
    alone = office.run("review", office.name, "1", "--approve", "--key", office.key("Rita"))
    assert alone.code == 1
    assert "somebody else has to review it" in alone.plain
    days = office.run("review", office.name, "1", "--approve", "--days", "3", "--key", office.key("Bob"))
    assert days.code == 2
    reviewed = office.run("review", office.name, "1", "--approve", "--comment", "right", "--key", office.key("Bob"))
    assert reviewed.code == 0, reviewed.err
    assert office.run("gate", office.name, "1").code == 0
    assert "emergency rollback of" not in office.run("sweep").plain
    assert "Red" not in office.run("audit", "verify").plain


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reason": None}, "needs a --reason"),
        ({"reason": " "}, "needs a --reason"),
        ({"reason": "\udcff"}, "is not valid UTF-8"),
        ({"reason": "x" * 4001}, "--reason has 4001 characters; the ledger holds up to 4000"),
        ({"owner": None}, "needs your signature"),
    ],
)
def test_what_it_needs(office, options, told):
    said = roll_back(office, **options)
    assert said.code == 2
    assert told in said.plain
    assert office.alias() == "2"


def test_as_one_json_document(office):
    document = json.loads(roll_back(office, "--json").out)
    assert (document["promoted"], document["verdict"], document["actor"]) == (True, None, "Rita")
    swept = json.loads(office.run("sweep", "--json").out)
    assert swept["exit_code"] == 1
    assert "emergency" in [each["kind"] for each in swept["findings"]]


def test_options_that_do_not_go_together(office):
    assert "cannot try" in roll_back(office, "--dry-run").plain
    said = office.run("promote", office.name, "1", "--reason", "because")
    assert said.code == 2
    assert "is for an --emergency rollback" in said.plain


def test_who_may_not_and_what_is_refused(office):
    said = roll_back(office, owner="Bob")
    assert said.code == 1
    assert "lets only risk roll back in an emergency" in said.plain
    office.adopt_policy(rules=TERMS["rules"])
    said = roll_back(office)
    assert said.code == 1
    assert "allows no emergency rollbacks; add emergency: {roles: [ROLE], days: N}" in said.plain
    assert office.alias() == "2"


def test_it_is_reviewed_without_a_policy_in_force_and_without_its_version(office, store):
    assert roll_back(office).code == 0
    assert office.run("report", office.name, "--candidate", "2").code == 0
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    retired = office.run("retire", office.name, "1", "--reason", "clean up", "--key", office.key("Ann"))
    assert retired.code == 1
    assert "cannot be retired: the emergency rollback of" in retired.plain
    store.client.delete_model_version(office.name, "1")
    policy = office.run("policy", "retire", "prices", "--reason", "superseded", "--key", office.key("Ann"))
    assert policy.code == 0, policy.err
    swept = office.run("sweep", "--model", office.name)
    assert swept.code == 1
    assert f"emergency {office.name}: emergency rollback of " in swept.plain
    reviewed = office.run("review", office.name, "1", "--approve", "--comment", "right", "--key", office.key("Bob"))
    assert reviewed.code == 0, reviewed.err
    assert "emergency rollback of" not in office.run("sweep", "--model", office.name).plain
