"""Calibrated classifiers: one sigmoid folds into the log-odds, whatever linear classifier is within; others are refused."""

from __future__ import annotations

import pickle
import warnings

import cloudpickle
import numpy as np
import pytest
from helpers.bent_models import bent_data, score
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.svm import LinearSVC

from coordpath_governance import explain_change
from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import fold_stored, from_estimator
from coordpath_governance.models.pickle_objects import read_pickle_bytes

DATA = bent_data()
COLUMNS = ["a", "b", "g"]
TARGET = np.where(DATA.y > DATA.y.median(), "yes", "no")
ONE = {"method": "sigmoid", "ensemble": False, "cv": 3}
WAY_OUT = r"CalibratedClassifierCV\(model, method='sigmoid', ensemble=False\)"


def prepared(model):
    columns = make_column_transformer((StandardScaler(), ["b"]), (SplineTransformer(3), ["a"]), (OneHotEncoder(), ["g"]))
    return make_pipeline(columns, model)


def fit(model, target=TARGET):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(DATA[COLUMNS], target)


WITHIN = {
    "logistic": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "ridge, no intercept": RidgeClassifier(fit_intercept=False),
    "ridge cv": RidgeClassifierCV(),
    "support vectors": LinearSVC(),
    "support vectors, no intercept": LinearSVC(fit_intercept=False, loss="hinge", dual=True),
    "perceptron": Perceptron(),
    "passive aggressive": PassiveAggressiveClassifier(random_state=0),
    **{
        f"stochastic, {loss}": SGDClassifier(loss=loss, random_state=0)
        for loss in ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber")
    },
}


@pytest.mark.parametrize("name", WITHIN)
def test_one_sigmoid_folds_into_the_log_odds(name, dumps, fold_bytes):
    model = fit(CalibratedClassifierCV(prepared(WITHIN[name]), **ONE))
    rows = bent_data(60, seed=2)
    expected = model.predict_proba(rows[COLUMNS])[:, 1]
    read = from_estimator(model)
    np.testing.assert_allclose(1 / (1 + np.exp(-score(read, rows))), expected, rtol=1e-9)
    stored = [fold_bytes(dumps(model)), *(fold_stored(read_pickle_bytes(pickle.dumps(model, p))) for p in (2, 5))]
    for each in (*stored, fold_stored(read_pickle_bytes(cloudpickle.dumps(model)))):
        np.testing.assert_array_equal(score(each, rows), score(read, rows))
        assert (each.family, each.link, each.classes, each.threshold) == ("binomial", "logit", ("no", "yes"), 0.5)
        assert each.estimator.startswith("CalibratedClassifierCV (")
    loss = read.regularisation.get("loss")
    assert (loss is None) == (name in ("logistic", "stochastic, log_loss"))
    decided = np.where(expected >= 0.5, "yes", "no")
    assert (decided == model.predict(rows[COLUMNS])).all()


def test_a_fitted_classifier_is_calibrated_frozen_and_in_a_search():
    inner = fit(prepared(LinearSVC()))
    frozen = fit(CalibratedClassifierCV(FrozenEstimator(inner)))
    search = fit(CalibratedClassifierCV(GridSearchCV(prepared(LinearSVC()), {"linearsvc__C": [0.1, 1.0]}), **ONE))
    found = fit(GridSearchCV(CalibratedClassifierCV(prepared(LinearSVC()), **ONE), {"cv": [2, 3]}))
    for model in (frozen, search, found):
        np.testing.assert_allclose(
            1 / (1 + np.exp(-score(from_estimator(model), DATA))), model.predict_proba(DATA[COLUMNS])[:, 1], rtol=1e-9
        )


@pytest.mark.parametrize("first", [True, False])
def test_thresholds_stand_around_a_calibrated_classifier(first):
    label = "no" if first else "yes"
    within = CalibratedClassifierCV(prepared(LinearSVC()), **ONE)
    fixed = fit(FixedThresholdClassifier(within, threshold=0.3, pos_label=label))
    tuned = fit(TunedThresholdClassifierCV(within, thresholds=10, cv=2))
    for model in (fixed, tuned):
        read = from_estimator(model)
        p = 1 / (1 + np.exp(-score(read, DATA)))
        assert (np.where(p >= read.threshold, "yes", "no") == model.predict(DATA[COLUMNS])).all()
    assert from_estimator(fixed).threshold == (0.7 if first else 0.3)


def test_the_cost_is_scikit_learns_log_loss():
    old = fit(CalibratedClassifierCV(prepared(RidgeClassifier()), **ONE))
    new = fit(CalibratedClassifierCV(prepared(LinearSVC()), **ONE))
    data = DATA.assign(y=TARGET)
    report = explain_change(old, new, data=data, target="y").document
    costs = [log_loss(TARGET, model.predict_proba(DATA[COLUMNS])) for model in (old, new)]
    assert [report.path.start_cost, report.path.steps[-1].cost] == pytest.approx(costs, rel=1e-9)
    assert any("fitted by another loss (squared hinge) than the " in limit for limit in report.limits)


def test_what_is_no_linear_classifier_within_is_refused_for_that():
    model = CalibratedClassifierCV(GaussianNB(), **ONE).fit(DATA[["a", "b"]], TARGET)
    with pytest.raises(UnsupportedModelError, match="the last step 'estimator' is a GaussianNB and not a linear model"):
        from_estimator(model)


def test_the_same_probabilities_from_another_scale_of_the_score_are_no_change():
    model = fit(prepared(LogisticRegression()))
    as_calibrated = fit(CalibratedClassifierCV(FrozenEstimator(model)))
    sigmoid = as_calibrated.calibrated_classifiers_[0].calibrators[0]
    sigmoid.a_, sigmoid.b_ = -1.0, 0.0
    data = DATA.assign(y=TARGET)
    assert explain_change(model, as_calibrated, data=data, target="y").document.path.steps == ()
    sigmoid.b_ = 0.5
    assert [s.kind for s in explain_change(model, as_calibrated, data=data, target="y").document.path.steps] == ["baseline"]


KINDS = np.digitize(DATA.y, DATA.y.quantile([0.3, 0.7]))


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (CalibratedClassifierCV(prepared(LinearSVC()), cv=3), TARGET, f"averages the probabilities of 3 .*{WAY_OUT}"),
        (
            CalibratedClassifierCV(prepared(LinearSVC()), method="isotonic", ensemble=False),
            TARGET,
            f"isotonic regression, a step function of the score .*{WAY_OUT}",
        ),
        (
            CalibratedClassifierCV(prepared(LogisticRegression()), method="temperature", ensemble=False),
            TARGET,
            f"temperature scaling.*{WAY_OUT}",
        ),
        (CalibratedClassifierCV(prepared(LinearSVC()), **ONE), KINDS, "calibrates 3 classes one against the rest"),
        (
            CalibratedClassifierCV(CalibratedClassifierCV(prepared(LinearSVC()), **ONE), **ONE),
            TARGET,
            "step 'estimator' is calibrated once more.*calibrate once",
        ),
        (
            CalibratedClassifierCV(GridSearchCV(CalibratedClassifierCV(prepared(LinearSVC()), **ONE), {"cv": [2]}), **ONE),
            TARGET,
            "is calibrated once more",
        ),
        (
            CalibratedClassifierCV(make_pipeline(make_column_transformer((StandardScaler(), ["a"])), GaussianNB()), **ONE),
            TARGET,
            "the last step 'estimator/gaussiannb' is a GaussianNB and not a linear model",
        ),
        (prepared(LinearSVC()), TARGET, f"the last step 'linearsvc' is a LinearSVC, whose score is a margin.*{WAY_OUT}"),
        (prepared(Perceptron()), TARGET, f"is a Perceptron, whose score is a margin.*{WAY_OUT}"),
        (prepared(PassiveAggressiveClassifier()), TARGET, f"the hinge loss and not a log-odds.*{WAY_OUT}"),
        (prepared(RidgeClassifier()), TARGET, f"the squared error against −1 and \\+1 and not a log-odds.*{WAY_OUT}"),
        (prepared(RidgeClassifierCV()), TARGET, f"is a RidgeClassifierCV.*{WAY_OUT}"),
        (prepared(SGDClassifier(loss="modified_huber")), TARGET, f"the loss 'modified_huber'.*loss='log_loss'.*{WAY_OUT}"),
        (FixedThresholdClassifier(prepared(LinearSVC())), TARGET, f"is a LinearSVC.*{WAY_OUT}"),
        (OneVsRestClassifier(prepared(LogisticRegression())), KINDS, "is a OneVsRestClassifier, which holds one model for"),
        (
            make_pipeline(make_column_transformer((StandardScaler(), ["a"])), OneVsOneClassifier(LogisticRegression())),
            KINDS,
            "the last step 'onevsoneclassifier' is a OneVsOneClassifier.*fit a LogisticRegression",
        ),
    ],
)
def test_what_is_not_read_says_why_and_the_way_out(model, target, message):
    with pytest.raises(UnsupportedModelError, match=message):
        from_estimator(fit(model, target))


def forged(change):
    """A calibrated classifier with something in it that scikit-learn never wrote."""
    model = fit(CalibratedClassifierCV(prepared(RidgeClassifier()), **ONE))
    pair = model.calibrated_classifiers_[0]
    change(model, pair, pair.calibrators[0])
    return model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model, pair, sigmoid: setattr(sigmoid, "a_", np.nan), "'a_' and 'b_' are not two finite numbers"),
        (lambda model, pair, sigmoid: setattr(sigmoid, "b_", "0"), "'a_' and 'b_' are not two finite numbers"),
        (
            lambda model, pair, sigmoid: (
                setattr(sigmoid, "a_", 1e308),
                setattr(pair.estimator[-1], "intercept_", np.ones(1) * 9),
            ),
            "so steep",
        ),
        (lambda model, pair, sigmoid: setattr(sigmoid, "predict", StandardScaler()), "attribute 'predict'"),
        (lambda model, pair, sigmoid: setattr(pair, "predict_proba", StandardScaler()), "attribute 'predict_proba'"),
        (lambda model, pair, sigmoid: setattr(model, "predict_proba", np.log), "attribute 'predict_proba'"),
        (lambda model, pair, sigmoid: setattr(pair, "calibrators", [sigmoid, sigmoid]), "'calibrators' is not one sigmoid"),
        (lambda model, pair, sigmoid: setattr(pair, "calibrators", [StandardScaler()]), "'calibrators' is not one sigmoid"),
        (lambda model, pair, sigmoid: setattr(pair, "calibrators", sigmoid), "attribute 'calibrators'"),
        (lambda model, pair, sigmoid: setattr(pair, "classes", np.array(["yes", "no"])), "its classes are not those"),
        (lambda model, pair, sigmoid: setattr(model, "classes_", np.array(["yes", "no"])), "its classes are not those"),
        (lambda model, pair, sigmoid: setattr(pair, "method", "isotonic"), "in two places by which method"),
        (lambda model, pair, sigmoid: setattr(pair, "base_estimator", pair.estimator), "exactly one classifier within"),
        (lambda model, pair, sigmoid: delattr(pair, "estimator"), "exactly one classifier within"),
        (lambda model, pair, sigmoid: setattr(model, "calibrated_classifiers_", []), "is not a list of calibrated"),
        (
            lambda model, pair, sigmoid: setattr(model, "calibrated_classifiers_", [sigmoid]),
            "not a calibrated classifier of",
        ),
        (
            lambda model, pair, sigmoid: setattr(pair.estimator[-1]._label_binarizer, "classes_", np.array(["yes", "no"])),
            "in two places which classes there are",
        ),
        (lambda model, pair, sigmoid: setattr(pair.estimator[-1], "_label_binarizer", StandardScaler()), "LabelBinarizer"),
        (
            lambda model, pair, sigmoid: (setattr(model, "method", "magic"), setattr(pair, "method", "magic")),
            "'method' is 'magic'",
        ),
        (
            lambda model, pair, sigmoid: (
                setattr(pair.estimator[-1]._label_binarizer, "classes_", np.array(["n", "y"])),
                setattr(pair.estimator[-1], "classes_", np.array(["n", "y"])),
            ),
            "its classes are not those of the classifier within",
        ),
        (
            lambda model, pair, sigmoid: setattr(pair, "estimator", fit(prepared(Ridge()), DATA.y)),
            "a Ridge and not a linear model",
        ),
        (
            lambda model, pair, sigmoid: setattr(pair, "estimator", fit(prepared(LogisticRegression()), KINDS)),
            "not a classifier of two classes",
        ),
        (
            lambda model, pair, sigmoid: setattr(pair, "estimator", fit(prepared(RidgeClassifier()), KINDS)),
            "has one score for each of 3 classes",
        ),
        (
            lambda model, pair, sigmoid: setattr(pair, "estimator", fit(prepared(LinearSVC()), KINDS)),
            "tells 3 classes apart one against the rest",
        ),
    ],
)
def test_forged_calibrations_are_refused_in_every_form(change, message, dumps, fold_bytes):
    model = forged(change)
    with pytest.raises(ModelReadError, match=message):
        from_estimator(model)
    with pytest.raises(ModelReadError, match=message):
        fold_stored(read_pickle_bytes(pickle.dumps(model)))
    with pytest.raises(ModelReadError, match=message):
        fold_bytes(dumps(model))


class _Made:
    """Something that is pickled as a call of a class, with a state that comes after."""

    def __init__(self, made, arguments, state) -> None:
        self.call = (made, arguments, state)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_parts_that_a_call_makes_are_not_taken_at_their_word(protocol):
    """A constructor may set what the state does not say: also if every name is known."""

    def sigmoid_by_call(model, pair, sigmoid):
        pair.calibrators = [_Made(_SigmoidCalibration, (), {"a_": sigmoid.a_, "b_": sigmoid.b_})]

    def pair_by_call(model, pair, sigmoid):
        made = (_CalibratedClassifier, (pair.estimator, [sigmoid]), vars(pair))
        model.calibrated_classifiers_ = [_Made(*made)]

    def classifier_by_call(model, pair, sigmoid):
        pair.estimator = _Made(type(pair.estimator), (pair.estimator.steps,), vars(pair.estimator))

    messages = ("'calibrators' is not one sigmoid", "not a calibrated classifier of", "what a call of")
    for change, message in zip((sigmoid_by_call, pair_by_call, classifier_by_call), messages, strict=True):
        with pytest.raises(ModelReadError, match=message):
            fold_stored(read_pickle_bytes(pickle.dumps(forged(change), protocol)))
