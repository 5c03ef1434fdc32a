"""scikit-learn's estimators that wrap a fitted one and predict through it.

- Frozen estimators, searches and RANSACRegressor hand every prediction to the estimator within.
- FixedThresholdClassifier and TunedThresholdClassifierCV decide at another probability than ½.
- CalibratedClassifierCV with one sigmoid turns the score f of a linear classifier into p = 1/(1 + e^(a·f + b)).

**Thresholds.** Our models predict the probability p₁ of the second of two classes, and decide for it where p₁ ≥ threshold.
scikit-learn may have a threshold t for the first class, and decides for that class where p₀ = 1 − p₁ ≥ t. Our threshold is
then 1 − t, and a row exactly at it is decided differently. The smallest double above 1 − t would decide that row as
scikit-learn does, but reports would then show a move "from 0.3 to 0.30000000000000004", and folding has rounded the score
anyway.

**Calibration.** The log-odds are −(a·f + b), so the calibration folds into the coefficients. f is what
``decision_function`` returns; every linear classifier of scikit-learn has it, even one whose score is not a log-odds. The
average of several calibrated classifiers and an isotonic calibration have no linear log-odds, and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from coordpath_governance.models.fitted import Fitted, as_float, plain, sklearn_class
from coordpath_governance.models.linear_model import LinearModel, level_label, rescaled
from coordpath_governance.models.sklearn_classifiers import CALIBRATE_INSTEAD, HALF, class_labels
from coordpath_governance.models.tree import ArchivedObject, Named, brief
from coordpath_governance.numbers import complement

__all__ = [
    "CALIBRATED",
    "FROZEN",
    "SEES_COLUMNS",
    "THRESHOLD_CLASSIFIERS",
    "WITHIN",
    "Sigmoid",
    "classifier_within",
    "estimator_within",
    "one_sigmoid",
    "with_threshold",
]

FROZEN = "FrozenEstimator"

WITHIN: Mapping[str, str] = MappingProxyType(
    {
        FROZEN: "estimator",
        "GridSearchCV": "best_estimator_",
        "RandomizedSearchCV": "best_estimator_",
        "HalvingGridSearchCV": "best_estimator_",
        "HalvingRandomSearchCV": "best_estimator_",
        "RANSACRegressor": "estimator_",
    }
)
"""By class name: the attribute that holds the estimator within, which predicts."""

SEES_COLUMNS = ("RANSACRegressor",)
"""Wrappers that check the names of the columns themselves and pass on an array without names."""

_FROZEN_ATTRIBUTES = frozenset(("estimator", "_sklearn_version"))

THRESHOLD_CLASSIFIERS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")

_LEAST, _MOST = 1e-300, 1.0 - 1e-12
"""Between these probabilities different scores have different probabilities in double precision."""
_TUNED = "TunedThresholdClassifierCV"
_METRICS = "sklearn.metrics."

CALIBRATED = "CalibratedClassifierCV"
_PAIR = "_CalibratedClassifier"
_SIGMOID = "_SigmoidCalibration"
_WHY_NOT = {
    "isotonic": "calibrates by isotonic regression, a step function of the score and not of any column",
    "temperature": "calibrates by temperature scaling, which takes a score of exactly 1 for a probability, so that what it "
    "predicts for a row can depend on the rows beside it",
}


def estimator_within(fitted: Fitted) -> object:
    """The estimator within a wrapper, which predicts.

    A frozen estimator may have no other attribute: scikit-learn would use such an attribute (``classes_``, say) in place of
    the attribute of the estimator within.
    """
    name = WITHIN[fitted.archived.class_name]
    if fitted.archived.class_name == FROZEN:
        for attribute in fitted.archived.attributes:
            if attribute not in _FROZEN_ATTRIBUTES:
                raise fitted.error(
                    f"a FrozenEstimator has an attribute '{attribute}' of its own, which hides the one within"
                )
        if not fitted.has(name):
            raise fitted.error("a FrozenEstimator has no estimator within")
    elif not fitted.has(name) and fitted.has("cv_results_"):
        raise fitted.refusal("is a search with refit=False, which cannot predict; log the estimator it has found.")
    return fitted.required(name)


def classifier_within(fitted: Fitted) -> object:
    """The fitted classifier that gives the probabilities. A fixed threshold may wrap a classifier that was fitted before."""
    if fitted.has("estimator_") or fitted.archived.class_name == _TUNED:
        return fitted.required("estimator_")
    return fitted.required("estimator")


def with_threshold(fitted: Fitted, model: LinearModel) -> LinearModel:
    """The model within, with the threshold of the wrapper.

    A threshold s on the score is a threshold 1/(1 + e^−s) on the probability. The score of the first class is −s.
    """
    if model.family != "binomial":
        raise fitted.refusal("sets a threshold for a model that is not a classifier of two classes, which is not supported.")
    name = fitted.archived.class_name
    positive = _scorers_label(fitted, model.classes) if name == _TUNED else plain(fitted.get("pos_label"))
    is_first = _is_first(fitted, positive, model.classes)
    key = "best_threshold_" if name == _TUNED else "threshold"
    value, response = plain(fitted.required(key)), fitted.text("response_method", "auto")
    if response not in ("auto", "predict_proba", "decision_function"):
        raise fitted.error(f"'response_method' is {brief(fitted.get('response_method'))}")
    is_auto = name != _TUNED and isinstance(value, str) and value == "auto"
    threshold = 0.5 if is_auto else as_float(value)
    if threshold is None:
        raise fitted.error(f"'{key}' is {brief(value)}, not one finite number")
    if response == "decision_function" and not is_auto:
        score, threshold = threshold, _logistic(-threshold if is_first else threshold)
        if not _LEAST <= threshold <= _MOST:
            raise fitted.refusal(
                f"sets a threshold on the score at {score:g}, where probabilities cannot be told from 0 or 1; set it on "
                "predict_proba, or scale the columns."
            )
    elif is_first:
        threshold = complement(threshold)
    whose = f" for '{model.classes[0]}'" if is_first else ""
    return replace(model, threshold=threshold, estimator=f"{model.estimator} in a {name}{whose}")


def _logistic(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-score)) if score > 0 else math.exp(score) / (1.0 + math.exp(score))


def _is_first(fitted: Fitted, label: object, classes: tuple[str, ...]) -> bool:
    """Whether ``label`` is the first class. None means the second class; scikit-learn takes 1 and True as the same label."""
    if label is None:
        return False
    if not isinstance(label, (str, int, float)):
        raise fitted.error(f"its positive label is {brief(label)}")
    spelled = {level_label(label)}
    if not isinstance(label, str) and label in (0, 1):
        spelled |= {str(int(label)), str(bool(label))}
    if not spelled.intersection(classes):
        raise fitted.refusal(
            f"sets a threshold for the class '{level_label(label)}', which is neither '{classes[0]}' nor '{classes[1]}'; "
            "fit it with the pos_label that is meant."
        )
    return classes[1] not in spelled


def _scorers_label(fitted: Fitted, classes: tuple[str, ...]) -> object:
    """The positive label of the scorer that tuned the threshold; None means the second class.

    A scorer without a ``pos_label`` uses the default of its metric: in scikit-learn's metrics that is none, or 1.
    """
    scorer = fitted.required("_curve_scorer")
    if not isinstance(scorer, ArchivedObject) or sklearn_class(scorer) != "_CurveScorer":
        raise fitted.error("'_curve_scorer' is not a scorer of scikit-learn")
    inner = Fitted(scorer, f"{fitted.where}, its scorer")
    options = inner.required("_kwargs")
    if not isinstance(options, dict):
        raise inner.error("'_kwargs' is not a dictionary")
    if "pos_label" in options:
        return plain(options["pos_label"])
    metric = inner.required("_score_func")
    of_sklearn = isinstance(metric, Named) and metric.path.startswith(_METRICS)
    if not of_sklearn or classes[0] == "1":
        raise fitted.refusal(
            "chose its threshold by a metric that does not say which class is positive; make the scorer with the pos_label "
            f"that is meant, '{classes[0]}' or '{classes[1]}'."
        )
    return None


@dataclass(frozen=True)
class Sigmoid:
    """The sigmoid 1/(1 + e^(a·f + b)) of a calibrated classifier, and the classifier ``within`` whose score is f."""

    fitted: Fitted
    within: object
    a: float
    b: float
    classes: tuple[str, ...]

    def calibrated(self, model: LinearModel) -> LinearModel:
        """The model within, with the calibrated log-odds as its score and the threshold ½."""
        if model.family != "binomial":
            raise self.fitted.refusal("calibrates a model that is not a classifier of two classes, which is not supported.")
        if model.classes != self.classes:
            raise self.fitted.error("its classes are not those of the classifier within")
        try:
            score = rescaled(model, -self.a, -self.b)
        except OverflowError as error:
            raise self.fitted.error(f"its sigmoid is so steep that {error}") from error
        return replace(score, threshold=HALF, estimator=f"{CALIBRATED} ({model.estimator})")


def one_sigmoid(fitted: Fitted) -> Sigmoid:
    """The sigmoid of a calibrated classifier of two classes. Raises `UnsupportedModelError` for other calibrations."""
    classes = class_labels(fitted)
    if len(classes) > 2:
        raise fitted.refusal(
            f"calibrates {len(classes)} classes one against the rest and divides by the sum, which no linear score of the "
            "classes gives; calibrate two classes, or use a LogisticRegression without calibration."
        )
    pairs = fitted.required("calibrated_classifiers_")
    if not isinstance(pairs, list) or not pairs:
        raise fitted.error("'calibrated_classifiers_' is not a list of calibrated classifiers")
    if len(pairs) > 1:
        raise fitted.refusal(
            f"averages the probabilities of {len(pairs)} calibrated classifiers, which is the probability of no linear "
            f"score; fit it as {CALIBRATE_INSTEAD}, which is read."
        )
    pair = pairs[0]
    if not isinstance(pair, ArchivedObject) or sklearn_class(pair) != _PAIR:
        raise fitted.error("'calibrated_classifiers_' has an entry that is not a calibrated classifier of scikit-learn")
    inner = Fitted(pair, f"{fitted.where}, its calibration")
    method = inner.text("method", "sigmoid")
    if method != fitted.text("method", "sigmoid"):
        raise fitted.error("it says in two places by which method it calibrates, and they differ")
    if method in ("isotonic", "temperature"):
        raise fitted.refusal(f"{_WHY_NOT[method]}; fit it as {CALIBRATE_INSTEAD}, which is read.")
    if method != "sigmoid":
        raise fitted.error(f"'method' is {brief(fitted.get('method'))}")
    if class_labels(inner, "classes") != classes:
        raise inner.error("its classes are not those of the CalibratedClassifierCV")
    return Sigmoid(fitted, _classifier(inner), *_numbers(inner), classes)


def _classifier(pair: Fitted) -> object:
    """The classifier within. Before scikit-learn 1.2 the attribute was ``base_estimator``."""
    names = [name for name in ("estimator", "base_estimator") if pair.has(name)]
    if len(names) != 1:
        raise pair.error("it does not have exactly one classifier within")
    return pair.required(names[0])


def _numbers(pair: Fitted) -> tuple[float, float]:
    """The numbers a and b of the only calibrator."""
    calibrators = pair.required("calibrators")
    items = calibrators.tolist() if isinstance(calibrators, np.ndarray) else calibrators
    only = items[0] if isinstance(items, list) and len(items) == 1 else None
    if not isinstance(only, ArchivedObject) or sklearn_class(only) != _SIGMOID:
        raise pair.error("'calibrators' is not one sigmoid of scikit-learn")
    sigmoid = Fitted(only, f"{pair.where}, its sigmoid")
    a, b = as_float(sigmoid.required("a_")), as_float(sigmoid.required("b_"))
    if a is None or b is None:
        raise sigmoid.error("'a_' and 'b_' are not two finite numbers")
    return a, b
