"""Parts of scikit-learn in common use that are not linear models of single columns: why not, and what to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from coordpath_governance.models.sklearn_classifiers import CALIBRATE_INSTEAD
from coordpath_governance.models.tree import ArchivedObject

__all__ = ["reason_against"]

_MARGIN = (
    "whose score is a margin fitted by {loss} and not a log-odds, so that it has neither probabilities nor a log loss; fit "
    f"it as {CALIBRATE_INSTEAD}, which is read"
)
_SEVERAL_MODELS = "which holds one model for each {what}, and no single one of them predicts; {remedy}"
_OF_CLASSES = _SEVERAL_MODELS.format(
    what="class or pair of classes", remedy="fit a LogisticRegression with the solver 'lbfgs', which is one model"
)
_OF_TARGETS = _SEVERAL_MODELS.format(what="target", remedy="log one model per target")
_MANY_TARGETS = "which predicts several targets at once; log one model per target"
_NEIGHBOURS = "which fills a gap in one column from the other columns; use a SimpleImputer"

_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "LinearSVC": _MARGIN.format(loss="the hinge loss"),
        "Perceptron": _MARGIN.format(loss="the perceptron's loss"),
        "PassiveAggressiveClassifier": _MARGIN.format(loss="the hinge loss"),
        "RidgeClassifier": _MARGIN.format(loss="the squared error against −1 and +1"),
        "RidgeClassifierCV": _MARGIN.format(loss="the squared error against −1 and +1"),
        "OneVsRestClassifier": _OF_CLASSES,
        "OneVsOneClassifier": _OF_CLASSES,
        "OutputCodeClassifier": _OF_CLASSES,
        "MultiOutputRegressor": _OF_TARGETS,
        "MultiOutputClassifier": _OF_TARGETS,
        "RegressorChain": _OF_TARGETS,
        "ClassifierChain": _OF_TARGETS,
        **dict.fromkeys(
            ("MultiTaskLasso", "MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV"), _MANY_TARGETS
        ),
        "KNNImputer": _NEIGHBOURS,
        "IterativeImputer": _NEIGHBOURS,
    }
)
"""By class name: the words that follow "is a NAME, "."""


def reason_against(value: object) -> str | None:
    """Why a part of scikit-learn is not read, and what to do; None if we know no reason for this class."""
    if not isinstance(value, ArchivedObject) or not value.class_path.startswith("sklearn."):
        return None
    reason = _REASONS.get(value.class_name)
    return None if reason is None else f"is a {value.class_name}, {reason}."
