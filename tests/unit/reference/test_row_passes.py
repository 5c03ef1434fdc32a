"""Rows that a cost passes over many times: the same every time, from memory where they fit, never held twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.glm_paths import OnRows, PlainColumns, family, reading, rows

from coordpath_governance.alignment.change import align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.alignment.row_columns import RowColumns
from coordpath_governance.costs import GlmCost
from coordpath_governance.models import LinearModel, NumericTerm
from coordpath_governance.reference import collect, encode, row_passes
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.plan import ReadingPlan
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reference.sources import TableSource


class CountedSource(TableSource):
    """Knows how often it was read."""

    reads = 0

    def chunks(self, columns, numbers=()):
        self.reads += 1
        yield from super().chunks(columns, numbers)


class CountedColumns(PlainColumns):
    calls = 0

    def columns(self, design):
        self.calls += 1
        return super().columns(design)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(encode, "_CELLS_PER_CHUNK", 160)


def stacked(passes: RowPasses) -> np.ndarray:
    return np.vstack([np.column_stack([c.columns, c.target, c.weight, c.offset]) for c in passes])


def test_the_same_rows_from_memory_from_the_source_and_from_chunks_read_again(small_chunks, monkeypatch):
    frame = rows("poisson", n=200)
    plan = reading("poisson", weight="w", exposure="e", segments=("region",))
    source = CountedSource(frame)
    kept = collect_moments(source, plan).kept
    from_memory = RowPasses(source, plan, PlainColumns(), kept)
    expected = np.column_stack([np.ones(200), frame[["a", "b", "c", "y", "w"]], np.log(frame["e"])])
    np.testing.assert_allclose(stacked(from_memory), expected, rtol=1e-15)
    assert source.reads == 1
    assert (stacked(RowPasses(source, plan, PlainColumns())) == stacked(from_memory)).all()
    monkeypatch.setattr(row_passes, "KEPT_FOR_PASSES", 500)
    again = RowPasses(source, plan, PlainColumns())
    assert (stacked(again) == stacked(from_memory)).all()
    assert (stacked(again) == stacked(from_memory)).all()
    assert source.reads == 4
    labels = [levels.labels[code] for chunk in again for levels in chunk.segments for code in levels.codes]
    assert labels == frame["region"].tolist()


def test_kept_rows_are_taken_out_and_columns_computed_once(small_chunks):
    plan = reading("logistic")
    source = CountedSource(rows("logistic"))
    kept = collect_moments(source, plan).kept
    chunks = len(kept)
    columns = CountedColumns()
    passes = RowPasses(source, plan, columns, kept)
    assert kept == []
    assert sum(1 for _ in passes) == sum(1 for _ in passes) == columns.calls == chunks > 3
    assert passes.width == 4


def test_rows_that_were_not_kept_are_kept_from_the_first_whole_pass_on(small_chunks):
    source = CountedSource(rows("logistic"))
    columns = CountedColumns()
    passes = RowPasses(source, reading("logistic"), columns)
    next(iter(passes))
    assert sum(len(chunk) for chunk in passes) == 200
    assert source.reads == 2
    calls = columns.calls
    assert sum(len(chunk) for chunk in passes) == 200
    assert (source.reads, columns.calls) == (2, calls)


def test_more_rows_are_kept_where_a_cost_needs_them_often(model, monkeypatch):
    monkeypatch.setattr(collect, "KEPT_CELLS", 100)
    monkeypatch.setattr(collect, "KEPT_FOR_PASSES", 1000)
    source = TableSource(rows("poisson"))
    assert collect_moments(source, reading("poisson")).kept is not None
    assert collect_moments(source, ReadingPlan(reading("poisson").design, "y")).kept is None
    monkeypatch.setattr(collect, "KEPT_FOR_PASSES", 900)
    assert collect_moments(source, reading("poisson")).kept is None


@pytest.mark.parametrize("kind", ["logistic", "multinomial", "poisson", "gamma", "tweedie"])
def test_a_cost_over_them_is_the_mean_loss(kind, small_chunks):
    on = OnRows(kind, rows(kind), weight="w", exposure=None if kind == "multinomial" else "e")
    cost = GlmCost(on.family, on.rows())
    np.testing.assert_allclose(cost.values(on.betas), [on.mean(loss) for loss in on.losses.T], rtol=1e-12)


def test_with_the_coordinates_of_a_change():
    frame = rows("poisson")
    terms = {"family": "poisson", "link": "log"}
    old = LinearModel(-0.1, (NumericTerm("a", 0.5), NumericTerm("b", 0.2)), **terms)
    new = LinearModel(0.1, (NumericTerm("a", 0.1), NumericTerm("c", 0.7)), **terms)
    pair = ModelPair(old, new)
    source, plan = TableSource(frame), ReadingPlan(lay_out(pair), "y", family="poisson", exposure="e")
    collected = collect_moments(source, plan)
    change = align(pair, collected.moments)
    passes = RowPasses(source, plan, RowColumns.of(pair, collected.moments, change), collected.kept)
    betas = np.array([[c.old for c in change.exercised], [c.new for c in change.exercised]])
    log_exposure = np.log(frame["e"])
    by_hand = [
        -0.1 + 0.5 * frame["a"] + 0.2 * frame["b"] + log_exposure,
        0.1 + 0.1 * frame["a"] + 0.7 * frame["c"] + log_exposure,
    ]
    poisson = family("poisson")
    expected = [poisson.loss(frame["y"].to_numpy(float), s.to_numpy()[:, None, None]).mean() for s in by_hand]
    np.testing.assert_allclose(GlmCost(poisson, passes).values(betas), expected, rtol=1e-12)


def test_offsets_that_are_nothing_take_no_room():
    passes = OnRows("logistic", pd.concat([rows("logistic")] * 3, ignore_index=True)).rows()
    assert all(chunk.offset.strides == (0,) for chunk in passes)
