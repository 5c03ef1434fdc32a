from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from coordpath_governance.costs import QuadraticCost
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import PathProblem, parse_problem, shapley, solve
from coordpath_governance.paths.certificate import certify
from coordpath_governance.paths.weights import ExplicitWeights, FinalWeights, GeometricWeights

FIGURES = {
    "objective": 12.0,
    "rounding": 1e-12,
    "floor": 0.0,
    "nothing": 1e-15,
    "weight": 2.0,
    "exponents": (1, 0),
    "solver": "test",
}


def test_a_proved_path():
    certificate = certify(excess=3.0, difference=0.0, **FIGURES)
    assert (certificate.status, certificate.gap, certificate.gap_per_step) == ("optimal", 0.0, 0.0)
    assert certificate.lower_bound == 12.0
    above = certify(excess=3.0, difference=-0.1, **FIGURES)
    assert (above.lower_bound, above.gap) == (12.0, 0.0)


def test_a_bounded_path_gives_up_what_rounding_may_have_added():
    certificate = certify(excess=3.0, difference=1.0, **FIGURES)
    assert certificate.status == "bounded"
    assert certificate.gap == pytest.approx(1 / 3)
    assert certificate.gap > 1 / 3
    assert certificate.gap_per_step == pytest.approx(1.0)
    assert certificate.lower_bound == pytest.approx(10.0)
    assert certificate.lower_bound < 10.0


def test_a_gap_of_a_millionth_is_optimal():
    assert certify(excess=1.0, difference=9e-7, **FIGURES).status == "optimal"
    assert certify(excess=1.0, difference=2e-6, **FIGURES).status == "bounded"


def test_a_bound_is_lowered_by_rounding_that_counts():
    for rounding in (1e-8, 1e-7):
        certificate = certify(excess=1.0, difference=0.0, **{**FIGURES, "rounding": rounding})
        assert (certificate.status, certificate.gap) == ("optimal", pytest.approx(rounding))
        assert certificate.lower_bound == pytest.approx(12.0 - 2 * rounding, abs=1e-15)


def test_a_rounding_that_is_itself_large_proves_nothing():
    large = {**FIGURES, "rounding": 0.1}
    certificate = certify(excess=1.0, difference=0.0, **large)
    assert (certificate.status, certificate.gap) == ("bounded", pytest.approx(0.1))
    assert certify(excess=1.0, difference=0.0, **{**large, "nothing": 0.1}).status == "optimal"
    assert certify(excess=0.05, difference=0.0, **large).gap == 1.0


def test_an_excess_that_is_as_good_as_nothing():
    """Where the path reaches the minimum itself no other can be better, unless the minimum is in doubt."""
    reached = {**FIGURES, "rounding": 0.1}
    assert certify(excess=1e-20, difference=1e-20, **reached).status == "optimal"
    doubtful = certify(excess=1e-20, difference=1e-20, **{**reached, "floor": 1e-3})
    assert (doubtful.status, doubtful.gap) == ("bounded", 1.0)
    assert doubtful.lower_bound == pytest.approx(12.0 - 2e-3)
    assert certify(excess=1e-3, difference=1e-3, **reached).status == "bounded"


def test_a_path_below_the_minimum_proves_nothing_by_it():
    """A gram matrix that is indefinite by rounding has costs below what is taken for the least."""
    below = certify(excess=-0.5, difference=-0.5, **{**FIGURES, "rounding": 0.6, "floor": 0.5})
    assert (below.status, below.gap) == ("bounded", 1.0)
    assert below.lower_bound == pytest.approx(12.0 - 1.2)


def test_a_gap_without_excess_is_whole():
    certificate = certify(excess=0.0, difference=1.0, **{**FIGURES, "floor": 1.0})
    assert (certificate.gap, certificate.status) == (1.0, "bounded")


def test_weights():
    assert GeometricWeights(0.5).alphas(3).tolist() == [0.5, 0.25, 0.125]
    assert ExplicitWeights((1.0, 2.0, 3.0)).alphas(2).tolist() == [1.0, 2.0]
    assert FinalWeights(1.0, 2.0, 0.5).alphas(2).tolist() == [1.0, 1.5]
    assert FinalWeights(1.0, 0.0, 0.0).alphas(2).tolist() == [0.0, 1.0]
    assert FinalWeights(1.0, 1.0).alphas(0).tolist() == []
    with pytest.raises(ProblemError, match="use alpha or p"):
        ExplicitWeights((1.0,), "q")
    with pytest.raises(ProblemError, match="not a finite number"):
        GeometricWeights(float("inf"))


def test_problems_are_frozen_and_read_only(toy):
    problem = parse_problem(toy)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.seed = 1
    for array in (problem.start, problem.target, problem.cost.gram, problem.cost.linear):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_problem_made_by_hand_is_checked_too():
    cost = QuadraticCost(np.eye(2), np.zeros(2))
    for start, message in ((np.zeros(3), "shape"), (np.array([0.0, np.nan]), r"start\[1\]")):
        with pytest.raises(ProblemError, match=message):
            PathProblem(("a", "b"), cost, start, np.zeros(2))
    with pytest.raises(ProblemError, match="3 names for a cost of 2"):
        PathProblem(("a", "b", "c"), cost, np.zeros(3), np.zeros(3))
    with pytest.raises(ProblemError, match="time_limit"):
        PathProblem(("a", "b"), cost, np.zeros(2), np.ones(2), time_limit=float("nan"))


def test_shapley_is_the_average_over_all_orders(document, oracle):
    problem = parse_problem(document(8, 4, dependent=True, grouped=True, unchanged=1))
    judge = oracle(problem)
    size = len(problem.changed)
    orders = list(itertools.permutations(range(size)))
    average = np.zeros(size)
    for order in orders:
        for k, u in enumerate(order):
            average[u] += float(judge.cost(order[: k + 1]) - judge.cost(order[:k])) / len(orders)
    values = shapley(problem)
    assert values == pytest.approx(average.tolist())
    assert sum(values) == pytest.approx(float(judge.cost(range(size)) - judge.cost(())))
    assert all(type(value) is float for value in values)


def test_shapley_needs_an_end(toy):
    with pytest.raises(ProblemError, match="is free"):
        shapley(parse_problem({**toy, "target": None, "steps": 1}))


def test_the_answer_is_plain_json(toy):
    document = solve(toy).to_dict()
    assert list(document) == [
        "schema",
        "objective",
        "lower_bound",
        "gap",
        "gap_per_step",
        "status",
        "solver",
        "terms",
        "start_cost",
        "steps",
    ]
    assert list(document["steps"][0]) == ["k", "kind", "feature", "from", "to", "moves", "cost", "delta"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_mathematics_imports_nothing_heavy():
    code = (
        "import sys, importlib.util\n"
        "import coordpath_governance.paths\n"
        "heavy = ['mlflow', 'pandas', 'pydantic', 'jinja2', 'gurobipy', 'pyarrow', 'click', 'rich']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
