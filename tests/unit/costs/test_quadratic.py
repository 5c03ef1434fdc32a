from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.exact_paths import ExactCost
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.costs import QuadraticCost
from coordpath_governance.costs.twofold import difference
from coordpath_governance.errors import ProblemError


def moments(seed, size, rank):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-4, 5, (16, rank)).astype(float) @ rng.integers(-1, 2, (rank, size))
    y = rng.integers(-9, 10, 16).astype(float)
    return rows, y, rows.T @ rows / 16, rows.T @ y / 16, float(y @ y / 16)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6), st.sampled_from([0, 600, -600, 950, -950]))
def test_value_and_minimum_are_those_of_the_rows(seed, size, rank, scale):
    rows, y, gram, linear, constant = moments(seed, size, min(rank, size))
    cost = QuadraticCost(np.ldexp(gram, scale), np.ldexp(linear, scale), float(np.ldexp(constant, scale)))
    beta = np.random.default_rng(seed).integers(-8, 9, size) / 4
    tolerance = 1e-10 * (1.0 + constant + float(beta @ gram @ beta))
    assert np.ldexp(cost.value(beta), -scale) == pytest.approx(np.mean((rows @ beta - y) ** 2), abs=tolerance)
    best = np.linalg.lstsq(rows, y, rcond=None)[0]
    assert np.ldexp(cost.minimum(), -scale) == pytest.approx(np.mean((rows @ best - y) ** 2), abs=tolerance)
    assert cost.excess(beta) >= 0
    assert np.ldexp(cost.value(best), -scale) == pytest.approx(np.ldexp(cost.minimum(), -scale), abs=tolerance)


def test_value_is_the_formula():
    gram, linear = [[1, 0.9], [0.9, 1]], [1.274, 0.968]
    cost = QuadraticCost(gram, linear, 2.04096, "1/2n")
    for beta in ([0, 0], [2.12, 0], [2.12, -0.94], [-3, 7.5]):
        b = [Fraction(v) for v in beta]
        exact = sum(Fraction(gram[i][j]) * b[i] * b[j] for i in range(2) for j in range(2))
        exact += Fraction(2.04096) - 2 * sum(Fraction(v) * w for v, w in zip(linear, b, strict=True))
        assert cost.value(beta) == pytest.approx(float(exact), abs=1e-13)
    assert cost.size == 2


def test_columns_of_very_different_size_are_judged_alike():
    _, _, gram, linear, constant = moments(1, 4, 4)
    sizes = np.array([1e-9, 1.0, 1e9, 1e3])
    cost = QuadraticCost(gram * np.outer(sizes, sizes), linear * sizes, constant)
    plain = QuadraticCost(gram, linear, constant)
    assert cost.minimum() == pytest.approx(plain.minimum())
    assert cost.value(np.ones(4) / sizes) == pytest.approx(plain.value(np.ones(4)))
    columns = cost.directions(np.arange(4))
    assert columns.T @ columns == pytest.approx(gram * np.outer(sizes, sizes), rel=1e-9)


def test_a_cost_without_any_data():
    cost = QuadraticCost([[0.0]], [0.0], 2.0)
    assert cost.minimum() == cost.value([7.0]) == 2.0


@pytest.mark.parametrize(
    ("gram", "linear", "constant", "message"),
    [
        ([[1, 2], [3, 4]], [1], 0, "shape"),
        ([1, 2], [1, 2], 0, "dimensions"),
        (np.zeros((0, 0)), np.zeros(0), 0, "empty"),
        ([[1, 0], [0, np.nan]], [1, 1], 0, r"gram\[1\]\[1\]"),
        ([[1.0]], [np.inf], 0, r"linear\[0\]"),
        ([[1.0]], [1.0], np.inf, "constant"),
        ([[1, 0.5], [0.4, 1]], [0, 0], 0, r"gram\[0\]\[1\].*symmetric"),
        ([[1e-200, 0.5e-200], [0.4e-200, 1e-200]], [0, 0], 0, "symmetric"),
        ([[1, 1.1], [1.1, 1]], [0, 0], 0, "semi-definite"),
        ([[1e200, 1.1e200], [1.1e200, 1e200]], [0, 0], 0, "semi-definite"),
        ([[-1.0]], [0], 0, r"gram\[0\]\[0\].*negative"),
        ([[0, 1e-300], [1e-300, 1e-300]], [0, 0], 0, "semi-definite"),
        ([[1e-300, 1.0], [1.0, 1.0]], [0, 0], 0, "exceeds"),
        ([[1e-320, 1e300], [1e300, 1e-320]], [0, 0], 0, "exceeds"),
        ([[1, 1], [1, 1]], [1, 2], 0, "unbounded below"),
        ([[1e-100, 1e-100], [1e-100, 1e-100]], [1e-100, 2e-100], 0, "unbounded below"),
        ([[0.0]], [1.0], 0, "unbounded below"),
        ([[1e-300]], [1e300], 0, "overflows"),
    ],
)
def test_what_is_not_a_squared_error_is_refused(gram, linear, constant, message):
    with pytest.raises(ProblemError, match=message):
        QuadraticCost(gram, linear, constant)


def test_unknown_scale_and_overflow_at_a_model():
    with pytest.raises(ProblemError, match=r"cost\.scale"):
        QuadraticCost([[1.0]], [1.0], 0.0, "1/3n")
    with pytest.raises(ProblemError, match="overflows"):
        QuadraticCost([[1e300]], [1.0], 0.0).value([1e300])


def test_rounding_of_moments_is_forgiven():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((500, 5))
    rows = np.column_stack([rows, rows @ rng.standard_normal(5), rows[:, 0] - rows[:, 1]]) * 10.0 ** np.arange(-3, 4)
    y = rng.standard_normal(500)
    cost = QuadraticCost(rows.T @ rows / 500, rows.T @ y / 500, float(y @ y / 500))
    best = np.linalg.lstsq(rows, y, rcond=None)[0]
    assert cost.minimum() == pytest.approx(np.mean((rows @ best - y) ** 2))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-9, 1e-8, 1e-7, 1e-6, 1e-3]), st.integers(2, 5))
def test_moments_of_rows_are_accepted_and_their_costs_exact(seed, apart, size):
    """However near to each other columns are, and whatever the coefficients: the sums are those of exact fractions."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, size)) * 10.0 ** rng.integers(-4, 5, size)
    rows[:, 1] = rows[:, 0] * (1.0 + apart * rng.standard_normal(40))
    y = rows @ rng.standard_normal(size) + rng.standard_normal(40)
    document = {"gram": (rows.T @ rows / 40).tolist(), "linear": (rows.T @ y / 40).tolist(), "constant": float(y @ y / 40)}
    cost, exact = QuadraticCost(**document), ExactCost(document)
    betas = rng.standard_normal((200, size)) * 1e6
    betas[0] = 0.0
    measured = cost.measure(betas)
    for k in (0, 1, 199):
        value = exact(betas[k])
        scale = float(np.abs(betas[k]) @ np.abs(document["gram"]) @ np.abs(betas[k])) + cost.constant
        assert float(abs(Fraction(measured.costs[k]) - value)) <= 2.3e-16 * float(abs(value)) + 1e-27 * scale
    assert cost.measure(betas[:3]).costs == measured.costs[:3]
    assert cost.explained() == pytest.approx(measured.excesses[0])


@pytest.mark.parametrize("apart", [1e-8, 1e-7, 1e-6, 1e-4, 1e-1])
def test_the_minimum_of_nearly_equal_columns_is_that_of_exact_fractions(apart):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.integers(-4, 5, (12, 3)).astype(float)
        rows[:, 1] = rows[:, 0] + apart * rng.integers(-4, 5, 12)
        y = rng.integers(-9, 10, 12).astype(float)
        document = {"gram": (rows.T @ rows).tolist(), "linear": (rows.T @ y).tolist(), "constant": float(y @ y)}
        cost, exact = QuadraticCost(**document), ExactCost(document).minimum()
        if exact is not None and cost.clear.all():
            assert cost.minimum() == pytest.approx(float(exact), abs=1e-12 * document["constant"])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
def test_an_expansion_is_the_cost_around_a_model(seed, size, together):
    rng = np.random.default_rng(seed)
    rows, y = rng.standard_normal((20, size)), rng.standard_normal(20)
    document = {"gram": (rows.T @ rows / 20).tolist(), "linear": (rows.T @ y / 20).tolist(), "constant": float(y @ y / 20)}
    cost, exact = QuadraticCost(**document), ExactCost(document)
    start, target = 1e5 * rng.standard_normal(size), 1e5 * rng.standard_normal(size)
    units = [(0, 1), *((i,) for i in range(2, size))] if together else [(i,) for i in range(size)]
    linear, quadratic = cost.expand(start, difference(target, start), units)
    for moved in range(1 << len(units)):
        chosen = [u for u in range(len(units)) if moved >> u & 1]
        members = {i for u in chosen for i in units[u]}
        beta = [target[i] if i in members else start[i] for i in range(size)]
        told = linear[chosen].sum() + quadratic[np.ix_(chosen, chosen)].sum()
        known = float(exact(beta) - exact(start))
        assert told == pytest.approx(known, abs=1e-14 * (np.abs(linear).sum() + np.abs(quadratic).sum()))


def test_residuals_are_costs_but_for_rounding():
    rng = np.random.default_rng(4)
    rows, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    rows[:, 1] = rows[:, 0] + 1e-6 * rows[:, 1]
    cost = QuadraticCost(rows.T @ rows / 30, rows.T @ y / 30, float(y @ y / 30))
    for _ in range(12):  # more than are remembered
        beta, delta = rng.standard_normal((2, 4))
        moved = cost.residual(beta) + cost.direction(delta)
        assert moved @ moved == pytest.approx(cost.excess(beta + delta), rel=1e-9)
        assert (cost.residual(beta) == cost.residual(beta)).all()


def test_a_matrix_that_is_symmetric_only_to_rounding():
    gram = np.array([[2.0, 1.0], [1.0 + 4e-16, 3.0]])
    cost = QuadraticCost(gram, [1.0, 1.0], 5.0)
    beta = [Fraction(3), Fraction(-7)]
    exact = sum(beta[i] * Fraction(gram[i, j]) * beta[j] for i in range(2) for j in range(2)) - 2 * sum(beta) + 5
    assert cost.value([3.0, -7.0]) == float(exact)


def test_moments_that_are_positive_as_a_whole_are_accepted():
    """``linear`` reaches out of the range of the gram matrix by 1e-7 of it: next to the constant, that is rounding."""
    gram = [[1.0, 1.0], [1.0, 1.0]]
    for scale in (1.0, 1e-30, 1e30):
        linear = scale * np.array([1.0 + 5e-8, 1.0 - 5e-8])
        assert QuadraticCost(gram, linear, 2.0 * scale**2).minimum() == pytest.approx(scale**2)
        with pytest.raises(ProblemError, match="compute gram and linear from the same rows"):
            QuadraticCost(gram, linear, 1.0001e-3 * scale**2)
        with pytest.raises(ProblemError, match="compute gram and linear from the same rows"):
            QuadraticCost(gram, scale * np.array([1.0 + 1e-5, 1.0 - 1e-5]), 2.0 * scale**2)


def test_residuals_and_ranges_that_overflow():
    with pytest.raises(ProblemError, match="overflows double precision at these coefficients"):
        QuadraticCost([[1e300]], [1.0], 0.0).direction(np.array([1e300]))
    with pytest.raises(ProblemError, match="outside the range"):
        QuadraticCost([[1.0, 1.0], [1.0, 1.0]], [1e300, -1e300], 1e-300)
