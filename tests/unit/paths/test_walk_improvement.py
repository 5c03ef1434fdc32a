"""Walks that are improved: the evaluators agree with the exact values, and small problems are solved."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers import walk_improvement
from coordpath_governance.paths.solvers.walk_improvement import WalkSearch, improve_walk, tidy
from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.sequence_values import Backwards, Intervals, value_sequences


def ends(task, sequence):
    return set(task.walks.changed) <= set(sequence)


def optimum(task):
    entries = range(REST, task.walks.size)
    sequences = [each for each in itertools.product(entries, repeat=task.terms) if ends(task, each)]
    return float(Backwards(task.walks, task.alphas).values(np.array(sequences)).min())


def spread(task):
    longest = np.linalg.norm(task.walks.base) + sum(map(np.linalg.norm, task.walks.changes or ()))
    return float(task.alphas.sum() * longest**2)


def correlated(size, terms, seed=0, *, fixed=False):
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(np.arange(size), np.arange(size))))
    gram = root @ root.T
    goal = rng.standard_normal(size)
    cost = {"gram": gram.tolist(), "linear": (gram @ goal).tolist(), "constant": float(goal @ gram @ goal)}
    names = [f"x{i}" for i in range(size)]
    return {"features": names, "cost": cost, "start": [0] * size, "target": goal.tolist() if fixed else None, "steps": terms}


any_walks = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "size": st.integers(1, 3),
        "dependent": st.booleans(),
        "grouped": st.booleans(),
        "unchanged": st.integers(0, 1),
        "weights": st.sampled_from([None, {"gamma": 0.5}, {"alpha": [0, 1, 0, 0, 1]}, {"final": 1, "lambda": 0.25}]),
    }
)


@settings(max_examples=40, deadline=None)
@given(any_walks, st.booleans())
def test_evaluators_agree_with_the_exact_values(walk_task, document, parameters, free):
    made = {**document(**parameters), "steps": 5, **({"target": None} if free else {})}
    task = walk_task(made)
    rng = np.random.default_rng(parameters["seed"])
    sequences = [each for each in rng.integers(REST, task.walks.size, (40, 5)).tolist() if ends(task, each)]
    sequences.append(list(task.first))
    exact = [task.evaluate(each) for each in sequences]
    for kind, tolerance in ((Backwards, 1e-11), (Intervals, 1e-8)):
        assert kind(task.walks, task.alphas).values(np.array(sequences)) == pytest.approx(
            exact, abs=tolerance * spread(task)
        )


@settings(max_examples=30, deadline=None)
@given(any_walks, st.booleans())
def test_few_sequences_are_all_tried(walk_task, document, parameters, free):
    task = walk_task({**document(**parameters), "steps": 5, **({"target": None} if free else {})})
    walk, value = improve_walk(task)
    assert ends(task, walk)
    assert value == task.evaluate(walk)
    assert value <= optimum(task) + 1e-9 * spread(task)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("free", [False, True])
def test_descents_reach_the_optimum_of_small_problems(walk_task, document, seed, free, monkeypatch):
    monkeypatch.setattr(walk_improvement, "_ALL", 0)
    made = document(seed, 2, dependent=seed % 2 == 1, unchanged=1, grouped=seed % 3 == 0)
    task = walk_task({**made, "steps": 5, **({"target": None} if free else {})})
    walk, value = improve_walk(task)
    assert ends(task, walk)
    assert value <= optimum(task) + 1e-9 * spread(task)


def test_a_way_is_chosen_by_its_work(walk_task, document):
    long, wide = walk_task(correlated(3, 40)), walk_task(correlated(40, 3))
    assert isinstance(value_sequences(long.walks, long.alphas), Backwards)
    assert isinstance(value_sequences(wide.walks, wide.alphas), Intervals)


def test_sequences_are_valued_in_chunks(walk_task, monkeypatch):
    task = walk_task(correlated(4, 4))
    every = WalkSearch(task).everything()
    for kind in (Backwards, Intervals):
        evaluator = kind(task.walks, task.alphas)
        whole = evaluator.values(every)
        monkeypatch.setattr("coordpath_governance.paths.walks.sequence_values._CHUNK", 100)
        assert evaluator.values(every[:50]) == pytest.approx(whole[:50], rel=1e-12)
        monkeypatch.undo()


def test_orders_without_a_value_to_choose(walk_task, document):
    task = walk_task({**document(3, 4), "steps": 5})
    sequences = np.array([(0, 1, 2, REST, 3), (3, REST, 2, 1, 0)])
    exact = [task.evaluate(each) for each in sequences.tolist()]
    assert Intervals(task.walks, task.alphas).values(sequences) == pytest.approx(exact)


def test_a_column_the_data_never_exercise_gains_nothing(walk_task, toy):
    cost = {"gram": [[1, 0], [0, 0]], "linear": [1, 0], "constant": 1}
    for target in (None, [1, 1]):
        task = walk_task({**toy, "cost": cost, "target": target, "steps": 3})
        sequences = np.array([(0, 1, 0), (1, 1, 0)])
        exact = [task.evaluate(each) for each in sequences.tolist()]
        for kind in (Backwards, Intervals):
            assert kind(task.walks, task.alphas).values(sequences) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("size", "terms", "fixed"), [(6, 10, False), (8, 10, True), (12, 9, False), (6, 20, True)])
def test_larger_walks_are_improved_alike_each_time(walk_task, size, terms, fixed):
    task = walk_task(correlated(size, terms, fixed=fixed), seed=3)
    walk, value = improve_walk(task, rounds=2)
    assert (walk, value) == improve_walk(task, rounds=2)
    assert ends(task, walk)
    assert task.floor <= value < task.evaluate(task.first)
    assert improve_walk(replace(task, first=walk), rounds=0)[1] <= value


def test_the_work_and_the_time_are_limited(walk_task, monkeypatch):
    task = walk_task(correlated(8, 12))
    late = replace(task, patience=Patience(lambda: True))
    assert improve_walk(late) == (task.first, task.evaluate(task.first))
    asked = itertools.count()
    hurried = replace(task, patience=Patience(lambda: next(asked) > 3))
    assert improve_walk(hurried)[1] <= task.evaluate(task.first)
    monkeypatch.setattr(walk_improvement.WalkSearch.__init__, "__defaults__", (1,))
    assert improve_walk(task)[1] <= task.evaluate(task.first)


def test_neighbours_are_what_they_say(walk_task, document):
    task = walk_task({**document(1, 3, unchanged=1), "steps": 4, "target": None})
    search = WalkSearch(task)
    walk = np.array([0, 1, 2, REST])
    near = set(map(tuple, search.near(walk, 1).tolist()))
    assert {(0, 3, 2, REST), (0, REST, 2, REST), (1, 0, 2, REST), (0, 2, REST, 1), (0, REST, 2, 1)} <= near
    exchanged = set(map(tuple, search.exchanged(walk, 3).tolist()))
    assert exchanged == {tuple(np.insert(walk[:3], j, u)) for j in range(4) for u in range(REST, 4)}
    paired = set(map(tuple, search.paired(walk, 2).tolist()))
    assert paired == {(0, 1, u, v) for u in range(REST, 4) for v in range(REST, 4)}
    doubled = set(map(tuple, search.doubled(walk, 2).tolist()))
    assert paired <= doubled
    assert (3, 0, 3, 1) in doubled
    assert search.perturb(walk, np.random.default_rng(0), anew=True).shape == (4,)


def test_a_fixed_end_keeps_its_visits(walk_task, document):
    task = walk_task({**document(1, 2, unchanged=1), "steps": 4})
    search = WalkSearch(task)
    one, other = task.walks.changed
    (still,) = set(range(3)) - {one, other}
    walk = np.array([one, other, REST, still])
    assert tidy(task, walk) == (one, other, REST, REST)
    assert tidy(task, np.array([one, still, other, still])) == (one, still, other, still)
    assert search.allowed(np.array([[one] * 4, [one, other, one, one]])).tolist() == [[one, other, one, one]]
    assert len(search.exchanged(walk, 0)) == 0
    assert len(search.exchanged(walk, 2)) == 16
    assert search.doubled(walk, 0).tolist() == [walk.tolist()]
    for seed in range(10):
        for anew in (False, True):
            assert ends(task, search.perturb(walk, np.random.default_rng(seed), anew=anew).tolist())
