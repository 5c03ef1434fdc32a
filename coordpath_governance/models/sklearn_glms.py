"""scikit-learn's generalised linear regressions: Poisson, gamma and Tweedie rates, e^score.

Which link a stored model predicts with is not what its parameters say but what its loss object holds, so both are read
and must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from coordpath_governance.models.fitted import Fitted, as_float, sklearn_class
from coordpath_governance.models.flows import Frame
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.sklearn_scores import hyperparameter, one_score
from coordpath_governance.models.tree import ArchivedObject, brief

__all__ = ["GLMS"]

_LINKS = {"log": "LogLink", "identity": "IdentityLink"}


def _fold_poisson(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    return _fold_glm(fitted, frame, inputs, "poisson", "log", "HalfPoissonLoss")


def _fold_gamma(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    return _fold_glm(fitted, frame, inputs, "gamma", "log", "HalfGammaLoss")


def _fold_tweedie(fitted: Fitted, frame: Frame, inputs: Sequence[str]) -> LinearModel:
    """Power 0 with the identity is least squares; with the log link, 1 is Poisson, 2 gamma, and Tweedie in between.

    No other has a deviance that is there, and convex, for every score.
    """
    power, link = as_float(fitted.get("power", 0.0)), fitted.text("link", "auto")
    if power is None or link not in ("auto", *_LINKS):
        raise fitted.error(f"its power is {brief(fitted.get('power'))} and its link {brief(fitted.get('link'))}")
    if link == "auto":
        link = "identity" if power <= 0 else "log"
    if link == "identity":
        if power != 0.0:
            raise _no_such_deviance(fitted, power, link)
        return _fold_glm(fitted, frame, inputs, "gaussian", link, "HalfTweedieLossIdentity")
    if not 1.0 <= power <= 2.0:
        raise _no_such_deviance(fitted, power, link)
    family = {1.0: "poisson", 2.0: "gamma"}.get(power, "tweedie")
    model = _fold_glm(fitted, frame, inputs, family, link, "HalfTweedieLoss")
    return replace(model, power=power if family == "tweedie" else None)


def _no_such_deviance(fitted: Fitted, power: float, link: str) -> Exception:
    return fitted.refusal(
        f"is a TweedieRegressor with power {power:g} and the {link} link, whose deviance is not a convex function "
        "of every score; supported are power 0 with the identity link and powers from 1 to 2 with the log link."
    )


def _fold_glm(fitted: Fitted, frame: Frame, inputs: Sequence[str], family: str, link: str, loss_class: str) -> LinearModel:
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
    """Refuse a loss object of another class, or a link that is not scikit-learn's own: predictions come from it."""
    loss = fitted.required("_base_loss")
    link = loss.attributes.get("link") if isinstance(loss, ArchivedObject) else None
    genuine = isinstance(link, ArchivedObject) and sklearn_class(link) == link_class and not link.attributes
    if sklearn_class(loss) != loss_class or not genuine:
        raise fitted.error(f"'_base_loss', by which it predicts, is not a {loss_class} with a {link_class}")


GLMS: Mapping[str, Callable[[Fitted, Frame, Sequence[str]], LinearModel]] = {
    "PoissonRegressor": _fold_poisson,
    "GammaRegressor": _fold_gamma,
    "TweedieRegressor": _fold_tweedie,
}
"""By class name: how the regression is folded."""
