"""The paper's Algorithm 1 on walks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from coordpath_governance.errors import UsageError
from coordpath_governance.paths import solve
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers import local_improvement
from coordpath_governance.paths.solvers.local_improvement import LocalImprovement
from coordpath_governance.paths.walks.sequence_values import Backwards


def occupations(terms, seed=0):
    """Six standardised features of a hundred rows: three numbers and three dummies of one kind."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, 98)
    numbers = rng.standard_normal((98, 3)) + 0.8 * kind[:, None]
    rows = np.column_stack([numbers, kind[:, None] == np.arange(3)])
    y = numbers @ [1.0, 0.6, -0.2] + 0.5 * (kind == 1) + 0.5 * rng.standard_normal(98)
    rows, y = (rows - rows.mean(axis=0)) / rows.std(axis=0), (y - y.mean()) / y.std()
    cost = {"gram": (rows.T @ rows / 98).tolist(), "linear": (rows.T @ y / 98).tolist(), "constant": float(y @ y / 98)}
    return {"features": list("abcdef"), "cost": cost, "start": [0] * 6, "target": None, "steps": terms}


def optimum(task):
    sequences = np.array(list(itertools.product(range(task.walks.size), repeat=task.terms)))
    return float(Backwards(task.walks, task.alphas).values(sequences).min())


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_two_are_optimal_and_of_one_nearly(walk_task, seed):
    task = walk_task(occupations(6, seed))
    noise = task.alphas.sum() * task.walks.problem.cost.minimum() / 2.0**task.walks.exponent
    best = optimum(task)
    two, one = (LocalImprovement(batch=q).solve(task) for q in (2, 1))
    assert task.evaluate(two.order) == pytest.approx(best, rel=1e-9)
    assert task.evaluate(one.order) + noise <= 1.001 * (best + noise)
    assert task.evaluate(two.order) < task.evaluate(task.first)
    assert two.bound == one.bound == task.floor


def test_the_same_seed_gives_the_same_walk(walk_task):
    task = walk_task(occupations(12), seed=5)
    assert LocalImprovement(iterations=20).solve(task) == LocalImprovement(iterations=20).solve(task)


def test_a_fixed_end_is_reached(walk_task, document):
    for seed in range(4):
        task = walk_task({**document(seed, 3, unchanged=1, grouped=seed % 2 == 1), "steps": 5})
        found = LocalImprovement(batch=2, iterations=60).solve(task)
        assert set(task.walks.changed) <= set(found.order)
        assert task.floor - 1e-9 <= task.evaluate(found.order) <= task.evaluate(task.first)


def test_a_batch_may_hold_the_whole_walk(walk_task, toy):
    task = walk_task({**toy, "target": None, "steps": 2})
    found = LocalImprovement(batch=9, iterations=1, restarts=0).solve(task)
    assert task.evaluate(found.order) == pytest.approx(optimum(task), rel=1e-12)


def test_batches_are_filled_part_by_part_where_walks_are_long(walk_task, monkeypatch):
    """The same walk as with all fillings at once, which would take gigabytes for hundreds of units."""
    task = walk_task(occupations(8))
    whole = LocalImprovement(iterations=30).solve(task)
    monkeypatch.setattr(local_improvement, "_ENTRIES", 5 * 8)
    assert LocalImprovement(iterations=30).solve(task) == whole


def test_it_stops_when_asked_and_tells_how_far_it_is(walk_task):
    told = []
    asked = itertools.count()
    task = walk_task(
        occupations(8),
        patience=Patience(lambda: next(asked) > 4, progress=lambda *stage: told.append(stage)),
    )
    found = LocalImprovement(restarts=5).solve(task)
    assert told == [("local improvement", task.evaluate(found.order), task.floor)]


def test_what_cannot_be_tried_is_refused(walk_task):
    with pytest.raises(UsageError, match="batch 0"):
        LocalImprovement(batch=0)
    task = walk_task(occupations(9))
    assert LocalImprovement(batch=3).lacks(task) is None
    assert "smaller batch" in LocalImprovement(batch=8).lacks(task)


def test_the_contracts_local_solver_improves_further(toy):
    solution = solve({**toy, "steps": 3, "solver": "local"}).to_dict()
    assert solution["solver"] == "local"
    assert solution["objective"] == pytest.approx(1.275742)
    assert solution["lower_bound"] < solution["objective"]
