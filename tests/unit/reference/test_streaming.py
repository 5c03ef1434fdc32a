"""Rows go by a chunk at a time: memory does not grow with the file, and chunks change no figure."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from coordpath_governance.reference import encode
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.sources import TableSource, open_source


class CountingSource:
    """Chunks made on demand; knows how many are alive at any time."""

    kind = "table"
    name = "counted"
    sha256 = ""
    null_texts = ()

    def __init__(self, frame: pd.DataFrame, size: int) -> None:
        self._frame, self._size = frame, size
        self._alive: list[weakref.ref] = []
        self.most_alive = 0
        self.chunks_made = 0

    def column_names(self) -> list[str]:
        return list(self._frame.columns)

    def chunks(self, columns: Sequence[str], numbers: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self._frame), self._size):
            batch = pa.RecordBatch.from_pandas(self._frame[list(columns)].iloc[start : start + self._size])
            self._alive.append(weakref.ref(batch))
            self.chunks_made += 1
            self.most_alive = max(self.most_alive, sum(ref() is not None for ref in self._alive))
            yield batch
            del batch

    def check_unchanged(self) -> None: ...


def rows(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(50, 3, n), "c": rng.choice([*"uvw"], n), "y": rng.normal(size=n)})
    return frame.assign(a=frame["a"].mask(rng.random(n) < 0.1))


@pytest.fixture(scope="module")
def scorer(model):
    return model(["a"], {"c": "uv"}, missing=0.0, unknown=0.0)


def same(found, expected) -> None:
    assert found.moments.rows == expected.moments.rows
    assert found.moments.counts == expected.moments.counts
    np.testing.assert_allclose(found.moments.mean, expected.moments.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.moments.covariance, expected.moments.covariance, rtol=1e-11, atol=1e-13)


def test_one_chunk_at_a_time(scorer, plan):
    source = CountingSource(rows(), 100)
    told: list[int] = []
    found = collect_moments(source, plan(scorer), told.append)
    assert source.chunks_made == 30
    assert source.most_alive <= 2
    assert told == list(range(100, 3001, 100))
    same(found, collect_moments(TableSource(rows()), plan(scorer)))


@pytest.mark.parametrize("kind", ["csv", "parquet", "table"])
def test_a_file_of_many_chunks_equals_the_table_in_memory(kind, scorer, plan, collect, tmp_path, monkeypatch):
    expected = collect_moments(TableSource(rows()), plan(scorer))
    if kind == "csv":
        monkeypatch.setattr("coordpath_governance.reference.sources._BLOCK_BYTES", 1000)
        rows().to_csv(tmp_path / "rows.csv", index=False)
        source = open_source(tmp_path / "rows.csv")
    elif kind == "parquet":
        parquet.write_table(pa.Table.from_pandas(rows()), tmp_path / "rows.parquet", row_group_size=100)
        source = open_source(tmp_path / "rows.parquet")
    else:
        monkeypatch.setattr(encode, "_CELLS_PER_CHUNK", 700)
        source = TableSource(rows())
    told: list[int] = []
    same(collect_moments(source, plan(scorer), told.append), expected)
    assert len(told) >= 29
    assert told[-1] == 3000


def test_no_chunk_of_numbers_exceeds_its_size(scorer, plan, monkeypatch):
    monkeypatch.setattr(encode, "_CELLS_PER_CHUNK", 1000)
    reading = plan(scorer)
    width = len(reading.design.columns) + 2
    sizes = [chunk.design.shape[0] * width for chunk in encode.encode_rows(TableSource(rows()), reading, encode.Tally())]
    assert max(sizes) <= 1000
    assert sum(sizes) == 3000 * width
