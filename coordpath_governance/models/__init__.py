"""Models as linear functions of raw columns, read from untrusted files without running anything in them.

Names are loaded when they are first used, so that the mathematics can import `LinearModel` without the readers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coordpath_governance.models.linear_model import (
    MISSING_LEVEL,
    CategoricalTerm,
    LinearModel,
    NumericTerm,
    Provenance,
    RawCoefficient,
    level_label,
)

if TYPE_CHECKING:
    from coordpath_governance.models.archive import read_archive
    from coordpath_governance.models.archive_members import Limits
    from coordpath_governance.models.coefficients_json import from_document, read_coefficients, to_document
    from coordpath_governance.models.live import from_fitted
    from coordpath_governance.models.manifest import manifest_lines, model_digest
    from coordpath_governance.models.model_files import ModelFiles
    from coordpath_governance.models.pickle_objects import read_pickle
    from coordpath_governance.models.readers import ModelReader, read_model, register_reader
    from coordpath_governance.models.sklearn_folding import fold_model, fold_stored
    from coordpath_governance.models.sklearn_reader import from_estimator
    from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, StoredTree

__all__ = [
    "MISSING_LEVEL",
    "ArchivedObject",
    "CategoricalTerm",
    "Limits",
    "LinearModel",
    "ModelFiles",
    "ModelReader",
    "Named",
    "NumericTerm",
    "Opaque",
    "Provenance",
    "RawCoefficient",
    "StoredTree",
    "fold_model",
    "fold_stored",
    "from_document",
    "from_estimator",
    "from_fitted",
    "level_label",
    "manifest_lines",
    "model_digest",
    "read_archive",
    "read_coefficients",
    "read_model",
    "read_pickle",
    "register_reader",
    "to_document",
]

_HOME = {
    "ArchivedObject": "tree",
    "Limits": "archive_members",
    "ModelFiles": "model_files",
    "ModelReader": "readers",
    "Named": "tree",
    "Opaque": "tree",
    "StoredTree": "tree",
    "fold_model": "sklearn_folding",
    "fold_stored": "sklearn_folding",
    "from_document": "coefficients_json",
    "from_estimator": "sklearn_reader",
    "from_fitted": "live",
    "manifest_lines": "manifest",
    "model_digest": "manifest",
    "read_archive": "archive",
    "read_pickle": "pickle_objects",
    "read_coefficients": "coefficients_json",
    "read_model": "readers",
    "register_reader": "readers",
    "to_document": "coefficients_json",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is exported
    if name not in _HOME:
        raise AttributeError(f"module 'coordpath_governance.models' has no attribute '{name}'")
    return getattr(import_module(f"coordpath_governance.models.{_HOME[name]}"), name)
