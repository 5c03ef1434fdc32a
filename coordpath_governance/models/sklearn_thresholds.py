"""scikit-learn's classifiers that set the threshold of another one: the model within, deciding at another probability.

Our models predict the probability p₁ of the second of two classes, and decide for it where p₁ ≥ the threshold. scikit-learn
may be told a threshold t for the first class, and decides for that one where p₀ = 1 − p₁ ≥ t: here the threshold is 1 − t.
A row exactly at it is decided otherwise than by scikit-learn. The smallest double above 1 − t would be right there too, but
reports would tell it as a move "from 0.3 to 0.30000000000000004", and folding has rounded the score already.
"""

from __future__ import annotations

import math
from dataclasses import replace

from coordpath_governance.models.fitted import Fitted, as_float, plain, sklearn_class
from coordpath_governance.models.linear_model import LinearModel, level_label
from coordpath_governance.models.tree import ArchivedObject, Named, brief
from coordpath_governance.numbers import complement

__all__ = ["THRESHOLD_CLASSIFIERS", "classifier_within", "with_threshold"]

THRESHOLD_CLASSIFIERS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")

_LEAST, _MOST = 1e-300, 1.0 - 1e-12
"""Probabilities between which those of different scores differ."""
_TUNED = "TunedThresholdClassifierCV"
_METRICS = "sklearn.metrics."


def classifier_within(fitted: Fitted) -> object:
    """The fitted classifier that is asked for probabilities; a fixed threshold may stand around one fitted before."""
    if fitted.has("estimator_") or fitted.archived.class_name == _TUNED:
        return fitted.required("estimator_")
    return fitted.required("estimator")


def with_threshold(fitted: Fitted, model: LinearModel) -> LinearModel:
    """The model within, deciding at the threshold; one on the score s is one on the probability at 1/(1 + e^−s).

    The score of the first class is −s.
    """
    if model.family != "binomial":
        raise fitted.refusal("sets a threshold for what is no classifier of two classes, which is not supported.")
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
    """Whether the threshold is for the first class; None is the second, and 1 and True are one label to scikit-learn."""
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
    """The label that the scorer behind a tuned threshold takes for positive; None is the second class.

    Where it was not told one, it is the default of its metric, which in those of scikit-learn is none, or 1.
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
    own = isinstance(metric, Named) and metric.path.startswith(_METRICS)
    if not own or classes[0] == "1":
        raise fitted.refusal(
            "chose its threshold by a metric that does not say which class is positive; make the scorer with the pos_label "
            f"that is meant, '{classes[0]}' or '{classes[1]}'."
        )
    return None
