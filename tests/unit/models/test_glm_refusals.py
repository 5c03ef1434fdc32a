"""Classifiers and generalised linear regressions that are refused, each with its reason; and forged ones."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.metrics import make_scorer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import ArchivedObject, Opaque, fold_model, from_estimator

X = np.random.default_rng(1).normal(size=(60, 2))
BINARY = (X[:, 0] + X[:, 1] ** 2 > 0.4).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])

LOGISTIC = "sklearn.linear_model._logistic.LogisticRegression"
THRESHOLDS = "sklearn.model_selection._classification_threshold"


def of_my_own(truth, found):
    return float(np.mean(truth == found))


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (SGDClassifier(), BINARY, "a SGDClassifier with the loss 'hinge', whose score is not a log-odds but a margin"),
        (SGDClassifier(loss="modified_huber"), BINARY, "the loss 'modified_huber'"),
        (SGDClassifier(loss="log_loss"), THREE, "tells 3 classes apart one against the rest"),
        (RidgeClassifier(), BINARY, "is a RidgeClassifier, whose score is a margin"),
        (CalibratedClassifierCV(LogisticRegression()), BINARY, "averages the probabilities of 5 calibrated classifiers"),
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2, refit=False), BINARY, "refit=False"),
        (FixedThresholdClassifier(RandomForestClassifier(2)), BINARY, "last step 'estimator_' is a RandomForestClassifier"),
        (
            FixedThresholdClassifier(LogisticRegression(), pos_label=2),
            BINARY,
            "a threshold for the class '2', which is neither '0' nor '1'; fit it with the pos_label that is meant",
        ),
        (
            TunedThresholdClassifierCV(LogisticRegression(), thresholds=5, scoring=make_scorer(of_my_own)),
            BINARY,
            "does not say which class is positive; make the scorer with the pos_label that is meant, '0' or '1'",
        ),
        (
            TunedThresholdClassifierCV(LogisticRegression(), thresholds=5, scoring="f1"),
            BINARY + 1,
            "does not say which class is positive; make the scorer with the pos_label that is meant, '1' or '2'",
        ),
        (LogisticRegression(), None, "was not fitted"),
        (PoissonRegressor(), None, "was not fitted"),
        (FixedThresholdClassifier(LogisticRegression()), None, "was not fitted"),
        (TunedThresholdClassifierCV(LogisticRegression()), None, "was not fitted"),
    ],
)
def test_refused_with_a_reason(model, target, message):
    if target is not None:
        model.fit(X, target)
    with pytest.raises(UnsupportedModelError, match=message):
        from_estimator(model)


def old(model: LogisticRegression, **attributes) -> LogisticRegression:
    """A model with the attributes of an older scikit-learn."""
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


@pytest.mark.parametrize(
    "attributes",
    [
        {"multi_class": "ovr"},
        {"multi_class": "warn"},
        {"multi_class": "auto", "solver": "liblinear"},
        {"solver": "liblinear"},
        {"multi_class": "deprecated", "solver": "newton-cholesky", "_sklearn_version": "1.5.2"},
        {"multi_class": "deprecated", "solver": "newton-cholesky", "_sklearn_version": "unknown"},
    ],
)
def test_one_against_the_rest_in_older_versions(attributes):
    model = old(LogisticRegression().fit(X, THREE), **attributes)
    with pytest.raises(UnsupportedModelError, match="tells 3 classes apart one against the rest"):
        from_estimator(model)


@pytest.mark.parametrize(
    "attributes",
    [
        {"multi_class": "multinomial"},
        {"multi_class": "auto"},
        {"multi_class": "deprecated", "solver": "newton-cholesky", "_sklearn_version": "1.6.0"},
        {"multi_class": "multinomial", "solver": "newton-cholesky"},
        {"solver": "newton-cholesky"},
    ],
)
def test_softmax_in_older_versions(attributes):
    assert from_estimator(old(LogisticRegression().fit(X, THREE), **attributes)).family == "multinomial"


def test_softmax_of_two_classes_depends_on_the_version():
    with pytest.raises(UnsupportedModelError, match="multi_class='multinomial' on two classes"):
        from_estimator(old(LogisticRegression().fit(X, BINARY), multi_class="multinomial"))
    assert from_estimator(old(LogisticRegression().fit(X, BINARY), multi_class="ovr")).family == "binomial"


FORGED = [
    ("coef_", np.ones((1, 3))),
    ("coef_", np.ones(2)),
    ("coef_", np.ones((2, 2))),
    ("coef_", np.array([[np.nan, 1.0]])),
    ("coef_", np.array([["1", "2"]])),
    ("coef_", "none"),
    ("coef_", np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])),
    ("coef_", np.ma.masked_array([[1.0, 2.0]])),
    ("intercept_", 0.5),
    ("intercept_", np.zeros(2)),
    ("intercept_", np.array([np.inf])),
    ("classes_", np.array([0])),
    ("classes_", np.array([1, 1])),
    ("classes_", np.array(["1", 1], dtype=object)),
    ("classes_", np.array([0.0, np.nan])),
    ("classes_", np.array([0.0, np.inf])),
    ("classes_", np.array([[0, 1]])),
    ("classes_", np.array([0, 1, 2])),
    ("classes_", [0, 1]),
    ("classes_", np.array([0, None], dtype=object)),
    ("C", "strong"),
    ("C", None),
    ("C", np.array([1.0, 2.0])),
    ("C", np.array([{}], dtype=object)),
    ("l1_ratio", np.nan),
    ("penalty", "l3"),
    ("penalty", np.array(["l1", "l2"])),
    ("class_weight", "heavy"),
    ("class_weight", {0: "heavy"}),
    ("class_weight", {}),
    ("class_weight", np.array([1.0, 2.0])),
    ("multi_class", "guess"),
    ("multi_class", 3),
    ("fit_intercept", "yes"),
    ("predict_proba", len),
    ("decision_function", Ridge()),
    ("_predict_proba_lr", lambda rows: rows),
]


@pytest.mark.parametrize(("name", "value"), FORGED)
@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: Pipeline([("m", model)]), FixedThresholdClassifier])
def test_forged_classifiers(name, value, wrap):
    model = LogisticRegression().fit(X, BINARY)
    assert from_estimator(wrap(model)).family == "binomial"
    setattr(model, name, value)
    with pytest.raises(ModelReadError):
        from_estimator(wrap(model))


def test_other_kinds_of_arrays_are_read_as_what_they_hold():
    model = LogisticRegression().fit(X, BINARY)
    before = from_estimator(model)
    model.coef_ = model.coef_.view(np.matrix)
    assert from_estimator(model) == before


def test_forged_choices_of_cross_validation():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegressionCV(cv=2, Cs=2).fit(X, BINARY)
    model.C_ = np.array([1.0, 2.0])
    with pytest.raises(ModelReadError, match="'C_' has different numbers"):
        from_estimator(model)
    model.C_ = np.array([])
    with pytest.raises(ModelReadError, match="'C' is not one number"):
        from_estimator(model)


@pytest.mark.parametrize(("name", "value"), [("alpha", None), ("penalty", "l3"), ("penalty", len), ("alpha", "much")])
def test_forged_stochastic_classifiers(name, value):
    model = SGDClassifier(loss="log_loss").fit(X, BINARY)
    setattr(model, name, value)
    with pytest.raises(ModelReadError):
        from_estimator(model)


def test_the_old_name_of_the_log_loss():
    model = SGDClassifier(loss="log_loss").fit(X, BINARY)
    model.loss = "log"
    assert from_estimator(model).family == "binomial"


class Clipped:
    """A link that would predict something else."""


@pytest.mark.parametrize("kind", [PoissonRegressor, GammaRegressor, TweedieRegressor])
def test_what_a_rate_predicts_by_is_checked(kind):
    """scikit-learn predicts by the link in ``_base_loss``, whatever the class or its parameters say."""
    own = TweedieRegressor(power=1.5) if kind is TweedieRegressor else kind()
    other = TweedieRegressor(power=0).fit(X, BINARY + 1.0)
    for damage in ("loss", "no loss", "link", "no link", "state"):
        model = own.fit(X, BINARY + 1.0)
        if damage == "loss":
            model._base_loss = other._base_loss
        elif damage == "no loss":
            model._base_loss = None
        elif damage == "link":
            model._base_loss.link = other._base_loss.link
        elif damage == "no link":
            model._base_loss.link = Clipped()
        else:
            model._base_loss.link.inverse = len
        with pytest.raises(ModelReadError, match="'_base_loss', by which it predicts, is not a Half"):
            from_estimator(model)
    model = own.fit(X, BINARY + 1.0)
    del model._base_loss
    with pytest.raises(UnsupportedModelError, match="no '_base_loss'"):
        from_estimator(model)


@pytest.mark.parametrize(
    ("name", "value"), [("power", "big"), ("power", np.nan), ("link", "probit"), ("link", None), ("alpha", "much")]
)
def test_forged_tweedie_models(name, value):
    model = TweedieRegressor(power=1.5).fit(X, BINARY)
    setattr(model, name, value)
    with pytest.raises(ModelReadError):
        from_estimator(model)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", "high"),
        ("threshold", np.inf),
        ("threshold", None),
        ("response_method", "predict"),
        ("pos_label", [1]),
        ("pos_label", "one"),
        ("estimator_", 3),
        ("n_features_in_", 5),
        ("predict", len),
    ],
)
def test_forged_thresholds(name, value):
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.2).fit(X, BINARY)
    assert from_estimator(model).threshold == 0.2
    setattr(model, name, value)
    with pytest.raises(ModelReadError):
        from_estimator(model)


def test_thresholds_of_what_has_none():
    three = FixedThresholdClassifier(LogisticRegression().fit(X, THREE))
    rate = FixedThresholdClassifier(PoissonRegressor().fit(X, BINARY))
    for model in (three, rate):
        with pytest.raises(UnsupportedModelError, match="not a classifier of two classes"):
            from_estimator(model)


def forge_best(model):
    model.best_threshold_ = "auto"


def forge_scorer(model):
    model._curve_scorer = Ridge()


def forge_options(model):
    model._curve_scorer._kwargs = None


def forge_class(model):
    model._curve_scorer._kwargs = {"pos_label": 2}


def forge_label(model):
    model._curve_scorer._get_pos_label = len


def forge_estimator(model):
    del model.estimator_


@pytest.mark.parametrize("forge", [forge_best, forge_scorer, forge_options, forge_class, forge_label, forge_estimator])
def test_forged_tuned_thresholds(forge):
    model = TunedThresholdClassifierCV(LogisticRegression(), thresholds=5).fit(X, BINARY)
    assert from_estimator(model).threshold == model.best_threshold_
    forge(model)
    with pytest.raises(ModelReadError):
        from_estimator(model)


def test_names_are_those_of_the_step_that_sees_the_rows():
    """A pipeline and a threshold have their names from within; names stored on them would rename what scikit-learn reads."""
    steps = [
        ("s", ArchivedObject("sklearn.preprocessing._data.StandardScaler", scaler())),
        ("m", ArchivedObject(LOGISTIC, logistic())),
    ]
    swapped = {"feature_names_in_": np.array(["b", "a"], dtype=object)}
    pipeline = ArchivedObject("sklearn.pipeline.Pipeline", {"steps": steps, **swapped})
    around = {"estimator_": pipeline, "estimator": None, "threshold": 0.4, "pos_label": None, "n_features_in_": 2}
    fixed = ArchivedObject(
        "sklearn.model_selection._classification_threshold.FixedThresholdClassifier", {**around, **swapped}
    )
    for model in (pipeline, fixed):
        assert [(term.column, term.coefficient) for term in fold_model(model).numeric] == [("a", 2.0), ("b", 3.0)]


def scaler() -> dict[str, object]:
    names = np.array(["a", "b"], dtype=object)
    return {"mean_": np.zeros(2), "scale_": np.ones(2), "n_features_in_": 2, "feature_names_in_": names}


def logistic() -> dict[str, object]:
    fitted = {"coef_": np.array([[2.0, 3.0]]), "intercept_": np.zeros(1), "classes_": np.array([0, 1])}
    return {**fitted, "C": 1.0, "n_features_in_": 2}


def test_many_scores_are_counted_before_they_are_read():
    labels = np.arange(4000)
    fitted = {**logistic(), "coef_": np.ones((4000, 2000)), "intercept_": np.zeros(4000), "classes_": labels}
    model = ArchivedObject(LOGISTIC, {**fitted, "n_features_in_": 2000})
    with pytest.raises(ModelReadError, match="more steps or columns than we read"):
        fold_model(model)


def test_a_stored_link_without_a_state(dumps, unzip, rezip, fold_bytes):
    """Python 3.11 stores an object without attributes as one whose state is null; a list is no state at all."""
    members = unzip(dumps(make_pipeline(StandardScaler(), PoissonRegressor()).fit(X, BINARY)))
    schema = json.loads(members["schema.json"])
    assert fold_bytes(rezip({**members, "schema.json": schema})).family == "poisson"
    loss = schema["content"]["content"]["steps"]["content"][1]["content"][1]["content"]["content"]["_base_loss"]
    link = loss["content"]["content"]["link"]
    assert link["content"]["content"] == "null"
    link["content"]["content"] = "[]"
    del link["content"]["__id__"]
    with pytest.raises(ModelReadError, match="_base_loss"):
        fold_bytes(rezip({**members, "schema.json": schema}))


def test_functions_in_memory_are_named_as_in_archives(dumps, fold_bytes):
    model = TunedThresholdClassifierCV(LogisticRegression(), thresholds=5).fit(X, BINARY)
    assert fold_bytes(dumps(model)).threshold == from_estimator(model).threshold
    archived = ArchivedObject("sklearn.metrics._scorer._CurveScorer", {"_kwargs": {}, "_score_func": Opaque("a method")})
    fitted = {
        "estimator_": ArchivedObject(LOGISTIC, logistic()),
        "n_features_in_": 2,
    }
    fitted |= {"best_threshold_": 0.4, "_curve_scorer": archived}
    with pytest.raises(UnsupportedModelError, match="does not say which class is positive"):
        fold_model(ArchivedObject(f"{THRESHOLDS}.TunedThresholdClassifierCV", fitted))


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("labels", [["(missing)", "x"], ["(missing)", "x", "y"]])
def test_a_class_called_missing(labels, archived, dumps, fold_bytes):
    """Its rows would be taken for rows without a target."""
    model = LogisticRegression().fit(X, np.array(labels)[THREE % len(labels)])
    with pytest.raises(UnsupportedModelError, match=r"has a class called '\(missing\)'.* rename it"):
        fold_bytes(dumps(model)) if archived else from_estimator(model)
