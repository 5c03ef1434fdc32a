"""scikit-learn's linear regressions: their coefficient vector, and the facts about their penalty."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from coordpath_governance.models.assembly import assemble
from coordpath_governance.models.fitted import Fitted, as_float
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel

__all__ = ["ESTIMATORS", "fold_estimator"]

Facts: TypeAlias = dict[str, float | str | bool | None]


def _no_penalty(_: Fitted) -> Facts:
    return {"kind": "none"}


def _ridge(fitted: Fitted) -> Facts:
    return {"kind": "ridge", "alpha": _hyperparameter(fitted, "alpha")}


def _lasso(fitted: Fitted) -> Facts:
    return {"kind": "lasso", "alpha": _hyperparameter(fitted, "alpha")}


def _elastic_net(fitted: Fitted) -> Facts:
    alpha, l1_ratio = _hyperparameter(fitted, "alpha"), _hyperparameter(fitted, "l1_ratio")
    return {"kind": "elastic net", "alpha": alpha, "l1_ratio": l1_ratio}


ESTIMATORS: Mapping[str, Callable[[Fitted], Facts]] = {
    "LinearRegression": _no_penalty,
    "Ridge": _ridge,
    "RidgeCV": _ridge,
    "Lasso": _lasso,
    "LassoCV": _lasso,
    "ElasticNet": _elastic_net,
    "ElasticNetCV": _elastic_net,
}
"""Every estimator we read, by class name, with the facts about its penalty."""


def fold_estimator(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """Return the model over the raw columns; it has an intercept if one was fitted or a scaler's shift makes one."""
    weights = _coefficients(fitted, len(frame))
    intercept = as_float(fitted.required("intercept_"))
    if intercept is None:
        raise fitted.error("'intercept_' is not one finite number")
    terms = assemble(weights, intercept, frame, inputs, fitted.where)
    facts = ESTIMATORS[fitted.archived.class_name](fitted)
    if _is_cross_validated(fitted):
        facts["chosen_by"] = "cross-validation"
    if fitted.flag("positive", False):
        facts["positive"] = True
    return LinearModel(
        intercept=terms.intercept,
        numeric=terms.numeric,
        categorical=terms.categorical,
        has_intercept=fitted.flag("fit_intercept", True) or terms.intercept != 0.0,
        estimator=fitted.archived.class_name,
        regularisation=MappingProxyType(facts),
        raw=terms.raw,
    )


def _coefficients(fitted: Fitted, width: int) -> list[float]:
    """Return the coefficient vector; (1, d) is what a target given as one column makes, more rows are more targets."""
    value = fitted.required("coef_")
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf" or value.ndim not in (1, 2):
        raise fitted.error("'coef_' is not a list of numbers")
    if value.ndim == 2:
        if value.shape[0] != 1:
            raise fitted.refusal(
                f"predicts {value.shape[0]} targets at once, which is not supported; log one model per target."
            )
        value = value[0]
    if value.size != width:
        raise fitted.error(f"'coef_' has {value.size} entries, but the steps before it make {width} columns")
    numbers = [float(number) for number in value.tolist()]
    if not all(math.isfinite(number) for number in numbers):
        raise fitted.error("'coef_' has entries that are not finite")
    return numbers


def _is_cross_validated(fitted: Fitted) -> bool:
    return fitted.archived.class_name.endswith("CV")


def _hyperparameter(fitted: Fitted, name: str) -> float:
    """Return a penalty's strength: of a cross-validated model the one it has chosen (``alpha_``)."""
    key = f"{name}_" if _is_cross_validated(fitted) else name
    value = as_float(fitted.required(key))
    if value is None:
        raise fitted.error(f"'{key}' is not one number")
    return value
