"""scikit-learn's least-squares regressions, and the facts about their penalty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from coordpath_governance.models.fitted import Fitted, as_float, version_of
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.maps import Scaled
from coordpath_governance.models.sklearn_penalties import Facts, sgd_penalty
from coordpath_governance.models.sklearn_scores import hyperparameter, is_cross_validated, one_score

__all__ = ["REGRESSIONS"]

_PLS_UNSCALED = (1, 5)


def _no_penalty(_: Fitted) -> Facts:
    return {"kind": "none"}


def _ridge(fitted: Fitted) -> Facts:
    return {"kind": "ridge", "alpha": hyperparameter(fitted, "alpha")}


def _lasso(fitted: Fitted) -> Facts:
    return {"kind": "lasso", "alpha": hyperparameter(fitted, "alpha")}


def _elastic_net(fitted: Fitted) -> Facts:
    alpha, l1_ratio = hyperparameter(fitted, "alpha"), hyperparameter(fitted, "l1_ratio")
    return {"kind": "elastic net", "alpha": alpha, "l1_ratio": l1_ratio}


def _bayesian(_: Fitted) -> Facts:
    return {"kind": "ridge", "chosen_by": "the evidence"}


def _criterion(fitted: Fitted) -> Facts:
    return {"kind": "lasso", "alpha": hyperparameter(fitted, "alpha_"), "chosen_by": fitted.text("criterion", "aic").upper()}


def _steps(_: Fitted) -> Facts:
    return {"kind": "least angle"}


def _pursuit(_: Fitted) -> Facts:
    return {"kind": "matching pursuit"}


def _other_loss(loss: str, penalty: Callable[[Fitted], Facts], fitted: Fitted) -> Facts:
    """The penalty of a regression that was fitted by another loss than the squared error it is judged by here."""
    return {**penalty(fitted), "loss": loss}


def _quantile(fitted: Fitted) -> Facts:
    level = as_float(fitted.get("quantile", 0.5))
    return {"kind": "lasso", "alpha": hyperparameter(fitted, "alpha"), "loss": f"pinball loss of the quantile {level}"}


def _stochastic(fitted: Fitted) -> Facts:
    facts = sgd_penalty(fitted)
    loss = fitted.text("loss", "squared_error")
    return facts if loss in ("squared_error", "squared_loss") else {**facts, "loss": loss.replace("_", " ")}


def _vectors(fitted: Fitted) -> Facts:
    loss = fitted.text("loss", "epsilon_insensitive")
    return {"kind": "ridge", "C": hyperparameter(fitted, "C"), "loss": loss.replace("_", " ")}


def _fold_regression(penalty: Callable[[Fitted], Facts], fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    score = one_score(fitted, frame, inputs)
    facts = penalty(fitted)
    if is_cross_validated(fitted):
        facts["chosen_by"] = "cross-validation"
    if fitted.flag("positive", False):
        facts["positive"] = True
    return replace(score, estimator=fitted.archived.class_name, regularisation=MappingProxyType(facts))


def _fold_pls(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """(x − _x_mean)·coef_ + intercept_; up to 1.3 the coefficients were those of scaled columns."""
    if version_of(fitted) < _PLS_UNSCALED:
        raise fitted.refusal(
            "is a PLSRegression of a scikit-learn before 1.5, whose coefficients later versions read in another way; fit it "
            "again with scikit-learn 1.5 or newer."
        )
    if frame.sparse:
        raise fitted.error("it receives a sparse matrix, which it cannot centre")
    centred = frame.scaled([Scaled(mean, 1.0) for mean in fitted.vector("_x_mean", len(frame))], fitted.where)
    components = fitted.count("n_components")
    facts: Facts = {"kind": "partial least squares", "components": components}
    score = one_score(fitted, centred, inputs)
    return replace(score, estimator=fitted.archived.class_name, regularisation=MappingProxyType(facts))


REGRESSIONS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = {
    "LinearRegression": partial(_fold_regression, _no_penalty),
    "Ridge": partial(_fold_regression, _ridge),
    "RidgeCV": partial(_fold_regression, _ridge),
    "Lasso": partial(_fold_regression, _lasso),
    "LassoCV": partial(_fold_regression, _lasso),
    "ElasticNet": partial(_fold_regression, _elastic_net),
    "ElasticNetCV": partial(_fold_regression, _elastic_net),
    "Lars": partial(_fold_regression, _steps),
    "LarsCV": partial(_fold_regression, _steps),
    "LassoLars": partial(_fold_regression, _lasso),
    "LassoLarsCV": partial(_fold_regression, _lasso),
    "LassoLarsIC": partial(_fold_regression, _criterion),
    "BayesianRidge": partial(_fold_regression, _bayesian),
    "ARDRegression": partial(_fold_regression, _bayesian),
    "OrthogonalMatchingPursuit": partial(_fold_regression, _pursuit),
    "OrthogonalMatchingPursuitCV": partial(_fold_regression, _pursuit),
    "HuberRegressor": partial(_fold_regression, partial(_other_loss, "huber", _ridge)),
    "TheilSenRegressor": partial(_fold_regression, partial(_other_loss, "spatial median", _no_penalty)),
    "QuantileRegressor": partial(_fold_regression, _quantile),
    "SGDRegressor": partial(_fold_regression, _stochastic),
    "LinearSVR": partial(_fold_regression, _vectors),
    "PassiveAggressiveRegressor": partial(_fold_regression, partial(_other_loss, "epsilon insensitive", _no_penalty)),
    "PLSRegression": _fold_pls,
}
"""By class name: how the regression is folded."""
