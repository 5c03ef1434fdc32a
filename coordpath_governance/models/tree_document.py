"""A decision tree as plain JSON values, as a report keeps it, and back; whatever comes back is a tree, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models.decision_tree import DecisionTree

__all__ = ["TREE_SCHEMA", "is_tree_document", "tree_from_document", "tree_to_document"]

TREE_SCHEMA = "coordpath.tree/1"
_ARRAYS = ("feature", "threshold", "left", "right", "missing_left", "value")
_TEXTS = ("target", "estimator", "source", "library")
_KEYS = {"schema", "names", "classes", "takes_missing", "settings", "remarks", "nodes", *_TEXTS}


def tree_to_document(tree: DecisionTree) -> dict[str, Any]:
    """All of a tree but where it came from."""
    return {
        "schema": TREE_SCHEMA,
        "names": list(tree.names),
        "classes": list(tree.classes),
        "takes_missing": tree.takes_missing,
        "settings": dict(tree.settings or {}),
        "remarks": list(tree.remarks),
        **{name: getattr(tree, name) for name in _TEXTS},
        "nodes": {name: getattr(tree, name).tolist() for name in _ARRAYS},
    }


def is_tree_document(document: object) -> bool:
    """Whether a model's document is that of a tree."""
    return isinstance(document, Mapping) and document.get("schema") == TREE_SCHEMA


def tree_from_document(document: Mapping[str, Any]) -> DecisionTree:
    """The tree that a document describes. Raises `ModelReadError` if it describes none."""
    if set(document) != _KEYS or document["schema"] != TREE_SCHEMA:
        raise ModelReadError("the document of the tree does not have the keys of one")
    try:
        nodes = dict(document["nodes"])
        feature, left, right = (np.array(nodes.pop(name), dtype=np.int64) for name in ("feature", "left", "right"))
        threshold, value = (np.array(nodes.pop(name), dtype=np.float64) for name in ("threshold", "value"))
        missing_left = np.array(nodes.pop("missing_left"), dtype=np.bool_)
        names, classes, remarks = (tuple(str(name) for name in document[key]) for key in ("names", "classes", "remarks"))
        settings = MappingProxyType(dict(document["settings"]))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelReadError(f"the document of the tree does not hold what a tree does ({error})") from error
    if any(not isinstance(document[name], str) for name in _TEXTS if document[name] is not None):
        raise ModelReadError("the document of the tree holds something else where a text should be")
    count, inner = len(feature), left >= 0
    children = np.concatenate([left[inner], right[inner]]) if left.shape == right.shape == (count,) else None
    if (
        children is None
        or not count
        or nodes
        or len(set(names)) != len(names)
        or any(array.shape != (count,) for array in (feature, threshold, missing_left))
        or value.shape != (count, len(classes) or 1)
        or not (np.isfinite(threshold).all() and np.isfinite(value).all())
        or not np.array_equal(np.sort(children), np.arange(1, count))
        or (children <= np.concatenate([np.flatnonzero(inner)] * 2)).any()
        or (feature[inner] < 0).any()
        or (feature >= len(names)).any()
        or (right[~inner] >= 0).any()
        or (classes and ((value < 0).any() or (np.abs(value.sum(axis=1) - 1) > 1e-9).any()))
    ):
        raise ModelReadError("the document of the tree describes nodes that are no tree")
    return DecisionTree(
        names=names,
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        value=value,
        classes=classes,
        takes_missing=bool(document["takes_missing"]),
        settings=settings,
        remarks=remarks,
        **{name: document[name] for name in _TEXTS},
    )
