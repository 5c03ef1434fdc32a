from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import evaluate_order, greedy_order, parse_problem, solve, solve_problem

WEIGHTS = [
    None,
    {"gamma": 0.5},
    {"gamma": 2.0},
    {"alpha": [1.0, 0.0, 0.5, 0.0, 2.0, 1.0, 1.0]},
    {"alpha": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "max": True},
    {"p": [0.25, 0.5, 0.125, 0.125, 0.0, 0.0, 0.25]},
    {"final": 1.0, "lambda": 0.25, "gamma": 0.5},
]

problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "size": st.integers(1, 7),
        "dependent": st.booleans(),
        "grouped": st.booleans(),
        "unchanged": st.integers(0, 2),
        "weights": st.sampled_from([w for w in WEIGHTS if w is None or "max" not in w]),
        "max_steps": st.none() | st.integers(1, 5),
        "scale": st.sampled_from([0, 0, 0, 600, -600]),
    }
)


@settings(max_examples=60, deadline=None)
@given(parameters=problems)
def test_every_solver_against_all_orders(parameters, document, oracle):
    problem = parse_problem(document(**parameters))
    judge = oracle(problem)
    optimum, tolerance = judge.optimum(), judge.spread() * Fraction(1, 10**11)
    for name in ("auto", "exact", "local", "greedy", "direct"):
        solution = solve_problem(problem, solver=name)
        certificate = solution.certificate
        assert Fraction(certificate.lower_bound) <= optimum + tolerance
        assert Fraction(certificate.objective) >= optimum - tolerance
        if certificate.status == "optimal":
            assert abs(Fraction(certificate.objective) - optimum) <= tolerance + Fraction(certificate.objective) / 10**5
        if name in ("auto", "exact"):
            assert certificate.status == "optimal"
            assert certificate.gap == certificate.gap_per_step == 0.0
            assert abs(Fraction(certificate.objective) - optimum) <= tolerance


@pytest.mark.parametrize("max_steps", [None, 3])
@pytest.mark.parametrize("dependent", [False, True])
def test_seven_units_against_all_5040_orders(dependent, max_steps, document, oracle):
    made = document(
        seed=7,
        size=7,
        dependent=dependent,
        grouped=False,
        unchanged=0,
        weights=None,
        max_steps=max_steps,
        scale=0,
    )
    problem = parse_problem(made)
    judge = oracle(problem)
    certificate = solve_problem(problem).certificate
    assert len(problem.changed) == 7
    assert certificate.status == "optimal"
    assert abs(Fraction(certificate.objective) - judge.optimum()) <= judge.spread() * Fraction(1, 10**11)


@settings(max_examples=30, deadline=None)
@given(parameters=problems, constant=st.sampled_from([0.0, -1e3, 1e6, 2.0**60]))
def test_a_constant_or_a_scale_changes_nothing(parameters, constant, document):
    plain = document(**{**parameters, "scale": 0})
    scaled = document(**{**parameters, "scale": 500})
    shifted = {**plain, "cost": {**plain["cost"], "constant": plain["cost"]["constant"] + constant}}
    for name in ("auto", "local", "greedy"):
        reference, *others = (
            solve({**problem, "solver": name}) for problem in (plain, scaled, shifted, {**plain, "cost": plain["cost"]})
        )
        for other in others:
            assert [s.label for s in other.path.steps] == [s.label for s in reference.path.steps]
            assert other.certificate.status == reference.certificate.status
            assert other.certificate.gap == reference.certificate.gap
        assert others[-1].to_dict() == reference.to_dict()


@settings(max_examples=20, deadline=None)
@given(parameters=problems)
def test_objective_is_the_weighted_sum_of_the_listed_costs(parameters, document, oracle):
    problem = parse_problem(document(**parameters))
    solution = solve_problem(problem)
    path = solution.path
    assert len(path.costs()) == path.terms == problem.most_terms
    total = float(problem.alphas(path.terms) @ np.array(path.costs()))
    assert total == pytest.approx(solution.certificate.objective, rel=1e-12)
    beta = dict(zip(problem.features, problem.start.tolist(), strict=True))
    before = path.start_cost
    for step in path.steps:
        for move in step.moves:
            assert beta[move.feature] == move.before != move.after
            beta[move.feature] = move.after
        assert step.delta == pytest.approx(step.cost - before, abs=1e-12 * (abs(before) + abs(step.cost)))
        before = step.cost
    assert list(beta.values()) == problem.target.tolist()


def test_the_papers_toy_example(toy):
    document = solve(toy).to_dict()
    assert document["objective"] == pytest.approx(1.3836)
    assert document["lower_bound"] == document["objective"]
    assert (document["status"], document["solver"], document["gap"]) == ("optimal", "lattice", 0.0)
    assert [s["feature"] for s in document["steps"]] == ["a", "b"]
    assert [s["cost"] for s in document["steps"]] == pytest.approx([1.1336, 0.25])
    assert document["steps"][0]["moves"] == [{"feature": "a", "from": 0.0, "to": 2.12}]
    assert (document["steps"][0]["from"], document["steps"][0]["to"]) == (0.0, 2.12)


def test_an_order_can_be_evaluated(toy, document, oracle):
    problem = parse_problem(document(3, 5, max_steps=2))
    judge = oracle(problem)
    for order in itertools.permutations(range(5)):
        solution = evaluate_order(problem, order)
        assert solution.certificate.objective == pytest.approx(float(judge.objective(order)))
        assert solution.certificate.status == "bounded"
        assert [s.kind for s in solution.path.steps] == ["coordinate", "coordinate", "rest"]
    with pytest.raises(ProblemError, match="arrangement"):
        evaluate_order(problem, (0, 0, 1, 2, 3))
    with pytest.raises(ProblemError, match="visited again"):
        evaluate_order(parse_problem({**toy, "steps": 3}), (0, 1))


def test_rest_is_called_so_even_for_one_unit(toy):
    steps = solve({**toy, "max_steps": 1}).to_dict()["steps"]
    assert [(s["kind"], s["feature"]) for s in steps] == [("coordinate", "a"), ("rest", "all the rest")]
    assert steps[1]["moves"] == [{"feature": "b", "from": 0.0, "to": -0.94}]
    assert steps[1]["to"] == -0.94


def test_as_many_single_steps_as_units_leave_no_rest(toy):
    for most in (2, 7):
        solution = solve({**toy, "max_steps": most})
        assert [s.kind for s in solution.path.steps] == ["coordinate", "coordinate"]
        assert solution.path.terms == 2


def test_groups_and_baseline_have_their_kinds(toy):
    document = {
        **toy,
        "features": ["(baseline)", "b", "c"],
        "cost": {"gram": np.eye(3).tolist(), "linear": [1, 1, 1], "constant": 3},
        "start": [0, 0, 0],
        "target": [1, 1, 0],
        "groups": [["c", "b"]],
    }
    steps = solve(document).to_dict()["steps"]
    assert [(s["kind"], s["feature"]) for s in steps] == [("baseline", "(baseline)"), ("group", "c + b")]
    assert steps[1]["moves"] == [{"feature": "b", "from": 0.0, "to": 1.0}]
    alone = solve({**document, "groups": [["(baseline)"], ["b"]], "target": [1, 1, 1]})
    assert [s.kind for s in alone.path.steps] == ["baseline", "coordinate", "coordinate"]
    whole = solve({**document, "groups": [["b", "c"]], "target": [0, 1, 1]}).to_dict()["steps"][0]
    assert "from" not in whole
    assert len(whole["moves"]) == 2


def test_equal_units_move_in_the_order_in_which_they_are_listed():
    size = 7
    document = {
        "features": [f"x{i}" for i in range(size)],
        "cost": {"gram": np.eye(size).tolist(), "linear": [1.0] * size, "constant": float(size)},
        "target": [1.0] * size,
    }
    for more in ({}, {"max_steps": 3}, {"solver": "greedy"}, {"solver": "local"}):
        labels = [s.label for s in solve({**document, **more}).path.steps]
        assert labels[:3] == ["x0", "x1", "x2"]


def test_nothing_changed_is_an_empty_optimal_path(toy):
    for name in ("auto", "greedy", "local"):
        document = solve({**toy, "target": [0, 0], "solver": name}).to_dict()
        assert document["steps"] == []
        assert (document["objective"], document["gap"], document["status"]) == (0.0, 0.0, "optimal")


def test_negative_zero_is_not_a_change_and_is_never_written(toy):
    document = solve({**toy, "start": [-0.0, 1.0], "target": [0.0, -0.0]}).to_dict()
    assert [s["feature"] for s in document["steps"]] == ["b"]
    assert str(document["steps"][0]["to"]) == "0.0"


def test_a_cost_that_never_exercises_the_change(toy):
    document = {**toy, "cost": {"gram": [[0, 0], [0, 0]], "linear": [0, 0], "constant": 5}}
    solution = solve(document)
    assert solution.certificate.status == "optimal"
    assert solution.certificate.objective == 10.0
    assert [s.delta for s in solution.path.steps] == [0.0, 0.0]
    for name in ("local", "greedy"):
        assert solve({**document, "solver": name}).certificate.status == "optimal"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": [1.7e308, 0], "start": [-1.7e308, 0]}, "differs from start"),
        ({"target": [1e200, 0]}, "overflows"),
        ({"target": [1e154, 1e154], "weights": {"gamma": 1.0}}, "overflows"),
        ({"weights": {"alpha": [1e308, 1e307]}, "target": [30.0, 40.0]}, "objective overflows"),
        ({"weights": {"alpha": [1e308, 1e308]}}, "overflow"),
        ({"weights": {"gamma": 1e-200}}, "underflows"),
    ],
)
def test_what_double_precision_cannot_hold_is_a_problem_error(toy, change, message):
    with pytest.raises(ProblemError, match=message):
        solve({**toy, **change})


def test_sum_of_terms_that_overflows(toy):
    with pytest.raises(ProblemError, match="overflows"):
        solve({**toy, "weights": {"alpha": [8e307, 8e307]}, "cost": {**toy["cost"], "constant": 3.0}})


def test_the_greedy_order_takes_the_best_next_unit(document, oracle):
    problem = parse_problem(document(4, 5))
    exact, order = oracle(problem), greedy_order(problem)
    for k in range(5):
        assert exact.cost(order[: k + 1]) == min(exact.cost((*order[:k], u)) for u in range(5) if u not in order[:k])
