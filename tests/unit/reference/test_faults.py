"""Faulty reference data: every fault is a typed error that names the column, the level or the row, and says what to do."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from coordpath_governance.errors import NotFoundError, ReferenceDataError
from coordpath_governance.models import CategoricalTerm, LinearModel
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.sources import TableSource, open_source

GOOD = "a,y\n1,2\n3,4\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "cannot read .*rows.csv.*[Ee]mpty"),
        ("\n\n", "cannot read .*[Ee]mpty"),
        ("a,y", "cannot read .*[Ee]mpty"),
        ("a,y\n", "'rows.csv' has no rows"),
        ("a,y\n1,2\n", "'rows.csv' has one usable row"),
        ("a,y\n1,2\n3\n", "Expected 2 columns, got 1: 3"),
        ("a,y\n1,2\n3,4,5\n", "Expected 2 columns, got 3: 3,4,5"),
        (b"a,y\n1,2\n\xff\xfe,4\n", "invalid UTF8"),
        (b"\xff,a,y\n1,2,3\n1,2,4\n", "cannot read .*utf-8"),
        (GOOD.encode("utf-16"), "cannot read"),
        ("a;y\n1;2\n3;4\n", "no target column 'y'.*separated by semicolons; write it with commas"),
        ("a\ty\n1\t2\n", "separated by tabs"),
        ("a,z\n1,2\n3,4\n", "no target column 'y' in 'rows.csv'; its columns are 'a', 'z'$"),
        ("b,y\n1,2\n3,4\n", "'rows.csv' lacks 'a'; its columns are 'b', 'y'$"),
        ("a,a,y\n1,1,2\n3,3,4\n", "more than one column named 'a'"),
        ("a,y,y\n1,1,2\n3,3,4\n", "more than one column named 'y'"),
        ("a,y\n1,2\nabc,4\n", "column 'a' should hold numbers but has 'abc' in row 2"),
        ('a,y\n"1,5",2\n3,4\n', "column 'a' should hold numbers but has '1,5' in row 1"),
        ("a,y\n1_000,2\n3,4\n", "column 'a' should hold numbers but has '1_000' in row 1"),
        ("a,y\n1,2\n٣,4\n", "column 'a' should hold numbers but has '٣' in row 2"),
        ("a,y\n1,2\n3,high\n", "column 'y' should hold numbers but has 'high' in row 2"),
        ("a,y\n1,2\n3,4\ninf,1\n", "column 'a' is infinite in row 3"),
        ("a,y\n1,2\n3,-Infinity\n", "column 'y' is infinite in row 2"),
        ("a,y\n1,2\n1e999,4\n", "column 'a' is infinite in row 2"),
    ],
)
def test_faulty_csv(content, says, csv, collect, model):
    with pytest.raises(ReferenceDataError, match=says):
        collect(csv(content), model(["a"]))


def test_rows_are_numbered_over_chunks(model, collect, monkeypatch, csv):
    monkeypatch.setattr("coordpath_governance.reference.sources._BLOCK_BYTES", 64)
    path = csv("a,y\n" + "1,2\n" * 100 + "x,2\n" + "1,2\n" * 100)
    with pytest.raises(ReferenceDataError, match="'x' in row 101"):
        collect(path, model(["a"]))


def test_rows_are_numbered_over_slices_of_a_chunk(model, collect, monkeypatch):
    monkeypatch.setattr("coordpath_governance.reference.encode._CELLS_PER_CHUNK", 12)
    frame = pd.DataFrame({"a": [1.0] * 40 + [np.inf], "y": 1.0})
    with pytest.raises(ReferenceDataError, match="column 'a' is infinite in row 41"):
        collect(frame, model(["a"]))


@pytest.mark.parametrize("column", ["a", "c", "y", "w"])
def test_missing_values_are_named_or_dropped(column, model, collect):
    frame = pd.DataFrame({"a": np.arange(30.0), "c": [*"uv"] * 15, "y": 1.0, "w": 2.0})
    frame[column] = frame[column].mask(frame.index % 10 == 0)
    scorer = model(["a"], {"c": "uv"})
    with pytest.raises(ReferenceDataError, match=f"column '{column}' is missing in 3 of 30 rows.*--missing drop"):
        collect(frame, scorer, weight="w")
    dropped = collect(frame, scorer, weight="w", missing="drop")
    expected = collect(frame.dropna(), scorer, weight="w")
    assert (dropped.rows_dropped, dropped.moments.rows) == (3, 27)
    np.testing.assert_allclose(dropped.moments.mean, expected.moments.mean, rtol=1e-14)
    np.testing.assert_allclose(dropped.moments.covariance, expected.moments.covariance, rtol=1e-12, atol=1e-14)


def test_every_fault_is_told_at_once(model, collect):
    frame = pd.DataFrame({"a": [np.nan, 1.0, np.nan], "c": ["u", "new", None], "y": [1.0, np.nan, 2.0]})
    with pytest.raises(ReferenceDataError) as caught:
        collect(frame, model(["a"], {"c": "uv"}))
    for part in (
        "'a' is missing in 2 of 3",
        "'c' is missing in 1 of 3",
        "'y' is missing in 1 of 3",
        "'c' has levels that the candidate cannot score: 'new' (1 rows)",
    ):
        assert part in str(caught.value)


def test_a_row_with_several_missing_values_is_dropped_once(model, collect):
    frame = pd.DataFrame({"a": [np.nan, 1.0, 2.0], "c": [None, "u", "u"], "y": [np.nan, 1.0, 2.0]})
    result = collect(frame, model(["a"], {"c": "u"}), missing="drop")
    assert (result.rows_dropped, result.moments.rows) == (1, 2)


def test_all_rows_dropped_is_told(model, collect):
    frame = pd.DataFrame({"a": [np.nan] * 4, "y": 1.0})
    with pytest.raises(ReferenceDataError, match=r"all 4 rows .* have a missing value; none is left"):
        collect(frame, model(["a"]), missing="drop")


@pytest.mark.parametrize("kind", ["csv", "float parquet", "null parquet"])
def test_a_column_of_nothing_but_missing_values(kind, csv, parquet_file, model, collect, counts):
    path = {
        "csv": lambda: csv("a,y\n,1\n,2\n,3\n"),
        "float parquet": lambda: parquet_file(a=pa.array([None] * 3, pa.float64()), y=[1.0, 2.0, 3.0]),
        "null parquet": lambda: parquet_file(a=pa.nulls(3), y=[1.0, 2.0, 3.0]),
    }[kind]()
    with pytest.raises(ReferenceDataError, match="column 'a' is missing in 3 of 3 rows"):
        collect(path, model(["a"]))
    assert counts(path, model(["a"], missing=0.5)) == {"a is missing": 3}
    with pytest.raises(ReferenceDataError, match="column 'a' is missing in 3 of 3 rows"):
        collect(path, model([], {"a": "uv"}))


@pytest.mark.parametrize("missing", ["fail", "drop"])
def test_levels_that_a_model_raises_on_are_named_with_their_rows(missing, model, collect):
    """Dropping is for missing values only: a level that a model cannot score is never dropped in silence."""
    frame = pd.DataFrame({"c": [*"uv" * 10, *"z" * 3, "q"], "y": 1.0})
    with pytest.raises(ReferenceDataError, match=r"'c' has levels that the candidate .*'q' \(1 rows\), 'z' \(3 rows\)\."):
        collect(frame, model([], {"c": "uv"}), missing=missing)


def test_the_model_that_would_raise_is_the_one_named(model, plan):
    frame = pd.DataFrame({"c": [*"uvw" * 5], "y": 1.0})
    for champion, candidate, who in (
        (model([], {"c": "uv"}), model([], {"c": "uvw"}), "champion"),
        (model([], {"c": "uvw"}), model([], {"c": "uv"}), "candidate"),
    ):
        with pytest.raises(ReferenceDataError, match=rf"the {who} cannot score: 'w' \(5 rows\)"):
            collect_moments(TableSource(frame), plan(champion, candidate))


def test_many_unknown_levels_are_named_by_a_few(model, collect):
    frame = pd.DataFrame({"c": [f"id{i:05}" for i in range(3000)], "y": 1.0})
    with pytest.raises(ReferenceDataError, match=r"'id00004' .1 rows. and 2995 more levels"):
        collect(frame, model([], {"c": "uv"}))


def test_unknown_levels_are_counted_over_all_chunks(model, collect, monkeypatch, csv):
    monkeypatch.setattr("coordpath_governance.reference.sources._BLOCK_BYTES", 64)
    with pytest.raises(ReferenceDataError, match=r"'z' \(300 rows\)"):
        collect(csv("c,y\n" + "u,1\nz,2\n" * 300), model([], {"c": "uv"}))


def test_a_level_in_a_row_that_is_dropped_anyway_is_no_fault(model, collect):
    frame = pd.DataFrame({"c": ["u", "v", "z"], "y": [1.0, 2.0, np.nan]})
    result = collect(frame, model([], {"c": "uv"}), missing="drop")
    assert (result.rows_dropped, result.moments.rows) == (1, 2)
    with pytest.raises(ReferenceDataError, match=r"'z' \(1 rows\)"):
        collect(frame, model([], {"c": "uv"}))


def test_the_target_cannot_be_an_input(model, collect):
    with pytest.raises(ReferenceDataError, match="the target 'a' is also an input"):
        collect(pd.DataFrame({"a": [1.0, 2.0]}), model(["a"]), target="a")


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([0.0, 0.0, 0.0], "all weights in .* are zero"),
        ([1.0, 0.0, 0.0], "one usable row"),
        ([1.0, 1e-9, 1e-9], r"leave effectively 1 rows"),
        ([1.0, -2.0, 1.0], "the weight column 'w' is negative in row 2"),
        ([1.0, np.inf, 1.0], "column 'w' is infinite in row 2"),
        (["1", "heavy", "1"], "column 'w' should hold numbers but has 'heavy' in row 2"),
    ],
)
def test_faulty_weights(weights, says, model, collect):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": 1.0, "w": weights})
    with pytest.raises(ReferenceDataError, match=says):
        collect(frame, model(["a"]), weight="w")


def test_rows_of_weight_zero_do_not_count(model, collect):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 100.0], "y": 1.0, "w": [1.0, 1.0, 1.0, 0.0]})
    assert collect(frame, model(["a"]), weight="w").moments.rows == 3


@pytest.mark.parametrize(
    ("one", "other", "values"),
    [
        (("True", "False"), ("true", "false"), ["true", "false"]),
        (("True", "False"), ("yes", "no"), [0, 1]),
    ],
)
def test_values_that_the_models_would_take_for_different_levels_are_refused(one, other, values, collect):
    old, new = (LinearModel(0.0, (), (CategoricalTerm("c", levels, (0.0, 1.0), 0.0),)) for levels in (one, other))
    frame = pd.DataFrame({"c": values * 20, "y": np.arange(40.0)})
    assert collect(frame, old).moments.rows == 40
    with pytest.raises(ReferenceDataError, match="column 'c': one model takes"):
        collect(frame, old, candidate=new)


def test_true_and_false_as_text_to_one_model_and_as_truth_to_the_other(model, collect):
    truth, text = (model([], {"c": ["False", "True"]}, unknown=0.0, text_levels=flag) for flag in (False, True))
    for old, new in ((truth, text), (text, truth)):
        frame = pd.DataFrame({"c": ["True", "False"] * 10, "y": np.arange(20.0)})
        assert collect(frame, old, candidate=new).moments.rows == 20
        with pytest.raises(ReferenceDataError, match=r"one model takes 'true' for .* train both models on one type"):
            collect(frame.assign(c=frame["c"].str.lower()), old, candidate=new)


def test_the_name_of_missing_values_as_a_text(csv, model, collect):
    says = r"column '{}' holds the text '\(missing\)', the name of a missing value here; leave those cells empty"
    known = model([], {"c": ["u", "(missing)"]}, unknown=0.0)
    for data in (csv("c,y\nu,1\n(missing),2\n,3\n"), pd.DataFrame({"c": ["u", "(missing)", None], "y": 1.0})):
        with pytest.raises(ReferenceDataError, match=says.format("c")):
            collect(data, known)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["no", "yes", "(missing)"]})
    with pytest.raises(ReferenceDataError, match=says.format("y")):
        collect(frame, model(["a"]), family="binomial", classes=("no", "yes"), missing="drop")


@pytest.mark.parametrize("names", [[0, 1], ["a", "b"]])
def test_columns_of_a_model_that_has_no_names_for_them(names, model, collect):
    frame = pd.DataFrame(np.ones((4, 2)), columns=names).assign(y=1.0)
    message = f"lacks 'x0', 'x1'; its columns are '{names[0]}', .* fit it on a DataFrame with text as names, log it with a"
    with pytest.raises(ReferenceDataError, match=message):
        collect(frame, model(["x0", "x1"]))


def test_text_levels_beside_number_levels_are_read_where_both_agree(collect):
    old = LinearModel(0.0, (), (CategoricalTerm("c", ("1", "2"), (0.0, 1.0), 0.0, numeric_levels=True),))
    new = LinearModel(0.0, (), (CategoricalTerm("c", ("1", "2"), (0.0, 1.0), 0.0),))
    assert collect(pd.DataFrame({"c": ["1", "2"] * 10, "y": np.arange(20.0)}), old, candidate=new).moments.rows == 20
    with pytest.raises(ReferenceDataError, match="train both models on one type"):
        collect(pd.DataFrame({"c": ["01", "2"] * 10, "y": np.arange(20.0)}), old, candidate=new)


def test_a_weight_column_that_is_not_there(model, collect):
    with pytest.raises(ReferenceDataError, match="lacks 'w'"):
        collect(pd.DataFrame({"a": [1.0, 2.0], "y": 1.0}), model(["a"]), weight="w")


def test_too_many_levels_are_refused_before_a_row_is_read(model, collect):
    levels = [f"id{i}" for i in range(4001)]
    with pytest.raises(ReferenceDataError, match="4002 coordinates; at most 4000"):
        collect(pd.DataFrame({"c": ["id1"], "y": 1.0}), model([], {"c": levels}))


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (pa.array([pd.Timestamp("2020-01-01")] * 2), "should hold numbers but has '2020-01-01 00:00:00' in row 1"),
        (pa.array([[1.0], [2.0]]), "should hold numbers but has '\\[1.0\\]' in row 1"),
        (pa.array([b"\xff", b"1"]), "column 'a' holds bytes that are not UTF-8"),
        (pa.array([b"1", b"one"]), "should hold numbers but has 'one' in row 2"),
    ],
)
def test_columns_that_are_no_numbers(kind, says, parquet_file, collect, model):
    with pytest.raises(ReferenceDataError, match=says):
        collect(parquet_file(a=kind, y=[1.0, 2.0]), model(["a"]))


def test_a_column_that_holds_no_levels(parquet_file, collect, model):
    with pytest.raises(ReferenceDataError, match="column 'c' should hold levels but has the type list"):
        collect(parquet_file(c=[["u"], ["v"]], y=[1.0, 2.0]), model([], {"c": "uv"}))


def test_nothing_there(tmp_path):
    with pytest.raises(NotFoundError, match=r"no reference data at '.*nowhere\.csv'"):
        open_source(tmp_path / "nowhere.csv")


def test_a_folder_without_parquet(tmp_path):
    (tmp_path / "rows.csv").write_text(GOOD)
    with pytest.raises(ReferenceDataError, match=r"holds no .parquet file"):
        open_source(tmp_path)


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_truncated_parquet_file(keep, parquet_file, collect, model):
    path = parquet_file(a=np.arange(1000.0), y=np.arange(1000.0))
    content = path.read_bytes()
    path.write_bytes(content[: keep if isinstance(keep, int) else int(keep * len(content))])
    with pytest.raises(ReferenceDataError, match=r"cannot read the reference data 'rows.parquet'"):
        collect(path, model(["a"]))


def test_parquet_with_damaged_pages(parquet_file, collect, model):
    path = parquet_file(a=np.arange(5000.0) ** 2, y=np.arange(5000.0))
    content = bytearray(path.read_bytes())
    content[4:400] = b"\x99" * 396
    path.write_bytes(bytes(content))
    with pytest.raises(ReferenceDataError, match=r"cannot read the reference data 'rows.parquet'"):
        collect(path, model(["a"]))


def test_parquet_with_two_columns_of_one_name(tmp_path, collect, model):
    columns = [pa.array([1.0, 2.0])] * 3
    parquet.write_table(pa.table(columns, names=["a", "a", "y"]), tmp_path / "rows.parquet")
    with pytest.raises(ReferenceDataError, match="more than one column named 'a'"):
        collect(tmp_path / "rows.parquet", model(["a"]))


@pytest.mark.parametrize(
    "content", [b"a,y\n1,2\n3,4\n", gzip.compress(b"a,y\n" + b"1,2\n" * 90000)[:300]], ids=["none", "cut"]
)
def test_damaged_compression(content, csv, collect, model):
    with pytest.raises(ReferenceDataError, match=r"cannot read the reference data 'rows.csv.gz'"):
        collect(csv(content, "rows.csv.gz"), model(["a"]))


def test_a_file_that_may_not_be_read_is_a_typed_error(tmp_path, monkeypatch, csv):
    path = csv(GOOD)

    def refuse(*_: object) -> None:
        raise PermissionError("not for you")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(ReferenceDataError, match=r"cannot read the reference data 'rows.csv': not for you"):
        open_source(path)


def test_tables_that_are_no_tables(collect, model):
    with pytest.raises(ReferenceDataError, match="a pandas DataFrame, not a ndarray"):
        TableSource(np.zeros((3, 2)))
    with pytest.raises(ReferenceDataError, match="two columns of the same name"):
        TableSource(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
    with pytest.raises(ReferenceDataError, match=r"cannot use the table.*column c"):
        TableSource(pd.DataFrame({"c": ["u", 1], "y": [1.0, 2.0]}))
    with pytest.raises(ReferenceDataError, match="has no rows"):
        collect(pd.DataFrame({"a": [], "y": []}), model(["a"]))
