from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths import parse_problem, solve, solve_problem
from coordpath_governance.paths.orders.set_function import SetFunction, backward_order, forward_order
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers import improvement, table
from coordpath_governance.paths.solvers.greedy_direct import Direct, Greedy
from coordpath_governance.paths.solvers.improvement import Improvement
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.protocol import ChainTask

ALL = (Lattice(), Levels(), Levels(5), Levels(0), Improvement(), Greedy(), Direct())


def small_task(seed, size, depth, zeros, tight):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, size + 1))
    function = SetFunction(rng.standard_normal(rank) * (0.1 if tight else 2.0), rng.standard_normal((rank, size)))
    alphas = rng.random(depth) * (rng.random(depth) > 0.4 if zeros else 1.0)
    return ChainTask(function, alphas)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(0, 5), st.booleans(), st.booleans())
def test_chains_against_brute_force(seed, size, depth, zeros, tight):
    task = small_task(seed, size, min(depth, size - 1), zeros, tight)
    optimum = min(task.evaluate(order) for order in itertools.permutations(range(size)))
    for solver in ALL:
        found = solver.solve(task)
        assert sorted(found.order) == list(range(size))
        assert found.bound <= optimum + task.rounding
        if isinstance(solver, Lattice):
            assert task.evaluate(found.order) <= optimum + task.rounding
            assert found.bound >= optimum - task.rounding
        if isinstance(solver, Levels) and solver.work > 5:
            assert found.bound >= optimum - task.rounding
            assert task.evaluate(found.order) <= optimum + task.rounding


def test_lattice_in_chunks_is_the_same(chain_task, monkeypatch):
    from coordpath_governance.paths.solvers import lattice

    task = chain_task(9, 8)
    whole = Lattice().solve(task)
    monkeypatch.setattr(lattice, "_CHUNK", 8)
    chunked = Lattice().solve(task)
    assert chunked.order == whole.order
    assert chunked.bound == pytest.approx(whole.bound)


def test_time_limit_counts_only_with_a_clock(document):
    problem = parse_problem({**document(1, 26, max_steps=6), "time_limit": 5.0})
    ticks = itertools.count()
    hurried = solve_problem(problem, clock=lambda: 10.0 * next(ticks))
    assert hurried.certificate.lower_bound <= hurried.certificate.objective
    assert solve_problem(problem).certificate.lower_bound >= hurried.certificate.lower_bound


def test_progress_is_told(document):
    told = []
    solve(document(1, 5), progress=lambda stage, value, bound: told.append((stage, value, bound)))
    assert told[0][0] == "all orders"
    solve(document(2, 26, max_steps=2), progress=lambda *stage: told.append(stage))
    assert told[-1][1] >= told[-1][2]


def test_auto_takes_the_table_for_few_and_levels_for_many(chain_task):
    assert table.choose_order_solver("auto", chain_task(20, 1)).name == "lattice"
    assert table.choose_order_solver("exact", chain_task(21, 1)).name == "levels"
    timed = chain_task(23, 1, patience=Patience(timed=True))
    assert table.choose_order_solver("auto", timed) is table.ORDER_SOLVERS["exact"][1]
    assert table.choose_order_solver("local", chain_task(3, 1)).name == "local"


def test_a_solver_that_is_too_small_is_not_started(chain_task, monkeypatch):
    monkeypatch.setitem(table.ORDER_SOLVERS, "exact", (Lattice(5),))
    with pytest.raises(SolverUnavailableError, match="up to 5 units"):
        table.choose_order_solver("exact", chain_task(6, 1))


def test_best_move_is_the_best_of_all_insertions_and_swaps():
    rng = np.random.default_rng(5)
    for _ in range(20):
        size = int(rng.integers(2, 8))
        function = SetFunction(rng.standard_normal(size), rng.standard_normal((size, size)))
        task = ChainTask(function, rng.random(int(rng.integers(1, size))))
        order = [int(u) for u in rng.permutation(size)]
        value = task.evaluate(order)
        best = 0.0
        for i, j in itertools.product(range(size), repeat=2):
            inserted, swapped = list(order), list(order)
            inserted.insert(j, inserted.pop(i))
            swapped[i], swapped[j] = swapped[j], swapped[i]
            best = min(best, task.evaluate(inserted) - value, task.evaluate(swapped) - value)
        change, *_ = improvement._best_move(task, function.linear, function.quadratic, task.padded(), order)
        assert change == pytest.approx(best, abs=1e-10)


def test_improvement_reaches_the_optimum_of_middling_problems(chain_task):
    for seed in range(3):
        for depth in (15, 6):
            task = chain_task(16, depth, seed=seed)
            found = Improvement().solve(task)
            assert task.evaluate(found.order) == pytest.approx(Lattice().solve(task).bound, rel=1e-9)


def test_improvement_is_the_same_each_time_and_no_worse_than_greedy(chain_task):
    task = chain_task(40, 39)
    first, second = Improvement().solve(task), Improvement().solve(task)
    assert first == second
    assert task.evaluate(first.order) <= task.evaluate(Greedy().solve(task).order)
    assert first.bound <= task.evaluate(first.order)
    tired = improvement._Effort(task)
    tired.left = 0
    assert improvement._polish(task, list(range(40)), tired) == list(range(40))


def test_greedy_orders(chain_task):
    task = chain_task(6, 5)
    function = task.function
    forward, backward = forward_order(function), backward_order(function)
    for k in range(6):
        costs = [function.excess([*forward[:k], u]) for u in range(6) if u not in forward[:k]]
        assert function.excess(forward[: k + 1]) == pytest.approx(min(costs))
        left = backward[: 6 - k]
        costs = [function.excess([v for v in left if v != u]) for u in left]
        assert function.excess(left[:-1]) == pytest.approx(min(costs))


@pytest.mark.parametrize("more", [{"max_steps": 9}, {"max_steps": 4}])
def test_the_same_problem_gives_the_same_answer(document, more, monkeypatch):
    monkeypatch.setitem(table.ORDER_SOLVERS, "auto", (Levels(500_000),))
    problem = {**document(11, 27), **more, "solver": "auto", "seed": 3}
    assert solve(problem).to_dict() == solve(problem).to_dict()


def test_the_backward_start_can_win(chain_task, monkeypatch):
    task = chain_task(12, 11)
    good, bad = list(Lattice().solve(task).order), list(range(12))
    monkeypatch.setattr(improvement, "_polish", lambda task, order, effort: order)
    monkeypatch.setattr(improvement, "forward_order", lambda function: bad)
    monkeypatch.setattr(improvement, "backward_order", lambda function: good)
    assert improvement.improve(task)[0] == tuple(good)
    monkeypatch.setattr(improvement, "forward_order", lambda function: good)
    monkeypatch.setattr(improvement, "backward_order", lambda function: bad)
    assert improvement.improve(task)[0] == tuple(good)
    monkeypatch.setattr(improvement, "forward_order", lambda function: bad)
    monkeypatch.setattr(improvement, "_shuffle_segment", lambda order, depth, random: good)
    assert improvement.improve(task)[0] == tuple(good)
