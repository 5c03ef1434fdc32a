"""Trees of pickles as skops archives: skops loads what the pickle held, we read the same tree, and the rest is refused."""

from __future__ import annotations

import contextlib
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn._loss.loss import HalfTweedieLoss
from sklearn.linear_model import Ridge

from coordpath_governance.errors import UnsupportedModelError, UpdateError
from coordpath_governance.models import fold_stored
from coordpath_governance.models.archive import read_archive_bytes
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.tree import ArchivedObject, Named, Opaque
from coordpath_governance.models.tree_archive import write_tree


def both_ways(value):
    """What skops loads of an archive made of a pickle, and the tree that we read of it."""
    archive = write_tree(read_pickle_bytes(pickle.dumps(value)).root)
    return skops.io.loads(archive.data, trusted=list(archive.names)), read_archive_bytes(archive.data).root


PLAIN = [
    [None, True, 3, 2**70, 1.5, float("inf"), "text é"],
    {"a": (1, [2.0]), "b": {}},
    {1: "one", 2.5: "two"},
    slice(1, None, 2),
    np.dtype("float64"),
    np.dtype(object),
    np.dtype("<U5"),
    np.float64(0.1),
    np.bool_(True),
    np.int64(-7),
    np.str_("word"),
    [np.log, np.float32, int],
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values(value):
    loaded, root = both_ways(value)
    assert loaded == value
    if not isinstance(value, list):
        assert root == value


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.array(["a", "bc"]),
    np.array([["a", None], [1, 2.5]], dtype=object),
    np.array([True, False]),
    np.empty(0),
]


@pytest.mark.parametrize("value", ARRAYS, ids=repr)
def test_arrays(value):
    for array in both_ways(value):
        assert (array.dtype, array.shape) == (value.dtype, value.shape)
        assert array.tolist() == value.tolist()


@pytest.mark.parametrize(
    "value",
    [
        np.ma.MaskedArray([1.0, 2.0, 3.0], [True, False, False]),
        np.ma.MaskedArray(np.array(["l1", None], dtype=object), [False, True]),
        np.ma.MaskedArray(np.asfortranarray([[1, 2], [3, 4]]), [[True, False], [False, False]]),
    ],
    ids=repr,
)
def test_masked_arrays(value):
    loaded, _ = both_ways([value])
    assert loaded[0].tolist() == value.tolist()
    assert loaded[0].mask.tolist() == value.mask.tolist()


def test_numpy_keys_and_ordered_dictionaries():
    assert both_ways({np.int64(0): "a", np.str_("k"): 1})[0] == {0: "a", "k": 1}
    assert both_ways(OrderedDict(a=1))[0] == {"a": 1}


def test_losses_and_random_states():
    loss = both_ways(HalfTweedieLoss(power=1.7))[0]
    assert loss.closs.__reduce__()[1] == (1.7,)
    state = np.random.RandomState(4)
    state.normal()
    assert both_ways({"random_state": state})[0]["random_state"].normal() == state.normal()


def test_what_is_shared_stays_shared():
    array, ridge = np.arange(3.0), Ridge()
    loaded, root = both_ways([array, array, ridge, ridge])
    assert loaded[0] is loaded[1]
    assert loaded[2] is loaded[3]
    assert root[2] is root[3]


def test_names_that_skops_must_trust_are_listed():
    archive = write_tree(read_pickle_bytes(pickle.dumps([Ridge(), np.log, np.dtype("f8")])).root)
    assert archive.names == ("numpy.dtype", "numpy.log", "sklearn.linear_model._ridge.Ridge")


PICKLES = sorted((Path(__file__).parents[2] / "golden" / "pickles").glob("*.zip"))


@pytest.mark.parametrize("stored", PICKLES, ids=lambda path: path.stem)
def test_pickles_of_earlier_versions_read_the_same_afterwards(stored):
    written = 0
    with zipfile.ZipFile(stored) as files:
        for name in files.namelist():
            if name.endswith(".pkl"):
                tree = read_pickle_bytes(files.read(name), name)
                with contextlib.suppress(UnsupportedModelError):
                    model = fold_stored(tree)
                    assert fold_stored(read_archive_bytes(write_tree(tree.root).data, name)) == model
                    written += 1
        assert written >= len(files.namelist()) - 2


def cyclic():
    values: list[object] = []
    values.append(values)
    return values


def deep():
    values: list[object] = []
    for _ in range(5_000):
        values = [values]
    return values


MASKED = "numpy.ma.core._mareconstruct"


@pytest.mark.parametrize(
    ("root", "named"),
    [
        (Opaque("a set"), "a set"),
        (Named("os.system"), "the name os.system"),
        (ArchivedObject("x.Y", {}, (1,), called=True), "what a call of x.Y makes"),
        (ArchivedObject("sklearn.linear_model._ridge.Ridge", {"(state)": 1}), "a Ridge"),
        (ArchivedObject(MASKED, {"(state)": (1, 2)}, (), called=True), f"what a call of {MASKED} makes"),
        (
            ArchivedObject(MASKED, {"(state)": (1, (1,), np.dtype(object), False, b"", b"\0", None)}, (), called=True),
            f"what a call of {MASKED} makes",
        ),
        (ArchivedObject("_loss.CyHuberLoss", {"x": 1}, (), called=True), "what a call of _loss.CyHuberLoss makes"),
        (ArchivedObject("_loss.__pyx_unpickle_CyHuberLoss", {}, (), called=True), "a call of _loss.__pyx"),
        (ArchivedObject("_loss.__pyx_unpickle_A", {}, (Named("_loss.B"), 1, None), called=True), "a call of _loss.__pyx"),
        (ArchivedObject("_loss.__pyx_unpickle_A", {}, (Named("_loss.A"), 1, "x"), called=True), "a call of _loss.__pyx"),
        (b"bytes", "the type bytes"),
        (np.array(None), "the type ndarray"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "the type ndarray"),
        (slice("a", "b"), "the type slice"),
        ({None: 1}, "the key None"),
        ({1: 1, "1": 2}, "the key '1'"),
        (cyclic(), "a part of itself"),
        (deep(), "nested too deeply"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_written_is_refused_by_name(root, named):
    with pytest.raises(UpdateError) as refused:
        write_tree(root)
    assert named in str(refused.value)


def test_parts_without_end_are_refused(monkeypatch):
    monkeypatch.setattr("coordpath_governance.models.tree_archive._MOST_NODES", 1000)
    values: list[object] = [1]
    for _ in range(12):
        values = [values, values]
    with pytest.raises(UpdateError, match="more than the 1000 parts"):
        write_tree(values)
