from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.costs import twofold
from coordpath_governance.costs.twofold import Twofold, difference, exact_products, multiply


def exact(pair, *index):
    return Fraction(float(pair.high[index])) + Fraction(float(pair.low[index]))


def draw_matrix(rng, shape, spread):
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-spread, spread + 1, shape)


@pytest.mark.parametrize("small", [0, 1 << 20])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 12), spread=st.sampled_from([0, 3, 12]))
def test_products_have_twice_the_digits(small, seed, size, spread):
    rng = np.random.default_rng(seed)
    left, right = draw_matrix(rng, (3, size), spread), draw_matrix(rng, (size, 2), spread)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twofold, "_SMALL", small)
        pairs = [multiply(left, right), multiply(Twofold(left, left * 1e-17), Twofold(right, -right * 1e-18))]
    for product, low_left, low_right in zip(pairs, (0.0, left * 1e-17), (0.0, -right * 1e-18), strict=True):
        for i in range(3):
            for j in range(2):
                terms = [
                    (Fraction(left[i, k]) + Fraction(np.broadcast_to(low_left, left.shape)[i, k]))
                    * (Fraction(right[k, j]) + Fraction(np.broadcast_to(low_right, right.shape)[k, j]))
                    for k in range(size)
                ]
                scale = size * Fraction(np.abs(left[i]).max()) * Fraction(np.abs(right[:, j]).max())
                assert abs(exact(product, i, j) - sum(terms)) <= scale / 2**98


def test_what_is_exact():
    rng = np.random.default_rng(2)
    left, right = draw_matrix(rng, 50, 8), draw_matrix(rng, 50, 8)
    apart, product = difference(left, right), exact_products(left, right)
    for k in range(50):
        assert exact(apart, k) == Fraction(left[k]) - Fraction(right[k])
        assert exact(product, k) == Fraction(left[k]) * Fraction(right[k])
    halves = apart.times(0.5)
    assert exact(halves, 3) == exact(apart, 3) / 2


@pytest.mark.parametrize("few", [-1, 600])
@pytest.mark.parametrize("rows", range(10))
def test_totals_of_any_number_of_rows(rows, few, monkeypatch):
    monkeypatch.setattr(twofold, "_FEW", few)
    rng = np.random.default_rng(rows)
    values = Twofold(draw_matrix(rng, (rows, 2), 6), draw_matrix(rng, (rows, 2), 6) * 1e-20)
    sum_ = values.total()
    assert sum_.high.shape == sum_.low.shape == (2,)
    for j in range(2):
        known = sum((exact(values, i, j) for i in range(rows)), Fraction(0))
        assert abs(exact(sum_, j) - known) <= Fraction(1e-24)


def test_numbers_scaled_one_by_one():
    values = Twofold(np.array([1.0, 2.0]), np.array([1e-20, -1e-19]))
    scaled = values.scaled(np.array([3.0, 0.1]))
    assert abs(exact(scaled, 0) - 3 * exact(values, 0)) < Fraction(1e-34)
    assert abs(exact(scaled, 1) - Fraction(0.1) * exact(values, 1)) < Fraction(1e-34)
