"""`coordpath declare`: a person vouches for a version nobody can read; whatever MLflow generation, no file of it changes."""

import json
import uuid
from functools import cache
from pathlib import Path

import mlflow
import pytest
from helpers.office import Office
from sklearn.ensemble import RandomForestRegressor

from coordpath_governance.errors import AttachError, RefusedError
from coordpath_governance.governance import declared as declared_module
from coordpath_governance.governance.load_verified import load_verified
from coordpath_governance.models import LinearModel, NumericTerm, to_document
from coordpath_governance.models.coefficients_json import declared_bytes
from coordpath_governance.registry.client_registry import ClientRegistry
from coordpath_governance.registry.versions import ModelPointer
from coordpath_governance.rendering.change_report import ChangeReport

MODEL = LinearModel(5.0, numeric=(NumericTerm("area", 3.0), NumericTerm("age", -0.8)), estimator="their own")
LENIENT = [
    {"class": "first", "when": {"first_version": 1}, "approvals": [{"role": "validator", "count": 1}]},
    {"class": "ordinary"},
]


@cache
def _forest(store):
    frame = store.rows.frame
    return RandomForestRegressor(n_estimators=2, random_state=0).fit(frame[["area", "age"]], frame["price"])


def log(store):
    return store.log(_forest(store), serialization_format="cloudpickle")


def as_logged_model(store, name, _):
    store.register(name, log(store))


def as_run_artifacts(store, name, folder):
    """As MLflow 2.x stored models: among the artifacts of the run, no logged model."""
    mlflow.sklearn.save_model(_forest(store), folder / "old", serialization_format="cloudpickle", pip_requirements=[])
    with mlflow.start_run(experiment_id=store.experiment) as run:
        mlflow.log_artifacts(str(folder / "old"), "model")
    store.client.create_registered_model(name)
    store.client.create_model_version(name, f"{run.info.artifact_uri}/model", run.info.run_id)


def as_copy(store, name, folder):
    other = f"source {uuid.uuid4().hex[:8]}"
    as_logged_model(store, other, folder)
    store.client.copy_model_version(f"models:/{other}/1", name)


def as_copy_of_run_artifacts(store, name, folder):
    other = f"source {uuid.uuid4().hex[:8]}"
    as_run_artifacts(store, other, folder)
    store.client.copy_model_version(f"models:/{other}/1", name)


def as_bare_files(store, name, folder):
    mlflow.sklearn.save_model(_forest(store), folder / "bare", serialization_format="cloudpickle", pip_requirements=[])
    store.client.create_registered_model(name)
    store.client.create_model_version(name, (folder / "bare").as_uri())


GENERATIONS = (as_logged_model, as_run_artifacts, as_copy, as_copy_of_run_artifacts)


@pytest.fixture
def coefficients(tmp_path):
    path = tmp_path / "coefficients.json"
    path.write_text(json.dumps(to_document(MODEL), indent=1))
    return path


@pytest.fixture
def office(store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    made.adopt_policy(declarations={"roles": ["validator"]}, materiality=LENIENT)
    return made


def declare(office, *options, version="1", who="Bob"):
    return office.run("declare", office.name, version, "--key", office.key(who), *options)


def digest(office, version="1"):
    return ClientRegistry(office.store.client).digest(office.name, version)


def beside(office, document):
    """What lies where the command says, of a logged model or of a run."""
    found = office.store.client.get_model_version(office.name, document["version"])
    base = f"models:/{office.name}/{document['version']}"
    if "m-" not in found.source and "models:" not in found.source:
        base = f"runs:/{found.run_id}"
    try:
        return mlflow.artifacts.load_text(f"{base}/{document['beside']}").encode()
    except Exception:  # noqa: BLE001 - a copy of a run's artifacts: they belong to the run
        return mlflow.artifacts.load_text(f"runs:/{found.run_id}/{document['beside']}").encode()


@pytest.mark.parametrize("register", GENERATIONS, ids=lambda each: each.__name__)
def test_it_is_recorded_and_laid_beside_without_changing_the_model(office, store, coefficients, tmp_path, register):
    register(store, office.name, tmp_path)
    before = digest(office)
    done = declare(office, "--coefficients", coefficients, "--reason", "compared on 10,000 rows", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["schema"] == "coordpath.declaration/1"
    assert (document["by"], document["new"], document["digest"]) == ("Bob", True, before)
    assert digest(office) == before
    assert beside(office, document) == declared_bytes(MODEL)
    entry = office.ledger.entries(office.name)[-1]
    assert (entry.event, entry.seq) == ("declaration", document["entry"])
    assert office.ledger.blob(document["coefficients"]) == declared_bytes(MODEL)
    again = json.loads(declare(office, "--coefficients", coefficients, "--json").out)
    assert (again["new"], again["entry"]) == (False, document["entry"])
    assert office.run("report", office.name, "--candidate", "1").code == 0
    assert office.run("audit", "verify").code == 0


def test_a_version_without_a_place_is_recorded_all_the_same(office, store, coefficients, tmp_path):
    as_bare_files(store, office.name, tmp_path)
    done = declare(office, "--coefficients", coefficients)
    assert done.code == 0
    assert "The version has no place to lay it beside" in done.plain


def test_the_whole_way(office, store, coefficients, tmp_path):
    """Not readable, declared, reported, promoted, audited offline, and loaded only on request."""
    name = office.name
    store.register(name, store.first, log(store))
    office.champion()
    refused = office.run("report", name, "--candidate", "2")
    assert refused.code == 4
    assert "RandomForestRegressor" in refused.plain
    assert f"`coordpath declare '{name}' 2 --coefficients FILE --key KEY`" in refused.plain
    told = declare(office, "--coefficients", coefficients, version="2")
    assert told.code == 0
    assert f"Bob vouches that version 2 of {name}" in told.plain
    assert "One more person has to vouch for the same, since nobody vouches for who registered the version." in told.plain
    second = declare(office, "--coefficients", coefficients, version="2", who="Cleo")
    assert "One more person" not in second.plain
    assert office.run("report", name, "--candidate", "2").code == 0
    attached = office.attached("2", "v1-to-v2")
    document = ChangeReport.from_bytes((attached / "change_report.json").read_bytes()).document
    assert document.models["candidate"]["source"] == "declared, vouched for by Bob and Cleo"
    assert "declared, vouched for by Bob and Cleo" in (attached / "change_report.html").read_text()
    again = office.run("report", name, "--candidate", "2")
    assert "Already attached" in again.out
    gate = office.run("gate", name, "2")
    assert "declared, of the candidate, vouched for by Bob (entry" in gate.plain
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", name, "2").code == 0
    export = tmp_path / "ledger.jsonl"
    assert office.run("audit", "export", "-o", str(export)).code == 0
    assert office.run("audit", "verify", str(export)).code == 0
    log_lines = office.run("audit", "log", name).out
    assert "predicts by the coefficients" in log_lines
    uri = f"models:/{name}@champion"
    with pytest.raises(RefusedError, match=r"a RandomForestRegressor.*What it runs is not known.*allow_declared=True"):
        load_verified(uri, ledger=office.ledger_url)
    loaded = load_verified(uri, ledger=office.ledger_url, allow_declared=True)
    assert len(loaded.predict(store.rows.frame[["area", "age"]])) == len(store.rows.frame)
    scanned = json.loads(office.run("scan", "--json").out)["models"]
    found = next(each for each in scanned if each["name"] == name)
    assert (found["outcome"], found["how"]) == ("declared", "declared, vouched for by Bob and Cleo")
    assert "remedy" not in found
    bob = next(each for each in office.ledger.keyring().keys.values() if each.facts.owner == "Bob")
    assert office.run("key", "revoke", bob.facts.id[:12], "--reason", "left", "--key", office.key("Ann")).code == 0
    with pytest.raises(RefusedError, match="one more person has to vouch for it"):
        load_verified(uri, ledger=office.ledger_url, allow_declared=True)


def test_what_the_author_declares_is_not_known_until_somebody_vouches_for_that_file(office, store, tmp_path, coefficients):
    name = office.name
    logged = log(store)
    store.client.log_model_artifact(logged.model_id, str(coefficients), "")
    store.register(name, store.first, logged)
    office.champion()
    assert office.run("report", name, "--candidate", "2").code == 0
    line = next(each for each in office.run("gate", name, "2").out.splitlines() if "declared coefficients" in each)
    assert line.strip().startswith("NOT KNOWN")
    for who, result in (("Bob", "NOT KNOWN"), ("Cleo", "met")):
        done = declare(office, version="2", who=who)
        assert done.code == 0, done.err
        gate = office.run("gate", name, "2")
        line = next(each for each in gate.out.splitlines() if "declared coefficients" in each)
        assert line.strip().startswith(result)
        assert ("one more person has to vouch" in gate.plain) == (who == "Bob")


def test_who_and_what_is_refused(office, store, coefficients, tmp_path):
    name = office.name
    store.register(name, log(store), store.first)
    readable = declare(office, "--coefficients", coefficients, version="2")
    assert readable.code == 1
    assert "can be read (Ridge, read from the model's files): its files speak for themselves" in readable.plain
    assert declare(office, "--coefficients", coefficients, version="7").code == 2
    assert declare(office, "--coefficients", tmp_path / "absent.json").code == 2
    nothing = declare(office)
    assert nothing.code == 2
    assert "say what to vouch for with --coefficients FILE" in nothing.plain
    rita = declare(office, "--coefficients", coefficients, who="Rita")
    assert rita.code == 2
    assert "lets only validator vouch for declared coefficients" in rita.plain
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema": "coordpath.coefficients/1", "intercept": NaN, "numeric": []}')
    assert declare(office, "--coefficients", broken).code == 4
    assert office.run("declare", name, "1", "--coefficients", coefficients).code == 2
    assert "declaration" not in office.events()


def test_files_that_change_afterwards_make_it_void(office, store, coefficients):
    logged = log(store)
    store.register(office.name, logged)
    assert declare(office, "--coefficients", coefficients).code == 0
    Path(store.path(logged), "requirements.txt").write_text("numpy==1.0\n")
    refused = office.run("report", office.name, "--candidate", "1")
    assert refused.code == 4
    assert "coordpath declare" in refused.plain


def test_a_model_under_no_policy_has_nobody_who_vouches(office, store, coefficients):
    other = f"other {uuid.uuid4().hex[:8]}"
    store.register(other, log(store))
    done = office.run("declare", other, "1", "--coefficients", coefficients, "--key", office.key("Bob"))
    assert done.code == 1
    assert "no policy matches" in done.plain


def test_an_alias_or_latest_names_the_version_and_a_uri_does_not(office, store, coefficients):
    store.register(office.name, log(store))
    assert declare(office, "--coefficients", coefficients, version="latest").code == 0
    assert declare(office, "--coefficients", coefficients, version="models:/other/1").code == 2


def test_a_sweep_makes_the_report_once_somebody_vouches(office, store, coefficients):
    store.register(office.name, store.first, log(store))
    office.champion()
    before = office.run("sweep")
    assert "no report on version 2" in before.plain
    assert "coordpath declare" in before.plain
    assert declare(office, "--coefficients", coefficients, version="2").code == 0
    assert "version 2 has its report now" in office.run("sweep").plain


def test_what_lies_beside_the_version_is_not_what_decides(office, store, coefficients):
    """Whoever can write artifacts can change the copy; the ledger's bytes are used."""
    logged = log(store)
    store.register(office.name, logged)
    done = json.loads(declare(office, "--coefficients", coefficients, "--json").out)
    forged = to_document(LinearModel(0.0, numeric=(NumericTerm("area", 99.0),)))
    Path(store.path(logged), done["beside"]).write_text(json.dumps(forged))
    assert office.run("report", office.name, "--candidate", "1").code == 0
    report = json.loads((office.attached("1", "none-to-v1") / "change_report.json").read_text())
    assert report["models"]["candidate"]["numeric"][0]["coefficient"] == 3.0


def test_a_copy_that_cannot_be_written_is_told_and_written_next_time(office, store, coefficients, monkeypatch):
    store.register(office.name, log(store))

    def fail(*_):
        raise AttachError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(declared_module, "write_attachments", fail)
        done = declare(office, "--coefficients", coefficients)
    assert done.code == 4
    assert "is entry 7 of the ledger and counts, but it could not be laid beside the version: the disk is full" in done.plain
    again = json.loads(declare(office, "--coefficients", coefficients, "--json").out)
    assert (again["new"], again["entry"]) == (False, 7)
    assert beside(office, again) == declared_bytes(MODEL)


def test_a_model_that_is_no_registered_version_has_no_declaration(office, coefficients):
    find = declared_module.declared_in(office.ledger)
    assert find(ModelPointer(uri=str(coefficients)), "0" * 64) is None
    assert find(ModelPointer(uri="models:/unknown/1", name="unknown", version="1"), "0" * 64) is None
