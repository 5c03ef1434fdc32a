"""scikit-learn's FrozenEstimator: the fitted estimator within answers whatever it is asked; only ``fit`` does nothing."""

from __future__ import annotations

from coordpath_governance.models.fitted import Fitted

__all__ = ["FROZEN", "estimator_within"]

FROZEN = "FrozenEstimator"

_OWN = frozenset(("estimator", "_sklearn_version"))


def estimator_within(fitted: Fitted) -> object:
    """The estimator that was frozen.

    It has no other attribute: scikit-learn would take one, such as ``classes_``, in place of that of the estimator within.
    """
    for name in fitted.archived.attributes:
        if name not in _OWN:
            raise fitted.error(f"a FrozenEstimator has an attribute '{name}' of its own, which hides the one within")
    if not fitted.has("estimator"):
        raise fitted.error("a FrozenEstimator has no estimator within")
    return fitted.get("estimator")
