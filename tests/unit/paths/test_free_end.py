"""Free ends: the exact search against all sequences of units."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths import parse_problem, solve
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers import free_end
from coordpath_governance.paths.solvers.free_end import FreeEnd
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.walks.floors import find_floors
from coordpath_governance.paths.walks.geometry import REST, prepare_walks
from coordpath_governance.paths.walks.starts import stagewise

WEIGHTS = [
    {"gamma": 1.0},
    {"gamma": 0.5},
    {"gamma": 30.0},
    {"final": 1, "lambda": 0.02},
    {"final": 1, "lambda": 0},
    {"alpha": [1, 0, 0, 1, 1e-9]},
    {"alpha": [0, 0, 1, 0, 1]},
    {"alpha": [1e-12, 1, 0, 1e-6, 0]},
]


def make_task(document, steps, **more):
    problem = parse_problem({**document, "target": None, "steps": steps})
    walks = prepare_walks(problem)
    alphas = problem.alphas(steps)
    return WalkTask(walks, alphas, find_floors(walks, steps), stagewise(walks, steps), **more)


def correlated(size, seed, correlation=0.7, rows=100):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, size))
    for i in range(1, size):
        x[:, i] = correlation * x[:, i - 1] + np.sqrt(1 - correlation**2) * x[:, i]
    y = x @ rng.standard_normal(size) + rng.standard_normal(rows)
    return quadratic(x, y)


def quadratic(x, y):
    cost = {"gram": (x.T @ x / len(y)).tolist(), "linear": (x.T @ y / len(y)).tolist(), "constant": float(y @ y / len(y))}
    return {"features": [f"x{i}" for i in range(x.shape[1])], "cost": cost, "start": [0.0] * x.shape[1]}


def least_of_all(task):
    """All sequences of units, each with its best values."""
    return min(task.evaluate(walk) for walk in itertools.product(range(task.walks.size), repeat=task.terms))


def judge(task, found, optimum):
    scale = task.alphas.sum() * float(task.walks.base @ task.walks.base)
    value = task.evaluate(found.order)
    assert found.bound <= optimum * (1 + 1e-9) + 1e-13 * scale
    assert value <= optimum * (1 + 3e-7) + 1e-13 * scale
    assert len(found.order) == task.terms
    return value


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.booleans(), st.booleans(), st.sampled_from(WEIGHTS))
def test_against_all_sequences(document, seed, size, steps, dependent, grouped, weights):
    steps = min(steps, 4) if size == 4 else steps
    if "alpha" in weights:
        steps = max(steps, 3)
    made = document(seed, size, dependent=dependent, grouped=grouped, weights=weights)
    task = make_task(made, steps)
    judge(task, FreeEnd(10**9).solve(task), least_of_all(task))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 80_000, 200_000]), st.sampled_from(WEIGHTS))
def test_a_search_that_stops_keeps_a_valid_bound(document, seed, work, weights):
    task = make_task(document(seed, 4, weights=weights), 4)
    found = FreeEnd(work).solve(task)
    assert found.bound <= least_of_all(task) * (1 + 1e-9)
    assert found.bound >= task.floor * (1 - 1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_descent_small_rounds_and_improvements_between(document, seed, weights, monkeypatch):
    """What large problems go through, on problems that can be enumerated."""
    for name, value in (("_BEAM", 1), ("_FEW", 0), ("_ROUND", 1), ("_FITTED", 1), ("_IMPROVE_AT", ((1, 0), (1, 1)))):
        monkeypatch.setattr(free_end, name, value)
    task = make_task(document(seed, 4, weights=weights, dependent=seed % 2 == 1), 5)
    judge(task, FreeEnd(10**9).solve(task), least_of_all(task))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1e6, 1e-3]), st.sampled_from(WEIGHTS), st.integers(-300, 300))
def test_scales(seed, ratio, weights, power):
    """Columns of very different size, one that is nearly another, and costs of any size."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((30, 3))
    x[:, 2] = x[:, 0] + 1e-3 * x[:, 2]
    x[:, 1] *= ratio
    made = quadratic(x, np.ldexp(rng.standard_normal(30), power))
    task = make_task({**made, "weights": weights}, 4)
    judge(task, FreeEnd(10**9).solve(task), least_of_all(task))


@pytest.mark.parametrize("weights", [{"gamma": 1.0}, {"final": 1, "lambda": 0}, {"alpha": [0, 1, 1]}])
def test_many_units(weights):
    """Beyond the whole table: all 13³ sequences of three moves, with two columns that depend on others."""
    made = correlated(13, 5)
    gram = np.array(made["cost"]["gram"])
    turn = np.eye(13)
    turn[:, 12] = turn[:, 0] - turn[:, 1]
    turn[:, 11] = turn[:, 2]
    made["cost"] |= {"gram": (turn.T @ gram @ turn).tolist(), "linear": (turn.T @ np.array(made["cost"]["linear"])).tolist()}
    task = make_task({**made, "weights": weights}, 3)
    found = FreeEnd(10**9).solve(task)
    value = judge(task, found, least_of_all(task))
    assert found.bound == pytest.approx(value, rel=1e-6)


def test_many_units_of_several_columns():
    made = correlated(15, 1)
    made["groups"] = [["x0", "x7"], ["x3", "x4", "x5"]]
    task = make_task(made, 2)
    found = FreeEnd(10**9).solve(task)
    assert task.evaluate(found.order) == pytest.approx(least_of_all(task), rel=1e-9)
    assert found.bound == pytest.approx(least_of_all(task), rel=1e-6)


def test_more_terms_than_units_are_proved():
    task = make_task(correlated(6, 2), 10)
    found = FreeEnd(10**9).solve(task)
    assert found.bound == pytest.approx(task.evaluate(found.order), rel=1e-6)
    assert task.evaluate(found.order) < task.evaluate(task.first)


def test_nothing_left_to_gain(document):
    made = document(3, 3)
    cost = {"gram": np.eye(3).tolist(), "linear": [1, 2, 4], "constant": 22}
    settled = make_task({**made, "cost": cost, "start": [1, 2, 4]}, 4)
    assert FreeEnd(10**9).solve(settled).bound == 0.0
    never_moves = make_task({**made, "cost": {"gram": np.zeros((3, 3)).tolist(), "linear": [0] * 3, "constant": 1}}, 2)
    assert FreeEnd(10**9).solve(never_moves).bound == 0.0


def test_terms_without_weight_rest_in_the_end():
    weights = {"alpha": [1, 1, 0, 0]}
    task = make_task({**correlated(4, 3), "weights": weights}, 4)
    found = FreeEnd(10**9).solve(task)
    assert found.order[2:] == (REST, REST) or found.order == task.first


def test_a_unit_that_moves_nothing_is_left_alone():
    made = correlated(3, 4)
    gram = np.zeros((4, 4))
    gram[1:, 1:] = made["cost"]["gram"]
    cost = {"gram": gram.tolist(), "linear": [0.0, *made["cost"]["linear"]], "constant": made["cost"]["constant"]}
    task = make_task({"features": list("abcd"), "cost": cost, "start": [0.0] * 4}, 3)
    found = FreeEnd(10**9).solve(task)
    assert 0 not in found.order
    judge(task, found, least_of_all(task))


def test_deadlines_and_progress():
    made = correlated(16, 6, 0.9)
    told = []
    task = make_task(made, 8, patience=Patience(progress=lambda *what: told.append(what)))
    proved = FreeEnd(10**9).solve(task)
    assert all(bound <= value for _, value, bound in told)
    assert proved.bound == pytest.approx(task.evaluate(proved.order), rel=1e-6)
    hurried = FreeEnd(10**9).solve(make_task(made, 8, patience=Patience(lambda: True)))
    assert hurried.bound <= proved.bound
    larger = make_task(correlated(22, 6, 0.9), 12)
    stopped = FreeEnd(110_000_000).solve(larger)
    assert larger.floor <= stopped.bound <= larger.evaluate(stopped.order)


def test_a_hard_search_improves_its_walk_on_the_way(monkeypatch):
    task = make_task(correlated(12, 3, 0.9), 5)
    proved = FreeEnd(10**9).solve(task)
    monkeypatch.setattr("coordpath_governance.paths.solvers.free_end._IMPROVE_AT", ((1, 0), (1, 1)))
    again = FreeEnd(10**9).solve(task)
    assert again.bound == pytest.approx(proved.bound, rel=1e-6)
    assert task.evaluate(again.order) == pytest.approx(task.evaluate(proved.order), rel=1e-9)


def test_long_walks_are_bounded():
    task = make_task(correlated(14, 7, 0.9), 120)
    found = FreeEnd(10_000_000).solve(task)
    assert len(found.order) == 120
    assert 0 < found.bound <= task.evaluate(found.order)


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9, 1e-11, 1e-13, 0.0])
def test_columns_that_are_almost_one(distance):
    """A path through coefficients so large that their rounding shows is not called optimal for less than it is."""
    rng = np.random.default_rng(9)
    x = rng.standard_normal((20, 3))
    x[:, 2] = x[:, 0] + distance * x[:, 2]
    made = {**quadratic(x, rng.standard_normal(20)), "groups": [["x0", "x2"]], "target": None, "steps": 3}
    task = make_task(made, 3)
    certificate = solve(made).certificate
    excess = certificate.objective - task.alphas.sum() * task.walks.problem.cost.minimum()
    least = np.ldexp(least_of_all(task), task.walks.exponent)
    assert excess * (1 - certificate.gap) <= least * (1 + 1e-9)
    if certificate.status == "optimal":
        assert excess == pytest.approx(least, rel=1e-6)


def test_a_fixed_end_is_not_for_this_solver(document):
    problem = parse_problem({**document(1, 2), "steps": 3})
    walks = prepare_walks(problem)
    task = WalkTask(walks, problem.alphas(3), find_floors(walks, 3), (0, 1, REST))
    assert FreeEnd(1).lacks(task) == "needs a free end"
    assert FreeEnd(1).lacks(make_task(document(1, 2), 3)) is None
