"""The parts of a stored statsmodels result (result, model, data), each checked against what its class may hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.fitted import plain, stored_name
from coordpath_governance.models.statsmodels_names import (
    DATA_ATTRIBUTES,
    DATA_CLASSES,
    FAMILY_ATTRIBUTES,
    LINK_ATTRIBUTES,
    MODEL_ATTRIBUTES,
    PANDAS,
    RESULT_ATTRIBUTES,
    VARIANCE_ATTRIBUTES,
    WRAPPERS,
)
from coordpath_governance.models.stored_frames import series_values
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, StoredTree, brief

__all__ = ["REMEDY", "Part", "StoredResult", "open_result"]

REMEDY = (
    "declare its coefficients (cg.to_coefficients writes a LinearModel as coefficients.json), or log a model that is read"
)

_RESULTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "regression.linear_model": {
        "OLS": ("OLSResults", "RegularizedResults"),
        "WLS": ("RegressionResults", "RegularizedResults"),
        "GLS": ("RegressionResults", "RegularizedResults"),
    },
    "genmod.generalized_linear_model": {"GLM": ("GLMResults", "RegularizedResults")},
    "discrete.discrete_model": {
        "Logit": ("LogitResults", "BinaryResults", "L1BinaryResults"),
        "Poisson": ("PoissonResults", "CountResults", "L1CountResults", "L1PoissonResults"),
        "NegativeBinomial": (*("NegativeBinomialResults", "CountResults", "L1CountResults", "L1NegativeBinomialResults"),),
    },
}
_MODELS: Mapping[str, tuple[str, ...]] = {
    f"statsmodels.{home}.{model}": results for home, models in _RESULTS.items() for model, results in models.items()
}
"""The models we read, each with the classes of its results."""

_EVALUATED = frozenset(("formula", "frame", "restore_model_spec", "restore_design_info"))
"""Attributes that make statsmodels evaluate a formula when it loads a result."""

_READ = "OLS, WLS, GLS, GLM, Logit, Poisson and NegativeBinomial"
_RESULT_OBJECTS = ("model", "family", "constraints", "results_constrained", "results_wls")
_MODEL_OBJECTS = ("data", "family")
_FAMILY_OBJECTS = ("_link", "link", "variance")


@dataclass(frozen=True)
class Part:
    """One object of a result; ``where`` names it in errors."""

    archived: ArchivedObject
    where: str

    def error(self, reason: str) -> ModelReadError:
        """The error for an object that statsmodels does not write in this form."""
        return ModelReadError(
            f"the statsmodels {self.where}: {reason}. The model is damaged or forged; fit and log it again."
        )

    def refusal(self, reason: str) -> UnsupportedModelError:
        """The error for an object that is sound, but cannot be written as a linear model."""
        return UnsupportedModelError(f"the statsmodels {self.where} {reason}; {REMEDY}.")

    def get(self, name: str) -> object:
        """An attribute as it is stored; None if it is not there."""
        return self.archived.attributes.get(name)

    def text(self, name: str) -> str | None:
        """An attribute that is text; None if it is anything else."""
        value = self.get(name)
        return value if isinstance(value, str) else None

    def count(self, name: str) -> int | None:
        """An attribute that is a whole number; None if it is None or not there."""
        value = plain(self.get(name))
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(f"'{name}' is {brief(value)}, not a count")
        return value

    def has_values(self, name: str) -> bool:
        """Whether the attribute holds data: an array that is not all zero, a number that is not zero, or an object."""
        value = plain(self.get(name))
        if isinstance(value, np.ndarray):
            return value.dtype.kind not in "biuf" or bool(np.any(value))
        return isinstance(value, ArchivedObject) or (isinstance(value, (int, float)) and value != 0)


@dataclass(frozen=True)
class StoredResult:
    """The parts of a result, each as statsmodels stores it; ``params`` are all of its parameters."""

    result: Part
    model: Part
    data: Part
    params: tuple[float, ...]

    @property
    def kind(self) -> str:
        """The name of the model's class."""
        return self.model.archived.class_name


def open_result(tree: StoredTree) -> StoredResult:
    """The parts of the result that a file holds. Raises if the file holds an object that no such result has."""
    root = tree.root
    if isinstance(root, ArchivedObject) and root.class_path in WRAPPERS and root.is_plain:
        _check(Part(root, "wrapper"), ("_results", "__doc__", "iter", "converged"), ("_results",))
        root = root.attributes.get("_results")
    else:
        root = _unwrapped(root)
    model = root.attributes.get("model") if isinstance(root, ArchivedObject) else None
    if not isinstance(root, ArchivedObject) or not root.class_path.startswith("statsmodels."):
        raise UnsupportedModelError(f"the file holds {stored_name(root)} and not a fitted statsmodels result; {REMEDY}.")
    if not isinstance(model, ArchivedObject):
        raise UnsupportedModelError(
            f"the file holds a {root.class_path}, which is not a result of a model that is read ({_READ}); {REMEDY}."
        )
    name = model.class_name
    if model.class_path not in _MODELS:
        raise UnsupportedModelError(
            f"the model is a {model.class_path}, whose prediction is not read as a linear score with a cost of ours; read "
            f"are {_READ}. Otherwise {REMEDY}."
        )
    result_home = root.class_path.rpartition(".")[0]
    known_home = result_home in (model.class_path.rpartition(".")[0], "statsmodels.base.elastic_net")
    if root.class_name not in _MODELS[model.class_path] or not known_home:
        raise UnsupportedModelError(f"the file holds a {root.class_path} of a {name}, which is not read; {REMEDY}.")
    result, of_model = Part(root, f"{name} result"), Part(model, f"{name} model")
    _check(result, RESULT_ATTRIBUTES, _RESULT_OBJECTS)
    _check(of_model, MODEL_ATTRIBUTES, _MODEL_OBJECTS)
    data = model.attributes.get("data")
    if not isinstance(data, ArchivedObject) or data.class_path not in DATA_CLASSES:
        raise of_model.error("it has no data object")
    of_data = Part(data, f"{name} data")
    _check(of_data, DATA_ATTRIBUTES, ())
    _check_others(tree.stated, root, model, data)
    return StoredResult(result, of_model, of_data, _params(result))


def _unwrapped(root: object) -> object:
    """The object within an unknown wrapper, so that the error can name the model."""
    within = root.attributes.get("_results") if isinstance(root, ArchivedObject) else None
    return within if isinstance(within, ArchivedObject) else root


def _check(part: Part, attributes: Iterable[str], objects: Iterable[str]) -> None:
    """Refuse an attribute that is not in ``attributes``, and anything but data in one that is not in ``objects``."""
    if not part.archived.is_plain:
        raise part.error("it is made by a call")
    for name, value in part.archived.attributes.items():
        if name != "__doc__" and name not in attributes:
            raise UnsupportedModelError(
                f"the statsmodels {part.where} has the attribute '{name[:80]}', which we do not know and which could change "
                "what it predicts; fit and log the model again without it."
            )
        is_data = isinstance(value, ArchivedObject) and value.class_path in PANDAS and value.is_plain
        if isinstance(value, (Named, Opaque, ArchivedObject)) and name not in objects and not is_data:
            raise part.error(f"it stores {stored_name(value)} as its attribute '{name[:80]}', where data belong")


def _check_others(stated: Iterable[ArchivedObject], *read: ArchivedObject) -> None:
    """Check every other object of the file, even if nothing refers to it: statsmodels evaluates formulas as it loads."""
    for archived in stated:
        path = archived.class_path
        if any(archived is checked for checked in read) or not path.startswith("statsmodels."):
            continue
        home, _, name = path.rpartition(".")
        part = Part(archived, name)
        if path in DATA_CLASSES:
            _check(part, DATA_ATTRIBUTES, ())
            if not _EVALUATED.isdisjoint(archived.attributes):
                raise part.error("it is a second data object with a formula, which statsmodels evaluates as it loads")
        elif path in WRAPPERS:
            _check(part, ("_results", "__doc__", "iter", "converged"), ("_results",))
        elif home.endswith(".family"):
            _check(part, FAMILY_ATTRIBUTES, _FAMILY_OBJECTS)
        elif home.endswith(".links"):
            _check(part, (*LINK_ATTRIBUTES, "dbn"), ("dbn",))
        elif home.endswith(".varfuncs"):
            _check(part, VARIANCE_ATTRIBUTES, ())
        elif home.endswith("._constraints"):
            _check(part, ("constraint_matrix", "constraint_values", "variable_names", "coefs", "constants", "tuple"), ())
        else:
            _check(part, RESULT_ATTRIBUTES | MODEL_ATTRIBUTES, (*_RESULT_OBJECTS, *_MODEL_OBJECTS))


def _params(result: Part) -> tuple[float, ...]:
    value = result.get("params")
    value = series_values(value) if isinstance(value, ArchivedObject) else value
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "iuf" or not value.size:
        raise result.error("'params' is not a list of numbers")
    numbers = tuple(float(number) for number in value.tolist())
    if not all(math.isfinite(number) for number in numbers):
        raise result.error("'params' has entries that are not finite")
    return numbers
