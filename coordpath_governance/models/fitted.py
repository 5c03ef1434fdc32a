"""Typed access to the attributes of a stored scikit-learn object; everything in it may be damaged or forged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.names import TYPES, class_of
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, brief

__all__ = ["Fitted", "as_float", "named", "plain", "sklearn_class", "version_of"]

_FUNCTIONS = frozenset(
    (
        *("func", "inverse_func", "feature_names_out", "feature_name_combiner", "verbose_feature_names_out"),
        *("_score_func", "score_func", "scoring", "scorer_", "strategy", "refit", "callback", "is_data_valid"),
    )
)
_TYPES = frozenset(("dtype", "_fit_dtype", "_fill_dtype", "_dtype"))
_OBJECTS = frozenset(
    (
        *("_base_loss", "_checked_cv_orig", "_curve_scorer", "_loss_function_", "_metadata_request", "class_weight"),
        *("coefs_paths_", "cv", "regressor", "regressor_", "transformer", "transformer_", "_label_binarizer"),
        *("family", "link", "_family_instance", "_link_instance", "_align_info_logs_emitted"),
        *("X_model_spec_", "y_model_spec_"),
        *("estimator", "estimator_", "base_estimator", "base_estimator_", "best_estimator_", "indicator_", "loss_function_"),
        *(
            "_encoder",
            "_scaler",
            "memory",
            "missing_values",
            "random_state",
            "random_state_",
            "remainder",
            "scores_",
            "scoring",
            "scorer_",
        ),
    )
)
"""Attributes that may hold a function, a type, or an object; any other that does could stand in place of a method."""


def sklearn_class(value: object) -> str | None:
    """Return the name of a scikit-learn class that we understand, by its exact path; None for anything else.

    What a call has made is none: its constructor may have set what its attributes do not say.
    """
    return class_of(value.class_path) if isinstance(value, ArchivedObject) and value.is_plain else None


def _may_hold(name: str, value: object) -> bool:
    """Whether an attribute of this name may hold this value; plain values may stand anywhere."""
    if not isinstance(value, (Named, Opaque, ArchivedObject)) or name in _FUNCTIONS or name in _OBJECTS:
        return True
    return name in _TYPES and (not isinstance(value, Named) or value.path in TYPES)


@dataclass(frozen=True)
class Fitted:
    """One fitted object of a model; ``where`` names it in errors."""

    archived: ArchivedObject
    where: str

    def __post_init__(self) -> None:
        """Refuse an attribute that would shadow a method: skops' loader would call it instead of scikit-learn's own."""
        for name, value in self.archived.attributes.items():
            if not _may_hold(name, value):
                raise ModelReadError(
                    f"{self.where} stores {named(value)} as its attribute '{name}', which no {self.archived.class_name} "
                    "has; this may hide other code behind known coefficients. Fit and log the model again."
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
            raise self.error(f"'{name}' is {brief(value)}, not true or false")
        return value

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is a word; "" if it is something else, such as a function."""
        value = plain(self.archived.attributes.get(name, default))
        return value if isinstance(value, str) else ""

    def count(self, name: str) -> int | None:
        """Return a count, None if the object has no such attribute."""
        value = plain(self.archived.attributes.get(name))
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.error(f"'{name}' is {brief(value)}, not a count")
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


def version_of(fitted: Fitted) -> tuple[int, ...]:
    """The version of scikit-learn that stored the object; () if it does not say."""
    parts = fitted.text("_sklearn_version", "").split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else ()


def named(value: object) -> str:
    """What something that is no plain value is called."""
    if isinstance(value, ArchivedObject):
        return value.class_path
    return value.path if isinstance(value, Named) else value.what if isinstance(value, Opaque) else brief(value)


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
