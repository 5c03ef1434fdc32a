"""Model folders as MLflow itself saves them."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, SGDClassifier, TweedieRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import Provenance, model_digest, read_model, to_document
from coordpath_governance.models.model_files import open_model_files, uncovered_path

mlflow = pytest.importorskip("mlflow")

TRUSTED = ["sklearn._loss.loss.HalfTweedieLoss"]


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=40), "c": rng.choice(np.array(["x", "y"], dtype=object), 40)})


@pytest.fixture(scope="module")
def fitted(data):
    part = ColumnTransformer([("n", StandardScaler(), ["a"]), ("c", OneHotEncoder(), ["c"])])
    return Pipeline([("prepare", part), ("model", Ridge())]).fit(data, data.a * 2 + (data.c == "x"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory, fitted, data):
    folder = tmp_path_factory.mktemp("saved") / "model"
    signature = mlflow.models.infer_signature(data, pd.Series([1.0], name="price"))
    mlflow.sklearn.save_model(fitted, folder, signature=signature, pip_requirements=[])
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def change_mlmodel(folder, change):
    settings = yaml.safe_load((folder / "MLmodel").read_text())
    change(settings)
    (folder / "MLmodel").write_text(yaml.safe_dump(settings))


def test_default_format(saved, fitted, data, score):
    provenance = Provenance(uri="models:/demo/1", name="demo", version="1", digest=model_digest(saved))
    model = read_model(saved, provenance)
    assert model.provenance == provenance
    assert (model.target, model.estimator) == ("price", "Ridge")
    found = [score(model, row) for row in data.head(5).to_dict("records")]
    np.testing.assert_allclose(found, fitted.predict(data.head(5)), rtol=1e-9)


@pytest.mark.parametrize("form", ["pickle", "cloudpickle"])
def test_pickles_are_read_as_data(form, fitted, folder, tmp_path):
    """The same model as from the archive; and as MLflow read it before it wrote down the format."""
    other = tmp_path / "pickled"
    mlflow.sklearn.save_model(fitted, other, serialization_format=form, pip_requirements=[])
    model, archived = read_model(other), read_model(folder)
    assert model.source == f"read from the model's files (a {form}, as data)"
    assert dataclasses.replace(model, source=archived.source, target=archived.target) == archived
    if form == "pickle":
        change_mlmodel(other, lambda settings: settings["flavors"]["sklearn"].pop("serialization_format"))
        assert read_model(other) == model
    change_mlmodel(other, lambda settings: settings["flavors"]["sklearn"].update(serialization_format="joblib"))
    with pytest.raises(UnsupportedModelError, match="stored as 'joblib', which is not read; supported are skops, pickle"):
        read_model(other)


def test_array_signature_names_columns(tmp_path, data):
    model = Ridge().fit(data[["a"]].to_numpy(), data.a)
    signature = mlflow.models.infer_signature(pd.DataFrame({"weight": [1.0]}), np.array([1.0]))
    mlflow.sklearn.save_model(model, tmp_path / "named", signature=signature, pip_requirements=[])
    assert read_model(tmp_path / "named").columns == ("weight",)
    signature = mlflow.models.infer_signature(np.array([[1.0]]), np.array([1.0]))
    mlflow.sklearn.save_model(model, tmp_path / "tensor", signature=signature, pip_requirements=[])
    assert read_model(tmp_path / "tensor").columns == ("x0",)


def test_declared_coefficients_do_not_count_beside_a_readable_model(folder):
    genuine = read_model(folder)
    forged = dataclasses.replace(genuine, intercept=99.0)
    (folder / "coefficients.json").write_text(json.dumps(to_document(forged)))
    assert read_model(folder) == genuine


@pytest.mark.parametrize("path", ["../model.skops", "/etc/passwd", "a/../../b", "", None, ["x"], "a\\\\b", "x\0y"])
def test_paths_stay_inside(path, folder):
    change_mlmodel(folder, lambda settings: settings["flavors"]["sklearn"].update(pickled_model=path))
    with pytest.raises(ModelReadError, match=r"not a file of this model|which the model digest does not cover"):
        read_model(folder)


def test_link_out_of_the_folder(folder):
    (folder / "model.skops").rename(folder.parent / "elsewhere.skops")
    (folder / "model.skops").symlink_to(folder.parent / "elsewhere.skops")
    with pytest.raises(ModelReadError, match="not a file of this model"):
        read_model(folder)


def test_damaged_archive_tells_the_file(folder, rezip, unzip):
    members = unzip((folder / "model.skops").read_bytes())
    schema = members["schema.json"].replace(b'"coef_"', b'"coef"')
    (folder / "model.skops").write_bytes(rezip({**members, "schema.json": schema}))
    with pytest.raises(UnsupportedModelError, match=r"model\.skops: step 'model' is a Ridge that was not fitted"):
        read_model(folder)
    schema = re.sub(rb',\s*"__id__": \d+', b"", members["schema.json"])
    schema = schema.replace(b'"content": "2"', b'"content": "5"')
    (folder / "model.skops").write_bytes(rezip({**members, "schema.json": schema}))
    with pytest.raises(ModelReadError, match=r"model\.skops: .*damaged or forged") as caught:
        read_model(folder)
    assert not isinstance(caught.value, UnsupportedModelError)


def test_missing_archive(folder):
    (folder / "model.skops").unlink()
    with pytest.raises(ModelReadError, match="cannot be read"):
        read_model(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [("loader_module", "evil"), ("model_path", "other.skops"), ("data", "other"), ("predict_fn", "score")],
)
def test_what_is_served_must_be_what_is_read(key, value, folder):
    change_mlmodel(folder, lambda settings: settings["flavors"]["python_function"].update({key: value}))
    with pytest.raises(UnsupportedModelError, match=key):
        read_model(folder)


@pytest.mark.parametrize("served", ["predict", "predict_proba"])
def test_a_classifier_may_serve_its_probabilities(served, tmp_path, data, predict):
    model = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())]).fit(data[["a"]], data.c)
    mlflow.sklearn.save_model(model, tmp_path / "model", pip_requirements=[], pyfunc_predict_fn=served)
    folded = read_model(tmp_path / "model")
    assert (folded.classes, folded.threshold) == (("x", "y"), 0.5)
    found = [predict(folded, row) for row in data.head(5).to_dict("records")]
    np.testing.assert_allclose(found, model.predict_proba(data[["a"]].head(5)), rtol=1e-9)


@pytest.mark.parametrize("served", ["predict_proba", "decision_function"])
def test_another_method_than_the_prediction_is_refused(served, folder):
    change_mlmodel(folder, lambda settings: settings["flavors"]["python_function"].update(predict_fn=served))
    with pytest.raises(UnsupportedModelError, match=rf"predict_fn='{served}', and not with predict;"):
        read_model(folder)


@pytest.mark.parametrize(
    "model", [PoissonRegressor(), TweedieRegressor(power=1.5), SGDClassifier(loss="log_loss", alpha=0.1, random_state=0)]
)
def test_models_whose_loss_is_stored_with_them(model, tmp_path, data, predict):
    model.fit(data[["a"]], data.c == "x")
    mlflow.sklearn.save_model(model, tmp_path / "model", pip_requirements=[], skops_trusted_types=TRUSTED)
    folded = read_model(tmp_path / "model")
    expected = model.predict_proba(data[["a"]]) if folded.classes else model.predict(data[["a"]])[:, None]
    np.testing.assert_allclose([predict(folded, row) for row in data.to_dict("records")], expected, rtol=1e-9)


@pytest.mark.parametrize("flavour", ["sklearn", "python_function"])
def test_own_code_is_refused(flavour, folder):
    change_mlmodel(folder, lambda settings: settings["flavors"][flavour].update(code="code"))
    with pytest.raises(UnsupportedModelError, match="code_paths"):
        read_model(folder)


@pytest.mark.parametrize("flavour", ["lightgbm", "h2o", "xgboost", "python_function"])
def test_other_flavours_are_refused_by_name(flavour, folder):
    change_mlmodel(folder, lambda settings: settings.update(flavors={flavour: {}, "python_function": {}}))
    with pytest.raises(
        UnsupportedModelError, match=rf"flavour {flavour}, which is not supported; supported: sklearn, statsmodels, spark"
    ):
        read_model(folder)


def test_refusal_tells_the_file_and_the_step(tmp_path, data):
    from sklearn.preprocessing import Normalizer

    model = Pipeline([("norm", Normalizer()), ("model", Ridge())]).fit(data[["a"]], data.a)
    mlflow.sklearn.save_model(model, tmp_path / "model", pip_requirements=[])
    with pytest.raises(UnsupportedModelError, match=r"model\.skops: step 'norm' is a Normalizer"):
        read_model(tmp_path / "model")


UNCOVERED = [
    "coordpath/model.skops",
    "./coordpath/model.skops",
    "data/../coordpath/model.skops",
    "coordpath\\model.skops",
    "COORDPATH/model.skops",
    "coordpath",
    "registered_model_meta",
    "Registered_Model_Meta",
    "../model/coordpath/model.skops",
    "/srv/model/coordpath/model.skops",
]


@pytest.mark.parametrize("path", UNCOVERED)
@pytest.mark.parametrize(
    ("flavour", "settings"),
    [
        ("sklearn", {"pickled_model": "{}"}),
        ("sklearn", {"code": "{}"}),
        ("python_function", {"model_path": "{}"}),
        ("python_function", {"data": "{}"}),
        ("python_function", {"env": {"conda": "{}"}}),
        ("xgboost", {"parts": [{"path": "{}"}]}),
    ],
)
def test_files_that_the_digest_leaves_out_are_no_part_of_a_model(folder, flavour, settings, path):
    filled = yaml.safe_load(yaml.safe_dump(settings).replace("'{}'", f"'{path}'"))
    change_mlmodel(folder, lambda found: found["flavors"].setdefault(flavour, {}).update(filled))
    with pytest.raises(UnsupportedModelError, match=r"which the model digest does not cover") as caught:
        read_model(folder)
    assert repr(path) in str(caught.value)
    assert caught.value.exit_code == 4


def test_what_only_looks_like_a_path_that_is_left_out(folder):
    change_mlmodel(
        folder,
        lambda found: found["flavors"].update(
            other={"data": "data/coordpath", "loader_module": "coordpath_x", "model_config": "coordpath/x", "uri": "/a"}
        ),
    )
    assert read_model(folder).estimator == "Ridge"


def test_a_signature_without_names_for_a_model_with_names_is_refused(folder):
    """MLflow makes an array of the columns, and scikit-learn goes by their position."""
    tensor = '[{"type": "tensor", "tensor-spec": {"dtype": "float64", "shape": [-1, 2]}}]'
    change_mlmodel(folder, lambda found: found.update(signature={"inputs": tensor, "outputs": None}))
    with pytest.raises(UnsupportedModelError, match="makes an array without names of the columns"):
        read_model(folder)


def test_a_second_flavour_that_we_read_is_refused_by_name(folder):
    """Whoever loads it with the other loader would be served something else."""
    change_mlmodel(folder, lambda found: found["flavors"].update(statsmodels={"data": "model.statsmodels"}))
    with pytest.raises(UnsupportedModelError, match="has the flavour 'statsmodels' besides sklearn"):
        read_model(folder)


def test_settings_within_themselves_are_looked_at_once():
    loop = {"path": "model.skops"}
    loop["again"] = [loop, loop]
    assert uncovered_path({"a": loop, "b": loop}) is None
    loop["code"] = "coordpath/code"
    assert uncovered_path({"a": loop}) == "coordpath/code"


@pytest.mark.parametrize(
    ("inputs", "types"),
    [
        ('[{"name": "a", "type": "long"}, {"name": "b", "type": "double"}]', {"a": "long", "b": "double"}),
        ('[{"name": "a", "type": "long"}, {"name": "a", "type": "double"}]', {"a": ""}),
        (
            '[{"name": "a", "type": ["long"]}, {"name": 3, "type": "long"}, {"type": "long"}, {"name": "b"}]',
            {"a": "", "b": ""},
        ),
        ('[{"type": "tensor", "tensor-spec": {"dtype": "float64", "shape": [-1, 2]}}]', None),
        ('{"a": "long"}', None),
    ],
)
def test_types_of_a_signature_are_text_by_name(inputs, types, tmp_path):
    (tmp_path / "MLmodel").write_text(f"flavors: {{}}\nsignature:\n  inputs: '{inputs}'\n")
    assert open_model_files(tmp_path).types == types
