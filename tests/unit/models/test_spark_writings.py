"""One Spark model in every way that Spark may write its numbers: dense, sparse, by rows, by columns."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from helpers.spark_models import change_metadata, change_row, dense, expected_of, part, predicted, sparse, stage

from coordpath_governance.models import read_model


def _rows_of(old):
    """The rows of a dense matrix that is stored by rows, as Spark stores coefficients."""
    assert (old["type"], old["isTransposed"]) == (1, True)
    width = old["numCols"]
    return [old["values"][i * width : (i + 1) * width] for i in range(old["numRows"])]


def _by_columns(old):
    values = [value for column in zip(*_rows_of(old), strict=True) for value in column]
    return {**old, "values": values, "isTransposed": False}


def _sparse(lines, old, by_rows):
    """A matrix without its zeros, from its rows or its columns."""
    entries = [[(i, value) for i, value in enumerate(line) if value] for line in lines]
    pointers = [sum(map(len, entries[:i])) for i in range(len(lines) + 1)]
    flat = [entry for line in entries for entry in line]
    return {
        **old,
        "type": 0,
        "colPtrs": pointers,
        "isTransposed": by_rows,
        "rowIndices": [i for i, _ in flat],
        "values": [value for _, value in flat],
    }


WRITINGS = {
    "by columns": _by_columns,
    "sparse by rows": lambda old: _sparse(_rows_of(old), old, True),
    "sparse by columns": lambda old: _sparse(list(zip(*_rows_of(old), strict=True)), old, False),
}


@pytest.mark.parametrize("name", ["softmax", "weighed"])
@pytest.mark.parametrize("writing", WRITINGS)
def test_one_matrix_in_another_writing_is_one_model(spark_copy, spark_models, name, writing):
    folder = spark_copy(name)
    change_row(folder, "Logistic", coefficientMatrix=WRITINGS[writing])
    stored = pq.read_table(part(stage(folder, "Logistic") / "data")).to_pylist()[0]["coefficientMatrix"]
    assert (stored["type"], stored["isTransposed"]) == (int(writing == "by columns"), "by rows" in writing)
    again, before = read_model(folder), read_model(spark_models / name)
    assert (again.numeric, again.categorical, again.class_scores) == (
        before.numeric,
        before.categorical,
        before.class_scores,
    )


def test_one_vector_in_another_writing_is_one_model(spark_copy, spark_models):
    folder = spark_copy("logistic")

    def thin(old):
        kept = [i for i, value in enumerate(old["values"]) if value]
        return sparse(kept, [old["values"][i] for i in kept], len(old["values"]))

    change_row(folder, "StandardScaler", mean=thin, std=thin)
    assert read_model(folder).numeric == read_model(spark_models / "logistic").numeric


def test_raw_codes_that_are_not_kept_raise(spark_copy, spark_models):
    """With one category more and none for the others, known codes score as before and others raise."""
    folder = spark_copy("gamma")
    change_metadata(folder, "OneHotEncoder", lambda metadata: metadata["paramMap"].update(handleInvalid="error"))
    change_row(folder, "OneHotEncoder", categorySizes=lambda sizes: [size + 1 for size in sizes])
    rows, before = expected_of(json.loads((spark_models / "models.json").read_text()), "gamma")
    found = predicted(read_model(folder), rows)
    for row_of, number, again in zip(rows, before, found, strict=True):
        if row_of["code"] not in range(4):
            assert again is None
        elif row_of["a"] is not None:
            assert again == (None if number is None else pytest.approx(number, rel=1e-9))
    assert sum(row_of["code"] not in range(4) for row_of in rows) == 2


def _coefficients(folder):
    return {term.column: term.coefficient for term in read_model(folder).numeric}


def _at(place, number):
    """A vector with another number in one place."""
    return lambda old: {**old, "values": [number if i == place else each for i, each in enumerate(old["values"])]}


def test_columns_without_spread(spark_copy):
    """A StandardScaler makes 0 of them, a MinMaxScaler the middle of its range: they have no effect."""
    folder = spark_copy("several")
    before = _coefficients(folder)
    assert all(before.values())
    change_row(folder, "StandardScaler", std=_at(5, 0.0))
    assert _coefficients(folder) == {**before, "code": 0.0}
    change_row(folder, "MinMaxScaler", originalMin=dense([0.0] * 6), originalMax=dense([1.0, 1.0, 1.0, 1.0, 0.0, 1.0]))
    assert _coefficients(folder) == {"b": 0.0, "code": 0.0}


def test_pages_of_the_second_version_are_read(spark_copy, spark_models):
    folder = spark_copy("logistic")
    path = part(stage(folder, "StandardScaler") / "data")
    pq.write_table(pq.read_table(path), path, data_page_version="2.0", compression="zstd")
    assert read_model(folder).numeric == read_model(spark_models / "logistic").numeric
