"""Every kind of node a schema can have, as skops itself writes it and by hand."""

from __future__ import annotations

import functools
import io
import operator
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from scipy import sparse

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models import ArchivedObject, Limits, Opaque, read_archive
from coordpath_governance.models.archive import read_archive_bytes


def same(left, right) -> bool:
    if isinstance(right, np.ndarray):
        return isinstance(left, np.ndarray) and left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(right, (list, tuple)):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in right)
    return type(left) is type(right) and (left == right or (left != left and right != right))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -2.5,
        float("nan"),
        float("inf"),
        "text",
        [1, "a", [None]],
        (1, (2,)),
        {},
        {"a": 1, "b": [2]},
        {1: "a", 2: "b"},
        {0.5: 1},
        OrderedDict(a=1),
        slice(1, None, 2),
        slice("a", "b"),
        np.float64(0.1),
        np.float32(0.1),
        np.int64(7),
        np.bool_(True),
        np.str_("x"),
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(["ab", "c"]),
        np.array([True, False]),
        np.array(["x", None, 3.5], dtype=object),
        np.array([["x", 1], ["y", 2]], dtype=object),
        np.array([], dtype=object),
        np.zeros((0, 3)),
        np.array(5.0),
        np.dtype("float32"),
        np.dtype("O"),
        np.dtype("<U3"),
        np.float16(2.0),
        np.uint8(3),
    ],
)
def test_plain_values(value, dumps):
    expected = dict(value) if isinstance(value, OrderedDict) else value
    assert same(read_archive_bytes(dumps(value)).root, expected)


def test_object_array_of_lists(dumps):
    value = np.empty(2, dtype=object)
    value[:] = [[1, 2], [3, 4]]
    assert read_archive_bytes(dumps(value)).root.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "value",
    [
        functools.partial(np.log, 2),
        operator.itemgetter(1),
        {1, 2},
        b"bytes",
        bytearray(b"x"),
        np.random.RandomState(0),
        np.random.default_rng(0),
        np.ma.masked_array([1, 2], [True, False]),
        {None: 1},
        {True: 1},
        defaultdict(list, a=[1]),
        np.array([1j]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.dtype([("a", int)]),
        sparse.coo_matrix([[1.0, 0.0]]),
    ],
)
def test_opaque_values(value, dumps):
    found = read_archive_bytes(dumps([value])).root
    assert len(found) == 1
    assert isinstance(found[0], Opaque)
    assert found[0].what


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_matrices(kind, dumps):
    dense = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]])
    matrix = kind(dense)
    found = read_archive_bytes(dumps([matrix, matrix])).root
    np.testing.assert_array_equal(found[0], dense)
    assert found[1] is found[0]


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


GOOD = {
    "format": np.array(b"csr"),
    "shape": np.array([1, 2]),
    "data": np.array([1.0]),
    "indices": np.array([1]),
    "indptr": np.array([0, 1]),
}


@pytest.mark.parametrize(
    "change",
    [
        {"shape": np.array([1, 10**12])},
        {"shape": np.array([-1, -2])},
        {"shape": np.array([1.0, 2.0])},
        {"shape": np.array([2])},
        {"indices": np.array([2])},
        {"indices": np.array([-1])},
        {"indices": np.array([0, 1])},
        {"indices": np.array([1.0])},
        {"indptr": np.array([0])},
        {"indptr": np.array([1, 1])},
        {"indptr": np.array([0, 2])},
        {"data": np.array(["x"])},
        {"data": np.array([[1.0]])},
        {"format": np.array([1j]), "shape": np.array([1j])},
        {"shape": np.array([2, 2]), "indptr": np.array([0, 2, 1])},
    ],
)
def test_forged_sparse_matrices(change, rezip):
    schema = {"__class__": "csr_matrix", "__module__": "scipy.sparse", "__loader__": "SparseMatrixNode", "protocol": 2}
    good = rezip({"m.npz": npz(**GOOD), "schema.json": {**schema, "file": "m.npz"}})
    np.testing.assert_array_equal(read_archive_bytes(good).root, [[0.0, 1.0]])
    with pytest.raises(ModelReadError, match="sparse matrix"):
        read_archive_bytes(rezip({"m.npz": npz(**{**GOOD, **change}), "schema.json": {**schema, "file": "m.npz"}}))


def test_archives_in_an_archive_share_the_limit(rezip):
    schema = {
        "__class__": "csr_matrix",
        "__module__": "scipy.sparse",
        "__loader__": "SparseMatrixNode",
        "file": "m.npz",
        "protocol": 2,
    }
    bomb = npz(**{**GOOD, "data": np.zeros(500_000)})
    with pytest.raises(ModelReadError, match="unpack to more"):
        read_archive_bytes(rezip({"m.npz": bomb, "schema.json": schema}), limits=Limits(total_bytes=1_000_000))
    with pytest.raises(ModelReadError, match="damaged"):
        read_archive_bytes(rezip({"m.npz": b"PK", "schema.json": schema}))


def test_objects(dumps):
    from sklearn.linear_model import Ridge

    found = read_archive_bytes(dumps(Ridge(alpha=2).fit([[1.0], [2.0]], [1.0, 2.0]))).root
    assert isinstance(found, ArchivedObject)
    assert found.class_path == "sklearn.linear_model._ridge.Ridge"
    assert found.class_name == "Ridge"
    assert found.attributes["alpha"] == 2


JSON = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "1"}
KEY = {"__class__": "int", "__module__": "builtins", "__loader__": "TypeNode"}
SHAPE = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}


def node(loader, path="builtins.x", **fields):
    module, _, name = path.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **fields}


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"__loader__": 3},
        node("JsonNode"),
        node("JsonNode", content=3),
        node("JsonNode", content="{"),
        node("ListNode", "builtins.list", content={}),
        node("ListNode", "builtins.list", content=[3]),
        node("DictNode", content=[], key_types={"content": []}),
        node("DictNode", content={}, key_types=3),
        node("DictNode", content={"1": JSON}, key_types={"content": []}),
        node("DictNode", "builtins.dict", content={"x": JSON}, key_types={"content": [KEY]}),
        node("DictNode", "builtins.dict", content={"1": JSON, "01": JSON}, key_types={"content": [KEY, KEY]}),
        node("DictNode", "builtins.dict", content={"1": 3}, key_types={"content": [KEY]}),
        node("SliceNode", content=[]),
        node("SliceNode", content={"start": []}),
        node("SliceNode", content={"stop": 1.5}),
        node("NdArrayNode"),
        node("NdArrayNode", type="numpy"),
        node("NdArrayNode", type="numpy", file=3),
        node("NdArrayNode", type="json", content=[JSON]),
        node("NdArrayNode", type="json", content=[JSON], shape=JSON),
        node("NdArrayNode", type="json", content=[JSON], shape={**SHAPE, "content": []}),
        node("NdArrayNode", type="json", content=[JSON], shape={**SHAPE, "content": [JSON, JSON]}),
        node("NdArrayNode", type="json", content=[JSON, JSON], shape={**SHAPE, "content": [JSON]}),
        node("NdArrayNode", "numpy.int8", type="numpy", file="f.npy"),
        node("NdArrayNode", "numpy.str_", type="numpy", file="f.npy"),
        node("NdArrayNode", "numpy.float128", type="numpy", file="f.npy"),
        node("SparseMatrixNode", file="f.npy"),
        node("DTypeNode"),
        node("ObjectNode", content=3),
    ],
)
def test_damaged_nodes(damaged, rezip):
    buffer = io.BytesIO()
    np.save(buffer, np.float64(1))
    with pytest.raises(ModelReadError):
        read_archive_bytes(rezip({"f.npy": buffer.getvalue(), "schema.json": {**damaged, "protocol": 2}}))


@pytest.mark.parametrize(
    "unusual",
    [
        node("ListNode", "builtins.sorted", content=[]),
        node("TupleNode", "m.Point", content=[]),
        node("DictNode", "collections.Counter", content={}, key_types={"content": []}),
        node("ObjectNode", "m.C", content=node("TupleNode", "builtins.tuple", content=[])),
        node("NdArrayNode", "numpy.memmap", type="numpy", file="f.npy"),
        node("NewNode", "m.C"),
        node("DTypeNode", content=JSON),
    ],
)
def test_unusual_nodes_stay_opaque(unusual, rezip):
    buffer = io.BytesIO()
    np.save(buffer, np.float64(1))
    data = rezip({"f.npy": buffer.getvalue(), "schema.json": {**unusual, "protocol": 0}})
    assert isinstance(read_archive_bytes(data).root, Opaque)


def test_object_without_state(rezip):
    data = rezip({"schema.json": {**node("ObjectNode", "m.C"), "protocol": 1}})
    assert read_archive_bytes(data).root == ArchivedObject("m.C", {})


def test_files(tmp_path, dumps):
    (tmp_path / "model.skops").write_bytes(dumps([1]))
    assert read_archive(tmp_path / "model.skops").root == [1]
    with pytest.raises(ModelReadError, match="cannot be read"):
        read_archive(tmp_path / "absent.skops")
    with pytest.raises(ModelReadError, match="more than the 10 bytes we read"):
        read_archive(tmp_path / "model.skops", Limits(archive_bytes=10))


def test_too_deep_for_the_stack_that_is_left(dumps, monkeypatch):
    def overflow(*_arguments):
        raise RecursionError

    data = dumps([1])
    monkeypatch.setattr("coordpath_governance.models.archive._Tree.build", overflow)
    with pytest.raises(ModelReadError, match="nested too deeply"):
        read_archive_bytes(data)
