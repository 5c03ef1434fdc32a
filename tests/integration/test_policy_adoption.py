"""Policies and a real registry: what adopting one objects to, which models each matches, and the end of one."""

import json
import shutil
from urllib.request import url2pathname

import pytest
from helpers.office import Office
from sklearn.linear_model import LogisticRegression

from coordpath_governance.policy.load import read_policy
from coordpath_governance.review.policies import adopted_policies


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second)
    return made


def adopted(office):
    return [each.policy.name for each in adopted_policies(office.ledger)]


def test_a_policy_for_a_registered_model_of_another_is_refused(office):
    office.adopt_policy()
    also = office.write_policy(name="all prices", pattern=f"{office.name}*")
    refused = office.run("policy", "adopt", also, "--key", office.key("Ann"))
    assert refused.code == 1
    assert f"policy 'prices', which is in force, matches the registered model {office.name} too" in refused.plain
    assert "coordpath policy retire" in refused.plain
    assert adopted(office) == ["prices"]
    checked = office.run("policy", "check", also)
    assert checked.code == 1
    assert "Objection: models: policy 'prices'" in checked.plain
    assert office.run("policy", "retire", "prices", "--reason", "one for all", "--key", office.key("Ann")).code == 0
    assert office.run("policy", "check", also).code == 0
    assert office.run("policy", "adopt", also, "--key", office.key("Ann")).code == 0
    assert adopted(office) == ["all prices"]


def test_two_policies_without_a_model_in_common_are_told_apart(office):
    office.adopt_policy()
    other = office.write_policy(name="others", pattern="*no such name")
    said = office.run("policy", "adopt", other, "--key", office.key("Ann"))
    assert said.code == 0
    assert "may match the same models" not in said.plain
    wide = office.write_policy(name="wide", pattern="price ????")
    said = office.run("policy", "adopt", wide, "--key", office.key("Ann"))
    assert said.code == 0
    assert "Note: policy 'others' may match the same models" not in said.plain


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"rules": {"decision_flips": {"overall": 0.1}}}, "rules.decision_flips: the registered model"),
        ({"reference": {"target": "rent"}}, "reference.target: the data have no column 'rent'"),
        ({"reference": {"sha256": "1" * 64}}, "reference.sha256: the data at"),
        ({"reference": {"exposure": "area"}}, "reference.exposure: the registered model"),
        ({"reference": {"target": "town"}}, "reference.target: the column 'town' holds"),
    ],
)
def test_a_policy_that_does_not_fit_its_model_or_its_data_is_refused(office, changes, what):
    if "reference" in changes:
        changes = {"reference": {**office.pinned, **changes["reference"]}}
    path = office.write_policy(**changes)
    refused = office.run("policy", "adopt", path, "--key", office.key("Ann"))
    assert refused.code == 1
    assert what in refused.plain
    assert adopted(office) == []
    checked = office.run("policy", "check", path)
    assert checked.code == 1
    assert f"Objection: {what}" in checked.plain


def test_what_cannot_be_known_is_a_note(office):
    unread = office.write_policy(reference={**office.pinned, "uri": str(office.folder / "elsewhere.csv")})
    said = office.run("policy", "adopt", unread, "--key", office.key("Ann"))
    assert said.code == 0
    assert "Note: the pinned data were not looked at" in said.plain


def test_a_model_that_cannot_be_read_or_has_no_version_stops_no_policy(office, store):
    name = f"{office.name} empty"
    store.client.create_registered_model(name)
    broken = store.register(f"{office.name} broken", store.fresh())
    source = store.client.get_model_version(broken, "1").source.removeprefix("models:/")
    path = store.client.get_logged_model(source).artifact_location.removeprefix("file://")
    shutil.rmtree(url2pathname(path))
    said = office.run("policy", "adopt", office.write_policy(pattern=f"{office.name}*"), "--key", office.key("Ann"))
    assert said.code == 0
    assert f"Note: whether the policy fits the model '{broken}' is not known" in said.plain
    assert f"'{name}'" not in said.plain


def test_a_pattern_for_many_models_looks_at_some(office, monkeypatch):
    monkeypatch.setattr("coordpath_governance.governance.circumstances._MOST", 0)
    said = office.run("policy", "check", office.write_policy())
    assert said.code == 0
    assert "Note: it matches 1 registered models; only the first 0 were looked at" in said.plain


def test_the_list_names_the_registered_models_that_each_policy_matches(office, store):
    office.adopt_policy()
    document = json.loads(office.run("policy", "list", "--json").out)
    assert document["registry"] is None
    assert [each["registered"] for each in document["policies"]] == [[office.name]]
    assert f"registered models: {office.name}" in office.run("policy", "list").plain
    nothing = office.run("policy", "list", "--json", "--tracking-uri", f"sqlite:///{office.folder / 'none.db'}")
    assert json.loads(nothing.out)["policies"][0]["registered"] is None
    assert not (office.folder / "none.db").exists()


def test_after_its_policy_was_retired_a_model_is_refused_and_the_sweep_still_looks(office, store):
    office.adopt_policy()
    office.champion()
    retired = office.run("policy", "retire", "prices", "--reason", "superseded", "--key", office.key("Ann"))
    assert retired.code == 0
    refused = office.run("gate", office.name, "2")
    assert refused.code == 1
    assert "no policy matches the model" in refused.plain
    assert office.run("audit", "verify").code == 0
    swept = office.run("sweep")
    assert (swept.code, "'champion' is version 1" in swept.plain) == (0, True)
    store.client.set_registered_model_alias(office.name, "champion", "2")
    assert office.run("sweep").code == 1


def kind_line(office, *options):
    made = office.without_ledger("policy", "init", "--model", office.name, *options)
    assert made.code == 0, made.err
    return made.out.splitlines()[1], read_policy(made.out, "p")


def test_init_goes_by_the_kind_of_the_registered_model(office, store):
    line, policy = kind_line(office)
    assert line == "# Its limits are for the kind of model that is registered: linear."
    assert policy.rules.standardised_change.relative is not None
    frame = store.rows.frame
    classifier = LogisticRegression().fit(frame[["area", "age"]], frame["price"] > 200)
    store.register(office.name, store.log(classifier))
    line, policy = kind_line(office)
    assert line.endswith("registered: classifier.")
    assert policy.rules.decision_flips is not None
    store.client.set_registered_model_alias(office.name, "champion", "1")
    assert kind_line(office)[0].endswith("registered: linear.")
    line, policy = kind_line(office, "--kind", "rate")
    assert not line.startswith("# Its limits")
    assert policy.rules.standardised_change.absolute is not None


def test_init_for_a_model_that_is_not_there_yet_or_a_registry_that_is_not(office, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    office.name = "not registered yet"
    line, policy = kind_line(office)
    assert line.startswith("# Its limits are for linear models; --kind classifier or rate writes others. Kind not known: ")
    assert "not registered yet" in line
    assert policy.rules.standardised_change.relative is not None
    for uri in (f"sqlite:///{tmp_path / 'none.db'}", "file:./mlruns", "mlruns"):
        assert kind_line(office, "--tracking-uri", uri)[0].endswith("Kind not known: no registry was asked")
    assert not (tmp_path / "none.db").exists()
    assert not (tmp_path / "mlruns").exists()
