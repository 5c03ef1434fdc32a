"""Section 4.2: an old model of school scores, improved in four steps. Costs are 1/2n, variances n − 1."""

from __future__ import annotations

import pytest

from coordpath_governance.paths import pareto_front, solve


@pytest.fixture(scope="module")
def problem(schools, squared_error):
    features, rows, target = schools
    start = [-0.87 if name == "MealPct" else 0.0 for name in features]
    cost = squared_error(rows, target, scale="1/2n")
    return {"features": features, "cost": cost, "start": start, "steps": 4, "weights": {"final": 1, "lambda": 0.02}}


@pytest.fixture(scope="module")
def solution(problem):
    return solve(problem)


def test_the_path_of_the_paper(solution):
    assert [(step.label, round(step.moves[0].after, 2)) for step in solution.path.steps] == [
        ("AvgInc", 0.23),
        ("MealPct", -0.59),
        ("ELPct", -0.18),
        ("ExpnStu", 0.07),
    ]
    assert [round(cost, 3) for cost in solution.path.costs()] == [0.122, 0.117, 0.099, 0.097]
    assert solution.certificate.status == "optimal"


def test_the_old_and_the_best_model(solution):
    assert round(solution.path.start_cost, 3) == 0.122
    assert round(solution.problem.cost.minimum(), 3) == 0.095


def test_greedy_is_better_at_first_and_worse_in_the_end(problem, solution):
    greedy = solve({**problem, "solver": "greedy", "weights": {"alpha": [1.0, 1e-6, 1e-12, 1e-18]}}).path.costs()
    ours = solution.path.costs()
    assert greedy[0] < ours[0]
    assert greedy[-1] > ours[-1]


def test_the_path_is_on_the_front(problem, solution):
    """At λ = 0.02 four steps are the best number of steps, too."""
    chosen = solve({**problem, "steps": {"min": 1, "max": 6}})
    assert chosen.certificate.status == "optimal"
    assert chosen.path.steps == solution.path.steps
    front = pareto_front({**problem, "steps": 6, "weights": {"gamma": 1}})
    assert front.status == "optimal"
    nearest = next(point for point in front.points if point.lam[0] <= 0.02 <= point.lam[1])
    assert [step.label for step in nearest.path.steps] == ["AvgInc", "MealPct", "ELPct", "ExpnStu"]
