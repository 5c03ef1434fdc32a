"""Regressions of a transformed target: what is linear folds back, what is not is said; only known inverses are read."""

from __future__ import annotations

import json
import pickle

import cloudpickle
import numpy as np
import pytest
from helpers.bent_models import bent_data, score, taken_back
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import fold_stored, from_document, from_estimator, to_document
from coordpath_governance.models.maps import Affine, BoxCox, Clip, Elementary, YeoJohnson, apply_all
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.target_maps import canonical_target, fault_of_target, target_text

DATA = bent_data()
COLUMNS = ["a", "b", "g"]
PRICE = np.exp(DATA.a / 3 + 0.2 * DATA.b + (DATA.g == "x"))


def regressor():
    columns = make_column_transformer((StandardScaler(), ["b"]), (PolynomialFeatures(2), ["a"]), (OneHotEncoder(), ["g"]))
    return make_pipeline(columns, Ridge())


def fitted(**options):
    return TransformedTargetRegressor(regressor(), **options).fit(DATA[COLUMNS], PRICE)


TARGETS = {
    "nothing": {},
    "handed on": {"transformer": FunctionTransformer()},
    "standard": {"transformer": StandardScaler()},
    "only mean": {"transformer": StandardScaler(with_std=False)},
    "min max": {"transformer": MinMaxScaler((-1, 3))},
    "max abs": {"transformer": MaxAbsScaler()},
    "robust": {"transformer": RobustScaler()},
    "negative": {"func": np.negative, "inverse_func": np.negative},
    "log": {"func": np.log, "inverse_func": np.exp},
    "log1p": {"func": np.log1p, "inverse_func": np.expm1},
    "log2": {"func": np.log2, "inverse_func": np.exp2},
    "sqrt": {"func": np.sqrt, "inverse_func": np.square},
    "expm1 of a small target": {"transformer": make_pipeline(MaxAbsScaler(), FunctionTransformer(np.expm1, np.log1p))},
    "function transformer": {"transformer": FunctionTransformer(np.log1p, np.expm1)},
    "log, then scaled": {"transformer": make_pipeline(FunctionTransformer(np.log, np.exp), "passthrough", StandardScaler())},
    "log of a multiple": {"transformer": make_pipeline(MaxAbsScaler(), FunctionTransformer(np.log, np.exp))},
    "minus log": {
        "transformer": make_pipeline(FunctionTransformer(np.log, np.exp), FunctionTransformer(np.negative, np.negative))
    },
    "scaled, then log1p": {"transformer": make_pipeline(MinMaxScaler(), FunctionTransformer(np.log1p, np.expm1))},
    "yeo-johnson": {"transformer": PowerTransformer()},
    "box-cox": {"transformer": PowerTransformer("box-cox")},
    "box-cox, not standardised": {"transformer": PowerTransformer("box-cox", standardize=False)},
}
LINEAR = ("nothing", "handed on", "standard", "only mean", "min max", "max abs", "robust", "negative")


@pytest.mark.parametrize("name", TARGETS)
def test_the_score_taken_back_is_what_scikit_learn_predicts(name, dumps, fold_bytes):
    model = fitted(**TARGETS[name])
    rows = bent_data(80, seed=3)
    read = from_estimator(model)
    assert (read.target_map == ()) == (name in LINEAR)
    np.testing.assert_allclose(taken_back(read, score(read, rows)), model.predict(rows[COLUMNS]), rtol=1e-9)
    stored = [fold_bytes(dumps(model)), *(fold_stored(read_pickle_bytes(pickle.dumps(model, p))) for p in (2, 5))]
    for each in (*stored, fold_stored(read_pickle_bytes(cloudpickle.dumps(model)))):
        assert each.target_map == read.target_map
        np.testing.assert_array_equal(score(each, rows), score(read, rows))
    document = to_document(read)
    assert ("target_map" in document) == bool(read.target_map)
    assert from_document(json.loads(json.dumps(document))) == read
    assert read.estimator == "TransformedTargetRegressor (Ridge)"


@pytest.mark.parametrize("name", ["log", "log2", "log, then scaled", "log of a multiple", "minus log"])
def test_one_function_has_one_form_however_it_was_scaled(name):
    assert from_estimator(fitted(**TARGETS[name])).target_map == (Elementary("log"),)


def test_a_transformed_target_within_pipelines_searches_and_another_one():
    inside = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"])),
        TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp),
    ).fit(DATA[COLUMNS], PRICE)
    searched = GridSearchCV(
        TransformedTargetRegressor(regressor(), func=np.log, inverse_func=np.exp), {"check_inverse": [True]}
    )
    around = TransformedTargetRegressor(
        GridSearchCV(regressor(), {"ridge__alpha": [0.1, 1.0]}), func=np.log, inverse_func=np.exp
    )
    twice = TransformedTargetRegressor(
        TransformedTargetRegressor(regressor(), transformer=StandardScaler()), func=np.log, inverse_func=np.exp
    )
    for model in (inside, *(each.fit(DATA[COLUMNS], PRICE) for each in (searched, around, twice))):
        read = from_estimator(model)
        assert read.target_map == (Elementary("log"),)
        np.testing.assert_allclose(np.exp(score(read, DATA)), model.predict(DATA[COLUMNS]), rtol=1e-9)


def test_a_target_of_one_column_is_a_target():
    model = TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp).fit(DATA[["a"]], PRICE.to_frame())
    np.testing.assert_allclose(np.exp(score(from_estimator(model), DATA)), model.predict(DATA[["a"]]).ravel(), rtol=1e-9)


def own(values):
    return np.log(values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"func": np.log, "inverse_func": np.expm1}, "log and .*expm1 .* not a pair of inverse functions.*np.log1p and"),
        ({"func": own, "inverse_func": np.exp}, "not a pair of inverse functions"),
        ({"func": np.log10, "inverse_func": np.exp}, "not a pair of inverse functions"),
        ({"func": np.square, "inverse_func": np.sqrt}, "not a pair of inverse functions"),
        ({"func": np.cbrt, "inverse_func": np.square}, "not a pair of inverse functions"),
        ({"transformer": FunctionTransformer(np.log)}, "log and no function .func and inverse_func"),
        ({"transformer": FunctionTransformer(None, np.exp)}, "no function and .*exp"),
        ({"transformer": FunctionTransformer(np.log, np.exp, inv_kw_args={"where": True})}, "without kw_args"),
        (
            {"transformer": QuantileTransformer(n_quantiles=20)},
            "step 'transformer_' transforms the target and is a Quantile",
        ),
        ({"transformer": PCA(1)}, "transforms the target and is a PCA, whose inverse is not exact or not known;"),
        ({"transformer": MinMaxScaler(clip=True)}, "clips the target"),
        (
            {"transformer": make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=20))},
            "step 'transformer_/quantiletransformer' transforms the target",
        ),
        (
            {"transformer": make_pipeline(FunctionTransformer(np.negative, np.negative), PowerTransformer())},
            "is not increasing",
        ),
    ],
)
def test_a_target_whose_way_back_is_not_known_is_refused_by_name(options, message):
    model = fitted(**{"check_inverse": False, **options})
    with pytest.raises(UnsupportedModelError, match=message):
        from_estimator(model)


def test_rates_of_a_transformed_target_are_refused():
    model = TransformedTargetRegressor(PoissonRegressor(), func=np.sqrt, inverse_func=np.square).fit(DATA[["a"]], PRICE)
    with pytest.raises(UnsupportedModelError, match="transforms the target of a PoissonRegressor, whose deviance"):
        from_estimator(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m.transformer_, "inverse_func", np.square), "not a pair of inverse functions"),
        (lambda m: setattr(m.transformer_, "inverse_func", None), "log1p and no function"),
        (lambda m: setattr(m.transformer_, "inverse_transform", np.exp), "attribute 'inverse_transform'"),
        (lambda m: setattr(m.transformer_, "kw_args", {"out": None}), "without kw_args"),
        (lambda m: setattr(m, "predict", StandardScaler()), "attribute 'predict'"),
        (lambda m: setattr(m, "transformer_", Ridge()), "transforms the target and is a Ridge"),
        (lambda m: setattr(m, "transformer_", "passthrough"), "'transformer_' is a str"),
        (
            lambda m: setattr(m, "regressor_", StandardScaler().fit(DATA[["a"]])),
            "is a StandardScaler and not a linear model",
        ),
        (lambda m: setattr(m, "regressor_", m), "is a part of itself|nested too deeply"),
        (lambda m: delattr(m, "regressor_"), "not fitted .it has no 'regressor_'"),
        (lambda m: delattr(m, "transformer_"), "not fitted .it has no 'transformer_'"),
        (lambda m: setattr(m.regressor_[-1], "coef_", np.ones(2)), "'coef_' has 2 entries"),
        (lambda m: setattr(m, "transformer_", _looping()), "nested too deeply|part of itself|more steps"),
        (lambda m: setattr(m, "transformer_", _zero_scaler()), "zero"),
        (lambda m: setattr(m, "transformer_", _tiny_scaler()), "overflow"),
    ],
)
def test_forged_targets_are_refused_in_every_form(change, message, dumps, fold_bytes):
    model = fitted(func=np.log1p, inverse_func=np.expm1)
    change(model)
    with pytest.raises(ModelReadError, match=message):
        fold_stored(read_pickle_bytes(pickle.dumps(model)))
    if "itself" in message:
        return
    with pytest.raises(ModelReadError, match=message):
        from_estimator(model)
    with pytest.raises(ModelReadError, match=message):
        fold_bytes(dumps(model))


def _looping():
    loop = make_pipeline(StandardScaler()).fit(PRICE.to_frame())
    loop.steps.append(("again", loop))
    return loop


def _zero_scaler():
    scaler = MaxAbsScaler().fit(PRICE.to_frame())
    scaler.scale_ = np.zeros(1)
    return scaler


def _tiny_scaler():
    scaler = MinMaxScaler().fit(PRICE.to_frame())
    scaler.scale_ = np.array([5e-324])
    return scaler


def test_the_outer_functions_do_not_count_but_must_be_known():
    model = fitted(func=np.log1p, inverse_func=np.expm1)
    model.func, model.inverse_func = np.log, own
    with pytest.raises(UnsupportedModelError, match=r"the file names .*own"):
        fold_stored(read_pickle_bytes(pickle.dumps(model)))
    model.inverse_func = np.square
    assert fold_stored(read_pickle_bytes(pickle.dumps(model))).target_map == (Elementary("log1p"),)


X = np.linspace(0.5, 3.0, 40)


@pytest.mark.parametrize(
    "maps",
    [
        (YeoJohnson(1.0),),
        (BoxCox(1.0),),
        (BoxCox(0.0),),
        (Affine(3.0), Elementary("log2"), Affine(2.0, 1.0)),
        (BoxCox(0.3), Affine(-2.0)),
        (Affine(1.0, 1.0), Elementary("log"), Elementary("sqrt"), Affine(1.0, 5.0)),
    ],
)
def test_the_canonical_form_is_the_same_function(maps):
    chain, last = canonical_target(maps)
    np.testing.assert_allclose(last.apply(apply_all(chain, X)), apply_all(maps, X), rtol=1e-12, equal_nan=True)
    assert fault_of_target(chain) is None
    assert canonical_target(chain) == (chain, Affine(1.0))


def test_what_is_no_function_of_a_target_is_said():
    assert "not increasing" in fault_of_target((Elementary("square"),))
    assert "not increasing" in fault_of_target((Clip(0.0, 1.0), Elementary("log")))
    assert "not increasing" in fault_of_target((Affine(-1.0), Elementary("log")))
    assert "not finite" in fault_of_target((BoxCox(float("inf")),))
    assert "simpler form" in fault_of_target((Elementary("log"), Affine(2.0)))
    document = to_document(from_estimator(fitted(func=np.log, inverse_func=np.exp)))
    with pytest.raises(ModelReadError, match=r"target_map.*known are"):
        from_document({**document, "target_map": [{"kind": "sin"}]})
    with pytest.raises(ModelReadError, match="simpler form"):
        from_document({**document, "target_map": [{"kind": "affine", "scale": 2.0, "shift": 0.0}]})
    with pytest.raises(ModelReadError, match="the target of a poisson model is not transformed"):
        from_document({**document, "family": "poisson", "link": "log"})


def test_functions_of_a_target_as_people_write_them():
    assert target_text((), "price") == "price"
    assert target_text((Elementary("log1p"),), "price") == "log1p(price)"
    assert target_text((Affine(2.0, -1.0), Elementary("log")), "y") == "log(2·y − 1)"
    assert target_text((Affine(1.0, 0.5), YeoJohnson(0.25)), "y") == "Yeo-Johnson(y + 0.5; λ = 0.25)"
