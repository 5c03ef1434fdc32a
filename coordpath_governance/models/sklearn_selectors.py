"""scikit-learn's feature selectors: which columns each of them keeps when it predicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.models.fitted import Fitted, as_float, plain, sklearn_class
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.tree import ArchivedObject, brief

__all__ = ["SELECTORS"]

Mask = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

_TINY = 1e-5
"""The importance below which SelectFromModel drops a column of a lasso."""

_SCALED = re.compile(r"\s*([0-9.eE+-]+)\s*\*\s*(mean|median)\s*")


def _selects(mask: Callable[[Fitted, int], Mask], fitted: Fitted, frame: Frame) -> Frame:
    chosen = mask(fitted, len(frame))
    if not chosen.any():
        raise fitted.refusal("selects no column at all, so that nothing is left to predict from.")
    return frame.take([position for position, is_chosen in enumerate(chosen.tolist()) if is_chosen])


def _by_variance(fitted: Fitted, width: int) -> Mask:
    """``variances_ > threshold``."""
    return _numbers(fitted, "variances_", width) > _number(fitted, "threshold", 0.0)


def _by_support(fitted: Fitted, width: int) -> Mask:
    """``support_``, the result of recursive or sequential selection."""
    value = fitted.required("support_")
    if not isinstance(value, np.ndarray) or value.dtype.kind != "b" or value.shape != (width,):
        raise fitted.error(f"'support_' is not one truth value for each of {width} columns")
    return np.array(value, dtype=np.bool_)


def _best_k(fitted: Fitted, width: int, key: str = "k") -> Mask:
    """The k largest scores; among equal scores, the last columns."""
    wanted = plain(fitted.get(key, 10))
    if wanted == "all":
        return np.ones(width, dtype=np.bool_)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise fitted.error(f"'{key}' is {brief(wanted)}, not a number of columns")
    mask = np.zeros(width, dtype=np.bool_)
    if wanted:
        mask[np.argsort(_scores(fitted, width), kind="mergesort")[-wanted:]] = True
    return mask


def _best_percent(fitted: Fitted, width: int, key: str = "percentile") -> Mask:
    """Scores above a percentile, and as many of the first columns on the percentile as are still needed."""
    percent = _number(fitted, key, 10.0)
    if percent in (0.0, 100.0):
        return np.full(width, percent == 100.0)
    scores = _scores(fitted, width)
    if not 0 <= percent <= 100:
        raise fitted.error(f"'{key}' is {percent:g}, which is not a percentage")
    limit = np.percentile(scores, 100 - percent)
    mask: Mask = scores > limit
    ties = np.flatnonzero(scores == limit)
    mask[ties[: max(0, int(width * percent / 100) - int(mask.sum()))]] = True
    return mask


def _false_positives(fitted: Fitted, width: int, key: str = "alpha") -> Mask:
    return _numbers(fitted, "pvalues_", width) < _number(fitted, key, 0.05)


def _false_discoveries(fitted: Fitted, width: int, key: str = "alpha") -> Mask:
    """Benjamini and Hochberg: p-values up to the largest p₍ᵢ₎ ≤ α·i/n."""
    values = _numbers(fitted, "pvalues_", width)
    ordered = np.sort(values)
    selected = ordered[ordered <= _number(fitted, key, 0.05) / width * np.arange(1, width + 1)]
    return values <= selected.max() if selected.size else np.zeros(width, dtype=np.bool_)


def _family_errors(fitted: Fitted, width: int, key: str = "alpha") -> Mask:
    return _numbers(fitted, "pvalues_", width) < _number(fitted, key, 0.05) / width


_MODES: Mapping[str, Callable[[Fitted, int, str], Mask]] = {
    "percentile": _best_percent,
    "k_best": _best_k,
    "fpr": _false_positives,
    "fdr": _false_discoveries,
    "fwe": _family_errors,
}


def _by_mode(fitted: Fitted, width: int) -> Mask:
    mode = fitted.text("mode", "percentile")
    if mode not in _MODES:
        raise fitted.error(f"'mode' is {brief(mode)}")
    return _MODES[mode](fitted, width, "param")


def _by_model(fitted: Fitted, width: int) -> Mask:
    """Columns whose coefficient in a linear model is at least a threshold in size; at most ``max_features`` columns."""
    model = fitted.get("estimator_") or fitted.get("estimator")
    if not isinstance(model, ArchivedObject) or sklearn_class(model) is None:
        raise fitted.refusal("selects columns by a model that is not one of scikit-learn's linear ones; use such a model.")
    inner = Fitted(model, f"{fitted.where}, its estimator")
    if fitted.text("importance_getter", "auto") != "auto":
        raise fitted.refusal(
            "selects columns by an importance of its own, which we do not run; use importance_getter='auto'."
        )
    coefficients = inner.required("coef_")
    if (
        not isinstance(coefficients, np.ndarray)
        or coefficients.dtype.kind not in "iuf"
        or coefficients.ndim not in (1, 2)
        or coefficients.shape[-1] != width
    ):
        raise inner.error(f"'coef_' is not one number for each of {width} columns")
    order = _number(fitted, "norm_order", 1.0)
    sizes = np.abs(coefficients) if coefficients.ndim == 1 else np.linalg.norm(coefficients, axis=0, ord=order)
    mask = np.ones(width, dtype=np.bool_)
    most = plain(fitted.get("max_features_", fitted.get("max_features")))
    if fitted.get("max_features") is not None:
        if isinstance(most, bool) or not isinstance(most, int):
            raise fitted.error(f"'max_features_' is {brief(most)}, not a number of columns")
        mask[:] = False
        mask[np.argsort(-sizes, kind="mergesort")[:most]] = True
    mask[sizes < _threshold(fitted, inner, sizes)] = False
    return mask


def _threshold(fitted: Fitted, inner: Fitted, sizes: FloatArray) -> float:
    """The threshold as a number. It is stored as a number, "mean", "median", a multiple of these, or None (by penalty)."""
    setting = plain(fitted.get("threshold"))
    if setting is None:
        name = inner.archived.class_name
        if "ElasticNet" in name:
            raise fitted.refusal("has no threshold, and that of an elastic net differs between versions; give one.")
        setting = _TINY if "Lasso" in name or inner.get("penalty") == "l1" else "mean"
    factor, statistic = 1.0, setting
    if isinstance(setting, str) and (match := _SCALED.fullmatch(setting)):
        factor, statistic = float(match[1]), match[2]
    if statistic in ("mean", "median"):
        return factor * float(np.mean(sizes) if statistic == "mean" else np.median(sizes))
    if isinstance(setting, bool) or not isinstance(setting, (int, float)):
        raise fitted.error(f"'threshold' is {brief(setting)}")
    return float(setting)


def _scores(fitted: Fitted, width: int) -> FloatArray:
    """``scores_``; NaN counts as the smallest number."""
    scores = _numbers(fitted, "scores_", width)
    return np.where(np.isnan(scores), np.finfo(scores.dtype).min, scores)


def _numbers(fitted: Fitted, name: str, width: int) -> FloatArray:
    """An array of numbers in the precision it is stored in, because scikit-learn compares in that precision."""
    value = fitted.required(name)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.shape != (width,):
        raise fitted.error(f"'{name}' is not one number for each of {width} columns")
    numbers: FloatArray = value
    return numbers


def _number(fitted: Fitted, name: str, default: float) -> float:
    number = as_float(fitted.get(name, default))
    if number is None:
        raise fitted.error(f"'{name}' is {brief(fitted.get(name))}, not a number")
    return number


def _selector(mask: Callable[[Fitted, int], Mask]) -> Callable[[Fitted, Frame], Frame]:
    return lambda fitted, frame: _selects(mask, fitted, frame)


SELECTORS: Mapping[str, Callable[[Fitted, Frame], Frame]] = {
    "VarianceThreshold": _selector(_by_variance),
    "RFE": _selector(_by_support),
    "RFECV": _selector(_by_support),
    "SequentialFeatureSelector": _selector(_by_support),
    "SelectKBest": _selector(_best_k),
    "SelectPercentile": _selector(_best_percent),
    "SelectFpr": _selector(_false_positives),
    "SelectFdr": _selector(_false_discoveries),
    "SelectFwe": _selector(_family_errors),
    "GenericUnivariateSelect": _selector(_by_mode),
    "SelectFromModel": _selector(_by_model),
}
"""By class name: what folds a selector."""
