"""Two columns that are almost one, with large opposite changes: they must not hide what is cheap and what is dear."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from helpers.exact_paths import best_order
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths import parse_problem, solve, solve_problem
from coordpath_governance.paths.orders.quadratic_orders import _task, light_units
from coordpath_governance.paths.patience import FOREVER


def twins(large, small, **more):
    """a and b pay off, b a little more; h and k are one column whose changes cancel."""
    return {
        "features": list("abhk"),
        "cost": {
            "kind": "quadratic",
            "gram": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]],
            "linear": [1, 1 + small, 0, 0],
            "constant": 1 + (1 + small) ** 2,
        },
        "start": [0] * 4,
        "target": [1, 1 + small, large, -large],
        **more,
    }


@pytest.mark.parametrize(("large", "small"), [(1e7, 0.1), (1e6, 1e-3), (1e5, 1e-5)])
@pytest.mark.parametrize("solver", ["auto", "exact", "local", "greedy", "direct"])
def test_the_better_first_step_is_found_and_no_other_is_called_optimal(large, small, solver):
    answer = solve(twins(large, small, max_steps=1, solver=solver)).to_dict()
    first = answer["steps"][0]["feature"]
    assert answer["lower_bound"] <= 1.0 + 1e-9
    assert (answer["status"] == "optimal") == (first == "b")
    assert first == ("a" if solver == "direct" else "b")


def test_twins_are_put_aside_only_where_a_good_chain_cannot_move_them():
    task, _, _ = _task(parse_problem(twins(1e7, 0.1, max_steps=2)), FOREVER)
    assert light_units(task) == [0, 1]
    task, _, _ = _task(parse_problem(twins(1e7, 0.1)), FOREVER)
    assert light_units(task) == [0, 1, 2, 3]
    unweighted = parse_problem(twins(1e7, 0.1, max_steps=2, weights={"alpha": [0.0, 1.0, 1.0]}))
    assert light_units(_task(unweighted, FOREVER)[0]) == [0, 1, 2, 3]
    single = parse_problem({**twins(1e7, 0.1), "target": [1, 0, 0, 0]})
    assert light_units(_task(single, FOREVER)[0]) == [0]


GRAMS = {
    "slightly indefinite": ([[1, 1 + 1e-11, 0], [1 + 1e-11, 1, 0], [0, 0, 1]], [1, 1, 1], [1e6, -1e6, 1]),
    "linear slightly out of range": ([[1, 1, 0], [1, 1, 0], [0, 0, 1]], [1 + 5e-9, 1 - 5e-9, 1], [1e8, -1e8, 1]),
    "an eigenvalue left out": ([[1, 1 - 1e-15, 0], [1 - 1e-15, 1, 0], [0, 0, 1]], [1, 1, 1], [1e7, -1e7, 1]),
}


@pytest.mark.parametrize("name", GRAMS)
def test_nothing_is_called_optimal_where_the_factor_is_wrong(name):
    gram, linear, target = GRAMS[name]
    cost = {"kind": "quadratic", "gram": gram, "linear": linear, "constant": 3}
    document = {"features": list("abc"), "groups": [["a", "b"]], "cost": cost, "start": [0] * 3, "target": target}
    certificate = solve(document).certificate
    best = float(best_order(document, [1.0, 1.0]))
    assert certificate.lower_bound <= best + 1e-9
    if name == "an eigenvalue left out":
        assert certificate.status == "optimal"
        assert certificate.objective == pytest.approx(best, rel=1e-12)
    else:
        assert certificate.status == "bounded"
        assert certificate.gap > 1e-3


def test_a_change_that_no_data_can_see_is_optimal_in_any_order():
    cost = {"kind": "quadratic", "gram": [[1, 1, 0], [1, 1, 0], [0, 0, 1]], "linear": [1, 1, 1], "constant": 3}
    document = {
        "features": list("abc"),
        "groups": [["a", "b"]],
        "cost": cost,
        "start": [0.5, 0.5, 1],
        "target": [0.7, 0.3, 1],
    }
    assert solve(document).certificate.status == "optimal"


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(3, 5), steps=st.integers(1, 3), large=st.sampled_from([1e3, 1e5, 1e7]))
def test_what_is_called_optimal_is_optimal_in_exact_arithmetic(seed, size, steps, large):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (6, size)).astype(float)
    rows[:, 1] = rows[:, 0]
    target = rng.integers(-2, 3, size) * 0.25 + 0.125
    target[:2] = large, -large
    y = rng.integers(-4, 5, 6).astype(float)
    gram, linear = rows.T @ rows, rows.T @ y
    cost = {"kind": "quadratic", "gram": gram.tolist(), "linear": linear.tolist(), "constant": float(y @ y)}
    names = [f"x{i}" for i in range(size)]
    document = {"features": names, "cost": cost, "start": [0.0] * size, "target": target.tolist(), "max_steps": steps}

    def exact(members):
        beta = [Fraction(target[i]) if i in members else Fraction(0) for i in range(size)]
        quadratic = sum(beta[i] * Fraction(gram[i, j]) * beta[j] for i in range(size) for j in range(size))
        return quadratic - 2 * sum(Fraction(linear[i]) * beta[i] for i in range(size)) + Fraction(float(y @ y))

    singles = min(steps, size)
    end = exact(set(range(size))) if singles < size else Fraction(0)
    best = min(
        sum(exact(set(order[: k + 1])) for k in range(singles)) for order in itertools.permutations(range(size), singles)
    )
    for solver in ("auto", "greedy", "direct"):
        certificate = solve_problem(parse_problem(document), solver=solver).certificate
        rounding = 1e-9 * certificate.objective + 1e-12 * large
        assert certificate.lower_bound <= float(best + end) + rounding
        if certificate.status == "optimal":
            assert certificate.objective - float(best + end) <= 1e-6 * certificate.objective + rounding
