"""An update of the champion on a real store: written, registered, reported, promoted and loaded like any other version."""

import uuid
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import mlflow
import numpy as np
import pytest
import yaml
from helpers.mlflow_store import pipeline
from helpers.office import Office

import coordpath_governance as cg
from coordpath_governance.errors import RefusedError, RegistryError, UpdateError, UsageError
from coordpath_governance.governance.register_update import register_update
from coordpath_governance.registry.connection import connect
from coordpath_governance.registry.download import fetch_model
from coordpath_governance.registry.versions import ModelPointer, find_champion, point_at
from coordpath_governance.rendering.change_report import ChangeReport

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)


def shift(rows):
    """By how much `in_two_steps` raises the score, but for the intercept."""
    return 0.25 * rows["area"] + 3.0 * (rows["town"] == "Ayr")


def in_two_steps(rows, model):
    """Another coefficient of the area and another effect of Ayr, whose dummy is dropped; the average score stays."""
    numeric = tuple(
        replace(term, coefficient=term.coefficient + 0.25) if term.column == "area" else term for term in model.numeric
    )
    (town,) = model.categorical
    effects = tuple(effect + 3.0 * (level == "Ayr") for level, effect in zip(town.levels, town.effects, strict=True))
    intercept = model.intercept - shift(rows).mean()
    return replace(model, intercept=intercept, numeric=numeric, categorical=(replace(town, effects=effects),))


def in_one_step(model):
    return replace(model, intercept=model.intercept + 1.0)


def update(champion, steps=1, reason="it does most of it", change=in_one_step):
    model = fetch_model(champion).model
    return register_update(connect(), champion, change(model), steps=steps, reason=reason, now=NOW)


@pytest.fixture(params=["skops", "cloudpickle"])
def office(request, store, coordpath, tmp_path):
    made = Office(store, coordpath, tmp_path)
    logged = store.log(pipeline(store.rows.frame[20:]), serialization_format=request.param)
    store.register(made.name, logged)
    made.adopt_policy()
    made.champion()
    return made


def test_it_is_reported_promoted_and_loaded_like_any_other_version(office):
    name, store = office.name, office.store
    rows = store.rows.frame.drop(columns="price")
    two = partial(in_two_steps, rows)
    made = update(find_champion(connect(), name, "champion"), steps=2, change=two)
    assert (made.name, made.version) == (name, "2")
    tags = store.tags(name, 2)
    assert tags["coordpath.reason"] == "it does most of it"
    assert tags["coordpath.change_type"] == "update of version 1 in 2 steps"
    outcome = office.run("report", name)
    assert outcome.code == 0, outcome.err
    folder = office.attached("2", "v1-to-v2")
    document = ChangeReport.from_bytes((folder / "change_report.json").read_bytes()).document
    assert sorted(step.feature for step in document.path.steps) == ["area", "town"]
    assert document.facts.change_type == "update of version 1 in 2 steps"
    office.approve("2", "Bob", "Cleo")
    assert office.run("promote", name, "2").code == 0
    loaded = cg.load_verified(f"models:/{name}@champion", ledger=office.ledger)
    before = mlflow.pyfunc.load_model(f"models:/{name}/1").predict(rows)
    np.testing.assert_allclose(loaded.predict(rows), before + shift(rows) - shift(rows).mean(), rtol=1e-12)
    assert office.run("audit", "verify").code == 0


@pytest.fixture
def champion(store):
    name = store.register(f"updated {uuid.uuid4().hex}", store.fresh())
    store.client.set_registered_model_alias(name, "champion", "1")
    return find_champion(connect(), name, "champion")


def files_of(name, version):
    return Path(mlflow.artifacts.download_artifacts(artifact_uri=f"models:/{name}/{version}"))


def test_the_new_version_is_a_logged_model_of_its_own(store, champion):
    made = update(champion)
    pointer = point_at(connect(), made.name, made.version)
    assert pointer.model_id not in (None, champion.model_id)
    logged, old = (store.client.get_logged_model(each.model_id) for each in (pointer, champion))
    assert (logged.status, logged.experiment_id) == ("READY", old.experiment_id)
    settings = yaml.safe_load((files_of(made.name, made.version) / "MLmodel").read_text(encoding="utf-8"))
    assert (settings["model_id"], settings["artifact_path"]) == (pointer.model_id, logged.artifact_location)
    assert (settings["run_id"], settings["utc_time_created"]) == (None, "2026-03-04 05:06:07.000000")
    assert fetch_model(pointer).model.numeric == made.model.numeric


@pytest.mark.server
def test_a_server_takes_it_too(remote):
    name = remote.register(f"updated {uuid.uuid4().hex}", remote.fresh())
    made = update(point_at(connect(), name, "1"))
    rows = remote.rows.frame.drop(columns="price")
    before, after = (mlflow.pyfunc.load_model(f"models:/{name}/{version}").predict(rows) for version in ("1", made.version))
    np.testing.assert_allclose(after, before + 1.0, rtol=1e-12)


def test_one_step_is_said_as_one(store, champion):
    made = update(champion)
    assert store.tags(made.name, made.version)["coordpath.change_type"] == "update of version 1 in 1 step"


def logged_models(store):
    return {model.model_id for model in store.client.search_logged_models([store.experiment], max_results=500)}


def test_what_cannot_be_written_leaves_the_registry_alone(store, champion):
    before = logged_models(store)
    with pytest.raises(UpdateError):
        update(champion, change=lambda model: replace(model, family="poisson"))
    with pytest.raises(UsageError, match="reason= is blank"):
        update(champion, reason=" ")
    with pytest.raises(UsageError, match="at least one step"):
        update(champion, steps=0)
    stale = fetch_model(champion).model
    stale = replace(stale, provenance=replace(stale.provenance, digest="0" * 64))
    with pytest.raises(RefusedError, match="are not those that the update was made from"):
        register_update(connect(), champion, stale, steps=1, reason="late", now=NOW)
    assert logged_models(store) == before


def test_an_upload_that_fails_leaves_a_failed_logged_model_and_no_version(store, champion, monkeypatch):
    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("mlflow.MlflowClient.log_model_artifacts", fails)
    before = logged_models(store)
    with pytest.raises(RegistryError, match=r"logging an update of .*the disk is full"):
        update(champion)
    (left,) = logged_models(store) - before
    assert store.client.get_logged_model(left).status == "FAILED"
    assert [version.version for version in store.client.search_model_versions(f"name = '{champion.name}'")] == [1]


def test_a_version_of_a_run_is_updated_in_its_experiment(store, champion):
    run = store.client.create_run(store.experiment)
    store.client.log_artifacts(run.info.run_id, str(files_of(champion.name, 1)), "model")
    name = f"of a run {uuid.uuid4().hex}"
    store.client.create_registered_model(name)
    store.client.create_model_version(name, f"{run.info.artifact_uri}/model", run.info.run_id)
    pointer = point_at(connect(), name, "1")
    assert pointer.model_id is None
    assert update(pointer).version == "2"


def test_a_version_in_no_experiment_is_refused(champion):
    pointer = replace(champion, model_id=None, run_id=None)
    with pytest.raises(RegistryError, match="neither a logged model nor a run"):
        update(pointer)


def test_only_a_registered_version_is_updated(champion):
    model = fetch_model(champion).model
    with pytest.raises(UsageError, match="is not a registered version"):
        register_update(connect(), ModelPointer(champion.location), model, steps=1, reason="none", now=NOW)
