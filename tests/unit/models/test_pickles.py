"""Pickles as data: what Python itself would load, of plain values, of numpy, and of scikit-learn's models."""

from __future__ import annotations

import json
import math
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import ArchivedObject, Named, Opaque, StoredTree, fold_stored, read_pickle
from coordpath_governance.models.names import KNOWN
from coordpath_governance.models.pickle_objects import read_pickle_bytes

FOLDER = Path(__file__).parents[2] / "golden" / "pickles"
ZIPS = sorted(FOLDER.glob("*.zip"))

sys.path.insert(0, str(FOLDER))
from write_pickles import fitted  # noqa: E402 - the same models as in the older versions


def same(left, right):
    """Equal with their types; NaN is equal to itself."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        if type(left) is not type(right) or left.shape != right.shape:
            return False
        if left.dtype != right.dtype:  # numpy turns the bytes of another byte order round, and forgets it
            left = left.astype(left.dtype.newbyteorder("="))
            if left.dtype != right.dtype:
                return False
        if left.dtype.kind == "O":
            return all(same(a, b) for a, b in zip(left.ravel(), right.ravel(), strict=True))
        return left.tobytes() == right.tobytes()
    if isinstance(left, memoryview):
        left = bytes(left)
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return list(map(repr, left)) == list(map(repr, right)) and all(
            same(a, b) for a, b in zip(left.values(), right.values(), strict=True)
        )
    if isinstance(left, (float, np.floating)) and math.isnan(left):
        return math.isnan(right)
    return left == right


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.tuples(inner, inner, inner, inner)
        | st.dictionaries(st.text(max_size=5) | st.integers() | st.booleans() | st.none(), inner, max_size=4)
    ),
    max_leaves=20,
)
ARRAYS = hnp.arrays(
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="?")
    | hnp.unsigned_integer_dtypes(endianness="?")
    | hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64))
    | hnp.unicode_string_dtypes(max_len=6)
    | hnp.byte_string_dtypes(max_len=6),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@settings(deadline=None, max_examples=150)
@given(PLAIN, st.integers(0, 5))
def test_plain_values_are_what_python_loads(value, protocol):
    tree = read_pickle_bytes(pickle.dumps(value, protocol))
    assert same(tree.root, value)
    assert tree.names <= {"_codecs.encode", "builtins.bytes"}


@settings(deadline=None, max_examples=150)
@given(ARRAYS, st.integers(0, 5), st.sampled_from("CFA"), st.booleans())
def test_arrays_are_what_numpy_loads(array, protocol, order, swapped):
    array = np.asarray(array, order=order)
    array = array.swapaxes(0, -1) if swapped and array.ndim > 1 else array
    scalar = array.ravel()[0] if array.size else np.float64(3)
    expected = pickle.loads(pickle.dumps([array, array.dtype, scalar, array], protocol))
    tree = read_pickle_bytes(pickle.dumps([array, array.dtype, scalar, array], protocol))
    found, dtype, number, again = tree.root
    assert same(found, expected[0])
    assert found is again
    assert not found.flags.writeable or not found.size
    assert dtype == expected[1]
    assert same(number, expected[2])
    assert tree.names <= KNOWN


@pytest.mark.parametrize("protocol", range(6))
def test_containers_and_named_things(protocol):
    shared = [1.5]
    objects = np.array([["a", None], [2, shared]], dtype=object)
    value = {
        "objects": objects,
        "fortran": np.asfortranarray(objects),
        "shared": (shared, shared),
        "slice": slice(1, None, "x"),
        "ordered": OrderedDict(b=1, a=2),
        "function": np.log1p,
        "type": np.float64,
        "long": -(10**30),
    }
    root = read_pickle_bytes(pickle.dumps(value, protocol)).root
    assert root["objects"].tolist() == root["fortran"].tolist() == objects.tolist()
    assert root["shared"][0] is root["shared"][1]
    assert root["objects"][1, 1] is root["shared"][0]
    assert root["slice"] == slice(1, None, "x")
    assert root["ordered"] == {"b": 1, "a": 2}
    assert root["function"] == Named("numpy.log1p")
    assert root["type"] == Named("numpy.float64")
    assert root["long"] == -(10**30)


def test_what_is_not_opened():
    values = [{1, 2}, frozenset((3,)), np.array(["2020-01-01"], "M8[D]"), np.array([(1, 2.0)], "i4,f8"), {(1, 2): 3}]
    found = read_pickle_bytes(pickle.dumps(values)).root
    assert [type(each) for each in found[:4]] == [Opaque] * 4
    assert list(found[4].values()) == [3]
    assert not any(isinstance(key, tuple) for key in found[4])


def test_a_list_within_itself_and_objects_that_hold_each_other():
    value = []
    value.append((value,))
    root = read_pickle_bytes(pickle.dumps(value)).root
    assert root[0][0] is root


def test_states_that_are_no_dictionaries():
    """They are kept apart from attributes, so that nothing takes them for some."""
    tree = read_pickle_bytes(pickle.dumps(np.random.default_rng(0)))
    assert isinstance(tree.root, ArchivedObject)
    masked = read_pickle_bytes(pickle.dumps(np.ma.masked_array([1, 2], [True, False]))).root
    assert masked.class_path == "numpy.ma.core._mareconstruct"
    assert list(masked.attributes) == ["(state)"]


@pytest.mark.parametrize("path", ZIPS, ids=lambda path: path.stem)
def test_older_versions_predict_as_they_did(path, predict):
    refused = []
    with zipfile.ZipFile(path) as archive:
        described = json.loads(archive.read("models.json"))
        for member in archive.namelist():
            name = member.split(".")[0]
            if name == "models":
                continue
            try:
                model = fold_stored(read_pickle_bytes(archive.read(member), member))
            except UnsupportedModelError as error:
                refused.append((name, str(error)))
                continue
            assert model.library.startswith(f"scikit-learn {path.stem.split('-')[1]}.")
            for row, expected in zip(described[name]["rows"], described[name]["predictions"], strict=True):
                assert predict(model, row) == (None if expected is None else pytest.approx(expected, rel=1e-9)), member
    if path.stem in ("sklearn-1.1", "sklearn-1.3"):
        assert [name for name, _ in refused] == ["PLSRegression"]
        assert "scikit-learn before 1.5" in refused[0][1]
    else:
        assert refused == []
    assert len(described) >= (25 if "reframed" in path.stem else 40)


@pytest.mark.thorough
def test_this_version_predicts_as_it_does_from_pickles_archives_and_memory(predict, dumps, fold_bytes):
    from coordpath_governance.models import from_estimator

    for name, (model, rows, told) in fitted().items():
        ways = {
            "cloudpickle": fold_stored(read_pickle_bytes(cloudpickle.dumps(model))),
            "pickle": fold_stored(read_pickle_bytes(pickle.dumps(model, 2))),
            "skops": fold_bytes(dumps(model)),
            "memory": from_estimator(model),
        }
        for way, folded in ways.items():
            for row, expected in zip(rows, told, strict=True):
                found = predict(folded, row)
                assert found == (None if expected is None else pytest.approx(expected, rel=1e-9)), (name, way)


def test_files(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps([1]))
    assert read_pickle(tmp_path / "model.pkl") == StoredTree([1], frozenset(), "pickle")
    with pytest.raises(ModelReadError, match="cannot be read"):
        read_pickle(tmp_path / "absent.pkl")
