"""Frozen estimators are read as what is within, from archives and from memory; and forged ones."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import ArchivedObject, fold_model, from_estimator, level_label

PARTS = ("numeric", "categorical", "raw", "intercept", "family", "link", "classes", "threshold", "class_scores", "estimator")
RNG = np.random.default_rng(4)
FRAME = pd.DataFrame({"a": RNG.normal(2, 3, 150), "b": RNG.normal(-1, 1, 150)})
FRAME["c"] = RNG.choice(np.array(["x", "y"], dtype=object), 150)
SCORE = FRAME.a + 2 * (FRAME.c == "y") + RNG.logistic(scale=2, size=150)
TARGET = np.where(SCORE > 2, "good", "default")
NUMBERS = FRAME[["a", "b"]]


def parts() -> ColumnTransformer:
    return ColumnTransformer(
        [("n", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]), ("c", OneHotEncoder(), ["c"])]
    )


def pipeline(model, target=TARGET) -> Pipeline:
    return make_pipeline(parts(), model).fit(FRAME, target)


def logistic() -> FrozenEstimator:
    return FrozenEstimator(pipeline(LogisticRegression()))


def rate() -> FrozenEstimator:
    return FrozenEstimator(pipeline(PoissonRegressor(), np.floor(np.exp(SCORE / 4))))


def last_step() -> Pipeline:
    prepared = parts().fit(FRAME)
    return make_pipeline(prepared, FrozenEstimator(LogisticRegression().fit(prepared.transform(FRAME), TARGET)))


def steps() -> Pipeline:
    """Frozen transformers: a step, a column transformer within it, and parts of both."""
    scaler = FrozenEstimator(StandardScaler().fit(NUMBERS))
    union = FeatureUnion([("u", scaler), ("v", FrozenEstimator(SimpleImputer().fit(NUMBERS)))])
    columns = ColumnTransformer([("n", FrozenEstimator(union.fit(NUMBERS)), ["a", "b"])], remainder=OneHotEncoder())
    return make_pipeline(FrozenEstimator(columns.fit(FRAME)), Ridge()).fit(FRAME, SCORE)


PREFIT = {"cv": "prefit", "refit": False, "thresholds": 20}
BY_FIRST = make_scorer(f1_score, pos_label="default")

FROZEN = {
    "fixed": lambda: FixedThresholdClassifier(logistic(), threshold=0.4, pos_label="good").fit(FRAME, TARGET),
    "fixed for the first": lambda: FixedThresholdClassifier(logistic(), threshold=0.2, pos_label="default").fit(
        FRAME, TARGET
    ),
    "fixed, never fitted": lambda: FixedThresholdClassifier(logistic(), threshold=0.4),
    "tuned": lambda: TunedThresholdClassifierCV(logistic(), thresholds=20).fit(FRAME, TARGET),
    "tuned for the first": lambda: TunedThresholdClassifierCV(logistic(), scoring=BY_FIRST, **PREFIT).fit(FRAME, TARGET),
    "tuned on what was fitted": lambda: TunedThresholdClassifierCV(logistic(), **PREFIT).fit(FRAME, TARGET),
    "around a threshold": lambda: FrozenEstimator(FixedThresholdClassifier(logistic(), threshold=0.3)),
    "a threshold of a threshold": lambda: FixedThresholdClassifier(
        FrozenEstimator(FixedThresholdClassifier(logistic(), threshold=0.3).fit(FRAME, TARGET)), threshold=0.6
    ),
    "whole pipeline": logistic,
    "last step": last_step,
    "twice": lambda: FrozenEstimator(FrozenEstimator(last_step())),
    "last pipeline": lambda: Pipeline([("all", logistic())]),
    "several classes": lambda: FrozenEstimator(pipeline(LogisticRegression(), np.digitize(SCORE, [0, 4]))),
    "regression": lambda: FrozenEstimator(pipeline(Ridge(), SCORE)),
    "rate": rate,
    "steps": steps,
}


@pytest.mark.parametrize("name", FROZEN)
def test_what_is_within(name, predict, dumps, fold_bytes):
    model = FROZEN[name]()
    folded, live = fold_bytes(dumps(model)), from_estimator(model)
    assert [getattr(folded, part) for part in PARTS] == [getattr(live, part) for part in PARTS]
    assert (folded.columns, folded.library[:13]) == (("a", "b", "c"), "scikit-learn ")
    found = np.array([predict(folded, row) for row in FRAME.to_dict("records")])
    decided = model.predict(FRAME)
    if not is_classifier(model):
        np.testing.assert_allclose(found[:, 0], decided, rtol=1e-9)
        return
    np.testing.assert_allclose(found, model.predict_proba(FRAME), rtol=1e-9)
    if folded.threshold is not None:
        assert [folded.classes[row[1] >= folded.threshold] for row in found.tolist()] == [
            level_label(label) for label in decided
        ]


def test_frozen_is_the_same_model():
    assert from_estimator(logistic()) == from_estimator(logistic().estimator)


def test_columns_of_a_bare_array_are_named_as_without():
    model = FrozenEstimator(Ridge().fit(NUMBERS.to_numpy(), SCORE))
    assert from_estimator(model).columns == ("x0", "x1")
    assert from_estimator(model, ["age", "income"]).columns == ("age", "income")


def bare() -> FrozenEstimator:
    return FrozenEstimator(LogisticRegression().fit(NUMBERS, TARGET))


class OfMyOwn:
    """No part of scikit-learn."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (FrozenEstimator(RandomForestClassifier(2).fit(NUMBERS, TARGET)), "the model is a RandomForestClassifier and not"),
        (
            FixedThresholdClassifier(FrozenEstimator(RandomForestClassifier(2).fit(NUMBERS, TARGET))),
            "last step 'estimator_' is a RandomForestClassifier and not",
        ),
        (FrozenEstimator(LogisticRegression()), "was not fitted"),
        (FixedThresholdClassifier(FrozenEstimator(LogisticRegression())), "was not fitted"),
        (FrozenEstimator(OfMyOwn()), "the model is an object of the type .*OfMyOwn and not a linear model"),
        (FrozenEstimator(None), "the model is a NoneType and not a linear model"),
        (make_pipeline(FrozenEstimator(OfMyOwn()), Ridge()), "step 'frozenestimator' is an object of the type .*OfMyOwn"),
    ],
)
def test_refused_with_a_reason(model, message):
    with pytest.raises(UnsupportedModelError, match=message):
        from_estimator(model)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes_", np.array(["good", "default"])),
        ("coef_", np.ones((1, 2))),
        ("n_features_in_", 2),
        ("feature_names_in_", np.array(["b", "a"], dtype=object)),
        ("threshold", 0.1),
        ("predict", len),
        ("predict_proba", Ridge()),
        ("estimator_", Ridge()),
    ],
)
@pytest.mark.parametrize("wrap", [lambda model: model, FixedThresholdClassifier, FrozenEstimator, make_pipeline])
def test_nothing_may_hide_what_is_within(name, value, wrap):
    """scikit-learn would ask the frozen estimator for its own classes before those of the model within."""
    model = bare()
    assert from_estimator(wrap(model)).classes == ("default", "good")
    setattr(model, name, value)
    with pytest.raises(ModelReadError, match=rf"'{name}'"):
        from_estimator(wrap(model))


def test_hidden_classes_in_an_archive(dumps, unzip, rezip, fold_bytes):
    members = unzip(dumps(FixedThresholdClassifier(bare(), threshold=0.3, pos_label="good").fit(NUMBERS, TARGET)))
    schema = json.loads(members["schema.json"])
    assert fold_bytes(members_with(members, schema, rezip)).threshold == 0.3
    frozen = schema["content"]["content"]["estimator_"]["content"]
    frozen["content"]["classes_"] = frozen["content"]["estimator"]["content"]["content"]["classes_"]
    frozen["key_types"]["content"].append(copy.deepcopy(frozen["key_types"]["content"][0]))
    with pytest.raises(ModelReadError, match="an attribute 'classes_' of its own, which hides the one within"):
        fold_bytes(members_with(members, schema, rezip))


def members_with(members, schema, rezip):
    return rezip({**members, "schema.json": without_ids(schema)})


def without_ids(part):
    """So that a change need not be made in every copy."""
    if isinstance(part, dict):
        return {key: without_ids(value) for key, value in part.items() if key != "__id__"}
    return [without_ids(value) for value in part] if isinstance(part, list) else part


def test_an_estimator_that_holds_itself():
    model = bare()
    model.estimator = model
    for each in (model, FixedThresholdClassifier(model), make_pipeline(model), make_pipeline(model, Ridge())):
        with pytest.raises(UnsupportedModelError, match="a reference of an object back to itself"):
            from_estimator(each)


def test_an_archive_that_holds_itself(dumps, unzip, rezip, fold_bytes):
    members = unzip(dumps(bare()))
    schema = json.loads(members["schema.json"])
    schema["content"]["content"]["estimator"] = {"__loader__": "CachedNode", "__id__": schema["__id__"]}
    with pytest.raises(UnsupportedModelError, match="a reference of an object back to itself"):
        fold_bytes(rezip({**members, "schema.json": schema}))


def test_frozen_without_end(dumps, unzip, rezip, fold_bytes):
    """Deep chains: in memory, in an archive, and in an archive where each only names the next."""
    model = bare()
    for _ in range(20):
        model = FrozenEstimator(model)
    assert from_estimator(model) == from_estimator(bare())
    for _ in range(200):
        model = FrozenEstimator(model)
    with pytest.raises(ModelReadError, match="nested too deeply"):
        from_estimator(model)
    members = unzip(dumps(bare()))
    schema = json.loads(members["schema.json"])
    deep = copy.deepcopy(schema)
    for _ in range(100):
        outer = copy.deepcopy({**schema, "content": {**schema["content"], "content": {}}})
        outer["content"]["content"] = {**schema["content"]["content"], "estimator": deep}
        deep = outer
    with pytest.raises(ModelReadError, match="nested deeper than 256 levels"):
        fold_bytes(members_with(members, deep, rezip))


def test_a_chain_of_references(dumps, unzip, rezip, fold_bytes):
    members = unzip(dumps(bare()))
    schema = without_ids(json.loads(members["schema.json"]))
    within = schema["content"]["content"]["estimator"]
    frozen = {key: schema[key] for key in ("__class__", "__module__", "__loader__")}
    state = {key: value for key, value in schema["content"].items() if key != "content"}
    state["key_types"] = {**state["key_types"], "content": state["key_types"]["content"][:1]}

    def chain(length):
        """One dictionary whose values are frozen estimators, each around the next by its id."""
        links = {
            f"k{n}": {
                **frozen,
                "__id__": 10**6 + n,
                "content": {**state, "content": {"estimator": {"__loader__": "CachedNode", "__id__": 10**6 + n + 1}}},
            }
            for n in range(length)
        }
        links[f"k{length}"] = {**within, "__id__": 10**6 + length}
        types = {**state["key_types"], "content": state["key_types"]["content"] * len(links)}
        others = {**state, "key_types": types, "content": links}
        model = copy.deepcopy(schema)
        model["content"]["content"]["_sklearn_version"] = others
        model["content"]["content"]["estimator"] = {"__loader__": "CachedNode", "__id__": 10**6}
        return rezip({**members, "schema.json": model})

    assert fold_bytes(chain(20)).classes == ("default", "good")
    with pytest.raises(ModelReadError, match="nested too deeply"):
        fold_bytes(chain(20_000))


def test_a_frozen_part_that_is_used_again_and_again_is_counted():
    part = ArchivedObject(
        "sklearn.preprocessing._data.StandardScaler", {"mean_": np.zeros(1), "scale_": np.ones(1), "n_features_in_": 1}
    )
    for _ in range(50):
        part = ArchivedObject("sklearn.frozen._frozen.FrozenEstimator", {"estimator": part})
    for _ in range(6):
        union = {"transformer_list": [(f"u{n}", part) for n in range(5)], "n_features_in_": 1}
        part = ArchivedObject("sklearn.pipeline.FeatureUnion", {**union, "transformer_weights": None})
    with pytest.raises(ModelReadError, match="more steps or columns than we read"):
        fold_model(ArchivedObject("sklearn.pipeline.Pipeline", {"steps": [("u", part), ("m", part)]}))


def test_without_anything_within():
    empty = ArchivedObject("sklearn.frozen._frozen.FrozenEstimator", {"_sklearn_version": "1.6.0"})
    with pytest.raises(ModelReadError, match="a FrozenEstimator has no estimator within"):
        fold_model(empty)
    elsewhere = ArchivedObject("mine.frozen.FrozenEstimator", {"estimator": None})
    with pytest.raises(UnsupportedModelError, match=r"a mine\.frozen\.FrozenEstimator \(not part of scikit-learn\)"):
        fold_model(elsewhere)


def test_archives_as_mlflow_saves_them(tmp_path, predict, dumps):
    """A frozen estimator needs no type to be trusted; an imputer needs one, and a tuned threshold those of its scorer."""
    mlflow = pytest.importorskip("mlflow")
    skops_io = pytest.importorskip("skops.io")
    from coordpath_governance.models import read_model

    for name in ("fixed for the first", "tuned for the first"):
        model = FROZEN[name]()
        trusted = skops_io.get_untrusted_types(data=dumps(model))
        assert (trusted == ["numpy.dtype"]) == name.startswith("fixed")
        assert not any("frozen" in each for each in trusted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mlflow.sklearn.save_model(
                *(model, tmp_path / name),
                serialization_format="skops",
                skops_trusted_types=trusted,
                pip_requirements=[],
            )
        folded = read_model(tmp_path / name)
        decided = [folded.classes[predict(folded, row)[1] >= folded.threshold] for row in FRAME.to_dict("records")]
        assert decided == model.predict(FRAME).tolist()
