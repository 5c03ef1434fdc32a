"""Thresholds for the first of two classes, from archives and from memory, against what scikit-learn decides."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coordpath_governance import explain_change
from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models import ArchivedObject, fold_model, from_estimator, level_label


def rows(seed: int, n: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(2, 3, n), "c": rng.choice(np.array(["x", "y", "z"], dtype=object), n)})


FRAME, NEW = rows(1, 200), rows(2, 400)
SECOND = (FRAME.a + 2 * (FRAME.c == "y") + np.random.default_rng(3).logistic(scale=2, size=200) > 2).to_numpy().astype(int)
LABELS = {
    "text": np.array(["default", "good"]),
    "objects": np.array(["default", "good"], dtype=object),
    "0 and 1": np.array([0, 1]),
    "-1 and 1": np.array([-1, 1]),
    "1 and 2": np.array([1, 2]),
    "floats": np.array([0.0, 1.0]),
    "true or false": np.array([False, True]),
}


def prepared(model) -> Pipeline:
    parts = ColumnTransformer([("n", StandardScaler(), ["a"]), ("c", OneHotEncoder(), ["c"])])
    return Pipeline([("prepare", parts), ("model", model)])


def check(model, predict, dumps, fold_bytes):
    """From the archive and from memory: the same threshold, at which every row is decided as by scikit-learn."""
    folded, live = fold_bytes(dumps(model)), from_estimator(model)
    assert (folded.threshold, folded.estimator, folded.classes) == (live.threshold, live.estimator, live.classes)
    decided = [folded.classes[predict(folded, row)[1] >= folded.threshold] for row in NEW.to_dict("records")]
    assert decided == [level_label(label) for label in model.predict(NEW)]
    return folded, decided


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize(
    ("options", "threshold"),
    [
        ({"threshold": 0.2}, 0.8),
        ({"threshold": 0.7, "response_method": "predict_proba"}, 0.3),
        ({}, 0.5),
        ({"response_method": "decision_function"}, 0.5),
        ({"threshold": 0.75, "response_method": "decision_function"}, 1 / (1 + math.exp(0.75))),
        ({"threshold": -2.0, "response_method": "decision_function"}, 1 / (1 + math.exp(-2.0))),
        ({"threshold": 0.0, "response_method": "decision_function"}, 0.5),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_fixed(labels, options, threshold, inside, predict, dumps, fold_bytes):
    """A threshold around a whole pipeline, and around its last step."""
    options = {**options, "pos_label": labels.tolist()[0]}
    if inside:
        model = prepared(FixedThresholdClassifier(LogisticRegression(), **options))
    else:
        model = FixedThresholdClassifier(prepared(LogisticRegression()), **options)
    folded, decided = check(model.fit(FRAME, labels[SECOND]), predict, dumps, fold_bytes)
    assert folded.threshold == pytest.approx(threshold, rel=1e-15)
    assert folded.estimator == f"LogisticRegression in a FixedThresholdClassifier for '{level_label(labels[0])}'"
    assert len(set(decided)) == 2


@pytest.mark.parametrize(
    ("labels", "name"), [(np.array([0, 1]), False), (np.array([False, True]), 0), (np.array([0, 1]), 0.0)]
)
def test_other_names_of_the_first_class(labels, name, predict, dumps, fold_bytes):
    model = FixedThresholdClassifier(prepared(LogisticRegression()), threshold=0.2, pos_label=name).fit(
        FRAME, labels[SECOND]
    )
    assert check(model, predict, dumps, fold_bytes)[0].threshold == 0.8


@pytest.mark.parametrize("threshold", [-0.5, 0.0, 1.0, 1.5])
def test_thresholds_that_decide_for_one_class_only(threshold, predict, dumps, fold_bytes):
    model = FixedThresholdClassifier(prepared(LogisticRegression()), threshold=threshold, pos_label=0).fit(FRAME, SECOND)
    folded, decided = check(model, predict, dumps, fold_bytes)
    assert (folded.threshold, set(decided)) == (1.0 - threshold, {"0"} if threshold <= 0.0 else {"1"})


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("response", ["auto", "predict_proba", "decision_function"])
def test_tuned(labels, response, predict, dumps, fold_bytes):
    scoring = make_scorer(fbeta_score, beta=2, pos_label=labels.tolist()[0])
    model = TunedThresholdClassifierCV(
        prepared(LogisticRegression()), scoring=scoring, response_method=response, thresholds=20, cv=2, random_state=0
    )
    folded, decided = check(model.fit(FRAME, labels[SECOND]), predict, dumps, fold_bytes)
    assert folded.estimator == f"LogisticRegression in a TunedThresholdClassifierCV for '{level_label(labels[0])}'"
    assert len(set(decided)) == 2
    if response != "decision_function":
        assert folded.threshold == pytest.approx(1 - model.best_threshold_, rel=1e-15)


def logistic(**threshold) -> ArchivedObject:
    """A threshold around a model whose score is x."""
    fitted = {"coef_": np.ones((1, 1)), "intercept_": np.zeros(1), "classes_": np.array(["default", "good"]), "C": 1.0}
    within = ArchivedObject("sklearn.linear_model._logistic.LogisticRegression", {**fitted, "n_features_in_": 1})
    return ArchivedObject(
        "sklearn.model_selection._classification_threshold.FixedThresholdClassifier", {"estimator_": within, **threshold}
    )


@pytest.mark.parametrize("hundredths", range(101))
def test_one_threshold_said_of_either_class(hundredths):
    """Written with the same digits it is the same number, so that no report tells of a move from 0.3 to 0.3."""
    first = fold_model(logistic(threshold=hundredths / 100, pos_label="default"))
    second = fold_model(logistic(threshold=(100 - hundredths) / 100, pos_label="good"))
    assert first.threshold == second.threshold


@given(threshold=st.floats(allow_nan=False, allow_infinity=False))
def test_any_threshold_is_turned_round_to_the_last_digit(threshold):
    turned = fold_model(logistic(threshold=threshold, pos_label="default")).threshold
    assert turned == pytest.approx(1 - threshold, rel=0, abs=2 * math.ulp(max(1.0, abs(threshold))))


def test_a_row_exactly_at_the_threshold_is_decided_for_the_second_class(predict):
    """The convention of all models here, also where scikit-learn decides for the first; nothing else differs."""
    model = LogisticRegression(fit_intercept=False).fit([[-1.0], [1.0]], ["default", "good"])
    fixed = FixedThresholdClassifier(model, pos_label="default")
    folded = from_estimator(fixed)
    values = [-1.0, -1e-9, 0.0, 1e-9, 1.0]
    decided = [folded.classes[predict(folded, {"x0": x})[1] >= folded.threshold] for x in values]
    assert decided == ["default", "default", "good", "good", "good"]
    assert fixed.predict([[x] for x in values]).tolist() == ["default", "default", "default", "good", "good"]


def test_a_report_tells_a_move_only_where_the_rule_is_another():
    """0.3 for the second class becomes 0.7 for the first, which is the same rule, or 0.2, which is another one."""
    target = LABELS["text"][SECOND]
    old = FixedThresholdClassifier(prepared(LogisticRegression()), threshold=0.3, pos_label="good").fit(FRAME, target)
    for threshold, told in ((0.7, "At the cut-off P(good) ≥ 0.3, "), (0.2, "from P(good) ≥ 0.3 to P(good) ≥ 0.8, ")):
        new = FixedThresholdClassifier(prepared(LogisticRegression(C=0.02)), threshold=threshold, pos_label="default")
        report = explain_change(old, new.fit(FRAME, target), data=FRAME, target=pd.Series(target, name="paid"))
        flips = report.document.impact.flips
        assert told in report.to_markdown()
        assert flips.up == pytest.approx(np.mean((old.predict(FRAME) == "default") & (new.predict(FRAME) == "good")))
        assert flips.down == pytest.approx(np.mean((old.predict(FRAME) == "good") & (new.predict(FRAME) == "default")))
        assert flips.up + flips.down > 0


@pytest.mark.parametrize("pos_label", ["default", "good"])
@pytest.mark.parametrize("score", [40.0, 800.0, -750.0, 5e4])
def test_scores_whose_probability_is_one_or_nothing_are_refused(score, pos_label, dumps, fold_bytes):
    """Rows beyond are told apart by scikit-learn, and not by their probability."""
    wrapped = FixedThresholdClassifier(
        prepared(LogisticRegression()),
        threshold=score if pos_label == "good" else -score,
        pos_label=pos_label,
        response_method="decision_function",
    )
    model = wrapped.fit(FRAME, LABELS["text"][SECOND])
    for read in (lambda: from_estimator(model), lambda: fold_bytes(dumps(model))):
        with pytest.raises(UnsupportedModelError, match=r"sets a threshold on the score at .*; set it on predict_proba"):
            read()
