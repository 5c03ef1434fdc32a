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

__all__ = ["Fitted", "as_float", "plain", "sklearn_class", "stored_name", "version_of"]

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
"""Attributes that may hold a function (`_FUNCTIONS`), a type (`_TYPES`) or an object (`_OBJECTS`).

In any other attribute such a value could replace a method.
"""


def sklearn_class(value: object) -> str | None:
    """The name of a scikit-learn or glum class that we read, found by its exact path; None for anything else.

    An object that a call returned counts as something else: the call may have set more than the attributes show.
    """
    return class_of(value.class_path) if isinstance(value, ArchivedObject) and value.is_plain else None


def _may_hold(name: str, value: object) -> bool:
    """Whether an attribute of this name may hold this value; any attribute may hold a plain value."""
    if not isinstance(value, (Named, Opaque, ArchivedObject)) or name in _FUNCTIONS or name in _OBJECTS:
        return True
    return name in _TYPES and (not isinstance(value, Named) or value.path in TYPES)


@dataclass(frozen=True)
class Fitted:
    """One fitted object of a model; ``where`` names it in errors."""

    archived: ArchivedObject
    where: str

    def __post_init__(self) -> None:
        """Refuse an attribute that would shadow a method: the loaded object would call it instead of scikit-learn's own."""
        for name, value in self.archived.attributes.items():
            if not _may_hold(name, value):
                raise ModelReadError(
                    f"{self.where} stores {stored_name(value)} as its attribute '{name}', which no "
                    f"{self.archived.class_name} has; this may hide other code behind known coefficients. "
                    "Fit and log the model again."
                )

    def error(self, reason: str) -> ModelReadError:
        """The error for an object that scikit-learn does not write in this form."""
        return ModelReadError(f"{self.where}: {reason}. The model is damaged or forged; fit and log it again.")

    def refusal(self, reason: str) -> UnsupportedModelError:
        """The error for an object that is sound, but cannot be written as a linear model."""
        return UnsupportedModelError(f"{self.where} {reason}")

    def has(self, name: str) -> bool:
        """Whether there is an attribute of this name."""
        return name in self.archived.attributes

    def get(self, name: str, default: object = None) -> object:
        """An attribute as it is stored; ``default`` if it is not there."""
        return self.archived.attributes.get(name, default)

    def required(self, name: str) -> object:
        """An attribute that fitting sets. Raises `UnsupportedModelError` if it is not there."""
        if name not in self.archived.attributes:
            raise UnsupportedModelError(
                f"{self.where} is a {self.archived.class_name} that was not fitted (it has no '{name}'); "
                "fit the whole model before logging it."
            )
        return self.archived.attributes[name]

    def flag(self, name: str, default: bool) -> bool:
        """An attribute that is true or false. Raises `ModelReadError` for anything else."""
        value = plain(self.archived.attributes.get(name, default))
        if not isinstance(value, bool):
            raise self.error(f"'{name}' is {brief(value)}, not true or false")
        return value

    def text(self, name: str, default: str) -> str:
        """An attribute that is text; "" if it holds something else, such as a function."""
        value = plain(self.archived.attributes.get(name, default))
        return value if isinstance(value, str) else ""

    def count(self, name: str) -> int | None:
        """An attribute that is a whole number; None if the object has no such attribute."""
        value = plain(self.archived.attributes.get(name))
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.error(f"'{name}' is {brief(value)}, not a count")
        return value

    def vector(self, name: str, length: int, *, nonzero: bool = False) -> list[float]:
        """An attribute with ``length`` finite numbers; none of them may be zero if ``nonzero``."""
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
        """An attribute that lists positions in [0, ``below``)."""
        return self.checked_positions(self.required(name), name, below)

    def checked_positions(self, value: object, name: str, below: int) -> list[int]:
        """``value`` as a list of whole numbers in [0, ``below``); ``name`` names it in errors."""
        items = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
        if not isinstance(items, (list, tuple)):
            raise self.error(f"'{name}' is not a list of positions")
        numbers = [plain(item) for item in items]
        positions = [number for number in numbers if type(number) is int and 0 <= number < below]
        if len(positions) != len(numbers):
            raise self.error(f"'{name}' has entries that are not positions below {below}")
        return positions

    def feature_names(self) -> tuple[str, ...] | None:
        """The column names that the object was fitted with; None if it was fitted on an array without names."""
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
        """Raise unless ``width``, the number of columns that arrive, is the number that the object was fitted on."""
        expected = self.count("n_features_in_")
        if expected is not None and expected != width:
            raise self.error(f"it was fitted on {expected} columns and receives {width}")


def version_of(fitted: Fitted) -> tuple[int, ...]:
    """The version of scikit-learn that stored the object; () if it does not say."""
    parts = fitted.text("_sklearn_version", "").split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else ()


def stored_name(value: object) -> str:
    """The name of a class, function or object of the file; a plain value is quoted."""
    if isinstance(value, ArchivedObject):
        return value.class_path
    return value.path if isinstance(value, Named) else value.what if isinstance(value, Opaque) else brief(value)


def plain(value: object) -> object:
    """The Python value of a numpy scalar or of an array without dimensions; anything else as it is."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.shape == ()):
        item: object = value.item()
        return item
    return value


def as_float(value: object) -> float | None:
    """The finite number that ``value`` is, or that an array of one element holds; None for anything else."""
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
