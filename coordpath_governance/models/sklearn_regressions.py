"""scikit-learn's regressions: least squares, and the generalised linear ones (Poisson, gamma and Tweedie, rates e^score).

The link of a generalised regression is not what its parameters say but what its loss object holds, because the loss object
predicts. Both are read and must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from coordpath_governance.models.fitted import Fitted, as_float, sklearn_class, version_of
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel, TrainingFacts
from coordpath_governance.models.maps import Scaled
from coordpath_governance.models.sklearn_scores import hyperparameter, is_cross_validated, one_score, sgd_penalty
from coordpath_governance.models.tree import ArchivedObject, brief

__all__ = ["REGRESSIONS"]

_PLS_UNSCALED = (1, 5)


def _no_penalty(_: Fitted) -> TrainingFacts:
    return {"kind": "none"}


def _ridge(fitted: Fitted) -> TrainingFacts:
    return {"kind": "ridge", "alpha": hyperparameter(fitted, "alpha")}


def _lasso(fitted: Fitted) -> TrainingFacts:
    return {"kind": "lasso", "alpha": hyperparameter(fitted, "alpha")}


def _elastic_net(fitted: Fitted) -> TrainingFacts:
    alpha, l1_ratio = hyperparameter(fitted, "alpha"), hyperparameter(fitted, "l1_ratio")
    return {"kind": "elastic net", "alpha": alpha, "l1_ratio": l1_ratio}


def _bayesian(_: Fitted) -> TrainingFacts:
    return {"kind": "ridge", "chosen_by": "the evidence"}


def _criterion(fitted: Fitted) -> TrainingFacts:
    return {"kind": "lasso", "alpha": hyperparameter(fitted, "alpha_"), "chosen_by": fitted.text("criterion", "aic").upper()}


def _steps(_: Fitted) -> TrainingFacts:
    return {"kind": "least angle"}


def _pursuit(_: Fitted) -> TrainingFacts:
    return {"kind": "matching pursuit"}


def _other_loss(loss: str, penalty: Callable[[Fitted], TrainingFacts], fitted: Fitted) -> TrainingFacts:
    """The penalty of a regression whose training loss is not the squared error, by which we judge it."""
    return {**penalty(fitted), "loss": loss}


def _quantile(fitted: Fitted) -> TrainingFacts:
    level = as_float(fitted.get("quantile", 0.5))
    return {"kind": "lasso", "alpha": hyperparameter(fitted, "alpha"), "loss": f"pinball loss of the quantile {level}"}


def _stochastic(fitted: Fitted) -> TrainingFacts:
    facts = sgd_penalty(fitted)
    loss = fitted.text("loss", "squared_error")
    return facts if loss in ("squared_error", "squared_loss") else {**facts, "loss": loss.replace("_", " ")}


def _vectors(fitted: Fitted) -> TrainingFacts:
    loss = fitted.text("loss", "epsilon_insensitive")
    return {"kind": "ridge", "C": hyperparameter(fitted, "C"), "loss": loss.replace("_", " ")}


def _fold_regression(
    penalty: Callable[[Fitted], TrainingFacts], fitted: Fitted, frame: Frame, inputs: Sequence[str]
) -> LinearModel:
    score = one_score(fitted, frame, inputs)
    facts = penalty(fitted)
    if is_cross_validated(fitted):
        facts["chosen_by"] = "cross-validation"
    if fitted.flag("positive", False):
        facts["positive"] = True
    return replace(score, estimator=fitted.archived.class_name, regularisation=MappingProxyType(facts))


def _fold_pls(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """(x − _x_mean)·coef_ + intercept_; up to version 1.3 the coefficients were those of scaled columns."""
    if version_of(fitted) < _PLS_UNSCALED:
        raise fitted.refusal(
            "is a PLSRegression of a scikit-learn before 1.5, whose coefficients later versions read in another way; fit it "
            "again with scikit-learn 1.5 or newer."
        )
    if frame.sparse:
        raise fitted.error("it receives a sparse matrix, which it cannot centre")
    centred = frame.scaled([Scaled(mean, 1.0) for mean in fitted.vector("_x_mean", len(frame))], fitted.where)
    components = fitted.count("n_components")
    facts: TrainingFacts = {"kind": "partial least squares", "components": components}
    score = one_score(fitted, centred, inputs)
    return replace(score, estimator=fitted.archived.class_name, regularisation=MappingProxyType(facts))


_LINKS = {"log": "LogLink", "identity": "IdentityLink"}


def _fold_poisson(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    return _fold_glm(fitted, frame, inputs, family="poisson", link="log", loss_class="HalfPoissonLoss")


def _fold_gamma(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    return _fold_glm(fitted, frame, inputs, family="gamma", link="log", loss_class="HalfGammaLoss")


def _fold_tweedie(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """The family by power and link: 0 with the identity link is least squares; with the log link 1 is Poisson, 2 gamma.

    Powers between 1 and 2 with the log link are Tweedie. No other combination has a deviance that is defined and convex for
    every score.
    """
    power, link = as_float(fitted.get("power", 0.0)), fitted.text("link", "auto")
    if power is None or link not in ("auto", *_LINKS):
        raise fitted.error(f"its power is {brief(fitted.get('power'))} and its link {brief(fitted.get('link'))}")
    if link == "auto":
        link = "identity" if power <= 0 else "log"
    if link == "identity":
        if power != 0.0:
            raise _no_such_deviance(fitted, power, link)
        return _fold_glm(fitted, frame, inputs, family="gaussian", link=link, loss_class="HalfTweedieLossIdentity")
    if not 1.0 <= power <= 2.0:
        raise _no_such_deviance(fitted, power, link)
    family = {1.0: "poisson", 2.0: "gamma"}.get(power, "tweedie")
    model = _fold_glm(fitted, frame, inputs, family=family, link=link, loss_class="HalfTweedieLoss")
    return replace(model, power=power if family == "tweedie" else None)


def _no_such_deviance(fitted: Fitted, power: float, link: str) -> Exception:
    return fitted.refusal(
        f"is a TweedieRegressor with power {power:g} and the {link} link, whose deviance is not a convex function "
        "of every score; supported are power 0 with the identity link and powers from 1 to 2 with the log link."
    )


def _fold_glm(
    fitted: Fitted, frame: Frame, inputs: Sequence[str], *, family: str, link: str, loss_class: str
) -> LinearModel:
    _check_link(fitted, loss_class, _LINKS[link])
    alpha = hyperparameter(fitted, "alpha")
    return replace(
        one_score(fitted, frame, inputs),
        family=family,
        link=link,
        estimator=fitted.archived.class_name,
        regularisation=MappingProxyType({"kind": "ridge", "alpha": alpha} if alpha else {"kind": "none"}),
    )


def _check_link(fitted: Fitted, loss_class: str, link_class: str) -> None:
    """Refuse a loss object of another class, or with a link that is not scikit-learn's own: the loss object predicts."""
    loss = fitted.required("_base_loss")
    link = loss.attributes.get("link") if isinstance(loss, ArchivedObject) else None
    genuine = isinstance(link, ArchivedObject) and sklearn_class(link) == link_class and not link.attributes
    if sklearn_class(loss) != loss_class or not genuine:
        raise fitted.error(f"'_base_loss', by which it predicts, is not a {loss_class} with a {link_class}")


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
    "PoissonRegressor": _fold_poisson,
    "GammaRegressor": _fold_gamma,
    "TweedieRegressor": _fold_tweedie,
}
"""By class name: what folds a regression."""
