"""A live, fitted estimator of scikit-learn or glum seen as the tree that an archive gives; neither is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.names import TREE, class_of
from coordpath_governance.models.sklearn_folding import fold_model
from coordpath_governance.models.sklearn_trees import is_tree, read_tree
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque, StoredTree

__all__ = ["from_estimator", "tree_from_estimator"]

_IN_MEMORY = "a fitted estimator in memory"
_MAX_DEPTH = 100
_BSPLINE = "scipy.interpolate._bsplines.BSpline"


def from_estimator(estimator: object, feature_names: Sequence[str] | None = None) -> LinearModel:
    """Return a fitted estimator of scikit-learn or glum, or a pipeline, as a `LinearModel`.

    ``feature_names`` names the input columns if it was fitted on a bare array. What cannot be folded is an
    `UnsupportedModelError` that names it.
    """
    model = fold_model(_View().of(estimator, 0), feature_names)
    is_glum = model.library == "glum"
    version = getattr(sys.modules.get("glum" if is_glum else "sklearn"), "__version__", None)
    library = f"{'glum' if is_glum else 'scikit-learn'} {version}" if version else model.library
    return replace(model, source=_IN_MEMORY, library=library)


def tree_from_estimator(estimator: object, feature_names: Sequence[str] | None = None) -> DecisionTree | None:
    """Return a fitted decision tree of scikit-learn, alone or at the end of a pipeline; None if the estimator is none."""
    root = _View().of(estimator, 0)
    if not is_tree(root):
        return None
    return replace(read_tree(StoredTree(root, frozenset(), "memory"), feature_names), source=_IN_MEMORY)


def _stored_version() -> dict[str, object]:
    """What scikit-learn adds to an object's state when it is stored."""
    version = getattr(sys.modules.get("sklearn"), "__version__", None)
    return {"_sklearn_version": version} if version else {}


class _View:
    """Every object is seen once, so that shared parts stay shared and a cycle ends."""

    def __init__(self) -> None:
        self._seen: dict[int, object] = {}

    def of(self, value: object, depth: int) -> object:
        """Return ``value`` as an archive would hold it."""
        if value is None or isinstance(value, (bool, int, float, str, slice, np.generic, np.dtype)):
            return value
        if isinstance(value, np.ndarray):
            return Opaque("a masked array") if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
        if depth > _MAX_DEPTH:
            return Opaque("an object nested too deeply")
        if id(value) not in self._seen:
            self._seen[id(value)] = Opaque("a reference of an object back to itself")
            self._seen[id(value)] = self._open(value, depth)
        return self._seen[id(value)]

    def _open(self, value: object, depth: int) -> object:
        if type(value) is list:
            return [self.of(item, depth + 1) for item in value]
        if type(value) is tuple:
            return tuple(self.of(item, depth + 1) for item in value)
        if type(value) is dict:
            return {key: self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, FunctionType):
            return Named(f"{value.__module__}.{value.__qualname__}")
        if isinstance(value, np.ufunc):
            return Named(f"numpy.{value.__name__}")
        if isinstance(value, type):
            return Named(f"{value.__module__}.{value.__qualname__}")
        kind = type(value)
        path = f"{kind.__module__}.{kind.__qualname__}"
        if path.startswith("scipy.sparse.") and hasattr(value, "toarray"):
            return np.asarray(value.toarray())
        if path == _BSPLINE or (path.startswith("glum.") and class_of(path) is not None):
            return ArchivedObject(path, {str(name): self.of(item, depth + 1) for name, item in vars(value).items()})
        if path == TREE:
            reduced: Any = value.__reduce__()
            return ArchivedObject(path, reduced[2], reduced[1], called=True)
        if path.startswith("sklearn.") and hasattr(value, "__dict__"):
            attributes = {str(name): self.of(item, depth + 1) for name, item in vars(value).items()}
            return ArchivedObject(path, {**_stored_version(), **attributes} if attributes else {})
        return Opaque(f"an object of the type {path}")
