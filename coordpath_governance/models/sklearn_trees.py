"""scikit-learn's decision trees, from what an archive or a pickle holds: every node checked, nothing taken on trust.

What decides a prediction are the arrays in the state of ``sklearn.tree._tree.Tree``; scikit-learn copies them into memory
and follows the children without looking, so that a forged child could lead anywhere. Here a parent comes before its
children, as scikit-learn writes them, and every node but the root is the child of one node: so it is a tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.decision_tree import DecisionTree
from coordpath_governance.models.fitted import Fitted, plain
from coordpath_governance.models.names import KNOWN, TREE, TREES, unknown_names
from coordpath_governance.models.sklearn_classifiers import class_labels
from coordpath_governance.models.tree import ArchivedObject, StoredTree, brief, describe
from coordpath_governance.models.tree_nodes import NODE_TYPE

__all__ = ["is_tree", "read_tree"]

_REGRESSOR, _CLASSIFIER = "DecisionTreeRegressor", "DecisionTreeClassifier"
_PIPELINE = "sklearn.pipeline.Pipeline"
_HOME = "sklearn.tree._classes."
_MOST_STEPS = 100
_MOST_COLUMNS = 1_000_000

_CRITERIA: Mapping[str, tuple[str, ...]] = {
    _REGRESSOR: ("squared_error", "friedman_mse", "absolute_error", "poisson"),
    _CLASSIFIER: ("gini", "entropy", "log_loss"),
}
_NO_MISSING = ("absolute_error",)
"""Criteria with which some versions of scikit-learn refuse missing values, and others do not."""

_SETTINGS = (
    *("criterion", "splitter", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf"),
    *("max_features", "max_leaf_nodes", "random_state", "min_impurity_decrease", "class_weight", "ccp_alpha"),
    "monotonic_cst",
)
_FITTED = (
    *("feature_names_in_", "n_features_in_", "n_outputs_", "classes_", "n_classes_", "max_features_", "tree_"),
    *("_sklearn_version", "_metadata_request", "_sklearn_output_config"),
)
_TOLD = ("criterion", "max_depth", "min_samples_leaf", "max_leaf_nodes", "ccp_alpha", "class_weight")
"""Settings of the trainer that a report tells beside the tree."""

_STATE = frozenset(("max_depth", "node_count", "nodes", "values"))
_LEAF, _UNDEFINED = -1, -2
_SUM_TOLERANCE = 1e-9


def is_tree(root: object) -> bool:
    """Whether the model, or the last step of the pipeline that it is, is a decision tree."""
    for _ in range(_MOST_STEPS):
        if not isinstance(root, ArchivedObject):
            return False
        if root.class_path != _PIPELINE:
            return root.class_path in TREES and root.class_path != TREE
        steps = root.attributes.get("steps")
        last = steps[-1] if isinstance(steps, list) and steps else None
        root = last[1] if isinstance(last, tuple | list) and len(last) == 2 else None
    return False


def read_tree(stored: StoredTree, column_names: Sequence[str] | None = None) -> DecisionTree:
    """The decision tree that a file holds, if every name in the file is known.

    The columns are called as the tree itself says, else by ``column_names`` if there is one for each, else x0, x1, … .
    Raises `UnsupportedModelError` for what is sound and not read, `ModelReadError` for what scikit-learn does not write.
    """
    archived = _last_step(stored.root)
    if not archived.is_plain:
        raise UnsupportedModelError(f"the model is {describe(archived)}, which may predict something else than its tree.")
    tree = _tree(archived, column_names)
    foreign = unknown_names(stored.names, KNOWN | TREES)
    if foreign:
        raise UnsupportedModelError(
            f"the file names {', '.join(foreign[:5])}, which we do not know, so that it may predict something else than its "
            "tree says; log a tree that is made of scikit-learn's own parts."
        )
    return tree


def _last_step(value: object) -> ArchivedObject:
    """The tree itself; a pipeline around it may have no other step that does anything."""
    while isinstance(value, ArchivedObject) and value.class_path == _PIPELINE:
        fitted = Fitted(value, "the Pipeline")
        steps = fitted.required("steps")
        pairs = [step for step in steps if isinstance(step, tuple | list) and len(step) == 2] if type(steps) is list else []
        if not value.is_plain or type(steps) is not list or len(pairs) != len(steps):
            raise fitted.error("'steps' is not a list of named parts")
        for name, step in pairs[:-1]:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                raise UnsupportedModelError(
                    f"step {brief(name)} is {describe(step)} in front of a decision tree, so that the tree compares what no "
                    "column holds; fit the tree on the columns themselves (scaling changes no split of a tree)."
                )
        value = pairs[-1][1]
    if not isinstance(value, ArchivedObject):
        raise ModelReadError("the model is damaged or forged: there is no tree in it.")
    return value


def _tree(archived: ArchivedObject, column_names: Sequence[str] | None) -> DecisionTree:
    name = archived.class_name
    fitted = Fitted(
        replace(archived, attributes={key: value for key, value in archived.attributes.items() if key != "tree_"}),
        f"the {name}",
    )
    for key in archived.attributes:
        if key not in _SETTINGS and key not in _FITTED:
            raise fitted.error(f"it has an attribute {brief(key)}, which no {name} of scikit-learn 1.3 to 1.9 has")
    if "tree_" not in archived.attributes:
        raise fitted.refusal("was not fitted; fit it before logging it.")
    criterion, splitter = fitted.text("criterion", ""), fitted.text("splitter", "")
    if criterion not in _CRITERIA[name] or splitter not in ("best", "random"):
        raise fitted.error(f"'criterion' is {brief(fitted.get('criterion'))}, 'splitter' {brief(fitted.get('splitter'))}")
    if fitted.count("n_outputs_") != 1:
        raise fitted.refusal("predicts several targets at once; log one tree per target.")
    classes = class_labels(fitted) if name == _CLASSIFIER else ()
    if classes and fitted.count("n_classes_") != len(classes):
        raise fitted.error(f"'n_classes_' is not the number of its {len(classes)} classes")
    names = _column_names(fitted, column_names)
    nodes, values = _state(fitted, archived.attributes["tree_"], len(names), len(classes) or 1)
    _check_shape(fitted, nodes, len(names))
    version = fitted.get("_sklearn_version")
    return DecisionTree(
        names=names,
        feature=np.where(nodes["left_child"] == _LEAF, -1, nodes["feature"]).astype(np.int64),
        threshold=np.where(nodes["left_child"] == _LEAF, 0.0, nodes["threshold"]).astype(np.float64),
        left=nodes["left_child"].astype(np.int64),
        right=nodes["right_child"].astype(np.int64),
        missing_left=(nodes["missing_go_to_left"] != 0) & (nodes["left_child"] != _LEAF),
        value=_values(fitted, values, is_classifier=bool(classes)),
        classes=classes,
        takes_missing=splitter == "best" and criterion not in _NO_MISSING,
        estimator=name,
        settings=MappingProxyType({key: _told(fitted.get(key)) for key in _TOLD if fitted.has(key)}),
        library=f"scikit-learn {version}" if isinstance(version, str) else "scikit-learn",
    )


def _told(value: object) -> float | str | bool | None:
    value = plain(value)
    return value if value is None or isinstance(value, float | str | bool | int) else "set"


def _column_names(fitted: Fitted, column_names: Sequence[str] | None) -> tuple[str, ...]:
    own, count = fitted.feature_names(), fitted.count("n_features_in_")
    if count is None or not 0 < count <= _MOST_COLUMNS or (own is not None and len(own) != count):
        raise fitted.error("'n_features_in_' is not the number of its columns")
    if own is not None:
        return own
    if column_names is not None and len(set(column_names)) == len(column_names) == count:
        return tuple(column_names)
    return tuple(f"x{position}" for position in range(count))


def _state(fitted: Fitted, tree: object, columns: int, outputs: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The arrays of nodes and values, of one length; what the tree was made from must agree with the estimator."""
    if not isinstance(tree, ArchivedObject) or tree.class_path != TREE or not tree.called:
        raise fitted.error(f"'tree_' is {describe(tree)} and no tree")
    made = tree.arguments
    classes = made[1] if len(made) == 3 else None
    if (
        not isinstance(classes, np.ndarray)
        or classes.dtype != np.dtype("<i8")
        or [plain(made[0]), classes.tolist(), plain(made[2])] != [columns, [outputs], 1]
    ):
        raise fitted.error("the tree was made for other columns or classes than the estimator has")
    if set(tree.attributes) != _STATE:
        raise fitted.error(f"the tree's state is not made of {', '.join(sorted(_STATE))}")
    nodes, values, count = tree.attributes["nodes"], tree.attributes["values"], plain(tree.attributes["node_count"])
    if not isinstance(nodes, np.ndarray) or nodes.dtype != NODE_TYPE or nodes.ndim != 1:
        raise fitted.refusal(
            "has nodes of another kind than scikit-learn 1.3 and later write on machines of 64 bits; fit it again there."
        )
    if type(count) is not int or count != len(nodes) or not count:
        raise fitted.error(f"'node_count' is {brief(count)}, and there are {len(nodes)} nodes")
    shape = (count, 1, outputs)
    if not isinstance(values, np.ndarray) or values.dtype != np.dtype("<f8") or values.shape != shape:
        raise fitted.error(f"the tree's values do not have the shape {shape}")
    return nodes, values.reshape(count, outputs)


def _check_shape(fitted: Fitted, nodes: NDArray[Any], columns: int) -> None:
    """Refuse nodes that are no tree: each is a leaf or has two children behind it, and all but the root have one parent."""
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    leaf, places = left == _LEAF, np.arange(len(nodes))
    if not (leaf == (right == _LEAF)).all():
        raise fitted.error("a node of the tree has one child")
    if not (nodes["threshold"][leaf] == _UNDEFINED).all() or not (feature[leaf] == _UNDEFINED).all():
        raise fitted.error("a leaf of the tree compares a column")
    inner = ~leaf
    children = np.concatenate([left[inner], right[inner]])
    parents = np.concatenate([places[inner], places[inner]])
    if (children <= parents).any() or (children >= len(nodes)).any():
        raise fitted.error("a child of the tree lies in front of its parent, or is no node")
    if not np.array_equal(np.sort(children), places[1:]):
        raise fitted.error("a node of the tree has two parents, or none")
    if ((feature[inner] < 0) | (feature[inner] >= columns)).any():
        raise fitted.error(f"a node of the tree compares a column that is none of its {columns}")
    if (nodes["threshold"][inner] == np.inf).any():
        raise fitted.refusal(
            "has a split that only asks whether a value is missing (an infinite threshold), which is not read; give the "
            "tree a column that says so, and fill the gaps in the other."
        )
    if not np.isfinite(nodes["threshold"][inner]).all():
        raise fitted.error("a threshold of the tree is not finite")
    if (nodes["missing_go_to_left"][inner] > 1).any():
        raise fitted.error("a node of the tree sends missing values neither left nor right")


def _values(fitted: Fitted, values: NDArray[Any], *, is_classifier: bool) -> NDArray[np.float64]:
    """The stored values; those of a classifier are probabilities, as scikit-learn writes them since 1.4."""
    found = values.astype(np.float64)
    if not np.isfinite(found).all():
        raise fitted.error("a value of the tree is not finite")
    if is_classifier and ((found < 0).any() or (np.abs(found.sum(axis=1) - 1) > _SUM_TOLERANCE).any()):
        raise fitted.refusal(
            "stores counts and no probabilities, as scikit-learn did before 1.4: what it predicts depends on the version "
            "that serves it; fit it with scikit-learn 1.4 or later."
        )
    return found
