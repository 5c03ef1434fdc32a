"""Classifiers and generalised linear regressions, from archives and from memory, against what scikit-learn predicts."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models import from_document, from_estimator, to_document

PARTS = ("numeric", "categorical", "raw", "intercept", "family", "link", "power", "classes", "threshold", "class_scores")


def training_data(n: int = 160) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(2, 3, n), "b": rng.normal(-5, 0.5, n)})
    frame["c"] = rng.choice(np.array(["x", "y", "z"], dtype=object), n)
    frame.loc[3::9, "a"] = np.nan
    return frame


FRAME = training_data()
RNG = np.random.default_rng(6)
SCORE = (FRAME.a.fillna(0) + 2 * (FRAME.c == "y") + RNG.logistic(size=len(FRAME))).to_numpy()
BINARY = (SCORE > 2).astype(int)
THREE = np.digitize(SCORE, [0.0, 3.0])
POSITIVE = np.exp(SCORE / 4)
COUNTS = np.floor(POSITIVE)


def prepared(model, **encoder) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", **encoder)
    return Pipeline([("prepare", ColumnTransformer([("n", numbers, ["a", "b"]), ("c", levels, ["c"])])), ("model", model)])


def probe() -> pd.DataFrame:
    rows = FRAME.head(14).copy()
    rows.loc[10, "c"], rows.loc[11, "c"] = "never seen", np.nan
    return rows


def check(model, target, predict, dumps, fold_bytes):
    """Fit, then read from the archive and from memory: the same model, which predicts as scikit-learn does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(FRAME, target)
        rows = probe()
        expected = np.asarray(model.predict_proba(rows) if is_classifier(model) else model.predict(rows)[:, None])
    folded, live = fold_bytes(dumps(model)), from_estimator(model)
    assert [getattr(folded, part) for part in PARTS] == [getattr(live, part) for part in PARTS]
    assert from_document(to_document(folded)) == folded
    found = [predict(folded, row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    return folded


LOGISTIC = {
    "default": (LogisticRegression(), {"kind": "ridge", "C": 1.0}),
    "weak": (LogisticRegression(C=25.0), {"kind": "ridge", "C": 25.0}),
    "none": (LogisticRegression(C=np.inf), {"kind": "none"}),
    "lasso": (LogisticRegression(l1_ratio=1, solver="liblinear"), {"kind": "lasso", "C": 1.0}),
    "elastic net": (
        LogisticRegression(l1_ratio=0.25, solver="saga"),
        {"kind": "elastic net", "C": 1.0, "l1_ratio": 0.25},
    ),
    "none by name": (LogisticRegression(penalty=None), {"kind": "none"}),
    "lasso by name": (LogisticRegression(penalty="l1", solver="liblinear", C=0.5), {"kind": "lasso", "C": 0.5}),
    "elastic net by name": (
        LogisticRegression(penalty="elasticnet", l1_ratio=0.5, solver="saga"),
        {"kind": "elastic net", "C": 1.0, "l1_ratio": 0.5},
    ),
    "no intercept": (LogisticRegression(fit_intercept=False), {"kind": "ridge", "C": 1.0}),
    "balanced": (LogisticRegression(class_weight="balanced"), {"kind": "ridge", "C": 1.0, "class_weight": "balanced"}),
    "weighted": (
        LogisticRegression(class_weight={0: 1, 1: 2.5}),
        {"kind": "ridge", "C": 1.0, "class_weight": "0: 1, 1: 2.5"},
    ),
    "stochastic": (SGDClassifier(loss="log_loss", random_state=0), {"kind": "ridge", "alpha": 0.0001}),
    "stochastic average": (
        SGDClassifier(loss="log_loss", random_state=0, average=True, early_stopping=True, penalty="l1", alpha=0.01),
        {"kind": "lasso", "alpha": 0.01},
    ),
    "stochastic net": (
        SGDClassifier(loss="log_loss", random_state=0, penalty="elasticnet", fit_intercept=False),
        {"kind": "elastic net", "alpha": 0.0001, "l1_ratio": 0.15},
    ),
    "stochastic none": (SGDClassifier(loss="log_loss", random_state=0, penalty=None), {"kind": "none"}),
}


@pytest.mark.parametrize("name", LOGISTIC)
def test_two_classes(name, predict, dumps, fold_bytes):
    model, facts = LOGISTIC[name]
    folded = check(prepared(model), BINARY, predict, dumps, fold_bytes)
    assert (folded.family, folded.link, folded.classes, folded.threshold) == ("binomial", "logit", ("0", "1"), 0.5)
    assert dict(folded.regularisation) == facts
    assert folded.estimator == type(model).__name__
    assert folded.library.startswith("scikit-learn 1.")


@pytest.mark.parametrize("name", ["default", "no intercept", "elastic net"])
def test_three_classes(name, predict, dumps, fold_bytes):
    model, facts = LOGISTIC[name]
    folded = check(prepared(model, drop="first"), THREE, predict, dumps, fold_bytes)
    assert (folded.family, folded.link, folded.classes) == ("multinomial", "softmax", ("0", "1", "2"))
    assert (folded.threshold, folded.intercept, folded.numeric, len(folded.class_scores)) == (None, 0.0, (), 3)
    assert dict(folded.regularisation) == facts
    assert folded.columns == ("a", "b", "c")


@pytest.mark.parametrize(
    ("model", "facts"),
    [
        (LogisticRegressionCV(cv=3, Cs=3), {"kind": "ridge"}),
        (
            LogisticRegressionCV(cv=3, Cs=3, l1_ratios=(0,), use_legacy_attributes=False, scoring="accuracy"),
            {"kind": "ridge"},
        ),
        (LogisticRegressionCV(cv=3, Cs=[0.1, 1], l1_ratios=[0.5], solver="saga"), {"kind": "elastic net", "l1_ratio": 0.5}),
        (LogisticRegressionCV(cv=3, Cs=[0.1, 1], penalty="l1", solver="saga", refit=False), {"kind": "lasso"}),
    ],
)
@pytest.mark.parametrize("target", [BINARY, THREE])
def test_strength_chosen_by_cross_validation(model, facts, target, predict, dumps, fold_bytes):
    folded = check(prepared(model), target, predict, dumps, fold_bytes)
    strength = float(np.unique(model.C_)[0])
    assert dict(folded.regularisation) == {**facts, "C": strength, "chosen_by": "cross-validation"}


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([False, True]), ("False", "True")),
        (np.array(["bad", "good"]), ("bad", "good")),
        (np.array(["bad", "good"], dtype=object), ("bad", "good")),
        (np.array([-1, 1]), ("-1", "1")),
        (np.array([1.0, 2.0]), ("1", "2")),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_of_all_types(labels, classes, weighted, predict, dumps, fold_bytes):
    weight = {label: k + 1 for k, label in enumerate(labels.tolist())} if weighted else None
    model = prepared(LogisticRegressionCV(cv=3, Cs=2, class_weight=weight))
    folded = check(model, labels[BINARY], predict, dumps, fold_bytes)
    assert folded.classes == classes
    if weighted:
        by_class = "given for each class" if labels.dtype == bool else f"{classes[0]}: 1, {classes[1]}: 2"
        assert folded.regularisation["class_weight"] == by_class


RATES = {
    "poisson": (PoissonRegressor(alpha=0.1), COUNTS, "poisson", "log", None),
    "poisson without intercept": (PoissonRegressor(alpha=0.1, fit_intercept=False), COUNTS, "poisson", "log", None),
    "gamma": (GammaRegressor(alpha=0.1), POSITIVE, "gamma", "log", None),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.1), COUNTS, "tweedie", "log", 1.5),
    "tweedie by name": (TweedieRegressor(power=1.9, alpha=0.1, link="log"), COUNTS, "tweedie", "log", 1.9),
    "tweedie 1": (TweedieRegressor(power=1, alpha=0.1), COUNTS, "poisson", "log", None),
    "tweedie 2": (TweedieRegressor(power=2, alpha=0.1), POSITIVE, "gamma", "log", None),
    "tweedie 0": (TweedieRegressor(power=0, alpha=0.1), SCORE, "gaussian", "identity", None),
}


@pytest.mark.parametrize("name", RATES)
def test_rates(name, predict, dumps, fold_bytes):
    model, target, *kind = RATES[name]
    folded = check(prepared(model), target, predict, dumps, fold_bytes)
    assert [folded.family, folded.link, folded.power] == kind
    assert dict(folded.regularisation) == {"kind": "ridge", "alpha": 0.1}
    assert (folded.classes, folded.threshold) == ((), None)
    assert dict(from_estimator(make_pipeline(PoissonRegressor(alpha=0)).fit([[1.0], [2.0]], [1, 2])).regularisation) == {
        "kind": "none"
    }


@pytest.mark.parametrize(
    ("power", "link"), [(3, "auto"), (-1, "auto"), (0, "log"), (1.5, "identity"), (1, "identity"), (2.5, "log")]
)
def test_tweedie_models_that_are_not_convex(power, link):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TweedieRegressor(power=power, link=link).fit(FRAME[["b"]], POSITIVE)
    with pytest.raises(UnsupportedModelError, match=rf"a TweedieRegressor with power {power:g} and the (log|identity) link"):
        from_estimator(model)


@pytest.mark.parametrize(
    ("options", "threshold"),
    [
        ({}, 0.5),
        ({"threshold": 0.3}, 0.3),
        ({"threshold": 0.3, "pos_label": 1}, 0.3),
        ({"threshold": 0.3, "pos_label": True, "response_method": "predict_proba"}, 0.3),
        ({"response_method": "decision_function"}, 0.5),
        ({"threshold": 0.75, "response_method": "decision_function"}, 1 / (1 + math.exp(-0.75))),
        ({"threshold": -2.0, "response_method": "decision_function"}, 1 / (1 + math.exp(2.0))),
        ({"threshold": -2.0}, -2.0),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_fixed_thresholds(options, threshold, inside, predict, dumps, fold_bytes):
    """A threshold around a whole pipeline, and around its last step."""
    if inside:
        model = prepared(FixedThresholdClassifier(LogisticRegression(), **options))
    else:
        model = FixedThresholdClassifier(prepared(LogisticRegression()), **options)
    folded = check(model, BINARY, predict, dumps, fold_bytes)
    assert folded.threshold == pytest.approx(threshold, rel=1e-12)
    assert folded.estimator == "LogisticRegression in a FixedThresholdClassifier"
    decided = [predict(folded, row)[1] >= folded.threshold for row in FRAME.to_dict("records")]
    assert decided == model.predict(FRAME).astype(bool).tolist()


def test_a_threshold_around_what_was_fitted_before(predict):
    inner = prepared(LogisticRegression()).fit(FRAME, BINARY)
    folded = from_estimator(FixedThresholdClassifier(inner, threshold=0.2))
    assert (folded.threshold, folded.columns) == (0.2, ("a", "b", "c"))


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (np.array([0, 1]), {}),
        (np.array([0, 1]), {"scoring": "f1"}),
        (np.array([1, 2]), {"scoring": make_scorer(fbeta_score, beta=2, pos_label=2)}),
        (np.array(["bad", "good"]), {"scoring": make_scorer(fbeta_score, beta=2, pos_label="good")}),
        (np.array([0, 1]), {"response_method": "decision_function"}),
        (np.array([False, True]), {"scoring": "recall", "refit": False, "cv": 0.5, "store_cv_results": True}),
    ],
)
def test_tuned_thresholds(labels, options, predict, dumps, fold_bytes):
    model = TunedThresholdClassifierCV(
        prepared(LogisticRegression()), **{"thresholds": 20, "cv": 2, "random_state": 0, **options}
    )
    folded = check(model, labels[BINARY], predict, dumps, fold_bytes)
    decided = [predict(folded, row)[1] >= folded.threshold for row in FRAME.to_dict("records")]
    assert decided == (model.predict(FRAME) == labels[1]).tolist()
    assert folded.estimator == "LogisticRegression in a TunedThresholdClassifierCV"
