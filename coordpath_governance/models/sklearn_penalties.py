"""The penalty a classifier was fitted with: a fact that a report tells, and nothing that is applied.

LogisticRegression said ``penalty`` until scikit-learn 1.7. From 1.8 on that is "deprecated", an infinite ``C`` means none,
and ``l1_ratio`` 0, 1 and in between mean ridge, lasso and elastic net.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from coordpath_governance.models.fitted import Fitted, as_float, plain
from coordpath_governance.models.sklearn_scores import hyperparameter, is_cross_validated
from coordpath_governance.models.tree import brief

__all__ = ["Facts", "logistic_penalty", "sgd_penalty"]

Facts: TypeAlias = dict[str, float | str | bool | None]

_NAMES = {"l1": "lasso", "l2": "ridge", "elasticnet": "elastic net"}


def logistic_penalty(fitted: Fitted) -> Facts:
    """Kind, C and, of an elastic net, the share of the lasso."""
    chosen = is_cross_validated(fitted)
    strength = _common(fitted, "C_" if chosen else "C")
    share = _common(fitted, "l1_ratio_" if chosen else "l1_ratio")
    penalty = _named(fitted, "deprecated")
    if penalty == "deprecated":
        penalty = {None: "l2", 0.0: "l2", 1.0: "l1"}.get(share, "elasticnet")
    if penalty == "none" or strength == math.inf:
        return {"kind": "none"}
    facts = _facts(fitted, penalty, "C", strength, share)
    return {**facts, "chosen_by": "cross-validation"} if chosen else facts


def sgd_penalty(fitted: Fitted, default: str | None = "l2") -> Facts:
    """Kind, alpha and, of an elastic net, the share of the lasso; ``default`` is the class's own."""
    penalty = _named(fitted, default)
    if penalty == "none":
        return {"kind": "none"}
    return _facts(fitted, penalty, "alpha", hyperparameter(fitted, "alpha"), as_float(fitted.get("l1_ratio")))


def _named(fitted: Fitted, default: str | None) -> str:
    return "none" if fitted.get("penalty", default) is None else fitted.text("penalty", default or "")


def _facts(fitted: Fitted, penalty: str, name: str, strength: float | None, share: float | None) -> Facts:
    if penalty not in _NAMES:
        raise fitted.error(f"'penalty' is {brief(fitted.get('penalty'))}")
    if strength is None:
        raise fitted.error(f"'{name}' is not one number")
    facts: Facts = {"kind": _NAMES[penalty], name: strength}
    return {**facts, "l1_ratio": share} if penalty == "elasticnet" else facts


def _common(fitted: Fitted, name: str) -> float | None:
    """The one number that an attribute is, or repeats for each class; None if it holds none."""
    value = plain(fitted.get(name))
    items = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else [value]
    found = {None if item is None else _number(fitted, name, item) for item in items}
    if len(found) > 1:
        raise fitted.error(f"'{name}' has different numbers for the classes")
    return found.pop() if found else None


def _number(fitted: Fitted, name: str, item: object) -> float:
    number = math.inf if isinstance(item, float) and item == math.inf else as_float(item)
    if number is None:
        raise fitted.error(f"'{name}' is {brief(item)}, not one number")
    return number
