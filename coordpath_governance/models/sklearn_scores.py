"""The linear scores of a fitted estimator and the facts about its penalty, both as scikit-learn stores them.

A score is a coefficient vector over the columns that reach the estimator, folded to raw columns. The penalty is a fact that
a report states; it is never applied. LogisticRegression had the parameter ``penalty`` until scikit-learn 1.7. From 1.8 on
its value is "deprecated", an infinite ``C`` means no penalty, and ``l1_ratio`` 0, 1 and in between mean ridge, lasso and
elastic net.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coordpath_governance.models.assembly import assemble
from coordpath_governance.models.fitted import Fitted, as_float, plain
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel, TrainingFacts
from coordpath_governance.models.tree import brief

__all__ = ["fold_scores", "hyperparameter", "is_cross_validated", "logistic_penalty", "one_score", "sgd_penalty"]


def fold_scores(
    fitted: Fitted,
    weights: Sequence[Sequence[float]],
    intercepts: Sequence[float],
    frame: Frame,
    inputs: Sequence[str],
    fits_intercept: str = "fit_intercept",
) -> list[LinearModel]:
    """Fold scores to raw columns: one model per vector of ``weights``, each with its entry of ``intercepts``.

    ``fits_intercept`` names the setting that says whether an intercept was fitted. The shift of a scaler makes an intercept
    even where none was fitted.
    """
    scores = []
    for vector, constant in zip(weights, intercepts, strict=True):
        terms = assemble(vector, constant, frame, inputs, fitted.where)
        scores.append(
            LinearModel(
                intercept=terms.intercept,
                numeric=terms.numeric,
                categorical=terms.categorical,
                functions=terms.functions,
                has_intercept=fitted.flag(fits_intercept, True) or terms.intercept != 0.0,
                raw=terms.raw,
            )
        )
    return scores


def one_score(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """The score of an estimator with one. ``coef_`` may be a vector or a matrix of one row; more rows are more targets."""
    value = fitted.required("coef_")
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf" or value.ndim not in (1, 2):
        raise fitted.error("'coef_' is not a list of numbers")
    if value.ndim == 2:
        if value.shape[0] != 1:
            raise fitted.refusal(
                f"predicts {value.shape[0]} targets at once, which is not supported; log one model per target."
            )
        value = value[0]
    if value.size != len(frame):
        raise fitted.error(f"'coef_' has {value.size} entries, but the steps before it make {len(frame)} columns")
    numbers = [float(number) for number in value.tolist()]
    if not all(math.isfinite(number) for number in numbers):
        raise fitted.error("'coef_' has entries that are not finite")
    intercept = as_float(fitted.required("intercept_"))
    if intercept is None:
        raise fitted.error("'intercept_' is not one finite number")
    return fold_scores(fitted, [numbers], [intercept], frame, inputs)[0]


def is_cross_validated(fitted: Fitted) -> bool:
    """Whether the estimator has chosen its penalty by cross-validation."""
    return fitted.archived.class_name.endswith("CV")


def hyperparameter(fitted: Fitted, name: str) -> float:
    """The strength of a penalty; of a cross-validated estimator the strength it has chosen (such as ``alpha_``)."""
    key = f"{name}_" if is_cross_validated(fitted) else name
    value = as_float(fitted.required(key))
    if value is None:
        raise fitted.error(f"'{key}' is not one number")
    return value


_NAMES = {"l1": "lasso", "l2": "ridge", "elasticnet": "elastic net"}


def logistic_penalty(fitted: Fitted) -> TrainingFacts:
    """Kind, C and, for an elastic net, the share of the lasso."""
    chosen = is_cross_validated(fitted)
    strength = _common(fitted, "C_" if chosen else "C")
    share = _common(fitted, "l1_ratio_" if chosen else "l1_ratio")
    penalty = _penalty(fitted, "deprecated")
    if penalty == "deprecated":
        penalty = {None: "l2", 0.0: "l2", 1.0: "l1"}.get(share, "elasticnet")
    if penalty == "none" or strength == math.inf:
        return {"kind": "none"}
    facts = _facts(fitted, penalty, "C", strength, share)
    return {**facts, "chosen_by": "cross-validation"} if chosen else facts


def sgd_penalty(fitted: Fitted, default: str | None = "l2") -> TrainingFacts:
    """Kind, alpha and, for an elastic net, the share of the lasso; ``default`` is the default penalty of the class."""
    penalty = _penalty(fitted, default)
    if penalty == "none":
        return {"kind": "none"}
    return _facts(fitted, penalty, "alpha", hyperparameter(fitted, "alpha"), as_float(fitted.get("l1_ratio")))


def _penalty(fitted: Fitted, default: str | None) -> str:
    return "none" if fitted.get("penalty", default) is None else fitted.text("penalty", default or "")


def _facts(fitted: Fitted, penalty: str, name: str, strength: float | None, share: float | None) -> TrainingFacts:
    if penalty not in _NAMES:
        raise fitted.error(f"'penalty' is {brief(fitted.get('penalty'))}")
    if strength is None:
        raise fitted.error(f"'{name}' is not one number")
    facts: TrainingFacts = {"kind": _NAMES[penalty], name: strength}
    return {**facts, "l1_ratio": share} if penalty == "elasticnet" else facts


def _common(fitted: Fitted, name: str) -> float | None:
    """The number that an attribute holds, once or repeated for each class; None if it holds none."""
    value = plain(fitted.get(name))
    items = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else [value]
    numbers = {None if item is None else _number(fitted, name, item) for item in items}
    if len(numbers) > 1:
        raise fitted.error(f"'{name}' has different numbers for the classes")
    return numbers.pop() if numbers else None


def _number(fitted: Fitted, name: str, item: object) -> float:
    number = math.inf if isinstance(item, float) and item == math.inf else as_float(item)
    if number is None:
        raise fitted.error(f"'{name}' is {brief(item)}, not one number")
    return number
