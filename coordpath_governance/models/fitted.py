"""Typed access to the attributes of a stored scikit-learn object; everything in it may be damaged or forged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.archive import ArchivedObject, Opaque

__all__ = ["Fitted", "as_float", "plain", "sklearn_class"]

_SUBPACKAGES: Mapping[str, tuple[str, ...]] = {
    "sklearn.pipeline": ("Pipeline", "FeatureUnion"),
    "sklearn.compose": ("ColumnTransformer", "_RemainderColsList"),
    "sklearn.impute": ("SimpleImputer", "MissingIndicator"),
    "sklearn.preprocessing": (
        *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "OneHotEncoder", "FunctionTransformer"),
    ),
    "sklearn.linear_model": (
        *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
        *("PoissonRegressor", "GammaRegressor", "TweedieRegressor"),
        *("LogisticRegression", "LogisticRegressionCV", "SGDClassifier"),
    ),
    "sklearn.model_selection": ("FixedThresholdClassifier", "TunedThresholdClassifierCV", "_CurveScorer"),
    "sklearn.metrics": ("_CurveScorer",),
    "sklearn.frozen": ("FrozenEstimator",),
    "sklearn._loss": (
        *("HalfPoissonLoss", "HalfGammaLoss", "HalfTweedieLoss", "HalfTweedieLossIdentity", "LogLink", "IdentityLink"),
    ),
}
_MAY_HOLD_OBJECTS = frozenset(
    (
        *("_base_loss", "_curve_scorer", "_fill_dtype", "_fit_dtype", "_loss_function_", "_metadata_request"),
        *("_score_func", "class_weight", "coefs_paths_", "cv", "dtype", "estimator", "estimator_"),
        *("feature_name_combiner", "feature_names_out", "func", "indicator_", "inverse_func", "loss_function_", "memory"),
        *("missing_values", "random_state", "remainder", "scores_", "scoring", "strategy", "verbose_feature_names_out"),
    )
)


def sklearn_class(value: object) -> str | None:
    """Return the name of a scikit-learn class we know, None for anything else.

    Private modules (``sklearn.linear_model._ridge``) move between versions, so the sub-package and the name decide.
    """
    if not isinstance(value, ArchivedObject):
        return None
    module, _, name = value.class_path.rpartition(".")
    for package, names in _SUBPACKAGES.items():
        if name in names and (module == package or module.startswith(f"{package}.")) and ".tests" not in module:
            return name
    return None


@dataclass(frozen=True)
class Fitted:
    """One fitted object of a model; ``where`` names it in errors."""

    archived: ArchivedObject
    where: str

    def __post_init__(self) -> None:
        """Refuse an attribute that would shadow a method: skops' loader would call it instead of scikit-learn's own."""
        for name, value in self.archived.attributes.items():
            if isinstance(value, (Opaque, ArchivedObject)) and name not in _MAY_HOLD_OBJECTS:
                what = value.what if isinstance(value, Opaque) else value.class_path
                raise ModelReadError(
                    f"{self.where} stores {what} as its attribute '{name}', which no {self.archived.class_name} has; "
                    "this may hide other code behind known coefficients. Fit and log the model again."
                )

    def error(self, reason: str) -> ModelReadError:
        """Return the error for an object that scikit-learn has not written like this."""
        return ModelReadError(f"{self.where}: {reason}. The model is damaged or forged; fit and log it again.")

    def refusal(self, reason: str) -> UnsupportedModelError:
        """Return the error for an object that is sound but cannot be written as a linear model."""
        return UnsupportedModelError(f"{self.where} {reason}")

    def has(self, name: str) -> bool:
        """Tell whether there is such an attribute."""
        return name in self.archived.attributes

    def get(self, name: str, default: object = None) -> object:
        """Return an attribute as it is."""
        return self.archived.attributes.get(name, default)

    def required(self, name: str) -> object:
        """Return an attribute that only fitting sets."""
        if name not in self.archived.attributes:
            raise UnsupportedModelError(
                f"{self.where} is a {self.archived.class_name} that was not fitted (it has no '{name}'); "
                "fit the whole model before logging it."
            )
        return self.archived.attributes[name]

    def flag(self, name: str, default: bool) -> bool:
        """Return an attribute that is true or false."""
        value = plain(self.archived.attributes.get(name, default))
        if not isinstance(value, bool):
            raise self.error(f"'{name}' is {value!r}, not true or false")
        return value

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is a word; "" if it is something else, such as a function."""
        value = plain(self.archived.attributes.get(name, default))
        return value if isinstance(value, str) else ""

    def count(self, name: str) -> int | None:
        """Return a count, None if the object has no such attribute."""
        value = plain(self.archived.attributes.get(name))
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.error(f"'{name}' is {value!r}, not a count")
        return value

    def vector(self, name: str, length: int, *, nonzero: bool = False) -> list[float]:
        """Return one finite number per column."""
        value = self.required(name)
        if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "biuf":
            raise self.error(f"'{name}' is not a list of numbers")
        if value.size != length:
            raise self.error(f"'{name}' has {value.size} entries for {length} columns")
        numbers = [float(number) for number in value.tolist()]
        if not all(math.isfinite(number) for number in numbers):
            raise self.error(f"'{name}' has entries that are not finite")
        if nonzero and 0.0 in numbers:
            raise self.error(f"'{name}' has a zero, by which it would divide")
        return numbers

    def positions(self, name: str, below: int) -> list[int]:
        """Return positions of columns or levels."""
        return self.checked_positions(self.required(name), name, below)

    def checked_positions(self, value: object, name: str, below: int) -> list[int]:
        """Return a list of whole numbers in [0, ``below``)."""
        items = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
        if not isinstance(items, (list, tuple)):
            raise self.error(f"'{name}' is not a list of positions")
        numbers = [plain(item) for item in items]
        found = [number for number in numbers if type(number) is int and 0 <= number < below]
        if len(found) != len(numbers):
            raise self.error(f"'{name}' has entries that are not positions below {below}")
        return found

    def feature_names(self) -> tuple[str, ...] | None:
        """Return the names the object was fitted with, None if it was fitted on a bare array."""
        value = self.archived.attributes.get("feature_names_in_")
        if value is None:
            return None
        items = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else None
        if items is None or not all(isinstance(item, str) for item in items):
            raise self.error("'feature_names_in_' is not a list of names")
        if len(set(items)) != len(items):
            raise self.error("'feature_names_in_' has the same name twice")
        return tuple(str(item) for item in items)

    def check_width(self, width: int) -> None:
        """Compare the number of columns that arrive with the number the object was fitted on."""
        expected = self.count("n_features_in_")
        if expected is not None and expected != width:
            raise self.error(f"it was fitted on {expected} columns and receives {width}")


def plain(value: object) -> object:
    """Return a numpy scalar (or array of one without dimensions) as the Python value it is."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.shape == ()):
        item: object = value.item()
        return item
    return value


def as_float(value: object) -> float | None:
    """Return a finite number, also from an array of one; None if it is not one."""
    item = plain(value)
    if isinstance(item, np.ndarray) and item.size == 1:
        array: NDArray[Any] = item
        item = array.reshape(-1)[0]
        item = plain(item)
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        return None
    try:
        number = float(item)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
