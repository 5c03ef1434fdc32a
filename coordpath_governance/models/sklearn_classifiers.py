"""scikit-learn's linear classifiers: those whose score is a log-odds, and those whose score is a margin.

The score is a log-odds for LogisticRegression, LogisticRegressionCV and SGDClassifier with log loss. Two classes have one
score s, and the second class has the probability 1/(1 + e^−s). Three or more classes have one score each, and the
probabilities softmax(s). One-vs-rest is refused: its probabilities are logistic ones divided by their sum.

The other classifiers have a margin as their score (RidgeClassifier: fitted by the squared error against −1 and +1; the
rest: by the hinge loss and its relatives). A margin has no probability and so no log loss. These classifiers are read only
within a CalibratedClassifierCV, whose sigmoid makes a log-odds of the margin; alone they are refused (`sklearn_refusals`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.fitted import Fitted, as_float, plain, sklearn_class, version_of
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import MISSING_LEVEL, LinearModel, TrainingFacts, classifier, level_label
from coordpath_governance.models.sklearn_scores import (
    fold_scores,
    hyperparameter,
    is_cross_validated,
    logistic_penalty,
    sgd_penalty,
)
from coordpath_governance.models.tree import ArchivedObject, Opaque, brief

__all__ = ["CALIBRATE_INSTEAD", "CLASSIFIERS", "HALF", "MARGINS", "class_labels", "fold_classifier"]

HALF = 0.5
"""The threshold of a classifier that has none of its own: it decides for the second class from this probability on."""

CALIBRATE_INSTEAD = "CalibratedClassifierCV(model, method='sigmoid', ensemble=False)"
"""How to fit a classifier whose score is not a log-odds, so that it can be read."""

_SOFTMAX_BY_CHOLESKY = (1, 6)
"""The first version whose solver "newton-cholesky" fits three or more classes by softmax, not one against the rest."""


def _fold_logistic(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    classes = class_labels(fitted)
    _check_multi_class(fitted, len(classes))
    return fold_classifier(fitted, frame, inputs, classes, logistic_penalty(fitted))


def _fold_sgd(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    loss = fitted.text("loss", "hinge")
    if loss not in ("log_loss", "log"):
        raise fitted.refusal(
            f"is a SGDClassifier with the loss '{loss}', whose score is not a log-odds but a margin, so that it has no log "
            f"loss; fit it with loss='log_loss', or as {CALIBRATE_INSTEAD}, which is read."
        )
    classes = class_labels(fitted)
    if len(classes) > 2:
        raise _one_vs_rest(fitted, len(classes))
    return fold_classifier(fitted, frame, inputs, classes, sgd_penalty(fitted))


def fold_classifier(
    fitted: Fitted,
    frame: Frame,
    inputs: Sequence[str],
    classes: tuple[str, ...],
    penalty: TrainingFacts,
    *,
    flat: bool = False,
) -> LinearModel:
    """The model of a classifier: one score for two classes, or one score per class.

    ``penalty`` becomes part of the model's training facts. With ``flat`` the coefficients of one score may be a vector, not
    only a matrix of one row.
    """
    count = 1 if len(classes) == 2 else len(classes)
    stored = fitted.get("coef_")
    shape = (len(frame),) if flat and isinstance(stored, np.ndarray) and stored.ndim == 1 else (count, len(frame))
    weights: list[list[float]] = _numbers(fitted, "coef_", shape).reshape(count, len(frame)).tolist()
    intercepts: list[float] = _numbers(fitted, "intercept_", (count,)).tolist()
    scores = fold_scores(fitted, weights, intercepts, frame, inputs)
    facts = MappingProxyType({**penalty, **_class_weight(fitted)})
    model = classifier(scores, classes, HALF)
    return replace(model, estimator=fitted.archived.class_name, regularisation=facts)


def class_labels(fitted: Fitted, name: str = "classes_") -> tuple[str, ...]:
    """The labels of the target as text, in the order of the attribute ``name``."""
    value = fitted.required(name)
    items = [plain(item) for item in value.tolist()] if isinstance(value, np.ndarray) and value.ndim == 1 else []
    if len(items) < 2 or not all(isinstance(item, (str, int, float)) for item in items):
        raise fitted.error(f"'{name}' is not a list of two or more labels")
    labels = tuple(level_label(item) for item in items)
    if len(set(labels)) != len(labels) or any(isinstance(item, float) and not math.isfinite(item) for item in items):
        raise fitted.error(f"'{name}' has a label twice, or one that is not finite")
    if MISSING_LEVEL in labels:
        raise fitted.refusal(
            f"has a class called '{MISSING_LEVEL}', the name of a missing label here; rename it in the target and fit again."
        )
    return labels


def _check_multi_class(fitted: Fitted, count: int) -> None:
    """Refuse a model that is not softmax, or that another version of scikit-learn would read differently.

    Up to 1.7 the parameter ``multi_class`` chose the method. If it chose softmax for two classes, the probability was that
    of twice the score; versions without the parameter predict from the score itself.
    """
    way = fitted.text("multi_class", "auto")
    if way not in ("auto", "deprecated", "warn", "ovr", "multinomial"):
        raise fitted.error(f"'multi_class' is {brief(fitted.get('multi_class'))}")
    solver = fitted.text("solver", "lbfgs")
    if count == 2:
        if way == "multinomial":
            raise fitted.refusal(
                "was fitted with multi_class='multinomial' on two classes, whose probabilities differ between versions "
                "of scikit-learn; fit it again without multi_class."
            )
        return
    by_cholesky = solver == "newton-cholesky" and way != "multinomial" and fitted.has("multi_class")
    if way in ("ovr", "warn") or solver == "liblinear" or (by_cholesky and version_of(fitted) < _SOFTMAX_BY_CHOLESKY):
        raise _one_vs_rest(fitted, count)


def _one_vs_rest(fitted: Fitted, count: int) -> Exception:
    return fitted.refusal(
        f"tells {count} classes apart one against the rest, and its probabilities are such scores divided by their sum, "
        "which no linear score of the classes gives; fit a LogisticRegression with the solver 'lbfgs'."
    )


def _numbers(fitted: Fitted, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An attribute that is an array of finite numbers of exactly this shape.

    Zero intercepts may be stored as one number, as liblinear does for a model without intercept.
    """
    value = fitted.required(name)
    if name == "intercept_" and as_float(value) == 0.0 and not isinstance(plain(value), np.ndarray):
        return np.zeros(shape)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        raise fitted.error(f"'{name}' is not an array of numbers")
    if value.shape != shape:
        raise fitted.error(f"'{name}' has the shape {value.shape} where {shape} belongs")
    numbers = value.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise fitted.error(f"'{name}' has entries that are not finite")
    return numbers


def _class_weight(fitted: Fitted) -> TrainingFacts:
    """How training weighted the classes; empty if all rows had the same weight."""
    value = plain(fitted.get("class_weight"))
    if value is None:
        return {}
    if isinstance(value, Opaque):
        return {"class_weight": "given for each class"}
    if isinstance(value, str) and value == "balanced":
        return {"class_weight": value}
    weights = {level_label(label): as_float(weight) for label, weight in value.items()} if isinstance(value, dict) else {}
    if not weights or None in weights.values():
        raise fitted.error("'class_weight' is neither 'balanced' nor one number a class")
    return {"class_weight": ", ".join(f"{label}: {weight:g}" for label, weight in weights.items())}


CLASSIFIERS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = {
    "LogisticRegression": _fold_logistic,
    "LogisticRegressionCV": _fold_logistic,
    "SGDClassifier": _fold_sgd,
}
"""By class name: what folds a classifier whose score is a log-odds."""


_SQUARED = "squared error against −1 and +1"
_BINARIZER = "LabelBinarizer"


def _fold_margin(
    facts: Callable[[Fitted], TrainingFacts], fitted: Fitted, frame: Frame, inputs: Sequence[str]
) -> LinearModel:
    """A linear score of two classes; of several classes there is one score a class, and no sigmoid joins them."""
    classes = class_labels(fitted)
    if len(classes) > 2:
        raise fitted.refusal(
            f"tells {len(classes)} classes apart one against the rest, which no linear score of the classes gives; fit a "
            "LogisticRegression with the solver 'lbfgs'."
        )
    return fold_classifier(fitted, frame, inputs, classes, facts(fitted))


def _fold_ridge(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """The classes are those of the binarizer; from scikit-learn 1.9 on, ``classes_`` repeats them."""
    binarizer = fitted.required("_label_binarizer")
    if not isinstance(binarizer, ArchivedObject) or sklearn_class(binarizer) != _BINARIZER:
        raise fitted.error("'_label_binarizer' is not a LabelBinarizer")
    classes = class_labels(Fitted(binarizer, f"{fitted.where}, its label binarizer"))
    if fitted.has("classes_") and class_labels(fitted) != classes:
        raise fitted.error("it says in two places which classes there are, and they differ")
    if len(classes) > 2:
        raise fitted.refusal(
            f"has one score for each of {len(classes)} classes, fitted against −1 and +1, which no sigmoid joins; fit a "
            "LogisticRegression with the solver 'lbfgs'."
        )
    facts: TrainingFacts = {"kind": "ridge", "alpha": hyperparameter(fitted, "alpha"), "loss": _SQUARED}
    if is_cross_validated(fitted):
        facts["chosen_by"] = "cross-validation"
    return fold_classifier(fitted, frame, inputs, classes, facts, flat=True)


def _support_vectors(fitted: Fitted) -> TrainingFacts:
    loss = fitted.text("loss", "squared_hinge").replace("_", " ")
    kind = {"l1": "lasso", "l2": "ridge"}.get(fitted.text("penalty", "l2"), "none")
    return {"kind": kind, "C": hyperparameter(fitted, "C"), "loss": loss}


def _stochastic(fitted: Fitted) -> TrainingFacts:
    loss = fitted.text("loss", "hinge")
    return sgd_penalty(fitted) if loss in ("log_loss", "log") else {**sgd_penalty(fitted), "loss": loss.replace("_", " ")}


def _perceptron(fitted: Fitted) -> TrainingFacts:
    return {**sgd_penalty(fitted, None), "loss": "perceptron"}


def _passive_aggressive(fitted: Fitted) -> TrainingFacts:
    return {"kind": "none", "loss": fitted.text("loss", "hinge").replace("_", " ")}


MARGINS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = MappingProxyType(
    {
        **CLASSIFIERS,
        "SGDClassifier": partial(_fold_margin, _stochastic),
        "RidgeClassifier": _fold_ridge,
        "RidgeClassifierCV": _fold_ridge,
        "LinearSVC": partial(_fold_margin, _support_vectors),
        "Perceptron": partial(_fold_margin, _perceptron),
        "PassiveAggressiveClassifier": partial(_fold_margin, _passive_aggressive),
    }
)
"""By class name: what folds a linear classifier whose score a sigmoid may calibrate."""
