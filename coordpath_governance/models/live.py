"""Fitted models in memory as `LinearModel`s: which library an object is of decides who looks at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from coordpath_governance.models.linear_model import LinearModel

__all__ = ["from_fitted"]

_SKLEARN = "sklearn_live.from_estimator"
_LIBRARIES: Mapping[str, str] = MappingProxyType({"sklearn": _SKLEARN, "statsmodels": "statsmodels_live.from_result"})
"""By the first part of the module of an object's class; anything else may still be a scikit-learn estimator."""


def from_fitted(model: object, feature_names: Sequence[str] | None = None) -> LinearModel:
    """Return a fitted scikit-learn estimator or pipeline, or a fitted statsmodels result, as a `LinearModel`.

    ``feature_names`` names the input columns if it was fitted on a bare array. Raises `UnsupportedModelError` with the
    reason if it cannot be written as a linear model.
    """
    library = type(model).__module__.partition(".")[0]
    module, _, name = _LIBRARIES.get(library, _SKLEARN).rpartition(".")
    read = getattr(import_module(f"coordpath_governance.models.{module}"), name)
    linear: LinearModel = read(model, feature_names)
    return linear
