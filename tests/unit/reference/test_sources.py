"""Files that are odd but fine: how they are written must not change what is read."""

from __future__ import annotations

import gzip
import hashlib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.reference.encode import Tally, encode_rows
from coordpath_governance.reference.sources import TableSource, open_source


def design_of(source, reading_plan) -> np.ndarray:
    return np.vstack([chunk.design for chunk in encode_rows(source, reading_plan, Tally())])


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"a,c,y\n1,u,2\n3,v,4\n", "rows.csv"),
        (b"\xef\xbb\xbfa,c,y\n1,u,2\n3,v,4\n", "bom.csv"),
        (b"a,c,y\r\n1,u,2\r\n3,v,4\r\n", "windows.csv"),
        (b"a,c,y\n1,u,2\n\n3,v,4", "gap.csv"),
        (b'y,"c","a"\n"2","u"," 1.0 "\n4,v,3e0\n', "quoted.csv"),
        (b"id,a,id,c,y\n7,1,7,u,2\n7,3,7,v,4\n", "unused_twice.csv"),
        (gzip.compress(b"a,c,y\n1,u,2\n3,v,4\n"), "rows.csv.gz"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ways_to_write_the_same_rows(content, name, csv, collect, model):
    moments = collect(csv(content, name), model(["a"], {"c": "uv"})).moments
    np.testing.assert_allclose(moments.mean, [2.0, 0.5, 0.5, 0.0, 3.0])


def test_a_level_may_hold_a_line_break(csv, counts, model):
    path = csv('c,y\n"two\nlines",1\n"two\nlines",2\n"a ""quote"", and comma",3\n')
    assert counts(path, model([], {"c": ["two\nlines", 'a "quote", and comma']})) == {
        "two\nlines": 2,
        'a "quote", and comma': 1,
    }


def test_line_breaks_across_blocks(csv, counts, model, monkeypatch):
    monkeypatch.setattr("coordpath_governance.reference.sources._BLOCK_BYTES", 50)
    path = csv("c,y\n" + '"two\nlines",1\nu,2\n' * 200)
    assert counts(path, model([], {"c": ["two\nlines", "u"]})) == {"two\nlines": 200, "u": 200}


def test_truth_values_written_as_text_are_numbers(csv, collect, model):
    moments = collect(csv("a,y\nTrue,1\nfalse,2\n TRUE ,3\n0,4\n"), model(["a"])).moments
    assert moments.mean[0] == 0.5


@pytest.mark.parametrize("text", ["", "NA", "NaN", "null", "None", "n/a", '""', " NA "])
def test_texts_that_mean_missing(text, csv, counts, model):
    path = csv(f"a,c,y\n1,u,2\n{text},{text.strip()},4\n")
    found = counts(path, model(["a"], {"c": ["u", "(missing)"]}, missing=0.5))
    assert found == {"a is missing": 1, "u": 1, "(missing)": 1}


@pytest.mark.parametrize("text", ["NA", "None", "null", "nan"])
def test_a_text_for_missing_that_a_model_knows_as_a_level_is_that_level(text, csv, counts, model):
    """Namibia's code is NA; frames cleaned with fillna("None") have a level None."""
    path = csv(f"c,y\nu,2\n{text},4\n,3\n")
    assert counts(path, model([], {"c": ["u", text]}, unknown=0.0)) == {"u": 1, text: 1, "(any other)": 1}


NUMBERS = {"levels": {"c": ["1", "2.5"]}, "unknown": 0.0, "numeric_levels": True}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 1]),
        pa.array([1, 2, 1], pa.int8()),
        pa.array([1.0, 2.0, 1.0]),
        pa.array(["1", "2", "1.0"]),
        pa.array(["01", "2.", "1e0"]),
        pa.array([Decimal("1.00"), Decimal("2.00"), Decimal("1.00")]),
        pa.array(["1", "2", "+1"]).dictionary_encode(),
        pa.array([1, 2, 1]).dictionary_encode(),
        pa.array([True, None, True]),
        pa.array(["True", None, "true"]),
        pa.array([b"1", b"2", b"1"]),
        pa.array(["1", "2", "1"], pa.large_string()),
    ],
    ids=str,
)
def test_numbers_as_levels_however_they_are_stored(values, parquet_file, counts, model):
    found = counts(parquet_file(c=values, y=[1.0, 2.0, 3.0]), model(**NUMBERS))
    assert found == {"1": 2, "(any other)": 1}


def test_numbers_as_levels_in_csv(csv, counts, model):
    path = csv("c,y\n1,1\n1.0,2\n 1 ,3\n2.50,4\none,5\n1_0,6\n,7\n")
    assert counts(path, model(**NUMBERS)) == {"1": 3, "2.5": 1, "(any other)": 3}


def test_whole_numbers_too_large_for_a_double_stay_apart(csv, counts, model):
    path = csv("c,y\n9007199254740993,1\n9007199254740992,2\n9007199254740993,3\n")
    levels = {"c": ["9007199254740992", "9007199254740993"]}
    assert counts(path, model([], levels, numeric_levels=True)) == {"9007199254740992": 1, "9007199254740993": 2}


def test_text_levels_are_taken_as_they_stand(csv, counts, model):
    path = csv("c,y\n1,1\n1.0,2\n01,3\n U,4\n")
    levels = {"c": ["1", "1.0", "01", " U"]}
    assert counts(path, model([], levels)) == {"1": 1, "1.0": 1, "01": 1, " U": 1}


@pytest.mark.parametrize(
    "values", [[True, False, True], ["true", "False", "TRUE"], [1, 0, 1], [1.0, 0.0, 1.0], ["1", "0", "1"]]
)
def test_truth_values_as_levels(values, parquet_file, counts, model):
    found = counts(parquet_file(c=values, y=[1.0, 2.0, 3.0]), model([], {"c": ["False", "True"]}))
    assert found == {"False": 1, "True": 2}


def test_truth_is_text_among_other_levels(parquet_file, counts, model):
    found = counts(parquet_file(c=["true", "True", "1"], y=[1.0, 2.0, 3.0]), model([], {"c": ["1", "True", "true"]}))
    assert found == {"1": 1, "True": 1, "true": 1}


def test_true_and_false_are_text_to_an_encoder_of_text(csv, parquet_file, counts, model):
    texts = ["True", "False", "true", "FALSE", " True", "1", "0"]
    path = csv("c,y\n" + "".join(f"{text},1\n" for text in texts))
    encoder = model([], {"c": ["False", "True"]}, unknown=0.0, text_levels=True)
    for data in (path, parquet_file(c=texts, y=[1.0] * 7)):
        assert counts(data, encoder) == {"False": 1, "True": 1, "(any other)": 5}
    assert counts(parquet_file(c=[True, False], y=[1.0, 2.0]), encoder) == {"False": 1, "True": 1}


def test_levels_stored_as_dictionaries(parquet_file, counts, model):
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, None, 0]), pa.array(["u", "v", "unused"]))
    path = parquet_file(c=coded, y=np.arange(5.0))
    assert counts(path, model([], {"c": ["u", "v", "(missing)"]})) == {"u": 2, "v": 1, "(missing)": 2}
    assert counts(path, model([], {"c": ["u", "v"]}, unknown=0.0)) == {"u": 2, "v": 1, "(any other)": 2}


def test_numbers_stored_as_dictionaries(parquet_file, collect, model):
    path = parquet_file(a=pa.array([1.5, 2.5, 1.5, 2.5]).dictionary_encode(), y=np.arange(4.0))
    assert collect(path, model(["a"])).moments.mean[0] == 2.0


def test_categories_of_pandas(counts, model):
    frame = pd.DataFrame({"c": pd.Categorical(["u", None, "v", "u"], categories=["v", "u", "unused"]), "y": 1.0})
    assert counts(frame, model([], {"c": ["u", "v", "(missing)"]})) == {"u": 2, "v": 1, "(missing)": 1}


@pytest.mark.parametrize("dtype", ["string", "str", object])
def test_missing_text_of_pandas(dtype, counts, model):
    frame = pd.DataFrame({"c": pd.Series(["u", None, "v"], dtype=dtype), "y": 1.0})
    assert counts(frame, model([], {"c": ["u", "v", "(missing)"]})) == {"u": 1, "v": 1, "(missing)": 1}


def test_a_folder_is_its_files_in_the_order_of_their_names(parquet_file, collect, model):
    parquet_file("all/b.parquet", a=[5.0, 6.0], y=[1.0, 2.0])
    parquet_file("all/a.parquet", y=[3.0, 4.0], other=["x", "y"], a=[1.0, 2.0])
    folder = parquet_file("all/deeper/c.parquet", a=[7, 9], y=[1, 1]).parents[1]
    source = open_source(folder)
    result = collect(source, model(["a"])).moments
    assert (source.kind, result.rows) == ("folder", 6)
    np.testing.assert_allclose(result.mean, [5.0, 2.0])
    batches = list(source.chunks(["a"]))
    assert [x for batch in batches for x in batch.column("a").to_pylist()] == [1.0, 2.0, 5.0, 6.0, 7, 9]


def test_files_of_a_folder_may_store_a_column_differently(parquet_file, collect, counts, model):
    """Whole numbers here, fractions there, nothing at all in a third: as pandas writes partitions."""
    parquet_file("all/1.parquet", a=[1, 2], c=["u", "v"], y=[1.0, 2.0])
    parquet_file("all/2.parquet", a=[1.5, 2.5], c=pa.array(["u", "w"]).dictionary_encode(), y=[1, 2])
    folder = parquet_file("all/3.parquet", a=pa.nulls(2), c=pa.nulls(2), y=[1.0, 2.0]).parent
    scorer = model(["a"], {"c": "uvw"}, missing=0.0, unknown=0.0)
    assert collect(folder, scorer).moments.mean[0] == pytest.approx(7 / 6)
    assert counts(folder, scorer) == {"a is missing": 2, "u": 2, "v": 1, "w": 1, "(any other)": 2}


def test_a_file_of_a_folder_that_lacks_a_column_is_an_error(parquet_file, collect, model):
    """An absent column is not a column of missing values, even where a model would fill those."""
    parquet_file("all/1.parquet", a=[1.0, 2.0], y=[1.0, 2.0])
    folder = parquet_file("all/2.parquet", y=[1.0, 2.0]).parent
    with pytest.raises(ReferenceDataError, match=r"the file '2.parquet' of 'all' lacks the column 'a'"):
        collect(folder, model(["a"], missing=0.0))


def test_hidden_files_of_a_folder_are_not_data(parquet_file, collect, model):
    folder = parquet_file("all/1.parquet", a=[1.0, 2.0], y=[1.0, 2.0]).parent
    parquet_file("all/_delta_log/0.checkpoint.parquet", other=[1.0])
    parquet_file("all/.tmp.parquet", a=[9.0], y=[9.0])
    assert collect(folder, model(["a"])).moments.rows == 2


def test_digests_are_of_the_content(csv, parquet_file):
    path = csv("a,y\n1,2\n")
    assert open_source(path).sha256 == hashlib.sha256(b"a,y\n1,2\n").hexdigest()
    file = parquet_file("all/1.parquet", a=[1.0], y=[1.0])
    line = f"{hashlib.sha256(file.read_bytes()).hexdigest()}  1.parquet\n"
    assert open_source(file.parent).sha256 == hashlib.sha256(line.encode()).hexdigest()
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert TableSource(frame).sha256 == TableSource(frame.copy()).sha256
    assert TableSource(frame).sha256 != TableSource(frame + 1e-9).sha256


def test_a_table_in_memory_is_copied(collect, model):
    """What its owner does to a frame later must not change what was hashed."""
    values = np.array([[1.0, 2.0], [3.0, 4.0]], order="F")
    frame = pd.DataFrame(values, columns=["a", "y"], copy=False)
    source = TableSource(frame)
    values[0, 0] = 1000.0
    frame.loc[1, "a"] = 1000.0
    assert collect(source, model(["a"])).moments.mean[0] == 2.0


@pytest.mark.parametrize("what", ["appended", "replaced", "deleted", "file of a folder"])
def test_a_change_of_content_is_found(what, csv, parquet_file):
    if what == "file of a folder":
        path = parquet_file("all/1.parquet", a=[1.0, 2.0])
        source = open_source(path.parent)
    else:
        path = csv("a,y\n1,2\n3,4\n")
        source = open_source(path)
    source.check_unchanged()
    if what == "appended":
        path.write_text("a,y\n1,2\n3,4\n5,6\n")
    elif what == "replaced":
        path.write_text("a,y\n1,2\n3,5\n")
    elif what == "deleted":
        path.unlink()
    else:
        parquet.write_table(pa.table({"a": [1.0, 2.5]}), path)
    with pytest.raises(ReferenceDataError, match=r"changed while it was being read|cannot read"):
        source.check_unchanged()


@pytest.mark.parametrize("name", ["rows.PARQUET", "rows.pq"])
def test_parquet_by_its_ending(name, parquet_file, collect, model):
    path = parquet_file(name, a=[1.0, 3.0], y=[1.0, 2.0])
    assert collect(path, model(["a"])).moments.mean[0] == 2.0


def test_csv_and_parquet_and_frame_are_the_same_rows(tmp_path: Path, plan, model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "k": rng.integers(0, 3, 50), "c": rng.choice([*"uvw"], 50), "y": 1.0})
    frame["a"] = frame["a"].mask(frame.index % 7 == 0)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    scorer = model(["a"], {"c": "uv", "k": "012"}, missing=0.0, unknown=0.0)
    designs = [
        design_of(source, plan(scorer))
        for source in (open_source(tmp_path / "rows.csv"), open_source(tmp_path / "rows.parquet"), TableSource(frame))
    ]
    np.testing.assert_array_equal(designs[0], designs[2])
    np.testing.assert_array_equal(designs[1], designs[2])
    assert designs[0].shape == (50, 9)
