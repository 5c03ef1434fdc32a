from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.orders import relaxation
from coordpath_governance.paths.orders.relaxation import bound_levels, descend, largest_shift, least_slopes
from coordpath_governance.paths.orders.set_function import SetFunction


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
def test_level_bounds_hold_for_every_set(seed, size, tight):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, size + 1))
    function = SetFunction(rng.standard_normal(rank) * (0.1 if tight else 2.0), rng.standard_normal((rank, size)))
    bounds = bound_levels(function, size - 1)
    rounding = function.rounding * size
    for k in range(1, size):
        for members in itertools.combinations(range(size), k):
            assert bounds.values[k - 1] <= function.excess(members) + rounding
            tangent = bounds.values[k - 1] + bounds.reduced[k - 1, list(members)].sum()
            assert tangent <= function.excess(members) + rounding


def test_units_that_move_nothing_have_levels_of_their_own():
    flat = SetFunction(np.ones(2), np.zeros((2, 20)))
    assert bound_levels(flat, 3).values.tolist() == [2.0, 2.0, 2.0]


def test_independent_units_are_bounded_exactly():
    function = SetFunction(-np.array([3.0, 2.0, 1.0]), np.diag([3.0, 2.0, 1.0]))
    assert bound_levels(function, 2).values == pytest.approx([5.0, 1.0], rel=0.02)


def test_relaxed_points_approach_the_minimum():
    rng = np.random.default_rng(3)
    columns = rng.standard_normal((8, 8)) * 10.0 ** rng.integers(-2, 1, 8)
    quadratic, slope = columns.T @ columns, rng.standard_normal((5, 8))
    sums = np.array([0.0, 0.5, 3.0, 6.5, 8.0])
    point = descend(np.repeat(sums[:, None] / 8, 8, axis=1), slope=slope, quadratic=quadratic, sums=sums, rounds=2000)
    assert point.sum(axis=1) == pytest.approx(sums, abs=1e-3)
    assert point.min() >= 0.0
    assert point.max() <= 1.0
    gradient = slope + 2.0 * point @ quadratic
    smallest, _ = least_slopes(gradient, sums)
    assert np.sum(gradient * point, axis=1) - smallest == pytest.approx(0.0, abs=0.05)


def test_least_slopes_over_whole_and_part_units():
    gradient = np.array([[3.0, -1.0, 2.0]] * 4)
    smallest, largest = least_slopes(gradient, np.array([0.0, 1.0, 1.5, 3.0]))
    assert smallest.tolist() == [0.0, -1.0, 0.0, 4.0]
    assert largest.tolist() == [-1.0, -1.0, 2.0, 3.0]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
def test_a_shift_leaves_a_positive_semidefinite_rest(seed, size, still):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((size + int(rng.integers(0, 3)), size)) * 10.0 ** rng.integers(-3, 3, size)
    if still:
        columns[:, 0] = 0.0
    quadratic = columns.T @ columns
    shift = largest_shift(quadratic, rng.random(size) + 0.01)
    assert shift.min() >= 0.0
    scale = np.sqrt(np.where(np.diag(quadratic) > 0, np.diag(quadratic), 1.0))
    assert np.linalg.eigvalsh((quadratic - np.diag(shift)) / np.outer(scale, scale))[0] >= -1e-14 * size


def test_dependent_units_leave_no_shift_and_independent_ones_nearly_all():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((3, 5))
    assert largest_shift(columns.T @ columns, np.ones(5)).tolist() == [0.0] * 5
    assert largest_shift(np.diag([1.0, 4.0, 9.0]), np.ones(3)) == pytest.approx([1.0, 4.0, 9.0], rel=0.05)
    assert largest_shift(np.zeros((2, 2)), np.ones(2)).tolist() == [0.0, 0.0]


def test_a_shift_that_goes_too_far_is_not_taken(monkeypatch):
    monkeypatch.setattr(relaxation, "_central_path", lambda correlation, worth, shift, expired: 2.0 + shift)
    assert largest_shift(np.eye(3), np.ones(3)) == pytest.approx([0.5, 0.5, 0.5])
    monkeypatch.undo()
    monkeypatch.setattr(relaxation, "_inside", lambda correlation, shift: False)
    assert largest_shift(np.eye(3), np.ones(3)) == pytest.approx([1.0, 1.0, 1.0])
    monkeypatch.undo()
    monkeypatch.setattr(relaxation, "_SHIFT_STEPS", 1)
    monkeypatch.setattr(relaxation, "_SHIFT_WORK", 0)
    shift = largest_shift(np.eye(3), np.ones(3))
    assert 0.5 < shift.min() <= shift.max() < 1.0


def test_a_deadline_leaves_what_has_been_reached(monkeypatch):
    """Whatever has been reached is valid: a shift that leaves room, points with the sums that were asked for."""
    monkeypatch.setattr(relaxation, "_UNASKED", 0)
    rng = np.random.default_rng(3)
    columns, slope, sums = rng.standard_normal((6, 6)), rng.standard_normal((4, 6)), np.arange(1.0, 5.0)
    quadratic, worth = columns.T @ columns + np.eye(6), np.arange(1.0, 7.0)
    late, whole = (largest_shift(quadratic, worth, expired) for expired in (lambda: True, lambda: False))
    assert 0.0 < worth @ late < worth @ whole
    assert np.linalg.eigvalsh(quadratic - np.diag(late))[0] >= 0.0
    start = np.repeat(sums[:, None] / 6, 6, axis=1)
    early, settled = (
        descend(start, slope=slope, quadratic=columns.T @ columns, sums=sums, rounds=200, expired=expired)
        for expired in (lambda: True, lambda: False)
    )
    for point in (early, settled):
        assert point.sum(axis=1) == pytest.approx(sums, abs=1e-3)
    assert not np.allclose(early, settled, atol=1e-4)
