"""Free ends: the exact search against all sequences of units."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths import parse_problem
from coordpath_governance.paths.floors import find_floors
from coordpath_governance.paths.solvers.free_end import FreeEnd
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.starts import stagewise
from coordpath_governance.paths.walks import prepare_walks

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
