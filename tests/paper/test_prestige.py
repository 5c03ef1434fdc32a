"""Section 4.2: the best path of ten steps that predicts the prestige of occupations, and the local improvement."""

from __future__ import annotations

import itertools

import pytest

from coordpath_governance.paths import parse_problem, solve
from coordpath_governance.paths.solvers.local_improvement import LocalImprovement
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.walks.floors import find_floors
from coordpath_governance.paths.walks.geometry import prepare_walks
from coordpath_governance.paths.walks.starts import stagewise

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


@pytest.fixture(scope="module")
def local(problem):
    """The objective that the paper's algorithm reaches with batches of q, from the stagewise walk."""
    parsed = parse_problem(problem)
    walks, alphas = prepare_walks(parsed), parsed.alphas(10)

    def reach(batch, seed, restarts):
        task = WalkTask(walks, alphas, find_floors(walks, 10), stagewise(walks, 10), seed=seed)
        found = LocalImprovement(batch, iterations=100, restarts=restarts).solve(task)
        _, stops = walks.value(found.order, alphas)
        return sum(parsed.cost.value(stop.beta) for stop in stops)

    return reach


@pytest.mark.parametrize("seed", range(3))
def test_local_improvement_of_two_entries_finds_the_optimum(local, seed):
    """Table 2, q = 2: gap 0.00 %.

    One run of a hundred iterations from the stagewise walk finds it for half of
    the seeds, four runs for all that were tried.
    """
    assert local(2, seed, 3) == pytest.approx(OPTIMUM, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_local_improvement_of_one_entry_comes_close(local, seed):
    """Table 2, q = 1: gap 0.02 %; here mostly 0.027 %, depending on the seed and the first walk."""
    assert OPTIMUM * (1 - 1e-9) <= local(1, seed, 0) <= OPTIMUM * 1.001
