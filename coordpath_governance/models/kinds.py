"""The kinds of models: what each family needs besides coefficients.

With score η, a model predicts η itself (gaussian), 1/(1 + e^−η), the probability of the second of two classes (binomial),
softmax(η) over one score per class (multinomial), or e^η (poisson, gamma, tweedie). Each family has one link: with it, and
for Tweedie with a power between 1 and 2, its deviance is convex in the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from coordpath_governance.models.linear_model import MISSING_LEVEL, LinearModel
from coordpath_governance.models.target_maps import fault_of_target

__all__ = ["LINKS", "fault_of_kind"]

LINKS: Mapping[str, str] = MappingProxyType(
    {
        "gaussian": "identity",
        "binomial": "logit",
        "multinomial": "softmax",
        "poisson": "log",
        "gamma": "log",
        "tweedie": "log",
    }
)
"""The families, each with its link."""


def fault_of_kind(model: LinearModel) -> str | None:
    """What does not fit together in a model (family, link, power, classes, scores, threshold, target); None if all fits."""
    family = model.family
    if LINKS.get(family) != model.link:
        supported = ", ".join(f"{name} with {link}" for name, link in LINKS.items())
        return f"family '{family}' with link '{model.link}' is not supported; known are {supported}"
    if (model.power is not None) != (family == "tweedie"):
        return f"a {family} model {'needs a power' if family == 'tweedie' else 'has no power'}"
    if model.power is not None and not 1.0 < model.power < 2.0:
        return f"the power is {model.power:g}; a tweedie model needs one between 1 and 2"
    return _fault_of_classes(model) or _fault_of_threshold(model) or _fault_of_target(model)


def _fault_of_classes(model: LinearModel) -> str | None:
    family, count = model.family, len(model.classes)
    right = {"binomial": count == 2, "multinomial": count >= 3}
    if not right.get(family, count == 0):
        needs = {"binomial": "exactly two", "multinomial": "three or more"}
        return f"a {family} model has {needs.get(family, 'no')} classes, and here are {count}"
    if len(set(model.classes)) != count:
        return "the classes have one label twice"
    if MISSING_LEVEL in model.classes:
        return f"a class is called '{MISSING_LEVEL}', the name of a missing label; rename it in the target and fit again"
    if len(model.class_scores) != (count if family == "multinomial" else 0):
        return f"a {family} model of {count} classes has {len(model.class_scores)} class scores"
    if model.class_scores and (model.numeric or model.categorical or model.intercept != 0.0):
        return "a multinomial model has an intercept or terms of its own, which belong into its class scores"
    plain = (score.family == "gaussian" and score.threshold is None and not score.target_map for score in model.class_scores)
    if not all(plain) or any(fault_of_kind(score) for score in model.class_scores):
        return "a class score is a plain linear score: gaussian, identity, without classes, power, threshold or target map"
    return None


def _fault_of_threshold(model: LinearModel) -> str | None:
    if model.threshold is None:
        return None
    if model.family == "multinomial":
        return "a multinomial model decides for the likeliest class and has no threshold"
    return None if math.isfinite(model.threshold) else "the threshold is not a finite number"


def _fault_of_target(model: LinearModel) -> str | None:
    if model.target_map and model.family != "gaussian":
        return f"the target of a {model.family} model is not transformed"
    return fault_of_target(model.target_map)
