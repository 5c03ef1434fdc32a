"""Data frames as pickles hold them: the columns pandas has, and an error for what pandas does not write."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.stored_frames import CATEGORY, NUMBER, OTHER, TEXT, TRUTH, frame_of, is_frame, series_values
from coordpath_governance.models.tree import ArchivedObject, Named

FRAME = pd.DataFrame(
    {
        "float": [1.5, np.nan, -2.0],
        "small": np.array([1, 2, 3], dtype="int8"),
        "more": [0.25, 0.5, 1.0],
        "truth": [True, False, True],
        "text": ["b", None, "ä"],
        "object": pd.Series(["x", None, "y"], dtype=object),
        "python": pd.array(["p", None, "q"], dtype="string[python]"),
        "truths": pd.Series([True, False, True], dtype=object),
        "mixed": pd.Series([1, "a", None], dtype=object),
        "category": pd.Categorical(["u", None, "v"], categories=["v", "u", "w"]),
        "numbers": pd.Categorical([3, 1, 3]),
        "day": pd.date_range("2024", periods=3),
        "until": pd.date_range("2025", periods=3),
        "zoned": pd.date_range("2025", periods=3, tz="UTC"),
        "whole": pd.array([1, None, 2], dtype="Int64"),
    }
)
KINDS = {
    **dict.fromkeys(("float", "small", "more"), NUMBER),
    **dict.fromkeys(("truth", "truths"), TRUTH),
    **dict.fromkeys(("text", "object", "python"), TEXT),
    **dict.fromkeys(("category", "numbers"), CATEGORY),
    **dict.fromkeys(("mixed", "day", "until", "zoned", "whole"), OTHER),
}


def stored(value, protocol=5):
    return read_pickle_bytes(pickle.dumps(value, protocol)).root


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("index", [None, ["a", "b", "c"], pd.date_range("2024", periods=3), [7, 8, 9]])
def test_columns_are_those_of_pandas(protocol, index):
    frame = FRAME if index is None else FRAME.set_axis(index, axis=0)
    found = frame_of(stored(frame, protocol))
    assert found.names == tuple(FRAME.columns)
    assert found.rows == 3
    assert {name: found.column(name).kind for name in KINDS} == KINDS
    for name, kind in KINDS.items():
        column = found.column(name)
        if kind == CATEGORY:
            assert column.levels == tuple(FRAME[name].cat.categories)
            assert column.values.tolist() == FRAME[name].cat.codes.tolist()
        elif kind != OTHER:
            expected = FRAME[name].astype(object).where(FRAME[name].notna(), None).tolist()
            assert [None if value != value else value for value in column.values.tolist()] == expected
    assert found.column("nowhere") is None


def test_frames_of_other_shapes():
    assert frame_of(stored(pd.DataFrame({"a": []}))).rows == 0
    assert frame_of(stored(pd.DataFrame({"t": pd.Series([], dtype="str")}))).column("t").values.size == 0
    assert frame_of(stored(pd.DataFrame(np.zeros((4, 3))))).names == (0, 1, 2)
    assert frame_of(stored(pd.DataFrame(np.zeros((4, 2)), columns=[10, 20]))).names == (10, 20)
    only_text = frame_of(stored(pd.DataFrame({"t": ["a", "b"]})))
    assert (only_text.rows, only_text.column("t").values.tolist()) == (2, ["a", "b"])
    sliced = pd.DataFrame({"t": [f"row {i}" for i in range(50)]})[10:20]
    assert frame_of(stored(sliced)).column("t").values.tolist() == sliced["t"].tolist()
    backwards = FRAME[["truth", "more", "float"]].iloc[:, ::-1]
    assert frame_of(stored(backwards)).column("more").values.tolist() == [0.25, 0.5, 1.0]
    assert not is_frame(stored(FRAME["float"]))


def test_a_name_that_occurs_twice_is_no_column():
    twice = frame_of(stored(pd.DataFrame([[1, 2]], columns=["a", "a"])))
    with pytest.raises(ModelReadError, match="column 'a' twice"):
        twice.column("a")


def test_values_of_a_series():
    assert series_values(stored(pd.Series([1.0, 2.0], index=["a", "b"]))).tolist() == [1.0, 2.0]
    assert series_values(stored(pd.Series(["a"]))) is None
    assert series_values(stored(pd.DataFrame({"a": [1.0]}))) is None


def made(path, *arguments):
    return ArchivedObject(path, {}, arguments, called=True)


MANAGER, BLOCK = "pandas.core.internals.managers.BlockManager", "pandas._libs.internals._unpickle_block"
INDEX, TEXTS = "pandas.core.indexes.base._new_Index", "pandas.arrays.ArrowStringArray"
NAMES = made(INDEX, Named("pandas.Index"), {"data": np.array(["a", "b"], dtype=object)})
VALUES = np.zeros((2, 3))


def frame(*blocks, names=NAMES, **attributes):
    return ArchivedObject("pandas.DataFrame", {"_mgr": made(MANAGER, blocks, [names, None]), **attributes})


def texts(offsets, content=b"abc", length=2, begin=0, validity=None, kind="large_string", children=()):
    buffers = [None if each is None else made("pyarrow.lib.py_buffer", each) for each in (validity, offsets, content)]
    data = (made("pyarrow.lib.type_for_alias", kind), length, 0, begin, buffers, list(children), None)
    array = ArchivedObject(TEXTS, {"_pa_array": made("pyarrow.lib._restore_array", data)})
    return frame(
        made(BLOCK, array, slice(0, 1), 2), names=made(INDEX, Named("pandas.Index"), {"data": np.array(["a"], dtype=object)})
    )


def offsets(*numbers):
    return np.array(numbers, dtype="<i8").tobytes()


def categories(codes, levels=("u", "v"), dtype="pandas.CategoricalDtype"):
    index = made(INDEX, Named("pandas.Index"), {"data": np.array(levels, dtype=object)})
    backed = ArchivedObject(
        "pandas._libs.arrays.__pyx_unpickle_NDArrayBacked",
        {"(state)": (ArchivedObject(dtype, {"categories": index}), codes)},
        (Named("pandas.Categorical"), 1, None),
        called=True,
    )
    return frame(
        made(BLOCK, backed, slice(0, 1), 2),
        names=made(INDEX, Named("pandas.Index"), {"data": np.array(["a"], dtype=object)}),
    )


def ranged(*parts):
    return made(INDEX, Named("pandas.RangeIndex"), dict(zip(("start", "stop", "step"), parts, strict=True)))


GOOD = frame(made(BLOCK, VALUES, slice(0, 2), 2))
FORGED = {
    "no frame": made("pandas.DataFrame"),
    "another class": dataclasses.replace(GOOD, class_path="evil.DataFrame"),
    "an attribute more": frame(made(BLOCK, VALUES, slice(0, 2), 2), predict=1),
    "a manager that is none": ArchivedObject("pandas.DataFrame", {"_mgr": made("evil", ())}),
    "a manager of nothing": ArchivedObject("pandas.DataFrame", {"_mgr": made(MANAGER)}),
    "a manager without axes": ArchivedObject("pandas.DataFrame", {"_mgr": made(MANAGER, (), [])}),
    "a block of nothing": frame(made(BLOCK)),
    "a block that is none": frame(made("evil", VALUES, slice(0, 2), 2)),
    "a block without a place": frame(made(BLOCK, VALUES, "x", 2)),
    "a block beyond": frame(made(BLOCK, VALUES, slice(1, 3), 2)),
    "a block far beyond": frame(made(BLOCK, VALUES, slice(0, 1 << 60), 2)),
    "a block before": frame(made(BLOCK, VALUES, np.array([-1, 0]), 2)),
    "a slice of text": frame(made(BLOCK, VALUES, slice("a", "b"), 2)),
    "a slice without a step": frame(made(BLOCK, VALUES, slice(0, 2, 0), 2)),
    "two blocks in one place": frame(made(BLOCK, VALUES, slice(0, 2), 2), made(BLOCK, VALUES, slice(0, 2), 2)),
    "a column without values": frame(made(BLOCK, VALUES[:1], slice(0, 1), 2)),
    "another shape": frame(made(BLOCK, VALUES, slice(0, 1), 2), made(BLOCK, VALUES[:1], slice(1, 2), 2)),
    "rows of two lengths": frame(made(BLOCK, VALUES[:1], slice(0, 1), 2), made(BLOCK, VALUES[:1, :2], slice(1, 2), 2)),
    "no index": frame(names="a"),
    "an index of no kind": frame(names=made(INDEX, "x", {})),
    "an index of another kind": frame(names=made(INDEX, Named("pandas.MultiIndex"), {})),
    "an index of calls": frame(names=made(INDEX, Named("pandas.Index"), {"data": np.array([made("evil")], dtype=object)})),
    "an index without end": frame(names=ranged(0, 1 << 60, 1)),
    "an index without a step": frame(names=ranged(0, 3, 0)),
    "an index of no numbers": frame(names=ranged(0, "x", 1)),
    "text without bytes": texts(None),
    "text of no buffer": texts("x"),
    "text that is too long": texts(offsets(0, 1, 2), length=1 << 39),
    "text beyond its bytes": texts(offsets(0, 1, 99)),
    "text that goes backwards": texts(offsets(0, 3, 1)),
    "text before its bytes": texts(offsets(-5, 1, 2)),
    "text that begins before": texts(offsets(0, 1, 2), begin=-1),
    "text that is not there": texts(offsets(0, 1, 2), length=17, validity=b"\xff"),
    "text with too few bits": texts(offsets(*range(20)), content=b"x" * 40, length=19, validity=b"\xff"),
    "text that is no UTF-8": texts(offsets(0, 1, 2), content=b"\xff\xfe"),
    "codes beyond": categories(np.array([0, 1, 2], dtype="int8")),
    "codes before": categories(np.array([0, -2, 1], dtype="int8")),
    "codes of fractions": categories(np.array([0.5, 1.0])),
    "levels twice": categories(np.array([0, 1], dtype="int8"), ("u", "u")),
    "levels of another kind": categories(np.array([0, 1], dtype="int8"), dtype="evil.CategoricalDtype"),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_pandas_does_not_write_is_an_error(what):
    with pytest.raises(ModelReadError, match="data frame in the file"):
        frame_of(FORGED[what]).column("a")


def test_more_texts_than_are_read_are_refused():
    many = np.zeros(2_000_002, dtype="<i8").tobytes()
    with pytest.raises(UnsupportedModelError, match="make it a category"):
        frame_of(texts(many, length=2_000_001)).column("a")


def test_the_forgeries_are_near_honest_ones():
    assert frame_of(GOOD).column("a").values.tolist() == [0.0, 0.0, 0.0]
    assert frame_of(texts(offsets(0, 1, 3))).column("a").values.tolist() == ["a", "bc"]
    assert frame_of(texts(offsets(0, 1, 3), validity=b"\x01")).column("a").values.tolist() == ["a", None]
    assert frame_of(texts(np.array([0, 1, 3], "<i4").tobytes(), kind="string")).column("a").values.tolist() == ["a", "bc"]
    assert frame_of(texts(offsets(0, 1, 3), kind="dictionary")).column("a").kind == OTHER
    assert frame_of(categories(np.array([0, 1], dtype="int8"))).column("a").levels == ("u", "v")
