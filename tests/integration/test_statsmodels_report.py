"""statsmodels models in a real registry: scanned, explained, attached and verified, without loading their pickles."""

import json
import sys
import uuid
from pathlib import Path

import mlflow
import numpy as np  # noqa: F401 - formulas look it up here
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from helpers.mlflow_store import Logged

import coordpath_governance as cg

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "statsmodels"))
from write_results import training_data

TRAIN, HOLDOUT = training_data(200), training_data(150, seed=6)


def log(store, result, **options):
    with mlflow.start_run(experiment_id=store.experiment) as run:
        logged = mlflow.statsmodels.log_model(result, name="model", pip_requirements=[], **options)
    return Logged(logged.model_id, run.info.run_id)


@pytest.fixture
def registered(store):
    """A champion and a candidate, both of formulas."""
    old = log(store, smf.poisson("count ~ age + km", TRAIN).fit(disp=0), remove_data=True)
    new = log(store, smf.poisson("count ~ age + C(city)*np.log(km)", TRAIN).fit(disp=0))
    name = store.register(f"rate {uuid.uuid4().hex[:8]}", old, new)
    store.client.set_registered_model_alias(name, "champion", "1")
    return name


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "holdout.parquet"
    HOLDOUT.to_parquet(path)
    return path


def test_report_attach_and_verify(store, registered, data, coordpath, tmp_path, monkeypatch):
    monkeypatch.setattr("pickle.load", None)
    monkeypatch.setattr("pickle.loads", None)
    made = coordpath("report", registered, "--data", data, "--target", "count", "--out", tmp_path)
    assert made.code == 0, made.err
    assert store.tags(registered, 2)["coordpath.status"] == "optimal"
    report = cg.ChangeReport.from_bytes((tmp_path / "change_report.json").read_bytes())
    assert {step.feature for step in report.document.path.steps} >= {"age", "km", "city", "city×km"}
    held = [text for text in report.document.limits if "its file holds the training data (200 rows" in text]
    assert [text.split(":")[0] for text in held] == ["The champion", "The candidate"]
    assert "read from the model's files (a pickle, as data)" in json.dumps(report.document.models)
    checked = coordpath("verify", tmp_path / "change_report.json", "--data", data)
    assert checked.code == 0, checked.plain
    assert checked.out.splitlines()[-1].startswith("verified against the data; ")


def test_scan_tells_what_is_read_and_that_it_holds_data(store, registered, coordpath):
    refused = store.register(
        f"quantile {uuid.uuid4().hex[:8]}",
        log(store, sm.QuantReg(TRAIN["price"], sm.add_constant(TRAIN[["age"]])).fit()),
    )
    lines = coordpath("scan").out.splitlines()
    at = next(i for i, line in enumerate(lines) if registered in line)
    assert "version 1 (champion): Poisson, 2 columns, read from the model's files (a pickle, as data)" in lines[at]
    assert "note: its file holds the training data (200 rows, 11 columns)" in lines[at + 1]
    assert "also with remove_data=True" in lines[at + 1]
    line = next(line for line in lines if refused in line)
    assert line.startswith("NOT READ")
    assert "QuantReg" in line
    models = {model["name"]: model for model in json.loads(coordpath("scan", "--json").out)["models"]}
    assert len(models[registered]["remarks"]) == 1
    assert "remarks" not in models[refused]
