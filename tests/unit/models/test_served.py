"""What is explained is what is served: folders and archives that read as one model and serve as another are refused."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil

import numpy as np
import pytest
import yaml
from helpers.hostile_pickles import calling
from sklearn.linear_model import LinearRegression

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import read_model

mlflow = pytest.importorskip("mlflow")

ROWS = np.arange(6.0).reshape(3, 2)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    mlflow.sklearn.save_model(LinearRegression().fit(ROWS, [1.0, 2.0, 4.0]), folder, pip_requirements=[])
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def change(folder, flavour="python_function", **settings):
    described = yaml.safe_load((folder / "MLmodel").read_text())
    described["flavors"][flavour].update(settings)
    (folder / "MLmodel").write_text(yaml.safe_dump(described))


def node(loader, path, **more):
    module, _, name = path.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **more}


def calls(marker):
    """A node that skops calls: exec of a text that makes a file."""
    text = node("JsonNode", "builtins.str", content=json.dumps(f"open({str(marker)!r}, 'w').close()"), is_json=True)
    return node("ConstructorFromReduceNode", "builtins.exec", content=node("TupleNode", "builtins.tuple", content=[text]))


def plant(folder, unzip, rezip, name, planted):
    """Put a node into the state of the estimator."""
    members = unzip((folder / "model.skops").read_bytes())
    schema = json.loads(members["schema.json"])
    state = schema["content"]
    state["content"][name] = planted
    state["key_types"]["content"].append(node("TypeNode", "builtins.str"))
    (folder / "model.skops").write_bytes(rezip({**members, "schema.json": json.dumps(schema).encode()}))


def test_the_honest_folder_is_read(folder):
    assert read_model(folder).estimator == "LinearRegression"


@pytest.mark.parametrize("attribute", ["_metadata_request", "random_state", "extra_"])
def test_a_call_in_an_archive_whose_author_trusts_it(attribute, folder, unzip, rezip, tmp_path, monkeypatch):
    plant(folder, unzip, rezip, attribute, calls(tmp_path / "ran"))
    change(folder, "sklearn", skops_trusted_types=["builtins.exec"])
    with pytest.raises(ModelReadError, match="exec"):
        read_model(folder)
    assert not (tmp_path / "ran").exists()
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "true")
    mlflow.pyfunc.load_model(str(folder))
    assert (tmp_path / "ran").exists(), "the file must be a real attack"


@pytest.mark.parametrize(
    "planted",
    [
        node("FunctionNode", "os.system"),
        node("TypeNode", "subprocess.Popen"),
        node("ObjectNode", "subprocess.Popen"),
        node("LossNode", "os.system", __reduce__={"args": node("TupleNode", "builtins.tuple", content=[])}),
        node(
            "MethodNode", "builtins.str", content={"obj": node("JsonNode", "builtins.str", content='""'), "func": "format"}
        ),
        node("PartialNode", "functools.partial"),
        node("OperatorFuncNode", "operator.methodcaller"),
        node("ListNode", "collections.UserList", content=[]),
        node("NdArrayNode", "numpy.memmap", type="json", shape=None, content=[]),
        node("ReduceNode", "builtins.eval"),
        node("UnheardOfNode", "sklearn.linear_model._base.LinearRegression"),
        node("ListNode", "builtins.list", content=[node("FunctionNode", "os.system")]),
        node("DictNode", "builtins.dict", content={"a": node("FunctionNode", "os.system")}, key_types={"content": [{}]}),
    ],
    ids=lambda planted: f"{planted['__loader__']} {planted['__class__']}",
)
@pytest.mark.parametrize("attribute", ["random_state", "extra_"])
def test_every_name_of_an_archive_must_be_known(planted, attribute, folder, unzip, rezip):
    plant(folder, unzip, rezip, attribute, planted)
    with pytest.raises(ModelReadError):
        read_model(folder)


def test_trusted_types_are_fine_if_every_name_is_known(folder):
    change(folder, "sklearn", skops_trusted_types=["builtins.exec"])
    assert read_model(folder).estimator == "LinearRegression"


def test_a_pickle_in_front_of_the_archive_in_a_folder_of_its_own(folder, tmp_path, monkeypatch):
    """MLflow looks for the format beside the file, finds no MLmodel there, and loads the pickle in front."""
    (folder / "sub").mkdir()
    archive = (folder / "model.skops").read_bytes()
    (folder / "sub" / "model.skops").write_bytes(pickle.dumps(calling(str(tmp_path / "ran"))) + archive)
    change(folder, data="sub/model.skops")
    change(folder, "sklearn", pickled_model="sub/model.skops")
    change(folder, model_path="sub/model.skops")
    with pytest.raises(UnsupportedModelError, match="lies in a folder of its own, where MLflow takes it for a pickle"):
        read_model(folder)
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "true")
    with contextlib.suppress(AttributeError):  # it loads what exec returns, which predicts nothing
        mlflow.pyfunc.load_model(str(folder)).predict(ROWS)
    assert (tmp_path / "ran").exists(), "the file must be a real attack"


@pytest.mark.parametrize("before", [b"\x80\x04N.", b"x", bytes(100)])
def test_bytes_before_the_archive(before, folder):
    archive = folder / "model.skops"
    archive.write_bytes(before + archive.read_bytes())
    with pytest.raises(ModelReadError, match="does not begin with its first member"):
        read_model(folder)


def test_a_second_mlmodel(folder):
    (folder / "artifacts").mkdir()
    shutil.copy(folder / "MLmodel", folder / "artifacts" / "MLmodel")
    with pytest.raises(UnsupportedModelError, match="a second MLmodel in 'artifacts'"):
        read_model(folder)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"loader_module": "mlflow.pyfunc.model"}, "loader_module='mlflow.pyfunc.model'"),
        ({"data": "other.skops"}, "data='other.skops'"),
        ({"model_path": "other.skops"}, "model_path='other.skops'"),
        ({"code": "code"}, "its own code"),
        ({"model_code_path": "agent.py"}, "its own model_code_path"),
        ({"config": {"a": 1}}, "its own config"),
        ({"artifacts": {}}, r"python_function\.artifacts, which is not known here"),
    ],
)
def test_settings_that_change_what_is_served(settings, said, folder):
    change(folder, **settings)
    with pytest.raises(UnsupportedModelError, match=said):
        read_model(folder)
