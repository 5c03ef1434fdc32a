"""scikit-learn's least-squares regressions, and the facts about their penalty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from coordpath_governance.models.fitted import Fitted
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.sklearn_scores import hyperparameter, is_cross_validated, one_score

__all__ = ["REGRESSIONS"]

Facts: TypeAlias = dict[str, float | str | bool | None]


def _no_penalty(_: Fitted) -> Facts:
    return {"kind": "none"}


def _ridge(fitted: Fitted) -> Facts:
    return {"kind": "ridge", "alpha": hyperparameter(fitted, "alpha")}


def _lasso(fitted: Fitted) -> Facts:
    return {"kind": "lasso", "alpha": hyperparameter(fitted, "alpha")}


def _elastic_net(fitted: Fitted) -> Facts:
    alpha, l1_ratio = hyperparameter(fitted, "alpha"), hyperparameter(fitted, "l1_ratio")
    return {"kind": "elastic net", "alpha": alpha, "l1_ratio": l1_ratio}


def _fold_regression(penalty: Callable[[Fitted], Facts], fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    score = one_score(fitted, frame, inputs)
    facts = penalty(fitted)
    if is_cross_validated(fitted):
        facts["chosen_by"] = "cross-validation"
    if fitted.flag("positive", False):
        facts["positive"] = True
    return replace(score, estimator=fitted.archived.class_name, regularisation=MappingProxyType(facts))


REGRESSIONS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = {
    "LinearRegression": partial(_fold_regression, _no_penalty),
    "Ridge": partial(_fold_regression, _ridge),
    "RidgeCV": partial(_fold_regression, _ridge),
    "Lasso": partial(_fold_regression, _lasso),
    "LassoCV": partial(_fold_regression, _lasso),
    "ElasticNet": partial(_fold_regression, _elastic_net),
    "ElasticNetCV": partial(_fold_regression, _elastic_net),
}
"""By class name: how the regression is folded."""
