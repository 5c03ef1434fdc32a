"""More terms than changed units, and free ends: the bound must hold for all coordinate paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import pareto_front, parse_problem, solve, solve_problem
from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.starts import place


def best_values(problem, sequence):
    """Least Σ αₖ c(βₖ) along a sequence of units, by normal equations and a multiplier for the fixed end."""
    gram, linear, start = problem.cost.gram, problem.cost.linear, problem.start
    alphas, size = problem.alphas(len(sequence)), len(start)
    columns = [(j, i) for j, u in enumerate(sequence) for i in problem.units[u].members]
    # β_k = start + Σ_{j≤k} δ_j e_i
    design = np.zeros((len(sequence), size, len(columns)))
    for c, (j, i) in enumerate(columns):
        design[j:, i, c] = 1.0
    hessian = sum(a * d.T @ gram @ d for a, d in zip(alphas, design, strict=True))
    slope = sum(a * d.T @ (gram @ start - linear) for a, d in zip(alphas, design, strict=True))
    equations, right = hessian, -slope
    if problem.target is not None:
        equations = np.block([[hessian, design[-1].T], [design[-1], np.zeros((size, size))]])
        right = np.concatenate([-slope, problem.target - start])
    increments = np.linalg.lstsq(equations, right, rcond=None)[0][: len(columns)]
    betas = [start + d @ increments for d in design]
    if problem.target is not None and not np.allclose(betas[-1], problem.target, atol=1e-6):
        return np.inf
    return float(sum(a * problem.cost.value(beta) for a, beta in zip(alphas, betas, strict=True)))


def best_of_all(problem):
    return min(
        best_values(problem, sequence)
        for terms in range(problem.least_terms, problem.most_terms + 1)
        for sequence in itertools.product(range(len(problem.units)), repeat=terms)
    )


longer = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "size": st.integers(0, 3),
        "dependent": st.booleans(),
        "grouped": st.booleans(),
        "unchanged": st.integers(0, 1),
        "weights": st.sampled_from([None, {"gamma": 0.5}, {"alpha": [0, 0, 0, 1, 1]}, {"final": 1, "lambda": 0.25}]),
    }
)


@settings(max_examples=40, deadline=None)
@given(longer, st.integers(0, 2), st.booleans(), st.sampled_from(["auto", "greedy", "direct", "local"]))
def test_revisits_against_all_sequences(document, parameters, extra, ranged, solver):
    parameters = {**parameters, "unchanged": max(parameters["unchanged"], 1 - parameters["size"])}
    made = document(**parameters)
    size = len(parse_problem(made).changed) if parameters["weights"] is None else parameters["size"]
    most = max(1, size + extra)
    steps = {"min": 1, "max": most} if ranged and parameters["weights"] != {"alpha": [0, 0, 0, 1, 1]} else max(most, 4)
    problem = parse_problem({**made, "steps": steps, "solver": solver})
    certificate = solve_problem(problem).certificate
    optimum = best_of_all(problem)
    assert certificate.lower_bound <= optimum + 1e-7 * (1 + abs(optimum))
    assert certificate.objective >= optimum - 1e-7 * (1 + abs(optimum))
    if certificate.status == "optimal":
        assert certificate.objective == pytest.approx(optimum, rel=1e-5)


@settings(max_examples=30, deadline=None)
@given(longer, st.integers(1, 4), st.booleans(), st.sampled_from(["auto", "greedy", "exact"]))
def test_free_ends_against_all_sequences(document, parameters, most, ranged, solver):
    parameters = {**parameters, "size": parameters["size"] + 1}
    most = most if parameters["weights"] != {"alpha": [0, 0, 0, 1, 1]} else 4
    steps = {"min": 1, "max": most} if ranged and parameters["weights"] != {"alpha": [0, 0, 0, 1, 1]} else most
    problem = parse_problem({**document(**parameters), "target": None, "steps": steps, "solver": solver})
    certificate = solve_problem(problem).certificate
    optimum = best_of_all(problem)
    assert certificate.lower_bound <= optimum + 1e-7 * (1 + abs(optimum))
    assert certificate.objective >= optimum - 1e-7 * (1 + abs(optimum))
    if certificate.status == "optimal":
        assert certificate.objective == pytest.approx(optimum, rel=1e-5)


def test_the_papers_three_steps(toy):
    for steps in (3, {"min": 2, "max": 4}):
        document = solve({**toy, "steps": steps}).to_dict()
        assert document["objective"] == pytest.approx(1.275742)
        assert [s["feature"] for s in document["steps"]] == ["a", "b", "a"]
        assert document["steps"][0]["to"] == pytest.approx(1.697)
        assert document["status"] == "optimal"
        assert document["lower_bound"] == pytest.approx(1.275742)


def test_as_many_terms_as_units_is_the_order_problem(toy):
    assert solve({**toy, "steps": 2}).to_dict() == solve(toy).to_dict()
    assert solve({**toy, "steps": {"min": 1, "max": 2}}).to_dict() == solve(toy).to_dict()


def test_a_negative_cost_makes_longer_paths_pay(toy):
    cost = {**toy["cost"], "constant": -5.0}
    solution = solve({**toy, "cost": cost, "steps": {"min": 2, "max": 4}, "solver": "direct"})
    assert solution.path.terms == 4
    assert len(solution.path.steps) == 2
    assert len(solution.path.costs()) == 4


def test_an_unchanged_coefficient_moves_out_and_back_where_that_pays(toy):
    solution = solve({**toy, "target": [0, 0], "steps": 3})
    assert solution.certificate.status == "optimal"
    assert [step.label for step in solution.path.steps] == ["a", "a"]
    assert [step.moves[0].after for step in solution.path.steps] == pytest.approx([1.274, 0.0])
    assert solution.certificate.objective == pytest.approx(2 * 0.417884 + 2.04096)


def test_a_resting_path_keeps_its_cost(toy):
    resting = solve({**toy, "target": [0, 0], "steps": 3, "solver": "direct"})
    assert resting.path.steps == ()
    assert resting.certificate.objective == pytest.approx(3 * 2.04096)
    assert resting.certificate.status == "bounded"
    settled = solve({**toy, "start": [2.12, -0.94], "steps": 3})
    assert settled.certificate.objective == pytest.approx(0.75)
    assert settled.certificate.status == "optimal"
    once = solve({**toy, "target": [0, 0], "steps": 1})
    assert (once.certificate.status, once.certificate.objective) == ("optimal", 2.04096)


def test_steps_are_placed_where_the_weights_are_small(toy):
    weights = {"alpha": [1.0, 0.0, 1.0, 1.0]}
    solution = solve({**toy, "steps": 4, "start": [2.12, -0.94], "target": [0, 0], "weights": weights, "solver": "direct"})
    assert [step.k for step in solution.path.steps] == [2, 3]
    assert place(np.array([1.0, 0.0]), np.ones(3), [7]) == (7, REST, REST)


def test_many_units_with_a_rest(document):
    problem = {**document(5, 14), "steps": 15}
    assert solve(problem).certificate.status == "optimal"
    hurried = solve({**document(5, 4), "steps": 6, "time_limit": 0})
    assert hurried.certificate.objective >= solve({**document(5, 4), "steps": 6}).certificate.objective


def test_one_free_step_is_solved(toy, document):
    solution = solve({**toy, "target": None, "steps": 1})
    assert solution.certificate.status == "optimal"
    assert solution.path.steps[0].moves[0].after == pytest.approx(1.274)
    hurried = solve({**document(5, 4), "target": None, "steps": 4, "time_limit": 0})
    assert hurried.certificate.status == "bounded"


def test_long_free_paths_come_as_near_as_they_can(toy):
    solution = solve({**toy, "target": None, "steps": 50})
    assert solution.path.terms == 50
    assert solution.path.costs()[-1] == pytest.approx(0.25)
    assert solution.certificate.lower_bound >= 50 * 0.25 - 1e-9


def test_scales_do_not_matter(document):
    for more in ({"steps": 5}, {"target": None, "steps": 3}):
        plain, small = ({**document(9, 3, scale=scale), **more} for scale in (0, -700))
        one, other = solve(plain), solve(small)
        assert other.certificate.gap == one.certificate.gap
        assert [s.moves for s in other.path.steps] == [s.moves for s in one.path.steps]


def test_free_ends_refuse_what_they_cannot_do(toy):
    free = {**toy, "target": None, "steps": 2}
    for question in (
        lambda: solve({**free, "solver": "direct"}),
        lambda: solve_problem(parse_problem(free), solver="direct"),
        lambda: pareto_front(free, solver="direct"),
    ):
        with pytest.raises(ProblemError, match=r"^solver: 'direct' needs a target"):
            question()
    with pytest.raises(ProblemError):
        solve({**toy, "target": None})


def test_a_column_the_data_never_exercise(toy):
    cost = {"gram": [[1, 0], [0, 0]], "linear": [1, 0], "constant": 1}
    solution = solve({**toy, "cost": cost, "target": None, "steps": 2})
    assert solution.certificate.status == "optimal"
    assert [step.label for step in solution.path.steps] == ["a"]


def test_lower_bound_that_overflows(toy):
    weights = {"alpha": [1e-300, 1e305, 1e305]}
    cost = {**toy["cost"], "constant": -1000.0}
    with pytest.raises(ProblemError, match="overflows"):
        solve({**toy, "cost": cost, "steps": {"min": 2, "max": 3}, "weights": {**weights, "alpha": [1e305, 1e305, 1e305]}})


def test_several_further_visits(toy):
    document = solve({**toy, "steps": 7}).to_dict()
    assert len(document["steps"]) == 7
    assert document["status"] == "optimal"
    assert document["objective"] < solve({**toy, "steps": 7, "solver": "direct"}).certificate.objective
    assert document["steps"][-1]["cost"] == pytest.approx(0.25)


def test_another_unit_can_be_better_than_the_greedy_one(document):
    better = 0
    for seed in range(8):
        free = {**document(seed, 4), "target": None, "steps": 3}
        ours, greedy = (solve({**free, "solver": name}).certificate.objective for name in ("auto", "greedy"))
        assert ours <= greedy
        better += ours < greedy
    assert better


def test_greedy_is_forward_stagewise(toy):
    """Each step looks only at the cost right after it: the paper's 0.42 and 0.39, whatever the weights."""
    for weights in ({"gamma": 1.0}, {"gamma": 0.1}, {"final": 1.0, "lambda": 0.5}):
        solution = solve({**toy, "target": None, "steps": 2, "solver": "greedy", "weights": weights})
        assert [step.cost for step in solution.path.steps] == pytest.approx([0.418, 0.386], abs=1e-3)
    groups = {**toy, "target": None, "steps": 1, "groups": [["a", "b"]], "solver": "greedy"}
    assert solve(groups).path.steps[0].cost == pytest.approx(0.25)


def test_the_number_of_terms_is_told(toy):
    """A rest is not listed, but its cost counts once more."""
    apart = {"gram": [[1, 0], [0, 1]], "linear": [1, 1], "constant": 3}
    long = solve({**toy, "cost": apart, "start": [1, 1], "target": [0, 0], "steps": 6, "weights": {"gamma": 1.0}})
    document = long.to_dict()
    assert document["terms"] == long.path.terms == 6
    assert len(document["steps"]) < 6
    costs = {step["k"]: step["cost"] for step in document["steps"]}
    total, current = 0.0, document["start_cost"]
    for k in range(1, document["terms"] + 1):
        current = costs.get(k, current)
        total += current
    assert total == pytest.approx(document["objective"])
    chosen = solve({**toy, "steps": {"min": 2, "max": 4}})
    assert chosen.to_dict()["terms"] == 3


def test_what_is_proved_can_be_asked_of_the_solution(toy):
    solution = solve(toy)
    certificate = solution.certificate
    asked = solution.objective, solution.lower_bound, solution.gap, solution.status
    assert asked == (certificate.objective, certificate.lower_bound, certificate.gap, certificate.status)


def test_fewer_terms_than_probabilities(toy):
    """The first K count, as they are: nothing is added to the last."""
    longer, own = (solve({**toy, "weights": {"p": p}}) for p in ([0.2, 0.3, 0.5], [0.2, 0.3]))
    assert longer.objective == own.objective
    costs = longer.path.costs()
    assert longer.objective == pytest.approx(0.2 * costs[0] + 0.3 * costs[1])
