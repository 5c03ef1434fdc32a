from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.orders import masks
from coordpath_governance.paths.orders.chained_bounds import Refinement
from coordpath_governance.paths.orders.set_function import SetFunction
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers import chain_states, levels
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.protocol import ChainTask


def pruned(work=90_000_000, **more):
    """Levels that never look at all sets."""
    return Levels(work, most_units=0, **more)


def start_from(monkeypatch, order):
    """Levels with an incumbent of our choice that nothing improves."""
    monkeypatch.setattr(levels, "first_polish", lambda task: (order, task.evaluate(order)))
    monkeypatch.setattr(levels, "_BEAMS", ())
    monkeypatch.setattr(levels, "polish", lambda task, order, wide=False: (order, task.evaluate(order)))
    monkeypatch.setattr(levels, "shuffle", lambda task, order, value, turn: (order, value))


@pytest.mark.parametrize(("size", "depth"), [(14, 13), (14, 5), (13, 1)])
@pytest.mark.parametrize("correlation", [0.5, 0.95])
def test_lattice_and_levels_agree(chain_task, monkeypatch, size, depth, correlation):
    task = chain_task(size, depth, correlation=correlation)
    exact, found = Lattice().solve(task), pruned().solve(task)
    assert found.bound == pytest.approx(exact.bound, rel=1e-11)
    assert task.evaluate(found.order) == pytest.approx(exact.bound, rel=1e-11)
    stopped = pruned(3000).solve(task)
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
    found = pruned(40_000 if short else 90_000_000).solve(task)
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
    monkeypatch.setattr(levels, "_SEARCH_FIRST", 1000)
    monkeypatch.setattr(chain_states, "_MERGE", 50)
    monkeypatch.setattr(chain_states, "_CHUNK", 100)
    found = pruned().solve(task)
    assert task.evaluate(found.order) == pytest.approx(Lattice().solve(task).bound)
    assert found.bound == pytest.approx(Lattice().solve(task).bound)


@pytest.mark.parametrize("capacity", [1, 300, 3000])
def test_a_refinement_that_keeps_little_proves_less_but_nothing_wrong(chain_task, monkeypatch, capacity):
    task = chain_task(14, 13, seed=2)
    optimum = Lattice().solve(task)
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    monkeypatch.setattr(levels, "_CAPACITY", capacity)
    monkeypatch.setattr(levels, "_SEARCH_FIRST", np.inf)
    start_from(monkeypatch, optimum.order)
    found = pruned(2_000_000).solve(task)
    assert found.order == optimum.order
    assert 0.5 * optimum.bound < found.bound <= optimum.bound + task.rounding


def test_more_units_than_a_word_holds(chain_task):
    wide = chain_task(80, 3, correlation=0.0)
    found = pruned().solve(wide)
    assert found.bound == pytest.approx(wide.evaluate(found.order))
    crowded = chain_task(64, 40)
    found = pruned(1_000_000).solve(crowded)
    assert 0 < found.bound < crowded.evaluate(found.order)


def test_words_make_no_difference(chain_task, monkeypatch):
    for depth in (12, 4):
        task = chain_task(13, depth, seed=1)
        start_from(monkeypatch, tuple(range(13)))
        one = pruned().solve(task)
        with monkeypatch.context() as small:
            small.setattr(masks, "WORD", 7)
            small.setattr(levels, "_SEARCH_FIRST", np.inf)
            small.setattr(levels, "_QUICK_WORK", 4_000_000)
            several = pruned().solve(task)
        assert replace(several, bound=one.bound) == one
        assert several.bound == pytest.approx(one.bound, rel=1e-14)


def test_a_passed_deadline_still_gives_a_path_and_a_bound(chain_task):
    for depth in (12, 26):
        task = chain_task(27, depth, patience=Patience(lambda: True, timed=True))
        found = pruned().solve(task)
        assert sorted(found.order) == list(range(27))
        assert 0 < found.bound < task.evaluate(found.order)


def test_with_a_deadline_it_tries_again_with_more(chain_task, monkeypatch):
    task = chain_task(13, 12, seed=3)
    optimum = Lattice().solve(task)
    start_from(monkeypatch, optimum.order)
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    once = pruned(300).solve(task)
    patient = ChainTask(task.function, task.alphas, patience=Patience(lambda: False, timed=True))
    assert once.bound < optimum.bound - task.rounding
    assert pruned(300).solve(patient).bound == pytest.approx(optimum.bound)
    monkeypatch.setattr(levels, "_MOST_WORK", 300)
    looks = iter(range(2000))
    late = ChainTask(task.function, task.alphas, patience=Patience(lambda: next(looks, None) is None, timed=True))
    assert pruned(300).solve(late).bound < optimum.bound - task.rounding
    assert next(looks, None) is None


@pytest.mark.parametrize("calls", [*range(1, 60, 7), *range(60, 500, 20)])
def test_a_deadline_at_any_time_leaves_a_valid_bound(chain_task, monkeypatch, calls):
    left = [calls]

    def expired():
        left[0] -= 1
        return left[0] < 0

    monkeypatch.setattr(chain_states, "_CHUNK", 100)
    monkeypatch.setattr(levels, "_QUICK_WORK", 100)
    task = chain_task(12, 11, seed=5)
    found = pruned().solve(ChainTask(task.function, task.alphas, patience=Patience(expired, timed=True)))
    assert 0 <= found.bound <= Lattice().solve(task).bound + task.rounding


def test_units_that_move_nothing_change_nothing():
    flat = SetFunction(np.ones(2), np.zeros((2, 20)))
    assert pruned().solve(ChainTask(flat, np.ones(3))).bound == pytest.approx(6.0)
    assert pruned().solve(ChainTask(flat, np.ones(19))).bound == pytest.approx(38.0)
    assert pruned().solve(ChainTask(flat, np.ones(0))).bound == 0.0


def test_levels_that_grow_too_wide_are_given_up(chain_task, monkeypatch):
    task = chain_task(12, 11, seed=4)
    worst = tuple(reversed(Lattice().solve(task).order))
    start_from(monkeypatch, worst)
    monkeypatch.setattr(chain_states, "_MERGE", 50)
    monkeypatch.setattr(chain_states, "_CHUNK", 100)
    found = pruned(12 * 60).solve(task)
    assert found.order == worst
    assert found.bound <= Lattice().solve(task).bound


def test_few_units_that_resist_get_all_their_sets(chain_task, monkeypatch):
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    task = chain_task(12, 11, seed=5)
    optimum = Lattice().solve(task)
    found = Levels().solve(task)
    assert (found.solver, task.evaluate(found.order)) == ("halves", pytest.approx(optimum.bound))
    assert optimum.bound * (1 - 1e-7) <= found.bound <= optimum.bound + task.rounding
    assert Levels(1000).solve(task).solver == "levels"
    late = ChainTask(task.function, task.alphas, patience=Patience(lambda: True, timed=True))
    found = Levels().solve(late)
    assert found.solver == "levels"
    assert found.bound <= Lattice().solve(late).bound


def test_a_few_more_are_searched_before_that(chain_task, monkeypatch):
    monkeypatch.setattr(levels, "_SETS_FIRST", 1)
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    task = chain_task(13, 12, seed=3)
    start_from(monkeypatch, tuple(reversed(Lattice().solve(task).order)))
    assert Levels(90_000_000).solve(task).solver == "levels"
    monkeypatch.setattr(levels, "_BEFORE_SETS", 300)
    found = Levels(90_000_000).solve(task)
    assert (found.solver, task.evaluate(found.order)) == ("halves", pytest.approx(Lattice().solve(task).bound))


@pytest.mark.parametrize("size", [12, 14])
def test_a_narrow_search_is_bounded_by_what_it_left_out(chain_task, monkeypatch, size):
    """No more than a few states a level: the more there are, the closer the bound."""
    task = chain_task(size, size - 1, seed=4)
    optimum = Lattice().solve(task).bound
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    monkeypatch.setattr(levels, "_SEARCH_FIRST", np.inf)
    start_from(monkeypatch, tuple(range(size)))
    bounds = []
    for work in (3_000, 30_000, 3_000_000):
        found = pruned(work).solve(task)
        assert found.bound <= optimum + task.rounding
        assert task.evaluate(found.order) >= optimum - task.rounding
        bounds.append(found.bound)
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[1]
    assert bounds[-1] == pytest.approx(optimum)
    assert task.evaluate(found.order) == pytest.approx(optimum)


@pytest.mark.parametrize("seed", range(6))
def test_beams_from_both_ends_find_what_greedy_orders_miss(chain_task, monkeypatch, seed):
    """From the worst order, with nothing else that could improve it; one wide enough for all states is exact."""
    task = chain_task(11, 10, seed=seed)
    optimum = Lattice().solve(task)
    worst = tuple(reversed(optimum.order))
    monkeypatch.setattr(levels, "first_polish", lambda task: (worst, task.evaluate(worst)))
    monkeypatch.setattr(levels, "polish", lambda task, order, wide=False: (order, task.evaluate(order)))
    monkeypatch.setattr(levels, "shuffle", lambda task, order, value, turn: (order, value))
    reached = []
    for widths in ((2,), (20,), (1000,)):
        monkeypatch.setattr(levels, "_BEAMS", widths)
        run = levels._Run(task, np.inf)
        run.improve()
        assert sorted(run.incumbent) == list(range(11))
        assert run.best == task.evaluate(run.incumbent)
        reached.append(run.best)
    assert reached[0] < 0.9 * task.evaluate(worst)
    assert reached[-1] == pytest.approx(optimum.bound)


def test_a_wide_beam_is_left_out_for_very_many_units(chain_task, monkeypatch):
    widths = []
    monkeypatch.setattr(levels, "_BEAMS", (5, 9))
    monkeypatch.setattr(levels, "beam_order", lambda task, bounds, width: widths.append(width) or tuple(range(7)))
    for most, expected in ((6, [5]), (7, [5, 9])):
        monkeypatch.setattr(levels, "_WIDE_UP_TO", most)
        levels._Run(chain_task(7, 3), np.inf).improve()
        assert widths == expected
        widths.clear()


def test_of_states_that_are_all_equal_some_go_on():
    task = ChainTask(SetFunction(np.full(12, 3.0), -np.eye(12)), np.ones(11))
    bounds = Refinement(task.function, task.alphas, target=np.inf, capacity=10**6, expired=lambda: False).bounds()
    order = chain_states.beam_order(task, bounds, 3)
    assert sorted(order) == list(range(12))
    found = chain_states.search_chains(task, [bounds], task.evaluate(order) + 1.0, 5_000)
    assert found.bound <= task.evaluate(order) + task.rounding


def test_where_all_sets_take_too_long_the_search_goes_on(chain_task, monkeypatch):
    monkeypatch.setattr(levels, "_QUICK_WORK", 0)
    task = chain_task(12, 11, seed=5)
    start_from(monkeypatch, tuple(reversed(Lattice().solve(task).order)))
    monkeypatch.setattr(levels, "meet_in_the_middle", lambda task, order, value: None)
    found = Levels().solve(replace(task, patience=Patience(lambda: False, timed=True, left=lambda: 1e9)))
    assert found.solver == "levels"
    assert found.bound == pytest.approx(Lattice().solve(task).bound)


@pytest.mark.parametrize("seconds", [1.0, 1e-4])
def test_a_search_looks_at_as_many_states_as_there_is_time_for(chain_task, monkeypatch, seconds):
    """A made-up clock: a microsecond a state; of a million there is time for all, or for a hundred."""
    monkeypatch.setattr(chain_states, "_TRIAL", 5)
    task = chain_task(13, 12, seed=2)
    worst = tuple(reversed(Lattice().solve(task).order))
    bounds = Refinement(task.function, task.alphas, target=np.inf, capacity=10**9, expired=lambda: False).bounds()
    expanded = [0]
    expand = chain_states._expand

    def counting(inner, rests, level, *more):
        expanded[0] += len(level.g)
        return expand(inner, rests, level, *more)

    monkeypatch.setattr(chain_states, "_expand", counting)
    monkeypatch.setattr(chain_states, "_SORTING", 0.0)
    timed = replace(task, patience=Patience(lambda: False, timed=True, left=lambda: seconds - 1e-6 * expanded[0]))
    found = chain_states.search_chains(timed, [bounds], task.evaluate(worst), 10**9)
    assert found.bound <= Lattice().solve(task).bound + task.rounding
    assert expanded[0] * 1e-6 <= 1.2 * seconds  # the first levels show the pace
    assert found.complete == (seconds == 1.0)
