"""Weights and costs of sections 3 to 5 are as defined: p, c(β_K) + λΣγᵏc(βₖ), ridge, 1/n and 1/2n."""

from __future__ import annotations

import numpy as np
import pytest

from coordpath_governance.paths import parse_problem, solve

CHOICES = (
    {"steps": None, "target": [0.3, 0.4, -0.1, -0.2, 0.2, 0.1]},
    {"steps": 3, "target": None},
)


@pytest.fixture(scope="module")
def problem(prestige, squared_error):
    features, rows, target = prestige
    return {"features": features, "cost": squared_error(rows, target)}


@pytest.mark.parametrize("choice", CHOICES)
def test_expected_cost_of_a_reader_who_stops(problem, choice):
    p = [0.1, 0.2, 0.3, 0.2, 0.1, 0.1]
    solution = solve({**problem, **choice, "weights": {"p": p}})
    costs = solution.path.costs()
    assert solution.certificate.objective == pytest.approx(sum(q * c for q, c in zip(p, costs, strict=False)))
    assert solve({**problem, **choice, "weights": {"alpha": p}}).to_dict() == solution.to_dict()


@pytest.mark.parametrize("choice", CHOICES)
def test_final_cost_and_loss(problem, choice):
    solution = solve({**problem, **choice, "weights": {"final": 1, "lambda": 0.3, "gamma": 0.8}})
    costs = solution.path.costs()
    expected = costs[-1] + 0.3 * sum(0.8**k * c for k, c in enumerate(costs, start=1))
    assert solution.certificate.objective == pytest.approx(expected)


def test_the_last_model_alone_is_the_best_subset(problem, prestige):
    _, rows, target = prestige
    solution = solve({**problem, "target": None, "steps": 2, "weights": {"final": 1, "lambda": 0}})
    fits = [np.linalg.lstsq(rows[:, [i, j]], target, rcond=None)[1][0] / 98 for i in range(6) for j in range(i)]
    assert solution.certificate.objective == pytest.approx(min(fits))
    assert solution.certificate.status == "optimal"


def test_a_ridge_penalty_is_part_of_the_cost(problem, prestige, squared_error):
    _, rows, target = prestige
    penalised = {**problem, "cost": squared_error(rows, target, ridge=0.5)}
    beta = np.array(CHOICES[0]["target"])
    plain, ridge = (parse_problem({**each, **CHOICES[0]}).cost for each in (problem, penalised))
    assert ridge.value(beta) == pytest.approx(plain.value(beta) + 0.5 * beta @ beta)
    optimum = np.linalg.solve(rows.T @ rows / 98 + 0.5 * np.eye(6), rows.T @ target / 98)
    assert ridge.minimum() == pytest.approx(ridge.value(optimum))
    assert solve({**penalised, **CHOICES[0]}).certificate.status == "optimal"


@pytest.mark.parametrize("choice", CHOICES)
def test_half_the_cost_is_half_the_objective_and_the_same_path(problem, prestige, squared_error, choice):
    _, rows, target = prestige
    whole = solve({**problem, **choice})
    half = solve({**problem, **choice, "cost": squared_error(rows, target, scale="1/2n")})
    assert half.problem.cost.scale == "1/2n"
    assert half.certificate.objective == pytest.approx(whole.certificate.objective / 2)
    assert (half.certificate.status, whole.certificate.status) == ("optimal", "optimal")
    assert half.certificate.gap == pytest.approx(whole.certificate.gap, abs=1e-9)
    assert [step.label for step in half.path.steps] == [step.label for step in whole.path.steps]
    for one, other in zip(half.path.steps, whole.path.steps, strict=True):
        assert one.moves[0].after == pytest.approx(other.moves[0].after)
