"""Best subsets and projections against least squares on every set of columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.patience import never
from coordpath_governance.paths.walks import best_subsets
from coordpath_governance.paths.walks.best_subsets import least_by_size
from coordpath_governance.paths.walks.projections import excess_of_all_sets, excess_of_sets, find_circuit, split_circuits
from coordpath_governance.paths.walks.sparse_relaxation import relaxed_by_size


def least_squares(residual, columns, members):
    fitted = np.linalg.lstsq(columns[:, list(members)], residual, rcond=1e-11)[0] if members else np.zeros(0)
    left = residual - columns[:, list(members)] @ fitted
    return float(left @ left)


def all_sizes(residual, columns, most):
    """The least excess of each number of columns: every set is tried."""
    width = columns.shape[1]
    least = [
        min(least_squares(residual, columns, members) for members in itertools.combinations(range(width), min(size, width)))
        for size in range(most + 1)
    ]
    return np.minimum.accumulate(least)


def unit(columns):
    lengths = np.linalg.norm(columns, axis=0)
    return columns / np.where(lengths > 0, lengths, 1.0)


def make(seed, rank, width, kind):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((rank, width))
    if kind == "circuits":
        columns[:, 0] = columns[:, 1] + columns[:, 2]
        columns[:, 3] = -columns[:, 4]
        columns[:, 5] = 0.0
    elif kind == "close":
        columns[:, 0] = columns[:, 1] + 1e-4 * columns[:, 0]
        columns[:, 2] = columns[:, 1] + 1e-3 * columns[:, 2]
    elif kind == "alike":
        columns += 3.0 * rng.standard_normal((rank, 1))
    return rng.standard_normal(rank), unit(columns)


KINDS = ["plain", "circuits", "close", "alike"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(6, 8), st.sampled_from(KINDS), st.sampled_from([0, 300, 10**7]))
def test_bounds_hold_and_are_tight_where_the_work_suffices(seed, rank, width, kind, work):
    residual, columns = make(seed, rank, width, kind)
    whole = float(residual @ residual)
    oracle = all_sizes(residual, columns, width)
    least = least_by_size(residual, columns, width + 2, work=work)
    assert (least[: width + 1] <= oracle + 1e-12 * whole).all()
    assert (least >= 0).all()
    assert (np.diff(least) <= 0).all()
    assert least[width:].tolist() == [least[width]] * 3
    closest = min(np.linalg.svd(columns[:, list(kept)])[1].min() for _, kept in split_circuits(columns, width))
    if work == 10**7 and closest > 0.02:
        assert least[: width + 1] == pytest.approx(oracle, abs=1e-6 * whole)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 7), st.sampled_from(KINDS))
def test_every_set(seed, rank, kind):
    residual, columns = make(seed, rank, 6, kind)
    whole = float(residual @ residual)
    blocks = [columns[:, :2], columns[:, 2:3], columns[:, 3:5], columns[:, 5:]]
    members = [(0, 1), (2,), (3, 4), (5,)]
    table = excess_of_all_sets(residual, blocks)
    for mask, excess in enumerate(table.tolist()):
        chosen = [i for u, unit_members in enumerate(members) if mask >> u & 1 for i in unit_members]
        exact = least_squares(residual, columns, chosen)
        assert exact - 1e-7 * whole <= excess <= exact + 1e-13 * whole
    sets = np.array([[0, 1, 2], [1, 2, -1], [-1, -1, -1]])
    own, more = excess_of_sets(residual, columns, sets)
    for row, chosen in enumerate(([0, 1, 2], [1, 2], [])):
        assert own[row] == pytest.approx(least_squares(residual, columns, chosen), abs=1e-8 * whole)
        assert own[row] <= least_squares(residual, columns, chosen) + 1e-13 * whole
        for i in range(6):
            exact = least_squares(residual, columns, [*chosen, i])
            assert exact - 1e-7 * whole <= more[row, i] <= exact + 1e-12 * whole


def test_circuits():
    columns = unit(np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]))
    assert find_circuit(columns).tolist() == [0, 1, 2]
    assert find_circuit(columns[:, [0, 1, 3]]) is None
    assert find_circuit(np.zeros((3, 1))).tolist() == [0]
    assert split_circuits(columns, 2) == [((0, 1), (0, 1, 3)), ((0,), (0, 2, 3)), ((), (1, 2, 3))]
    assert split_circuits(columns, 1) == [((0,), (0, 2, 3)), ((), (1, 2, 3))]


def test_too_many_circuits_leave_the_small_sizes():
    residual, columns = make(0, 4, 24, "plain")
    least = least_by_size(residual, columns, 6)
    assert least[:4] == pytest.approx(all_sizes(residual, columns, 3), rel=1e-9)
    assert least[4:].tolist() == [0.0] * 3


def test_a_search_that_stops_is_helped_by_the_relaxation(monkeypatch):
    residual, columns = make(3, 30, 20, "plain")
    known = best_subsets._exchange(residual, columns, 8, 10**9, never)[0]
    exact = least_by_size(residual, columns, 8)
    assert exact == pytest.approx(known, rel=0.05)
    short = least_by_size(residual, columns, 8, work=2000)
    assert (short <= exact + 1e-12).all()
    assert (short[3:] >= relaxed_by_size(residual, columns, 8)[3:]).all()
    monkeypatch.setattr(best_subsets, "_POOL", 0)
    assert least_by_size(residual, columns, 8) == pytest.approx(exact, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.sampled_from(KINDS))
def test_the_relaxation_never_exceeds_the_best_set(seed, rank, kind):
    residual, columns = make(seed, rank, 7, kind)
    relaxed = relaxed_by_size(residual, columns, 7)
    assert (relaxed <= all_sizes(residual, columns, 7) * (1 + 1e-12)).all()


def test_columns_too_close_for_an_inverse():
    residual, columns = make(5, 8, 8, "plain")
    columns[:, 1] = unit(columns[:, :1] + 1e-7 * columns[:, 1:2])[:, 0]
    least = least_by_size(residual, columns, 6)
    assert (least <= all_sizes(residual, columns, 6) * (1 + 1e-12)).all()
    assert least[3] > 0
    assert least[4:].tolist() == [0.0] * 3


def test_sizes_beyond_what_is_asked(monkeypatch):
    residual, columns = make(1, 9, 8, "plain")
    assert least_by_size(residual, columns, 0).tolist() == [pytest.approx(float(residual @ residual))]
    assert least_by_size(residual, columns, 2) == pytest.approx(all_sizes(residual, columns, 2), rel=1e-9)
    monkeypatch.setattr(best_subsets, "_CHUNK", 1)
    assert least_by_size(residual, columns, 5) == pytest.approx(all_sizes(residual, columns, 5), abs=1e-8)


def test_many_columns_and_deadlines_still_have_a_bound():
    residual, columns = make(5, 90, 70, "plain")
    least = least_by_size(residual, columns, 5)
    known = best_subsets._exchange(residual, columns, 5, 10**9, never)[0]
    assert (least <= known + 1e-12).all()
    assert least[4] > 0.0
    residual, columns = make(3, 30, 20, "plain")
    hurried = least_by_size(residual, columns, 8, expired=lambda: True)
    assert (hurried <= least_by_size(residual, columns, 8) + 1e-12).all()
    reached, sets = best_subsets._exchange(residual, columns, 8, 10**9, lambda: True)
    assert reached.tolist() == [float(residual @ residual)] * 9
    assert sets == [()] * 9
