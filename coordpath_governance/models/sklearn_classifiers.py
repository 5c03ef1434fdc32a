"""scikit-learn's classifiers whose score is a log-odds: LogisticRegression, its CV variant, SGDClassifier with log loss.

Two classes have one score s, with probability 1/(1 + e^−s) of the second class. Three or more have one score each, with
probabilities softmax(s). One-vs-rest is neither: its probabilities are logistic ones divided by their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.fitted import Fitted, as_float, plain, version_of
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import MISSING_LEVEL, LinearModel, classifier, level_label
from coordpath_governance.models.sklearn_penalties import Facts, logistic_penalty, sgd_penalty
from coordpath_governance.models.sklearn_scores import fold_scores
from coordpath_governance.models.tree import Opaque, brief

__all__ = ["CLASSIFIERS", "HALF", "WAY_OUT", "class_labels", "fold_classifier"]

HALF = 0.5
"""The probability from which a classifier without a threshold of its own decides for the second of two classes."""

WAY_OUT = "CalibratedClassifierCV(model, method='sigmoid', ensemble=False)"
"""How to fit a classifier whose score is no log-odds, so that it is read."""

_SOFTMAX_BY_CHOLESKY = (1, 6)
"""The first scikit-learn whose solver "newton-cholesky" fits three classes as one model, not one against the rest."""


def _fold_logistic(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    classes = class_labels(fitted)
    _check_multi_class(fitted, len(classes))
    return fold_classifier(fitted, frame, inputs, classes, logistic_penalty(fitted))


def _fold_sgd(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    loss = fitted.text("loss", "hinge")
    if loss not in ("log_loss", "log"):
        raise fitted.refusal(
            f"is a SGDClassifier with the loss '{loss}', whose score is no log-odds but a margin, so that it has no log "
            f"loss; fit it with loss='log_loss', or as {WAY_OUT}, which is read."
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
    penalty: Facts,
    *,
    flat: bool = False,
) -> LinearModel:
    """One score for two classes, told as log-odds, or one score a class.

    ``penalty`` are facts to tell; ``flat``: the coefficients of one score may be a vector, not a matrix of one row.
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
    """The labels of the target, as text."""
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
    """Refuse what is not softmax, or is something else in another version of scikit-learn.

    Up to 1.7 a parameter ``multi_class`` chose; where it chose softmax for two classes, the probability was that of twice
    the score, and versions that no longer know the parameter predict by the score itself.
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
    """An array of finite numbers of exactly this shape; zero intercepts may stand as one number (liblinear without any)."""
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


def _class_weight(fitted: Fitted) -> Facts:
    """How the trainer weighted the classes; nothing if all rows counted alike."""
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
"""By class name: how the classifier is folded."""
