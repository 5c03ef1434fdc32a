"""The linear score of a fitted scikit-learn estimator: its coefficient vector over the columns that reach it, folded."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coordpath_governance.models.assembly import assemble
from coordpath_governance.models.fitted import Fitted, as_float
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel

__all__ = ["fold_scores", "hyperparameter", "is_cross_validated", "one_score"]


def fold_scores(
    fitted: Fitted,
    weights: Sequence[Sequence[float]],
    intercepts: Sequence[float],
    frame: Frame,
    inputs: Sequence[str],
    fits_intercept: str = "fit_intercept",
) -> list[LinearModel]:
    """The scores over the raw columns; one has an intercept if it was fitted or a scaler's shift makes one.

    ``fits_intercept`` names the setting that says whether an intercept was fitted.
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
    """The score of a regression; (1, d) is what a target given as one column makes, more rows are more targets."""
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
    """Tell whether the estimator has chosen its penalty itself."""
    return fitted.archived.class_name.endswith("CV")


def hyperparameter(fitted: Fitted, name: str) -> float:
    """Return a penalty's strength: of a cross-validated model the one it has chosen (``alpha_``)."""
    key = f"{name}_" if is_cross_validated(fitted) else name
    value = as_float(fitted.required(key))
    if value is None:
        raise fitted.error(f"'{key}' is not one number")
    return value
