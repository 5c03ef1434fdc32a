"""Costs whose factor is not what it seems: columns never exercised, and columns that are almost one.

Every expected figure was computed in exact fractions.
"""

from __future__ import annotations

import pytest
from helpers.exact_paths import best_order, best_walk

import coordpath_governance as cg

FREE_WITH_AN_IDLE_COLUMN = {
    "features": ["a", "b", "c", "d"],
    "cost": {
        "gram": [[6.5, 0, 2, 3.5], [0, 0, 0, 0], [2, 0, 2.5, 0], [3.5, 0, 0, 2.5]],
        "linear": [7, 0, 7, 1],
        "constant": 20,
    },
    "start": [2, -3, -1, -1],
    "target": None,
    "steps": 2,
}
REVISITS_WITH_AN_IDLE_COLUMN = {
    "features": ["a", "b", "c", "d"],
    "cost": {
        "gram": [[2.5, 0, 0.25, -0.25], [0, 0, 0, 0], [0.25, 0, 1.75, -0.75], [-0.25, 0, -0.75, 2.5]],
        "linear": [-1.75, 0, 1.75, -1.75],
        "constant": 5.5,
    },
    "start": [1, -2, -1, -2],
    "target": [0, 1, -2, -1],
    "steps": 5,
}


@pytest.mark.parametrize("solver", ["auto", "exact", "local", "gurobi"])
def test_an_idle_column_is_no_direction(solver):
    free = cg.solve({**FREE_WITH_AN_IDLE_COLUMN, "solver": solver})
    assert free.certificate.objective == pytest.approx(4.9)
    assert {step.label for step in free.path.steps} == {"c", "d"}
    again = cg.solve({**REVISITS_WITH_AN_IDLE_COLUMN, "solver": solver})
    assert again.certificate.objective == pytest.approx(42.357142857142857)
    assert again.certificate.lower_bound <= again.certificate.objective
    if solver in ("auto", "exact"):
        assert (free.certificate.status, again.certificate.status) == ("optimal", "optimal")


def test_an_idle_column_costs_a_front_nothing():
    front = cg.pareto_front(FREE_WITH_AN_IDLE_COLUMN)
    assert min(point.loss + point.cost for point in front.points[1:]) >= 4.9 - 1e-9


def test_a_large_coefficient_that_nothing_exercises_hides_nothing():
    cost = {"gram": [[9e10, 0, 3e5], [0, 0, 0], [3e5, 0, 2.0]], "linear": [3e5, 0, 1.0], "constant": 2.0}
    certificate = cg.solve(
        {"features": ["a", "b", "c"], "cost": cost, "start": [1e-6, 3e6, 1], "target": [2e-6, -1e6, 2]}
    ).certificate
    assert certificate.status == "optimal"
    assert certificate.objective == pytest.approx(12.01)


@pytest.mark.parametrize(
    ("gram", "linear", "constant", "known"),
    [
        (
            [
                [6.375, 6.374999105930328, 1.0],
                [6.374999105930328, 6.37499821186114, 0.9999998807907104],
                [1.0, 0.9999998807907104, 2.75],
            ],
            [6.125, 6.125000178813934, 3.75],
            16.875,
            7.979750778816199,
        ),
        (
            [
                [5.625, 5.624997973442078, 1.875],
                [5.624997973442078, 5.624995946885861, 1.8749991655349731],
                [1.875, 1.8749991655349731, 3.375],
            ],
            [0.0, -3.5762786865234375e-07, -0.125],
            9.5,
            9.36884715,
        ),
    ],
)
def test_columns_that_are_almost_one_with_a_free_end(gram, linear, constant, known):
    """The best models have coefficients of millions, where the factor of the gram matrix is wrong in the third digit."""
    document = {
        "features": ["a", "b", "c"],
        "cost": {"gram": gram, "linear": linear, "constant": constant},
        "target": None,
        "steps": 2,
        "weights": {"alpha": [0, 1]},
    }
    certificate = cg.solve(document).certificate
    assert float(best_walk(document, [0.0, 1.0])) == pytest.approx(known, rel=1e-9)
    assert certificate.lower_bound <= known * (1 + 1e-9)
    assert certificate.objective == pytest.approx(known, rel=1e-8)


def test_columns_that_are_almost_one_with_a_fixed_end():
    gram = [
        [1.625, 1.6249996423721313, 0, 0],
        [1.6249996423721313, 1.6249992847448311, 0, 0],
        [0, 0, 1.55989408493042, 1.55989467998279],
        [0, 0, 1.55989467998279, 1.5598952750354438],
    ]
    linear = [-0.375, -0.37499940395355225, 0.311978816986084, 0.311979114512269]
    document = {
        "features": ["a", "b", "c", "d"],
        "cost": {"gram": gram, "linear": linear, "constant": 1.248957633972168},
        "target": [-1048576, 1048576, -3145729, 3145728],
        "groups": [["a", "b"], ["c", "d"]],
    }
    certificate = cg.solve(document).certificate
    known = float(best_order(document, [1.0, 1.0]))
    assert certificate.lower_bound <= known * (1 + 1e-9)
    assert certificate.objective == pytest.approx(known, rel=1e-12)
    assert certificate.status == "optimal"


def test_many_equal_orders_are_proved():
    size = 30
    gram = [[float(i == j) for j in range(size)] for i in range(size)]
    cost = {"gram": gram, "linear": [3.0] * size, "constant": 90.0}
    problem = {"features": [f"x{i}" for i in range(size)], "cost": cost, "target": [1.0] * size}
    assert cg.solve(problem).certificate.status == "optimal"


def test_a_model_loss_counts_short_paths_whatever_the_range():
    cost = {"gram": [[1]], "linear": [1], "constant": 2}
    loss = cg.model_loss({"features": ["a"], "cost": cost, "target": [1], "steps": {"min": 3, "max": 4}})
    assert (loss.value, loss.status) == (1.0, "optimal")


@pytest.mark.parametrize("solver", ["auto", "gurobi", "local"])
def test_a_far_end_without_weight_hides_no_better_beginning(solver):
    """Only the first model counts, and moving the third coefficient to its best value would cost −12.6."""
    cost = {
        "gram": [[6.5, -6.5, 3.5], [-6.5, 6.5, -3.5], [3.5, -3.5, 2.5]],
        "linear": [-1.5, 1.5, -4.5],
        "constant": -4.5,
    }
    certificate = cg.solve(
        {
            "features": ["a", "b", "c"],
            "cost": cost,
            "target": [-67108864.0, 134217728.0, -134217728.0],
            "steps": 4,
            "weights": {"p": [1.0, 0.0, 0.0, 0.0]},
            "solver": solver,
        }
    ).certificate
    assert certificate.lower_bound <= -12.6
    assert certificate.status == "bounded" or certificate.objective == pytest.approx(-12.6)


@pytest.mark.parametrize("linear", [0.0, 1e-9, 0.125])
@pytest.mark.parametrize("start", [-2.0, 3e7])
def test_a_step_to_the_very_minimum_is_optimal(linear, start):
    cost = {"gram": [[2.375]], "linear": [linear], "constant": 20.25}
    certificate = cg.solve({"features": ["a"], "cost": cost, "start": [start], "target": None, "steps": 1}).certificate
    assert certificate.status == "optimal"
    assert certificate.objective == pytest.approx(20.25 - linear**2 / 2.375)


def test_data_without_any_direction():
    cost = {"gram": [[0, 0], [0, 0]], "linear": [0, 0], "constant": 5}
    for more in ({"target": [1, 2], "steps": 3}, {"target": None, "steps": 2}):
        certificate = cg.solve({"features": ["a", "b"], "cost": cost, **more}).certificate
        assert certificate.status == "optimal"
        assert certificate.objective == pytest.approx(5.0 * more["steps"])


def test_a_matrix_that_is_indefinite_by_rounding_proves_nothing_of_a_free_end():
    """Moving both members of the group far out costs less than what is taken for the least cost."""
    gram = [
        [90.88236020439065, 9.088235572497664, -2.337512109896897],
        [9.088235572497664, 0.9088235124556338, -0.233751177208643],
        [-2.337512109896897, -0.233751177208643, 0.15421946008488976],
    ]
    linear = [-44.36941322534912, -4.436941095684228, 1.175694985803569]
    document = {
        "features": ["a", "b", "c"],
        "cost": {"gram": gram, "linear": linear, "constant": 21.67411509397532},
        "start": [-0.5369526886472985, 0.5811173677422661, 0.36457223327612776],
        "target": None,
        "groups": [["a", "b"]],
        "steps": 1,
    }
    certificate = cg.solve(document).certificate
    assert certificate.lower_bound <= float(best_walk(document, [1.0])) < 0
    assert certificate.status == "bounded"
