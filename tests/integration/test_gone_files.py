"""What MLflow lets people delete behind a champion: its logged model, its files. There is a way on, and it is told."""

import json
import shutil

import pytest
from helpers.office import Office

from coordpath_governance.errors import FilesGoneError
from coordpath_governance.governance.load_verified import load_verified
from coordpath_governance.guarded.inner_registry import InnerRegistry
from coordpath_governance.ledger.verify import audit
from coordpath_governance.models.formats import format_of, recalled_from
from coordpath_governance.registry.client_registry import ClientRegistry

RULES = {"rules": {"steps": {"most": 100}}}


def delete_logged_model(store, logged):
    store.client.delete_logged_model(logged.model_id)


def delete_folder(store, logged):
    shutil.rmtree(store.path(logged))


def delete_files(store, logged):
    """All but what coordpath has attached."""
    for path in store.path(logged).iterdir():
        if path.name == "coordpath":
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()


WAYS = [delete_logged_model, delete_folder, delete_files]


@pytest.fixture
def office(store, coordpath, tmp_path):
    """Version 1 is champion, by a report; versions 1 to 3 have files of their own."""
    made = Office(store, coordpath, tmp_path)
    made.models = [store.fresh(), store.log(other(store)), store.fresh()]
    store.register(made.name, *made.models)
    made.adopt_policy(**RULES)
    made.champion()
    return made


def other(store):
    from helpers.mlflow_store import pipeline

    return pipeline(store.rows.frame[:150])


def check(office, version="2"):
    gate = office.run("gate", office.name, version, "--json")
    return gate.code, {each["rule"]: each["result"] for each in json.loads(gate.out)["rules"]}


@pytest.mark.parametrize("delete", WAYS)
def test_report_review_promote_and_back_although_the_champion_was_deleted(office, delete, tmp_path):
    delete(office.store, office.models[0])
    said = office.run("report", office.name, "--candidate", "2", "--out", str(tmp_path / "out"))
    assert said.code == 0, said.err
    assert "The champion's files are gone: its coefficients are those of report" in said.plain
    report = json.loads((tmp_path / "out" / "change_report.json").read_bytes())
    source = report["models"]["champion"]["source"]
    assert recalled_from(source) is not None
    assert format_of(source) == "skops"
    assert report["assessment"]["verdict"] == "review"
    assert "The files of the champion are gone" in (tmp_path / "out" / "change_report.html").read_text()
    verified = office._coordpath(
        "verify", str(tmp_path / "out" / "change_report.json"), "--data", str(office.store.rows.csv)
    )
    assert verified.code == 0, verified.plain
    code, rules = check(office)
    assert (code, rules["champion's files"]) == (3, "unknown")
    assert office.run("promote", office.name, "2").code == 3
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    assert office.alias() == "2"
    ledger = office.ledger
    assert audit(*ledger.stored()[:1], ledger.blobs).intact
    assert load_verified(f"models:/{office.name}@champion", ledger=office.ledger_url) is not None


def test_rolling_back_from_a_deleted_champion(office):
    assert office.run("report", office.name, "--candidate", "2").code == 0
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    delete_logged_model(office.store, office.models[1])
    assert office.run("report", office.name, "--candidate", "1").code == 0
    office.approve("1", "Bob", "Cleo")
    assert office.run("promote", office.name, "1").code == 0
    assert office.alias() == "1"


def test_a_deleted_candidate_is_refused(office):
    assert office.run("report", office.name, "--candidate", "2").code == 0
    office.approve("2", "Bob", "Cleo")
    delete_logged_model(office.store, office.models[1])
    said = office.run("promote", office.name, "2")
    assert said.code == 1
    assert "cannot be served" in said.plain
    assert office.alias() == "1"


@pytest.mark.parametrize("delete", WAYS)
def test_gate_sweep_and_load_say_that_the_files_are_gone(office, delete):
    delete(office.store, office.models[0])
    gate = office.run("gate", office.name, "1")
    assert gate.code == 1
    assert "its files are gone" in gate.plain
    swept = office.run("sweep")
    assert swept.code == 1
    lines = swept.out.splitlines()
    assert lines[0].startswith(
        f"gone      {office.name}: version 1 of '{office.name}' is 'champion', but its files are gone"
    )
    assert [line.split()[0] for line in lines[1:]] == ["reported", "reported"], swept.out
    with pytest.raises(FilesGoneError, match=r"was not loaded: the registry lists .* but its files are gone"):
        load_verified(f"models:/{office.name}@champion", ledger=office.ledger_url)
    for registry in (ClientRegistry(office.store.client), inner(office.store)):
        with pytest.raises(FilesGoneError, match="its files are gone"):
            registry.digest(office.name, "1")


def inner(store):
    from mlflow.tracking._model_registry.utils import _get_store

    return InnerRegistry(_get_store(store.uri), store.uri)


def test_one_file_of_many_that_is_gone_is_a_change(office):
    (office.store.path(office.models[0]) / "python_env.yaml").unlink()
    swept = office.run("sweep")
    assert swept.code == 1
    assert "the files of version 1 are not those that were promoted" in swept.plain


def test_a_champion_that_no_report_knows_is_adopted_as_unknown(store, coordpath, tmp_path):
    office = Office(store, coordpath, tmp_path)
    models = store.fresh(), store.log(other(store))
    store.register(office.name, *models)
    office.adopt_policy(**RULES)
    store.client.set_registered_model_alias(office.name, "champion", "1")
    assert office.run("adopt", office.name, "--key", office.key("Ann")).code == 0
    delete_logged_model(store, models[0])
    said = office.run("report", office.name, "--candidate", "2")
    assert said.code == 4
    assert "No report in the ledger has its coefficients" in said.plain
    adopted = office.run("adopt", office.name, "--key", office.key("Ann"), "--reason", "deleted")
    assert adopted.code == 0
    assert "nobody knows what it was" in adopted.plain
    assert office.run("sweep").code == 1
    assert office.run("report", office.name, "--candidate", "2").code == 0
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", office.name, "2").code == 0
    assert office.alias() == "2"
    ledger = office.ledger
    assert audit(*ledger.stored()[:1], ledger.blobs).intact
