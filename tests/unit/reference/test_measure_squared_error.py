"""A path measured on rows under the squared error: each figure against its definition on all rows at once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.alignment.change import align
from coordpath_governance.alignment.layout import ModelPair, lay_out
from coordpath_governance.alignment.row_columns import UnitColumns
from coordpath_governance.costs.squared_error import SquaredError
from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.models import CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.paths.problem import BASELINE
from coordpath_governance.reference.collect import collect_moments
from coordpath_governance.reference.decisions import CutOff
from coordpath_governance.reference.encode import ReadingPlan
from coordpath_governance.reference.measure_path import PathOnRows, UnitScores, measure_path
from coordpath_governance.reference.row_passes import RowPasses
from coordpath_governance.reference.segments import SMALL_CELLS
from coordpath_governance.reference.sources import TableSource, open_source


def linear(intercept: float, slope: float, effect: float) -> LinearModel:
    return LinearModel(
        intercept,
        (NumericTerm("a", slope), NumericTerm("still", 1.0)),
        (CategoricalTerm("c", ("u", "v"), (0.0, effect)),),
    )


OLD, NEW = linear(0.5, 1.0, 1.0), linear(1.0, 2.0, -1.0)


def rows(seed: int = 0, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(1, 1, n), "c": rng.choice([*"uv"], n), "still": 0.25})
    frame["y"] = frame["a"] + rng.normal(size=n)
    frame["w"] = rng.choice([0.5, 1.0, 3.0], n)
    frame["region"] = rng.choice(["north", "south", "tiny"], n, p=[0.6, 0.37, 0.03])
    return frame


def score(frame: pd.DataFrame, intercept: float, slope: float, effect: float) -> np.ndarray:
    return (intercept + slope * frame["a"] + frame["still"] + effect * (frame["c"] == "v")).to_numpy()


def path_of(columns, units, start_cost, deltas, shift_grid, threshold=None) -> PathOnRows:
    """A path that moves one unit per step."""
    cut = None if threshold is None else CutOff(threshold)
    return PathOnRows(
        scores=UnitScores.of(columns.units, [(unit,) for unit in units]),
        costs=(start_cost, *(start_cost + np.cumsum(deltas)).tolist()),
        deltas=tuple(deltas),
        size=start_cost,
        steps=tuple(units),
        champion_cut=cut,
        candidate_cut=cut,
        shift_grid=shift_grid,
        by_version=False,
    )


class Measured:
    """The path a → c → baseline, measured, and the same by hand."""

    def __init__(self, source, frame, *, weight=None, segments=(), threshold=None, missing="fail", tamper=None) -> None:
        pair = ModelPair(OLD, NEW)
        plan = ReadingPlan(lay_out(pair), "y", weight, segments, missing)
        moments = collect_moments(source, plan).moments
        change = align(pair, moments)
        self.w = np.ones(len(frame)) if weight is None else frame[weight].to_numpy(dtype=float)
        mean_a, share = np.average(frame["a"], weights=self.w), np.average(frame["c"] == "v", weights=self.w)
        start = score(frame, 0.5, 1.0, 1.0)
        first = start + (frame["a"].to_numpy() - mean_a)
        second = first - 2.0 * ((frame["c"] == "v").to_numpy() - share)
        self.scores = [start, first, second, score(frame, 1.0, 2.0, -1.0)]
        y = frame["y"].to_numpy()
        self.losses = [(y - s) ** 2 for s in self.scores]
        self.residuals = [y - s for s in self.scores]
        self.deltas = [self.mean(b - a) for a, b in zip(self.losses[:-1], self.losses[1:], strict=True)]
        shift = self.scores[3] - self.scores[0]
        self.shift = shift
        mean, sd = self.mean(shift), math.sqrt(self.mean((shift - self.mean(shift)) ** 2))
        columns = UnitColumns.of(pair, moments, change)
        path = path_of(columns, ("a", "c", BASELINE), self.mean(self.losses[0]), self.deltas, (mean, sd), threshold)
        if tamper is not None:
            path = tamper(path)
        self.told: list[int] = []
        rows = RowPasses(source, plan, columns, once=True)
        self.found = measure_path(rows, SquaredError(), path, self.told.append)

    def mean(self, values: np.ndarray) -> float:
        return float(self.w @ values / self.w.sum())

    def error(self, values: np.ndarray, w: np.ndarray | None = None) -> float:
        w = self.w if w is None else w
        n = len(values)
        mean = w @ values / w.sum()
        return math.sqrt(n / (n - 1) * np.sum(w**2 * (values - mean) ** 2)) / w.sum()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**20), weight=st.sampled_from([None, "w"]), threshold=st.sampled_from([None, 2.5]))
def test_measures_by_their_definitions(seed, weight, threshold):
    frame = rows(seed)
    m = Measured(TableSource(frame), frame, weight=weight, threshold=threshold, segments=("region",))
    found = m.found
    steps = [b - a for a, b in zip(m.losses[:-1], m.losses[1:], strict=True)]
    np.testing.assert_allclose(found.step_se, [m.error(step) for step in steps], rtol=1e-9)
    assert found.total_se == pytest.approx(m.error(m.losses[3] - m.losses[0]), rel=1e-9)
    assert found.champion_mae == pytest.approx(m.mean(np.abs(m.residuals[0])), rel=1e-12)
    assert found.candidate_mae == pytest.approx(m.mean(np.abs(m.residuals[3])), rel=1e-12)
    assert found.shift_largest == pytest.approx(m.shift[np.argmax(np.abs(m.shift))], rel=1e-12)
    order = np.argsort(m.shift)
    reached = np.cumsum(m.w[order]) / m.w.sum()
    sd = math.sqrt(m.mean((m.shift - m.mean(m.shift)) ** 2))
    for q, got in ((0.05, found.shift_p05), (0.5, found.shift_p50), (0.95, found.shift_p95)):
        below, above = (m.shift[order][np.searchsorted(reached, q + by).clip(0, 199)] for by in (-1e-9, 1e-9))
        assert below - 0.006 * sd <= got <= above + 0.006 * sd
    if threshold is None:
        assert found.flips is None
    else:
        before, after = m.scores[0] >= threshold, m.scores[3] >= threshold
        assert found.flips.up == pytest.approx(m.mean(after & ~before), rel=1e-12)
        assert found.flips.down == pytest.approx(m.mean(before & ~after), rel=1e-12)
    for cell in found.segments:
        inside = (frame["region"] == cell.value).to_numpy()
        if cell.value == SMALL_CELLS:
            continue
        w = m.w[inside]
        assert cell.rows == inside.sum() >= 10
        assert cell.champion_cost == pytest.approx(w @ m.losses[0][inside] / w.sum(), rel=1e-9)
        assert cell.candidate_cost == pytest.approx(w @ m.losses[3][inside] / w.sum(), rel=1e-9)
        assert cell.delta == pytest.approx(cell.candidate_cost - cell.champion_cost, rel=1e-9)
        assert cell.delta_se == pytest.approx(m.error((m.losses[3] - m.losses[0])[inside], w), rel=1e-6)
        assert cell.mean_shift == pytest.approx(w @ m.shift[inside] / w.sum(), rel=1e-9)
        assert (cell.flips is None) == (threshold is None)
    assert [cell.value for cell in found.segments][:2] == ["north", "south"]


def test_small_segments_are_shown_together_or_not_at_all():
    frame = rows(1)
    frame["region"] = ["a"] * 100 + ["b"] * 85 + ["c"] * 9 + ["d"] * 6
    found = Measured(TableSource(frame), frame, segments=("region",)).found.segments
    assert [(cell.value, cell.rows) for cell in found] == [("a", 100), ("b", 85), (SMALL_CELLS, 15)]
    frame["region"] = ["a"] * 100 + ["b"] * 91 + ["c"] * 9
    found = Measured(TableSource(frame), frame, segments=("region",)).found.segments
    assert [cell.value for cell in found] == ["a", "b"]


def test_a_segment_may_be_an_input_and_missing():
    frame = rows(2)
    frame["region"] = frame["region"].where(frame.index >= 20)
    found = Measured(TableSource(frame), frame, segments=("c", "region")).found.segments
    assert {cell.segment for cell in found} == {"c", "region"}
    assert next(cell.rows for cell in found if cell.value == "(missing)") == 20


def test_dropped_rows_are_dropped_in_both_passes():
    frame = rows(3)
    holed = frame.copy()
    holed.loc[frame.index % 9 == 0, "a"] = np.nan
    m = Measured(TableSource(holed), holed.dropna(), missing="drop", segments=("region",))
    assert m.found.champion_mae == pytest.approx(m.mean(np.abs(m.residuals[0])), rel=1e-12)
    assert sum(cell.rows for cell in m.found.segments) <= len(holed.dropna())


def test_progress_is_told_the_rows_read(monkeypatch):
    monkeypatch.setattr("coordpath_governance.reference.encode._CELLS_PER_CHUNK", 700)
    frame = rows(4)
    m = Measured(TableSource(frame), frame)
    assert m.told == [100, 200]


def test_rows_that_disagree_with_the_moments_are_found_out():
    frame = rows(5)

    def other_step(path: PathOnRows) -> PathOnRows:
        return replace(path, costs=(path.costs[0], path.costs[1] + 1e-3, *path.costs[2:]))

    def other_start(path: PathOnRows) -> PathOnRows:
        return replace(path, costs=(path.costs[0] * 1.001, *path.costs[1:]))

    for tamper in (other_step, other_start):
        with pytest.raises(ReferenceDataError, match="the rows and the path disagree"):
            Measured(TableSource(frame), frame, tamper=tamper)


def test_a_file_that_changes_between_the_passes_is_found_out(tmp_path):
    """Even in a column that no figure depends on: the report names the digest of what it was made from."""
    frame = rows(6)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    source = open_source(path)

    def meddle(on_rows: PathOnRows) -> PathOnRows:
        frame.assign(region="elsewhere").to_csv(path, index=False)
        return on_rows

    with pytest.raises(ReferenceDataError, match=r"'rows\.csv' changed while it was being read"):
        Measured(source, frame, tamper=meddle)


def test_a_file_that_vanishes_between_the_passes_is_found_out(tmp_path):
    frame = rows(7)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    source = open_source(path)

    def meddle(on_rows: PathOnRows) -> PathOnRows:
        path.unlink()
        return on_rows

    with pytest.raises(ReferenceDataError, match=r"cannot read the reference data 'rows\.csv'"):
        Measured(source, frame, tamper=meddle)


def test_an_empty_path_is_measured_too():
    frame = rows(8)
    pair = ModelPair(OLD, OLD)
    plan = ReadingPlan(lay_out(pair), "y")
    source = TableSource(frame)
    moments = collect_moments(source, plan).moments
    columns = UnitColumns.of(pair, moments, align(pair, moments))
    cost = float(np.mean((frame["y"] - score(frame, 0.5, 1.0, 1.0)) ** 2))
    rows_again = RowPasses(source, plan, columns, once=True)
    found = measure_path(rows_again, SquaredError(), path_of(columns, (), cost, (), (0.0, 0.0), 1.0))
    assert (found.step_se, found.total_se, found.shift_largest) == ((), 0.0, 0.0)
    assert (found.flips.up, found.flips.down) == (0.0, 0.0)
    assert found.shift_p50 == pytest.approx(0.0, abs=1e-200)
    assert found.champion_mae == found.candidate_mae > 0
