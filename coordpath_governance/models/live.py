"""Fitted models in memory: as a `LinearModel` (`from_fitted`), or written down as ``coefficients.json`` (`to_coefficients`).

The library of an object's class decides which module reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coordpath_governance.files import write_file
from coordpath_governance.models.coefficients_json import to_document
from coordpath_governance.models.linear_model import LinearModel

__all__ = ["from_fitted", "to_coefficients"]

_SKLEARN = "sklearn_reader.from_estimator"
_LIBRARIES: Mapping[str, str] = MappingProxyType({"sklearn": _SKLEARN, "statsmodels": "statsmodels_reader.from_result"})
"""By the top-level package of an object's class; an object of another package may still be a scikit-learn estimator."""


def from_fitted(model: object, feature_names: Sequence[str] | None = None) -> LinearModel:
    """A fitted scikit-learn or glum estimator or pipeline, or a fitted statsmodels result, as a `LinearModel`.

    ``feature_names`` names the input columns of a model that was fitted on an array without names. Raises
    `UnsupportedModelError` with the reason if the model cannot be written as a linear model.
    """
    library = type(model).__module__.partition(".")[0]
    module, _, name = _LIBRARIES.get(library, _SKLEARN).rpartition(".")
    read = getattr(import_module(f"coordpath_governance.models.{module}"), name)
    linear: LinearModel = read(model, feature_names)
    return linear


def to_coefficients(
    model: Any,  # noqa: ANN401 - a fitted estimator or result, or a LinearModel
    path: str | Path | None = None,
    feature_names: Sequence[str] | None = None,
) -> dict[str, object]:
    """The ``coefficients.json`` of a fitted scikit-learn estimator, a fitted statsmodels result or a `LinearModel`.

    With ``path`` the document is also written to that file. ``feature_names`` names the input columns of a model that was
    fitted on an array without names. Raises `UnsupportedModelError` with the reason if the model cannot be written as a
    linear model, and `UsageError` if the file cannot be written.
    """
    document = to_document(model if isinstance(model, LinearModel) else from_fitted(model, feature_names))
    if path is not None:
        write_file(Path(path), (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
    return document
