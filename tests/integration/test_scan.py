"""`coordpath scan`: an existing registry on the first day."""

import hashlib
import json
import uuid

import mlflow
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from coordpath_governance.models import LinearModel, NumericTerm, to_document
from coordpath_governance.registry import scan as scan_module
from coordpath_governance.registry import versions as listing


@pytest.fixture
def store(small_store):
    return small_store


@pytest.fixture
def names(store, tmp_path):
    """Models of every kind, each under a name of its own."""
    found = {
        what: f"scan {what} {uuid.uuid4().hex[:8]}" for what in ("read", "pickled", "tree", "refused", "declared", "empty")
    }
    numbers = store.rows.frame[["area", "age"]]
    price = store.rows.frame["price"]
    pickled = make_pipeline(StandardScaler(), LassoCV(cv=3)).fit(numbers, price)
    forest = RandomForestRegressor(n_estimators=2, random_state=0).fit(numbers, price)
    store.register(found["read"], store.first, store.second)
    store.client.set_registered_model_alias(found["read"], "champion", "1")
    store.register(found["pickled"], store.log(pickled, serialization_format="cloudpickle"))
    tree = DecisionTreeRegressor(max_depth=2).fit(numbers, price)
    store.register(found["tree"], store.log(tree, serialization_format="cloudpickle"))
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
    assert "version 1 (latest): DecisionTreeRegressor, 1 columns, read from the model's files (a cloudp" in lines["tree"]
    assert "note: a tree with 4 leaves; reports tell it as a sequence of splits" in outcome.out
    assert lines["refused"].startswith("NOT READ")
    assert (
        "/model.pkl (cloudpickle): the model is a RandomForestRegressor and not a linear model that we" in lines["refused"]
    )
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
        "tree": "read",
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


def test_what_to_do_about_each(names, coordpath):
    models = {model["name"]: model for model in json.loads(coordpath("scan", "--json").out)["models"]}
    remedies = {what: models[name].get("remedy") for what, name in names.items()}
    assert remedies["read"] is remedies["pickled"] is None
    assert f"`coordpath declare '{names['refused']}' 1 --coefficients FILE --key KEY`" in remedies["refused"]
    assert "cg.to_coefficients(model, FILE)" in remedies["refused"]
    assert f"`coordpath declare '{names['declared']}' 1 --key KEY`" in remedies["declared"]
    assert remedies["empty"] == "Register a version."
    lines = coordpath("scan").out.splitlines()
    at = next(number for number, line in enumerate(lines) if names["refused"] in line)
    assert lines[at + 1].strip() == f"→ {remedies['refused']}"


def _content(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_nothing_is_written(names, store, coordpath, tmp_path):
    """Neither database nor artifacts, nor a ledger, though there is one that it asks."""
    ledger = tmp_path / "ledger.db"
    keys = ("key", "new", "Ann", "--role", "policy-admin", "--out", tmp_path / "ann.pem", "--no-passphrase")
    assert coordpath(*keys, "--ledger", f"sqlite:///{ledger}").code == 0
    before = _content(store.folder), _content(tmp_path)
    assert coordpath("scan", "--ledger", f"sqlite:///{ledger}").code == 0
    assert (_content(store.folder), _content(tmp_path)) == before


def test_a_registry_of_many_pages(store, monkeypatch):
    """A page has at most so many models; all of them are looked at, in the order of their names."""
    monkeypatch.setattr(listing, "_PAGE", 3)
    prefix = f"page {uuid.uuid4().hex[:8]}"
    for number in range(8):
        store.client.create_registered_model(f"{prefix} {number}")
    found = [each for each in scan_module.scan(store.client, "champion") if each.name.startswith(prefix)]
    assert [each.name for each in found] == [f"{prefix} {number}" for number in range(8)]
    assert {each.outcome for each in found} == {"empty"}


PLUGIN = """
from coordpath_governance.models import LinearModel, NumericTerm

class Reader:
    def can_read(self, files):
        return "mine" in files.flavours

    def read(self, files):
        return LinearModel(1.0, numeric=(NumericTerm("area", 2.0),), estimator="Mine")
"""


@pytest.mark.parametrize("broken", [False, True])
def test_a_reader_that_another_distribution_brings(store, spawn, tmp_path, broken):
    """Installed as a real distribution is, and found by a command in a process of its own."""
    site, model = tmp_path / "site", tmp_path / "model"
    info = site / "my_readers-1.2.dist-info"
    info.mkdir(parents=True)
    model.mkdir()
    (site / "my_readers.py").write_text("raise RuntimeError('no licence')" if broken else PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-readers\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[coordpath_governance.readers]\nmine = my_readers:Reader\n")
    (model / "MLmodel").write_text("flavors: {mine: {}}")
    name = f"plugin {uuid.uuid4().hex[:8]}"
    store.client.create_registered_model(name)
    store.client.create_model_version(name, model.as_uri())
    outcome = spawn("scan", env={"PYTHONPATH": str(site), "MLFLOW_TRACKING_URI": store.uri})
    line = next(line for line in outcome.out.splitlines() if name in line)
    if broken:
        assert line.startswith("FAILED")
        assert (
            "the reader plugin 'mine' of my-readers 1.2 does not work: it cannot be loaded (RuntimeError: no licence)"
            in line
        )
    else:
        assert line.endswith("version 1 (latest): Mine, 1 columns, read by my-readers 1.2 (plugin mine)")
