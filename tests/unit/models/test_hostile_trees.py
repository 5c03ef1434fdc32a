"""Forged decision trees: nodes that are no tree, shapes that lie, code beside the tree; each is a typed error."""

from __future__ import annotations

import copy
import io
import json
import pickle
import re

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.archive import read_archive_bytes
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.sklearn_trees import read_tree

RNG = np.random.default_rng(5)
ROWS, TARGET = RNG.normal(size=(60, 3)), RNG.normal(size=60)


class _Made:
    """Pickled as a call of ``Tree`` with these arguments, and this state."""

    def __init__(self, arguments, state, made=Tree):
        self.parts = made, arguments, state

    def __reduce__(self):
        return self.parts


def forged(change, model=None):
    """The pickle of a model whose tree's state, and what it is made from, somebody has changed."""
    model = copy.deepcopy(model or DecisionTreeRegressor(max_depth=3, random_state=0).fit(ROWS, TARGET))
    _, arguments, state = model.tree_.__reduce__()
    state = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in state.items()}
    arguments = list(arguments)
    change(state, arguments)
    model.__dict__["tree_"] = _Made(tuple(arguments), state)
    return pickle.dumps(model)


def in_nodes(field, node, value):
    def change(state, _):
        state["nodes"][field][node] = value

    return change


def in_state(key, value):
    return lambda state, _: state.update({key: value(state) if callable(value) else value})


def argument(place, value):
    return lambda _, arguments: arguments.__setitem__(place, value)


def two_parents(state, _):
    state["nodes"]["left_child"][1] = state["nodes"]["right_child"][1]


def without(key):
    return lambda state, _: state.pop(key)


def as_old_nodes(state, _):
    """The nodes of scikit-learn 1.2, which did not know where missing values go."""
    kept = [name for name in state["nodes"].dtype.names if name != "missing_go_to_left"]
    state["nodes"] = np.ascontiguousarray(
        np.array(state["nodes"][kept].tolist(), dtype=[(n, state["nodes"].dtype[n]) for n in kept])
    )


def as_narrow_nodes(state, _):
    nodes = state["nodes"]
    narrow = [(name, nodes.dtype[name] if nodes.dtype[name].kind != "i" else np.int32) for name in nodes.dtype.names]
    state["nodes"] = np.array(nodes.tolist(), dtype=narrow)


def leaf(nodes):
    return int(np.flatnonzero(nodes["left_child"] < 0)[0])


def leaf_with(field, value):
    def change(state, _):
        state["nodes"][field][leaf(state["nodes"])] = value

    return change


FORGED = {
    "a child that is its own parent": (in_nodes("left_child", 1, 1), "in front of its parent"),
    "a cycle": (in_nodes("left_child", 2, 1), "in front of its parent"),
    "a child far away": (in_nodes("right_child", 0, 1 << 40), "is no node"),
    "a child one too far": (in_nodes("right_child", 0, 15), "is no node"),
    "a negative child": (in_nodes("right_child", 0, -7), "in front of its parent"),
    "one child": (in_nodes("right_child", 0, -1), "one child"),
    "one child on the right": (in_nodes("left_child", 0, -1), "one child"),
    "two parents": (two_parents, "two parents"),
    "a column that is not there": (in_nodes("feature", 0, 3), "none of its 3"),
    "a negative column": (in_nodes("feature", 1, -1), "none of its 3"),
    "a threshold of NaN": (in_nodes("threshold", 0, np.nan), "not finite"),
    "an infinite threshold below": (in_nodes("threshold", 0, -np.inf), "not finite"),
    "missing values nowhere": (in_nodes("missing_go_to_left", 0, 7), "neither left nor right"),
    "a leaf that compares": (leaf_with("feature", 0), "leaf of the tree compares"),
    "a leaf with a threshold": (leaf_with("threshold", 0.0), "leaf of the tree compares"),
    "a huge node_count": (in_state("node_count", 1 << 60), "node_count"),
    "a small node_count": (in_state("node_count", 3), "node_count"),
    "a node_count that is true": (in_state("node_count", True), "node_count"),
    "no nodes": (lambda state, _: state.update(nodes=state["nodes"][:0], node_count=0), "node_count"),
    "values of another shape": (in_state("values", lambda state: state["values"][:, :, 0]), "shape"),
    "values of too few nodes": (in_state("values", lambda state: state["values"][:-1]), "shape"),
    "values of another type": (in_state("values", lambda state: state["values"].astype(np.float32)), "shape"),
    "values of the other byte order": (in_state("values", lambda state: state["values"].astype(">f8")), "shape"),
    "a value that is not finite": (in_state("values", lambda state: np.full_like(state["values"], np.inf)), "not finite"),
    "values that are a list": (in_state("values", lambda state: state["values"].tolist()), "shape"),
    "nodes that are a list": (in_state("nodes", lambda state: state["nodes"].tolist()), "nodes of another kind"),
    "nodes of numbers": (in_state("nodes", np.zeros((15, 8))), "nodes of another kind"),
    "more state": (in_state("extra", 1), "state is not made of"),
    "less state": (without("max_depth"), "state is not made of"),
    "no nodes at all": (without("nodes"), "state is not made of"),
    "more columns": (argument(0, 4), "other columns or classes"),
    "more classes": (argument(1, np.array([2])), "other columns or classes"),
    "classes of another type": (argument(1, np.array([1], dtype=np.int32)), "other columns or classes"),
    "more outputs": (argument(2, 2), "other columns or classes"),
    "a column count of text": (argument(0, "3"), "other columns or classes"),
}


@pytest.mark.parametrize("name", FORGED)
def test_no_tree(name):
    change, reason = FORGED[name]
    with pytest.raises(ModelReadError, match=reason):
        read_tree(read_pickle_bytes(forged(change)))


@pytest.mark.parametrize("change", [as_old_nodes, as_narrow_nodes])
def test_nodes_of_another_structure_are_refused(change):
    """They stay unopened, whatever bytes they have."""
    with pytest.raises(UnsupportedModelError, match="nodes of another kind than scikit-learn"):
        read_tree(read_pickle_bytes(forged(change)))


def test_nothing_changed_is_read():
    """What all of these begin with."""
    assert read_tree(read_pickle_bytes(forged(lambda *_: None))).leaves == 8


def test_probabilities_must_be_some():
    model = DecisionTreeClassifier(max_depth=2).fit(ROWS, TARGET > 0)
    for change in (lambda values: values * 2, lambda values: values - 0.5, lambda values: -values + 1.0000001):
        with pytest.raises(UnsupportedModelError, match="counts and no probabilities"):
            read_tree(read_pickle_bytes(forged(in_state("values", lambda state, f=change: f(state["values"])), model)))


@pytest.mark.parametrize(
    ("attribute", "value", "reason"),
    [
        ("predict", np.log, r"attribute 'predict'"),
        ("_validate_X_predict", 1, r"attribute '_validate_X_predict'"),
        ("apply", None, r"attribute 'apply'"),
        ("tree_", None, "'tree_' is"),
        ("tree_", np.zeros(3), "'tree_' is"),
        ("n_outputs_", 2, "several targets"),
        ("n_outputs_", True, "not a count"),
        ("n_features_in_", 4, "other columns or classes"),
        ("n_features_in_", 0, "number of its columns"),
        ("n_features_in_", 1 << 60, "number of its columns"),
        ("feature_names_in_", np.array(["a", "b"], dtype=object), "number of its columns"),
        ("feature_names_in_", np.array(["a", "b", "a"], dtype=object), "same name twice"),
        ("criterion", "gini", "'criterion'"),
        ("criterion", np.log, "'criterion'"),
        ("splitter", "worst", "'splitter'"),
        ("max_depth", np.log, "max_depth"),
        ("classes_", np.array([0, 1]), None),
    ],
)
def test_attributes_of_the_estimator(attribute, value, reason):
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(ROWS, TARGET)
    vars(model)[attribute] = value
    stored = read_pickle_bytes(pickle.dumps(model))
    if reason is None:  # a regressor does not look at them
        assert read_tree(stored).classes == ()
        return
    with pytest.raises(ModelReadError, match=reason):
        read_tree(stored)


@pytest.mark.parametrize(("attribute", "value"), [("n_classes_", 3), ("n_classes_", 1), ("classes_", np.array([1, 1]))])
def test_classes_that_do_not_fit(attribute, value):
    model = DecisionTreeClassifier(max_depth=2).fit(ROWS, TARGET > 0)
    vars(model)[attribute] = value
    with pytest.raises(ModelReadError):
        read_tree(read_pickle_bytes(pickle.dumps(model)))


def test_a_tree_of_another_class():
    model = DecisionTreeRegressor(max_depth=2).fit(ROWS, TARGET)
    state = model.tree_.__reduce__()[2]
    for made in (DecisionTreeRegressor, dict):
        vars(model)["tree_"] = _Made((), state, made)
        with pytest.raises(ModelReadError, match=r"'tree_' is|attributes"):
            read_tree(read_pickle_bytes(pickle.dumps(model)))


def test_a_call_beside_the_tree_is_refused():
    """An unknown name anywhere refuses the file, also where nobody looks."""
    model = DecisionTreeRegressor(max_depth=2).fit(ROWS, TARGET)
    vars(model)["random_state"] = _Made(("1",), None, eval)
    with pytest.raises(UnsupportedModelError, match=r"builtins\.eval"):
        read_tree(read_pickle_bytes(pickle.dumps(model)))


def test_what_a_call_made_is_no_tree():
    data = pickle.dumps(DecisionTreeRegressor(max_depth=2).fit(ROWS, TARGET), 4)
    name = b"\x8c\x15sklearn.tree._classes\x94\x8c\x15DecisionTreeRegressor\x94\x93\x94)\x81"
    assert data.count(name) == 1
    called = data.replace(name, name[:-1] + b"R")
    with pytest.raises(UnsupportedModelError, match="what a call of"):
        read_tree(read_pickle_bytes(called))


def test_types_that_compare_equal_to_types_are_not_nodes():
    """A text such as f8 in place of a type inside the structured type: numpy would not load it, and neither do we."""
    data = pickle.dumps(DecisionTreeRegressor(max_depth=1).fit(ROWS, TARGET), 4)
    field = re.search(rb"\x8c\x13missing_go_to_left|\x8c\x12missing_go_to_left", data)
    assert field is not None
    text = data.replace(b"\x8c\x02u1\x94\x89\x88\x87\x94R\x94(K\x03h", b"\x8c\x02u2\x94\x89\x88\x87\x94R\x94(K\x03h")
    assert text != data
    with pytest.raises(ModelReadError):
        read_tree(read_pickle_bytes(text))


def archive_of(dumps, unzip):
    members = unzip(dumps(DecisionTreeRegressor(max_depth=2, random_state=0).fit(ROWS, TARGET)))
    schema = json.loads(members["schema.json"])
    return members, schema, schema["content"]["content"]["tree_"]


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_forged_archives(dumps, unzip, rezip):
    members, schema, tree = archive_of(dumps, unzip)
    nodes = tree["content"]["content"]["nodes"]["file"]
    array = np.load(io.BytesIO(members[nodes]))
    assert read_tree(read_archive_bytes(rezip({**members, "schema.json": schema}))).leaves == 4
    cyclic = array.copy()
    cyclic["left_child"][1] = 0
    for forged_nodes, reason in (
        (npy(cyclic), "in front of its parent"),
        (npy(array[:-1]), "node_count"),
        (npy(array.astype([(name, array.dtype[name]) for name in array.dtype.names])), "nodes of another kind"),
        (members[nodes].replace(b"(7,)", b"(8,)"), "its size contradicts"),
        (members[nodes] + bytes(64), "its size contradicts"),
        (members[nodes].replace(b"'|u1'", b"'|i1'"), "nodes of another kind"),
        (members[nodes].replace(b"(7,)", b"(99999999999999999999,)"), "damaged"),
    ):
        with pytest.raises(ModelReadError, match=reason):
            read_tree(read_archive_bytes(rezip({**members, nodes: forged_nodes})))


def test_forged_schemas(dumps, unzip, rezip):
    def changed(change):
        members, schema, tree = archive_of(dumps, unzip)
        change(tree)
        return rezip({**members, "schema.json": schema})

    for change, reason in (
        (lambda tree: tree.pop("__reduce__"), "no arguments"),
        (lambda tree: tree["__reduce__"].pop("args"), "not a node"),
        (lambda tree: tree["__reduce__"].update(args=tree["content"]), "no arguments"),
        (lambda tree: tree.pop("content"), "no content|damaged"),
        (lambda tree: tree.update({"__class__": "Ridge", "__module__": "sklearn.linear_model._ridge"}), "'tree_' is"),
        (lambda tree: tree.update({"__loader__": "ObjectNode"}), "'tree_' is"),
    ):
        with pytest.raises(ModelReadError, match=reason):
            read_tree(read_archive_bytes(changed(change)))
