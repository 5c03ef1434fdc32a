"""`cg.register_with_report` on a real registry: with and without policy, and when there can be no report."""

import json
import uuid
import warnings

import pytest

import coordpath_governance as cg
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.reference.sources import open_source


@pytest.fixture
def name(store):
    """A registered model whose version 1 is the champion."""
    made = store.register(f"registered {uuid.uuid4().hex}", store.first)
    store.client.set_registered_model_alias(made, "champion", "1")
    return made


@pytest.fixture
def quiet():
    """Nothing may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", module="mlflow")
        yield


@pytest.fixture
def governed(store, name, coordpath, tmp_path, monkeypatch):
    """The URL of a ledger with a policy for the model that asks for a reason."""
    store.client.delete_registered_model_alias(name, "champion")  # a champion from before the ledger is not under guard
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    policy = {
        "schema": "coordpath.policy/1",
        "name": "registered",
        "models": [name],
        "reference": {"sha256": open_source(store.rows.csv).sha256, "uri": str(store.rows.csv), "role": "holdout"}
        | {"target": "price"},
        "rules": {"required_facts": {"facts": ["reason"]}},
        "materiality": [{"class": "any", "approvals": [{"role": "validator"}]}],
    }
    (tmp_path / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
    key = tmp_path / "ann.pem"
    assert coordpath("key", "new", "--ledger", url, "Ann", "--role", "policy-admin", "--out", key).code == 0
    assert coordpath("policy", "adopt", "--ledger", url, tmp_path / "policy.json", "--key", key).code == 0
    monkeypatch.setenv("COORDPATH_LEDGER", url)
    return url


def test_the_report_is_attached_and_says_what_the_author_says(store, name, quiet):
    fresh = store.fresh()
    facts = {"reason": "newer rows", "change_type": "recalibration", "planned": "yes", "monitoring": "monthly"}
    made = cg.register_with_report(
        fresh.uri,
        name,
        **facts,
        rollback="promote version 1",
        implementation_date="2026-12-31",
        data=store.rows.csv,
        target="price",
        role="holdout",
        period="2025",
        tags={"team": "pricing"},
    )
    assert (made.name, made.version, made.why_no_report) == (name, "2", None)
    document = made.report.document
    assert document.subject.champion.version == "1"
    assert document.facts.tagged == (*facts, "rollback", "implementation_date")
    assert (document.facts.reason, document.facts.rollback) == ("newer rows", "promote version 1")
    assert (document.data.role, document.data.period) == ("holdout", "2025")
    tags = store.tags(name, 2)
    assert (tags["team"], tags["coordpath.reason"]) == ("pricing", "newer rows")
    assert tags["coordpath.report_sha256"] == made.report.sha256


def test_a_table_in_memory_or_what_the_run_logged_are_reference_data_too(store, name, quiet):
    made = cg.register_with_report(store.fresh().uri, name, data=store.rows.frame, target="price")
    assert made.report.document.data.kind == "table"
    missing = pytest.warns(UserWarning, match="is registered, but has no report: no reference data found")
    with missing:
        made = cg.register_with_report(store.fresh().uri, name)
    assert made.report is None
    assert "--data was not given" in made.why_no_report


def test_the_first_version_of_a_model_is_explained_from_zero(store, quiet):
    made = cg.register_with_report(store.fresh().uri, f"first {uuid.uuid4().hex}", data=str(store.rows.csv), target="price")
    assert made.version == "1"
    assert made.report.document.subject.champion is None


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        ({"implementation_date": "soon"}, "implementation_date= is not a date such as 2026-12-31"),
        ({"reason": "x" * 2001}, "reason= has 2001 characters; up to 2000 are accepted"),
        ({"reason": " "}, "reason= is blank"),
        ({"planned": True}, "planned= is True; give a text"),
    ],
)
def test_what_a_report_would_not_use_is_refused_before_anything_is_registered(store, name, fact, says):
    with pytest.raises(cg.CoordpathError, match=says):
        cg.register_with_report(store.first.uri, name, **fact)
    assert len(store.client.search_model_versions(f"name = '{name}'")) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"data": "nowhere.csv", "target": "price"}, "nowhere.csv"),
        ({"data": "nowhere.csv"}, "target= is missing"),
        ({"data": 3, "target": "price"}, "not a int"),
    ],
)
def test_registering_never_fails_because_the_report_does(store, name, options, says):
    with pytest.warns(UserWarning, match="is registered, but has no report"):
        made = cg.register_with_report(store.fresh().uri, name, **options)
    assert (made.version, made.report) == ("2", None)
    assert says in made.why_no_report
    assert "coordpath.report_sha256" not in store.tags(name, 2)


def test_a_fault_of_ours_does_not_fail_it_either(store, name, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("coordpath_governance.governance.register.report_on_versions", broken)
    with pytest.warns(UserWarning, match="has no report: ZeroDivisionError"):
        made = cg.register_with_report(store.fresh().uri, name, data=store.rows.csv, target="price")
    assert made.version == "2"


def test_under_a_policy_it_is_made_on_the_pinned_data_and_recorded(store, name, governed, quiet):
    made = cg.register_with_report(store.fresh().uri, name, reason="newer rows", data=store.rows.csv)
    assessment = made.report.document.assessment
    assert assessment.verdict == "review"
    assert {rule.rule: rule.result for rule in assessment.rules}["required_facts"] == "pass"
    assert assessment.materiality_reason == "Class 'any' because no condition of another class is reached."
    ledger = Ledger.open(governed, create=False)
    assert [entry.event for entry in ledger.entries(name)] == ["report", "verdict"]
    assert store.tags(name, 2)["coordpath.verdict"] == "review"


def test_under_a_policy_a_table_has_no_bytes_to_pin(store, name, governed):
    with pytest.warns(UserWarning, match="a policy pins the reference data by their bytes"):
        made = cg.register_with_report(store.fresh().uri, name, data=store.rows.frame, target="price")
    assert made.report is None


def test_a_ledger_without_a_policy_for_the_model_gives_the_plain_report(store, governed, quiet):
    free = f"free {uuid.uuid4().hex}"
    made = cg.register_with_report(store.fresh().uri, free, data=store.rows.csv, target="price")
    assert made.report.document.assessment.verdict == "not assessed"


def test_the_sweep_uses_what_the_author_said(store, name, governed, coordpath):
    fresh = store.fresh()
    store.client.set_tag(fresh.run_id, "coordpath.change_type", "recalibration")
    said = {"coordpath.reason": "newer rows"}
    store.client.create_model_version(name, fresh.uri, fresh.run_id, tags=said, model_id=fresh.model_id)
    assert coordpath("sweep", "--ledger", governed).code in (0, 4)
    ledger = Ledger.open(governed, create=False)
    sha256 = store.tags(name, 2)["coordpath.report_sha256"]
    facts = json.loads(ledger.blob(sha256))["facts"]
    assert (facts["reason"], facts["change_type"], facts["tagged"]) == (
        "newer rows",
        "recalibration",
        ["reason", "change_type"],
    )


def test_the_gate_says_in_json_which_condition_set_the_class(store, name, governed, coordpath, quiet):
    cg.register_with_report(store.fresh().uri, name, reason="newer rows")
    outcome = coordpath("gate", name, "2", "--json")
    assert outcome.code == 3
    answer = json.loads(outcome.out)
    assert answer["materiality_reason"] == "Class 'any' because no condition of another class is reached."
    assert "Class 'any' because no condition of another class is reached." in coordpath("gate", name, "2").plain
