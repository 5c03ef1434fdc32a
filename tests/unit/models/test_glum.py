"""glum's regressions, live, pickled and in archives: the score is glum's own, and forged ones are refused."""

from __future__ import annotations

import json
import pickle
import tempfile
import zipfile
from pathlib import Path

import cloudpickle
import glum
import mlflow
import numpy as np
import pandas as pd
import pytest
from helpers.bent_models import score
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import coordpath_governance as cg
from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import fold_stored, from_estimator, read_model
from coordpath_governance.models.pickle_objects import read_pickle

GOLDEN = Path(__file__).parents[2] / "golden" / "glum"
NUMBERS = ["a", "b"]


def _rows(count=300, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=count), "b": rng.gamma(2.0, size=count), "t": rng.random(count) < 0.4})
    frame["c"] = pd.Categorical(rng.choice(["x", "y", "z"], count), categories=["z", "x", "y"])
    frame["d"] = pd.Categorical(rng.choice([1, 2, 5], count))
    frame["gaps"] = pd.Categorical(rng.choice(np.array(["u", "v", None], dtype=object), count), categories=["u", "v"])
    return frame


FRAME = _rows()
SCORE = (0.4 * FRAME.a - 0.3 * FRAME.b + (FRAME.c == "x") - 0.5 * (FRAME.d == 5)).to_numpy()
_DRAW = np.random.default_rng(4)
TARGETS = {
    "normal": SCORE + _DRAW.normal(size=len(SCORE)),
    "binomial": (_DRAW.random(len(SCORE)) < 1 / (1 + np.exp(-SCORE))).astype(float),
    "poisson": _DRAW.poisson(np.exp(SCORE)).astype(float),
    "gamma": _DRAW.gamma(2.0, np.exp(SCORE)) + 1e-6,
    "tweedie": _DRAW.poisson(np.exp(SCORE)) * _DRAW.gamma(2.0, size=len(SCORE)),
}
ALL = ["a", "b", "t", "c", "d"]


def _fit(columns=ALL, family="poisson", **options):
    options = {"alpha": 0.01, **options}
    return glum.GeneralizedLinearRegressor(family=family, **options).fit(FRAME[columns], TARGETS[family])


def _encoded(family="poisson"):
    parts = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(drop="first"), ["c"]))
    model = glum.GeneralizedLinearRegressorCV(family=family, l1_ratio=[0.5, 1.0], n_alphas=4, cv=3)
    return make_pipeline(parts, model).fit(FRAME[["a", "b", "c"]], TARGETS[family])


MODELS = {
    **{family: lambda family=family: _fit(family=family) for family in TARGETS},
    "first dropped": lambda: _fit(drop_first=True, alpha=0.0),
    "missing as zero": lambda: _fit([*ALL, "gaps"], cat_missing_method="zero", drop_first=True),
    "missing as a level": lambda: _fit([*ALL, "gaps"], cat_missing_method="convert"),
    "names of its own": lambda: _fit(categorical_format="{name}__{category}", fit_intercept=False),
    "path of penalties": lambda: _fit(NUMBERS, alpha=[0.5, 0.1], alpha_search=True, l1_ratio=0.5),
    "objects": lambda: glum.GeneralizedLinearRegressor(
        family=glum.TweedieDistribution(1.7), link=glum.LogLink(), alpha=0.1
    ).fit(FRAME[NUMBERS], TARGETS["tweedie"]),
    "power of a word": lambda: glum.GeneralizedLinearRegressor(family="tweedie (1.3)", alpha=0.1).fit(
        FRAME[NUMBERS], TARGETS["tweedie"]
    ),
    "pipeline": _encoded,
    "search": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), glum.GeneralizedLinearRegressor(family="poisson")),
        {"generalizedlinearregressor__alpha": [0.1, 1.0]},
        cv=2,
    ).fit(FRAME[NUMBERS], TARGETS["poisson"]),
    "weights and an offset": lambda: glum.GeneralizedLinearRegressor(family="poisson", alpha=0.01).fit(
        FRAME[NUMBERS], TARGETS["poisson"], sample_weight=FRAME.b + 0.1, offset=FRAME.a / 2
    ),
}


@pytest.fixture(scope="module")
def fitted():
    made = {}

    def of(name):
        if name not in made:
            made[name] = MODELS[name]()
        return made[name]

    return of


def _columns(model):
    last = model.best_estimator_ if hasattr(model, "best_estimator_") else model
    if hasattr(last, "steps"):
        return list(last.feature_names_in_)
    return list(last._feature_dtypes_)


def _prediction(model, frame):
    """What the model predicts by its link."""
    eta = score(model, frame)
    return {"identity": eta, "log": np.exp(eta), "logit": 1 / (1 + np.exp(-eta))}[model.link]


def _unseen(seed=77):
    return _rows(200, seed)


def _stored(model, dump):
    return fold_stored(read_pickle_bytes(dump(model)))


def read_pickle_bytes(content):
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "model.pkl"
        path.write_bytes(content)
        return read_pickle(path)


WAYS = {
    "live": from_estimator,
    "pickle": lambda model: _stored(model, pickle.dumps),
    "protocol 2": lambda model: _stored(model, lambda each: pickle.dumps(each, protocol=2)),
    "cloudpickle": lambda model: _stored(model, cloudpickle.dumps),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_predicts_as_glum_does(fitted, name, way):
    model = fitted(name)
    frame = _unseen()[_columns(model)]
    assert _prediction(WAYS[way](model), frame) == pytest.approx(np.asarray(model.predict(frame)), rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_facts(fitted, way):
    models = {name: WAYS[way](fitted(name)) for name in MODELS}
    assert {name: models[name].family for name in TARGETS} == {
        **{name: name for name in TARGETS},
        "normal": "gaussian",
    }
    assert (models["objects"].power, models["power of a word"].power, models["tweedie"].power) == (1.7, 1.3, 1.5)
    assert (models["binomial"].classes, models["binomial"].threshold) == (("0", "1"), None)
    assert dict(models["poisson"].regularisation) == {"kind": "ridge", "alpha": 0.01}
    assert dict(models["first dropped"].regularisation) == {"kind": "none"}
    assert dict(models["path of penalties"].regularisation) == {"kind": "elastic net", "alpha": 0.1, "l1_ratio": 0.5}
    assert models["pipeline"].regularisation["chosen_by"] == "cross-validation"
    assert not models["names of its own"].has_intercept
    assert all(model.library.startswith("glum") for model in models.values())


def test_level_that_is_unknown_or_missing(fitted):
    """glum raises on a level never seen, and on a missing one if it fails on them; others are zeros, or a level."""
    for name, missing in (("poisson", None), ("missing as zero", 0.0)):
        model = from_estimator(fitted(name))
        column = "c" if name == "poisson" else "gaps"
        term = next(each for each in model.categorical if each.column == column)
        assert term.effect("never seen") is None
        assert term.effect("(missing)") == missing
    for change in ({"c": "w"}, {"c": None}):
        row = _unseen().assign(c=pd.Categorical([change["c"]] * 200))
        with pytest.raises(ValueError, match=r"unseen|missing|Missing"):
            fitted("poisson").predict(row[ALL])


def test_array_has_the_names_of_the_signature(tmp_path):
    model = glum.GeneralizedLinearRegressor(family="poisson", alpha=0.1).fit(FRAME[NUMBERS].to_numpy(), TARGETS["poisson"])
    assert from_estimator(model).columns == ("x0", "x1")
    assert from_estimator(model, ["p", "q"]).columns == ("p", "q")


@pytest.mark.parametrize("form", ["cloudpickle", "pickle", "skops"])
def test_as_mlflow_saves_it(fitted, tmp_path, form):
    name = "weights and an offset" if form == "skops" else "missing as a level"
    model = fitted(name)
    types = ["glum._distribution.PoissonDistribution", "glum._glm.GeneralizedLinearRegressor", "glum._link.LogLink"]
    options = {"skops_trusted_types": [*types, "numpy.dtype"]} if form == "skops" else {}
    folder = tmp_path / "model"
    mlflow.sklearn.save_model(model, folder, serialization_format=form, pip_requirements=[], **options)
    read = read_model(folder)
    frame = _unseen()[_columns(model)]
    assert _prediction(read, frame) == pytest.approx(model.predict(frame), rel=1e-9)
    assert read.estimator == "GeneralizedLinearRegressor"


@pytest.mark.parametrize("family", ["poisson", "gamma", "tweedie", "normal"])
def test_the_end_of_a_change_costs_glums_own_deviance(fitted, family):
    candidate, champion = fitted(family), _fit(NUMBERS, family, alpha=1.0)
    frame = FRAME[ALL].assign(y=TARGETS[family])
    report = cg.explain_change(champion=champion, candidate=candidate, data=frame, target="y")
    steps = json.loads(report.to_json())["path"]["steps"]
    deviance = candidate.family_instance.deviance(TARGETS[family], candidate.predict(FRAME[ALL])) / len(frame)
    assert steps[-1]["cost"] == pytest.approx(deviance, rel=1e-9)


def _copy(model):
    return pickle.loads(pickle.dumps(model))


def _set(**attributes):
    return lambda model: model.__dict__.update(attributes)


class _Odd(glum.LogLink):
    """A link of somebody's own."""


def _odd_link(model):
    model._link_instance.shift = 3.0


def _odd_power(model):
    model._family_instance._power = "1.5"


def _other_levels(model):
    model._categorical_levels_["c"] = ["x", "z", "y"]


def _other_names(model):
    model.feature_names_[-1] = "other"


FORGED = {
    "formula": (_set(formula="y ~ a"), "was fitted with formula="),
    "model spec": (_set(X_model_spec_=3), "was fitted with formula="),
    "attribute": (_set(_hidden=3), "the attribute '_hidden', which glum does not give it"),
    "method": (_set(predict=3), "the attribute 'predict', which glum does not give it"),
    "types twice": (_set(feature_dtypes_={}), "has the types of its columns twice"),
    "foreign link": (_set(_link_instance=_Odd(), link="log"), "as '_link_instance', which is not read"),
    "odd link": (_odd_link, "attributes that glum does not give it"),
    "another link": (_set(_link_instance=glum.IdentityLink(), link=glum.LogLink()), "'link' is not what its"),
    "link of another word": (_set(link="identity"), "'link' is not what its"),
    "family of another word": (_set(family="gamma"), "'family' is not what its"),
    "link of a number": (_set(link=3), "'link' is not what its"),
    "link that is none": (_set(_link_instance="log"), "'_link_instance' is a str"),
    "family without link": (_set(_link_instance=glum.LogitLink(), link="logit"), "the family poisson with the link logit"),
    "family": (_set(_family_instance=glum.InverseGaussianDistribution(), family="auto"), "InverseG.* which is not read"),
    "attributes of a family": (lambda model: setattr(model._family_instance, "x", 1), "attributes that glum does not"),
    "power of text": (_odd_power, "the power of its TweedieDistribution is '1.5'"),
    "levels": (_other_levels, "other levels of 'c' than|'feature_names_' are not"),
    "level twice": (lambda model: model._categorical_levels_["c"].append("x"), "a level twice"),
    "levels of a number": (_set(_categorical_levels_=3), "is not a table"),
    "level of an object": (lambda model: model._categorical_levels_.update(c=[[1]]), "not texts and numbers"),
    "names": (_other_names, "'feature_names_' are not the names"),
    "levels of numbers": (lambda model: model._categorical_levels_.update(a=[1.0]), "'a' has levels, and its type is"),
    "text column": (lambda model: model._feature_dtypes_.update(a=np.dtype("O")), "treats in a way of its own"),
    "columns": (_set(_feature_dtypes_=[]), "is not a table of columns"),
    "coefficients": (lambda model: setattr(model, "coef_", model.coef_[1:]), "'coef_' has 8 entries"),
    "count": (_set(n_features_in_=3), "was fitted on 3 columns and receives 9"),
    "missing rule": (_set(cat_missing_method="evil"), "'cat_missing_method' is 'evil'"),
    "penalty": (_set(alpha="much"), "'alpha' or 'l1_ratio' is not one number"),
    "logs": (_set(_align_info_logs_emitted=StandardScaler()), "not a set"),
    "text format": (_set(categorical_format="{name.__class__}"), "'feature_names_' are not the names"),
}  # fmt: skip


@pytest.mark.parametrize("way", ["live", "pickle", "cloudpickle"])
@pytest.mark.parametrize("name", FORGED)
def test_forged_regression(fitted, name, way):
    forge, said = FORGED[name]
    model = _copy(fitted("poisson"))
    if name == "power of text":
        model = _copy(fitted("tweedie"))
    forge(model)
    with pytest.raises(ModelReadError, match=said):
        WAYS[way](model)


def test_levels_that_an_index_does_not_have(fitted):
    """The type beside the levels is read from its buffers; a damaged one is not taken for another."""
    content = pickle.dumps(fitted("poisson"), protocol=4)
    assert content.count(b"zxy") == 1
    with pytest.raises(ModelReadError, match="other levels of 'c' than"):
        fold_stored(read_pickle_bytes(content.replace(b"zxy", b"zxw")))
    with pytest.raises(ModelReadError, match="in a way that is not read"):
        fold_stored(read_pickle_bytes(content.replace(b"large_string", b"large_binary")))
    with pytest.raises(ModelReadError, match="in a way that is not read"):
        fold_stored(read_pickle_bytes(content.replace(b"zxy", b"z\xff\xff")))


def test_a_foreign_name_anywhere_is_refused(fitted):
    model = _copy(fitted("poisson"))
    model.diagnostics_.append({"n_iter": pytest.approx})
    with pytest.raises(UnsupportedModelError, match="which we do not know"):
        WAYS["pickle"](model)


@pytest.mark.parametrize("name", ["levels", "numbers", "array"])
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.zip")), ids=lambda path: path.stem)
def test_older_versions_predict_as_they_did(path, name):
    with zipfile.ZipFile(path) as packed:
        expected = json.loads(packed.read("models.json"))
        model = fold_stored(read_pickle_bytes(packed.read(f"{name}.pkl")))
    assert expected["glum"].startswith(path.stem.removeprefix("glum-"))
    found = _prediction(model, pd.DataFrame(expected[name]["rows"]))
    assert found == pytest.approx(np.array(expected[name]["predictions"]), rel=1e-9)


def test_older_version_whose_missing_levels_meant_something_else():
    with zipfile.ZipFile(GOLDEN / "glum-3.1.zip") as packed:
        content = packed.read("levels.pkl")
    assert content.count(b"\x8c\x04fail") == 1
    with pytest.raises(UnsupportedModelError, match=r"stored by a glum before 3\.2"):
        fold_stored(read_pickle_bytes(content.replace(b"\x8c\x04fail", b"\x8c\x04zero")))


def test_refusals_say_what_to_do(fitted):
    step = make_pipeline(StandardScaler(), glum.GeneralizedLinearRegressor(family="inverse.gaussian", alpha=0.1))
    step.fit(FRAME[NUMBERS], TARGETS["gamma"])
    with pytest.raises(UnsupportedModelError, match=r"step 'generalizedlinearregressor' has .*InverseG.*read are Normal"):
        from_estimator(step)
    formula = glum.GeneralizedLinearRegressor(family="poisson", formula="y ~ a + b", alpha=0.1)
    formula.fit(FRAME.assign(y=TARGETS["poisson"]))
    with pytest.raises(UnsupportedModelError, match="fit it without a formula"):
        from_estimator(formula)
