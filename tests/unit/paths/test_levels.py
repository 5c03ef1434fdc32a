from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.chains import masks
from coordpath_governance.paths.chains.set_function import SetFunction
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers import levels
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.protocol import ChainTask


def start_from(monkeypatch, order):
    """Levels with an incumbent of our choice that nothing improves."""
    monkeypatch.setattr(levels, "first_polish", lambda task: (order, task.evaluate(order)))
    monkeypatch.setattr(levels, "shuffle", lambda task, order, value, turn: (order, value))
    monkeypatch.setattr(levels, "LARGEST", 0)


@pytest.mark.parametrize(("size", "depth"), [(14, 13), (14, 5), (13, 1)])
@pytest.mark.parametrize("correlation", [0.5, 0.95])
def test_lattice_and_levels_agree(chain_task, monkeypatch, size, depth, correlation):
    monkeypatch.setattr(levels, "LARGEST", 0)
    task = chain_task(size, depth, correlation=correlation)
    exact, pruned = Lattice().solve(task), Levels().solve(task)
    assert pruned.bound == pytest.approx(exact.bound, rel=1e-11)
    assert task.evaluate(pruned.order) == pytest.approx(exact.bound, rel=1e-11)
    stopped = Levels(3000).solve(task)
    assert stopped.bound <= exact.bound + task.rounding


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(7, 12), st.integers(1, 11), st.integers(0, 3), st.booleans())
def test_levels_prove_what_the_table_finds(seed, size, depth, kind, short):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((int(rng.integers(2, size + 2)), size)) * 10.0 ** rng.uniform(-1, 1, size)
    if kind == 1:
        columns[:, 1] = -columns[:, 0]
    if kind == 2:
        columns[:, [0, 3]] = 0.0
    base = -columns.sum(axis=1) if seed % 2 else rng.standard_normal(len(columns))
    depth = min(depth, size - 1)
    alphas = np.sort(rng.random(depth))[::-1] * (rng.random(depth) > 0.3 if kind == 3 else 1.0)
    task = ChainTask(SetFunction(base, columns), alphas)
    optimum = Lattice().solve(task).bound
    with mock.patch.object(levels, "LARGEST", 0):
        found = Levels(40_000 if short else 90_000_000).solve(task)
    assert sorted(found.order) == list(range(size))
    assert found.bound <= optimum + task.rounding
    if not short:
        assert found.bound >= optimum - task.rounding
        assert task.evaluate(found.order) <= optimum + task.rounding


@pytest.mark.parametrize("quick", [0, 10**7])
def test_levels_finds_what_improvement_missed(chain_task, monkeypatch, quick):
    task = chain_task(12, 11, seed=4)
    start_from(monkeypatch, tuple(reversed(Lattice().solve(task).order)))
    monkeypatch.setattr(levels, "_QUICK_WORK", quick)
    monkeypatch.setattr(levels, "_SEARCH_AT", (2, 5))
    monkeypatch.setattr(levels, "_MERGE", 50)
    monkeypatch.setattr(levels, "_CHUNK", 100)
    found = Levels().solve(task)
    assert task.evaluate(found.order) == pytest.approx(Lattice().solve(task).bound)
    assert found.bound == pytest.approx(Lattice().solve(task).bound)


@pytest.mark.parametrize("capacity", [1, 300, 3000])
def test_a_refinement_that_keeps_little_proves_less_but_nothing_wrong(chain_task, monkeypatch, capacity):
    task = chain_task(14, 13, seed=2)
    optimum = Lattice().solve(task)
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    monkeypatch.setattr(levels, "_CAPACITY", capacity)
    monkeypatch.setattr(levels, "_SEARCH_AT", ())
    start_from(monkeypatch, optimum.order)
    found = Levels(2_000_000).solve(task)
    assert found.order == optimum.order
    assert 0.5 * optimum.bound < found.bound <= optimum.bound + task.rounding


def test_more_units_than_a_word_holds(chain_task):
    wide = chain_task(80, 3, correlation=0.0)
    found = Levels().solve(wide)
    assert found.bound == pytest.approx(wide.evaluate(found.order))
    crowded = chain_task(64, 40)
    found = Levels(1_000_000).solve(crowded)
    assert 0 < found.bound < crowded.evaluate(found.order)


def test_words_make_no_difference(chain_task, monkeypatch):
    for depth in (12, 4):
        task = chain_task(13, depth, seed=1)
        start_from(monkeypatch, tuple(range(13)))
        one = Levels().solve(task)
        with monkeypatch.context() as small:
            small.setattr(masks, "WORD", 7)
            small.setattr(levels, "_SEARCH_AT", ())
            small.setattr(levels, "_QUICK_WORK", 4_000_000)
            several = Levels().solve(task)
        assert replace(several, bound=one.bound) == one
        assert several.bound == pytest.approx(one.bound, rel=1e-14)


def test_a_passed_deadline_still_gives_a_path_and_a_bound(chain_task):
    for depth in (12, 26):
        task = chain_task(27, depth, patience=Patience(lambda: True, timed=True))
        found = Levels().solve(task)
        assert sorted(found.order) == list(range(27))
        assert 0 < found.bound < task.evaluate(found.order)


def test_with_a_deadline_it_tries_again_with_more(chain_task, monkeypatch):
    task = chain_task(13, 12, seed=3)
    optimum = Lattice().solve(task)
    start_from(monkeypatch, optimum.order)
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    once = Levels(300).solve(task)
    patient = ChainTask(task.function, task.alphas, patience=Patience(lambda: False, timed=True))
    assert once.bound < optimum.bound - task.rounding
    assert Levels(300).solve(patient).bound == pytest.approx(optimum.bound)
    monkeypatch.setattr(levels, "_MOST_WORK", 300)
    looks = iter(range(2000))
    late = ChainTask(task.function, task.alphas, patience=Patience(lambda: next(looks, None) is None, timed=True))
    assert Levels(300).solve(late).bound < optimum.bound - task.rounding
    assert next(looks, None) is None


@pytest.mark.parametrize("calls", [*range(1, 60, 7), *range(60, 500, 20)])
def test_a_deadline_at_any_time_leaves_a_valid_bound(chain_task, monkeypatch, calls):
    left = [calls]

    def expired():
        left[0] -= 1
        return left[0] < 0

    monkeypatch.setattr(levels, "_CHUNK", 100)
    monkeypatch.setattr(levels, "_QUICK_WORK", 100)
    monkeypatch.setattr(levels, "LARGEST", 0)
    task = chain_task(12, 11, seed=5)
    found = Levels().solve(ChainTask(task.function, task.alphas, patience=Patience(expired, timed=True)))
    assert 0 <= found.bound <= Lattice().solve(task).bound + task.rounding


def test_units_that_move_nothing_change_nothing():
    flat = SetFunction(np.ones(2), np.zeros((2, 20)))
    assert Levels().solve(ChainTask(flat, np.ones(3))).bound == pytest.approx(6.0)
    assert Levels().solve(ChainTask(flat, np.ones(19))).bound == pytest.approx(38.0)
    assert Levels().solve(ChainTask(flat, np.ones(0))).bound == 0.0


def test_levels_that_grow_too_wide_are_given_up(chain_task, monkeypatch):
    task = chain_task(12, 11, seed=4)
    worst = tuple(reversed(Lattice().solve(task).order))
    start_from(monkeypatch, worst)
    monkeypatch.setattr(levels, "_MERGE", 50)
    monkeypatch.setattr(levels, "_CHUNK", 100)
    found = Levels(12 * 60).solve(task)
    assert found.order == worst
    assert found.bound <= Lattice().solve(task).bound


def test_few_units_that_resist_get_the_whole_table(chain_task, monkeypatch):
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    task = chain_task(12, 11, seed=5)
    assert Levels().solve(task) == Lattice().solve(task)
    assert Levels(1000).solve(task).solver == "levels"
    late = ChainTask(task.function, task.alphas, patience=Patience(lambda: True, timed=True))
    found = Levels().solve(late)
    assert found.solver == "levels"
    assert found.bound <= Lattice().solve(late).bound
