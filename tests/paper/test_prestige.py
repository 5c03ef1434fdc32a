"""Section 4.2: the best path of ten steps that predicts the prestige of occupations, and the local improvement."""

from __future__ import annotations

import itertools

import pytest

from coordpath_governance.paths import solve

OPTIMUM = 1.787445279


@pytest.fixture(scope="module")
def problem(prestige, squared_error):
    features, rows, target = prestige
    return {"features": features, "cost": squared_error(rows, target), "steps": 10}


def test_the_data_are_those_of_the_paper(prestige):
    features, rows, _ = prestige
    assert rows.shape == (98, 6)
    assert len(features) == 6


def test_the_optimum_is_proved(problem):
    certificate = solve(problem).certificate
    assert certificate.objective == pytest.approx(OPTIMUM, abs=1e-9)
    assert certificate.status == "optimal"


def test_the_cost_falls_at_every_step_of_the_best_path(problem):
    path = solve(problem).path
    costs = (path.start_cost, *path.costs())
    assert path.start_cost == pytest.approx(1.0)
    assert all(after < before for before, after in itertools.pairwise(costs))
