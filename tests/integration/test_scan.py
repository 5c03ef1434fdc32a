"""`coordpath scan`: an existing registry on the first day."""

import json
import uuid

import mlflow
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coordpath_governance.models import LinearModel, NumericTerm, to_document


@pytest.fixture
def names(store, tmp_path):
    """Models of every kind, each under a name of its own."""
    found = {what: f"scan {what} {uuid.uuid4().hex[:8]}" for what in ("read", "pickled", "refused", "declared", "empty")}
    numbers = store.rows.frame[["area", "age"]]
    price = store.rows.frame["price"]
    pickled = make_pipeline(StandardScaler(), LassoCV(cv=3)).fit(numbers, price)
    forest = RandomForestRegressor(n_estimators=2, random_state=0).fit(numbers, price)
    store.register(found["read"], store.first, store.second)
    store.client.set_registered_model_alias(found["read"], "champion", "1")
    store.register(found["pickled"], store.log(pickled, serialization_format="cloudpickle"))
    store.register(found["refused"], store.log(forest, serialization_format="cloudpickle"))
    declared = store.log(forest, serialization_format="cloudpickle")
    path = tmp_path / "coefficients.json"
    path.write_text(json.dumps(to_document(LinearModel(1.0, numeric=(NumericTerm("area", 2.0),)))))
    mlflow.MlflowClient().log_model_artifact(declared.model_id, str(path), "")
    store.register(found["declared"], declared)
    store.client.create_registered_model(found["empty"])
    return found


def test_every_model_and_why_not(names, coordpath):
    outcome = coordpath("scan")
    assert outcome.code == 0
    lines = {what: next(line for line in outcome.out.splitlines() if name in line) for what, name in names.items()}
    assert lines["read"].startswith("read ")
    assert "version 1 (champion): Ridge" in lines["read"] or "version 1 (champion): LinearRegression" in lines["read"]
    assert "version 1 (latest): LassoCV, 2 columns, read from the model's files (a cloudpickle, as data)" in lines["pickled"]
    assert lines["refused"].startswith("NOT READ")
    assert "a RandomForestRegressor and not a linear model that we read; supported:" in lines["refused"]
    assert lines["declared"].startswith("DECLARED")
    assert lines["empty"].startswith("no version")
    assert outcome.out.splitlines()[-1].endswith(".")
    assert "registered models: " in outcome.out.splitlines()[-1]


def test_the_same_as_json(names, coordpath):
    document = json.loads(coordpath("scan", "--json").out)
    assert document["schema"] == "coordpath.scan/1"
    models = {model["name"]: model for model in document["models"]}
    assert {what: models[name]["outcome"] for what, name in names.items()} == {
        "read": "read",
        "pickled": "read",
        "refused": "refused",
        "declared": "declared",
        "empty": "empty",
    }
    assert sum(document["counts"].values()) == len(document["models"])
    assert models[names["read"]]["under"] == "champion"
    assert models[names["pickled"]]["under"] is None
    assert "reason" not in models[names["read"]]


def test_files_that_are_gone(store, coordpath):
    name = f"scan gone {uuid.uuid4().hex[:8]}"
    logged = store.log(make_pipeline(StandardScaler(), LassoCV(cv=3)).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]))
    store.register(name, logged)
    store.client.delete_logged_model(logged.model_id)
    line = next(line for line in coordpath("scan").out.splitlines() if name in line)
    assert line.startswith("FAILED")
    assert "not found" in line
