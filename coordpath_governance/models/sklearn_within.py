"""scikit-learn's estimators that let a fitted one within answer for them: frozen ones, searches, random sample consensus."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from coordpath_governance.models.fitted import Fitted

__all__ = ["FROZEN", "SEES_COLUMNS", "WITHIN", "estimator_within"]

FROZEN = "FrozenEstimator"

WITHIN: Mapping[str, str] = MappingProxyType(
    {
        FROZEN: "estimator",
        "GridSearchCV": "best_estimator_",
        "RandomizedSearchCV": "best_estimator_",
        "HalvingGridSearchCV": "best_estimator_",
        "HalvingRandomSearchCV": "best_estimator_",
        "RANSACRegressor": "estimator_",
    }
)
"""By class name: the attribute that holds the estimator that predicts."""

SEES_COLUMNS = ("RANSACRegressor",)
"""Those that look at the columns themselves and hand on bare numbers."""

_OWN = frozenset(("estimator", "_sklearn_version"))


def estimator_within(fitted: Fitted) -> object:
    """The estimator that answers.

    A frozen one has no other attribute: scikit-learn would take one, such as ``classes_``, in place of that of the estimator
    within.
    """
    name = WITHIN[fitted.archived.class_name]
    if fitted.archived.class_name == FROZEN:
        for own in fitted.archived.attributes:
            if own not in _OWN:
                raise fitted.error(f"a FrozenEstimator has an attribute '{own}' of its own, which hides the one within")
        if not fitted.has(name):
            raise fitted.error("a FrozenEstimator has no estimator within")
    elif not fitted.has(name) and fitted.has("cv_results_"):
        raise fitted.refusal("is a search with refit=False, which cannot predict; log the estimator it has found.")
    return fitted.required(name)
