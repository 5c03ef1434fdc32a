"""Decision trees in a registry: `coordpath report`, its attachments, `verify` with everything, and the gate."""

import json
import uuid

import pytest
from sklearn.tree import DecisionTreeRegressor

import coordpath_governance as cg

COLUMNS = ["area", "age"]


@pytest.fixture(scope="module")
def _name(_sqlite_store):
    return f"trees {uuid.uuid4().hex[:8]}"


@pytest.fixture
def name(store, _name):
    """Two versions of a tree, the first of them the champion."""
    if not store.client.search_registered_models(f"name='{_name}'"):
        rows = store.rows.frame
        half = len(rows) // 2
        trees = [
            DecisionTreeRegressor(max_depth=3, random_state=0).fit(part[COLUMNS], part["price"])
            for part in (rows[:half], rows[half:])
        ]
        store.register(_name, *(store.log(tree, serialization_format="cloudpickle") for tree in trees))
        store.client.set_registered_model_alias(_name, "champion", "1")
    return _name


def test_a_report_is_made_attached_and_verified(name, store, coordpath, tmp_path):
    outcome = coordpath("report", name, *store.rows.args, "--out", tmp_path)
    assert outcome.code == 0, outcome.err
    document = json.loads((tmp_path / "change_report.json").read_text(encoding="utf-8"))
    assert {step["kind"] for step in document["path"]["steps"]} <= {"split", "rest"}
    assert document["models"]["champion"]["schema"] == "coordpath.tree/1"
    version = store.client.get_model_version(name, "2")
    assert version.tags["coordpath.status"] == document["path"]["status"]
    data = store.rows.args[store.rows.args.index("--data") + 1]
    models = ("--model", f"models:/{name}/2", "--champion-model", f"models:/{name}/1")
    checked = coordpath("verify", tmp_path / "change_report.json", "--data", data, *models)
    assert checked.code == 0, checked.out + checked.err
    other = coordpath("verify", tmp_path / "change_report.json", "--model", f"models:/{name}/1")
    assert other.code == 1


def test_uris_and_from_zero(name, store):
    rows = store.rows.frame
    report = cg.explain_change(f"models:/{name}/1", f"models:/{name}@champion", data=rows, target="price")
    assert report.document.summary.direction == "no change"
    report = cg.explain_change(None, f"models:/{name}/2", data=rows, target="price")
    assert report.document.path.solver in ("strings", "beginnings")


def test_a_tree_and_a_linear_model_cannot_be_compared(name, store, coordpath, tmp_path):
    store.register(name, store.first)
    outcome = coordpath("report", name, *store.rows.args, "--candidate", "3", "--no-attach", "--out", tmp_path)
    assert outcome.code != 0
    assert "one version is a decision tree and the other a linear model" in outcome.err
    store.client.delete_model_version(name, "3")
