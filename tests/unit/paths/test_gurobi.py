"""Gurobi against everything that can be enumerated, with its bound never above the optimum."""

from __future__ import annotations

import itertools
import math
import signal
import sys
from dataclasses import replace

import gurobipy
import numpy as np
import pytest

from coordpath_governance.errors import SolverUnavailableError
from coordpath_governance.paths import solve
from coordpath_governance.paths.orders.set_function import SetFunction
from coordpath_governance.paths.patience import Patience, heeding_interrupts
from coordpath_governance.paths.solvers import gurobi, gurobi_model
from coordpath_governance.paths.solvers.gurobi import GurobiChain, GurobiWalks, WalkModel
from coordpath_governance.paths.solvers.gurobi_model import Model, optimise
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.protocol import ChainTask, WalkTask
from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.walks.sequence_values import Backwards


def best_walk(task):
    entries = range(REST, task.walks.size)
    sequences = itertools.product(entries, repeat=task.terms)
    allowed = np.array([each for each in sequences if set(task.walks.changed) <= set(each)])
    return task.evaluate(allowed[int(np.argmin(Backwards(task.walks, task.alphas).values(allowed)))].tolist())


def known(task):
    """The first walk or order as it is, so that Gurobi has to find the better ones itself."""
    if isinstance(task, WalkTask):
        return task.first, task.evaluate(task.first)
    order = tuple(range(task.function.size))
    return order, task.evaluate(order)


@pytest.fixture(params=["improved", "known"])
def beginnings(request, monkeypatch):
    if request.param == "known":
        monkeypatch.setattr(gurobi, "improve_walk", known)
        monkeypatch.setattr(gurobi, "first_polish", known)


@pytest.mark.parametrize("seed", range(10))
def test_chains_against_all_orders(seed, beginnings):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    rank = int(rng.integers(1, size + 1))
    function = SetFunction(rng.standard_normal(rank) * (0.1 if seed % 2 else 2.0), rng.standard_normal((rank, size)))
    depth = int(rng.integers(1, size))
    task = ChainTask(function, rng.random(depth) * (rng.random(depth) > 0.4 if seed % 3 == 0 else 1.0))
    optimum = min(task.evaluate(order) for order in itertools.permutations(range(size)))
    found = GurobiChain().solve(task)
    assert sorted(found.order) == list(range(size))
    assert task.evaluate(found.order) == pytest.approx(optimum, rel=1e-6, abs=1e-12)
    assert optimum * (1 - 1e-6) - 1e-12 <= found.bound <= optimum


def test_chains_agree_with_the_subset_programme(chain_task):
    for depth in (9, 4):
        task = chain_task(10, depth, seed=2)
        found = GurobiChain().solve(task)
        assert task.evaluate(found.order) == pytest.approx(Lattice().solve(task).bound, rel=1e-6)
        assert found.bound == pytest.approx(Lattice().solve(task).bound, rel=1e-6)
        assert found == GurobiChain().solve(task)


def test_chains_with_nothing_to_prove():
    flat = SetFunction(np.zeros(2), np.eye(2))
    assert GurobiChain().solve(ChainTask(flat, np.zeros(1))).bound == 0.0
    assert GurobiChain().solve(ChainTask(SetFunction(np.zeros(1), np.zeros((1, 3))), np.ones(2))).bound == 0.0
    late = ChainTask(SetFunction(np.ones(2), np.eye(2)), np.ones(1), patience=Patience(lambda: True))
    assert GurobiChain().solve(late).bound == 0.0


WEIGHTS = (None, {"gamma": 0.5}, {"final": 1, "lambda": 0.25})


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("free", [False, True])
def test_walks_against_all_sequences(walk_task, document, seed, free, beginnings):
    made = document(seed, 2, dependent=seed % 2 == 1, grouped=seed % 3 == 1, unchanged=seed % 2, weights=WEIGHTS[seed % 3])
    task = walk_task({**made, "steps": 3 + seed % 2, **({"target": None} if free else {})})
    optimum = best_walk(task)
    found = GurobiWalks().solve(task)
    assert set(task.walks.changed) <= set(found.order)
    assert task.evaluate(found.order) == pytest.approx(optimum, rel=1e-6, abs=1e-12)
    size = task.alphas.sum() * (task.walks.base @ task.walks.base)
    assert optimum * (1 - 1e-6) - 1e-10 * size <= found.bound <= optimum + 1e-15


@pytest.mark.parametrize("groups", [[["x0", "x1"]], [["x0", "x1"], ["x2", "x3"]], [["x0", "x1", "x2"], ["x3", "x4"]]])
def test_groups_move_as_one(walk_task, document, groups, beginnings):
    made = document(3, 5 if len(groups) == 2 else 3)
    for more in ({"target": None, "steps": 3}, {"steps": 4}):
        task = walk_task({**made, "groups": groups, **more})
        optimum = best_walk(task)
        found = GurobiWalks().solve(task)
        assert task.evaluate(found.order) == pytest.approx(optimum, rel=1e-6)
        assert optimum * (1 - 1e-6) <= found.bound <= optimum


def test_many_groups_are_kept_apart_in_pairs(walk_task, document):
    groups = [[f"x{2 * g}", f"x{2 * g + 1}"] for g in range(9)]
    task = walk_task({**document(4, 18), "groups": groups, "target": None, "steps": 2})
    model = WalkModel(task, task.first, task.evaluate(task.first)).model
    assert {len(members) for members in model.sets} == {2}
    assert len(model.sets) == 2 * 36 * 4


def test_the_papers_three_steps(toy):
    for steps in (3, {"min": 2, "max": 4}):
        document = solve({**toy, "steps": steps, "solver": "gurobi"}).to_dict()
        assert document["objective"] == pytest.approx(1.275742)
        assert document["status"] == "optimal"
        assert document["solver"] == "gurobi"
    once = solve({**toy, "solver": "gurobi"}).to_dict()
    assert once["objective"] == solve(toy).certificate.objective
    assert once["status"] == "optimal"


def test_a_unit_that_the_data_never_exercise_is_visited(walk_task, toy, beginnings):
    cost = {"gram": [[1, 0], [0, 0]], "linear": [1, 0], "constant": 2}
    task = walk_task({**toy, "cost": cost, "target": [0.5, 1], "steps": 3})
    optimum = best_walk(task)
    found = GurobiWalks().solve(task)
    assert set(found.order) >= {0, 1}
    assert task.evaluate(found.order) == pytest.approx(optimum)
    assert optimum * (1 - 1e-6) <= found.bound <= optimum


def test_without_a_weight_only_the_floors_are_claimed(walk_task, document):
    task = walk_task({**document(5, 2), "target": None, "steps": 3, "weights": {"alpha": [1, 0, 1]}})
    found = GurobiWalks().solve(task)
    assert found.bound == task.floor
    assert task.evaluate(found.order) == pytest.approx(best_walk(task))


def test_nothing_better_than_the_floor_is_looked_for(walk_task, toy):
    task = walk_task({**toy, "start": toy["target"], "steps": 2})
    assert GurobiWalks().solve(task).bound == task.floor
    late = walk_task({**toy, "target": None, "steps": 3}, patience=Patience(lambda: True))
    assert GurobiWalks().solve(late).order == late.first


def test_a_walk_that_does_not_end_is_not_taken(walk_task, toy, monkeypatch):
    task = walk_task({**toy, "steps": 3})
    built = WalkModel(task, task.first, task.evaluate(task.first))
    assert built.decode(built.model.start) == (0, 1, REST)
    assert built.decode(np.zeros(built.model.size)) is None
    monkeypatch.setattr(gurobi, "optimise", lambda model, *_: gurobi_model.Optimised(np.zeros(model.size), -math.inf))
    found = GurobiWalks().solve(task)
    assert found.bound == task.floor
    assert set(found.order) == {0, 1}


def test_it_stops_when_asked_and_tells_how_far_it_is(walk_task, chain_task, document, monkeypatch):
    told = []
    task = chain_task(
        13,
        12,
        seed=1,
        patience=Patience(lambda: len(told) > 1, progress=lambda *stage: told.append(stage)),
    )
    found = GurobiChain().solve(task)
    assert 0.0 <= found.bound <= task.evaluate(found.order)
    assert told
    assert all(stage == "Gurobi" and 0.0 <= bound <= value for stage, value, bound in told)
    once = itertools.count()
    hurried = walk_task({**document(3, 4), "target": None, "steps": 5}, patience=Patience(lambda: next(once) > 0))
    monkeypatch.setattr(gurobi, "improve_walk", known)
    found = GurobiWalks().solve(hurried)
    assert found.bound == hurried.floor
    assert hurried.evaluate(found.order) <= hurried.evaluate(hurried.first)


def test_a_model_without_a_point_proves_nothing(chain_task):
    one, none = np.ones(1), np.zeros(1)
    model = Model(np.eye(1), none, 0.0, none, one, none, equal=((one, 1.0), (one, 0.0)))
    found = optimise(model, chain_task(2, 1), 1.0, 1.0)
    assert found.point is None
    assert model.allow(found.bound, 1.0) == -math.inf


def test_a_solver_without_its_point_keeps_the_known_order(walk_task, chain_task, monkeypatch):
    task = chain_task(5, 4)
    monkeypatch.setattr(gurobi, "optimise", lambda *_: gurobi_model.Optimised(None, -math.inf))
    assert GurobiChain().solve(task).bound == 0.0
    walk = walk_task({"features": ["a", "b"], "cost": {"gram": [[1, 0.5], [0.5, 1]], "linear": [1, 1], "constant": 2},
                      "start": [0, 0], "target": None, "steps": 3})  # fmt: skip
    assert GurobiWalks().solve(walk).bound == walk.floor


def test_a_bound_gives_up_what_tolerances_may_have_added():
    ones = np.ones(4)
    model = Model(np.eye(4), ones, 5.0, -ones, ones, ones, ordered=((slice(0, 2), slice(2, 4)),))
    assert model.ranges == 8 + 2 * 4
    assert model.allow(3.0, 2.0) == pytest.approx(2.0 - 2e-7 - 16e-8 - 7e-11, abs=1e-14)


def test_without_the_package_it_says_what_to_install(toy, chain_task, monkeypatch):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    sentence = r"solver gurobi: needs the package gurobipy: pip install 'coordpath-governance\[gurobi\]'; use auto"
    for more in ({}, {"steps": 3}, {"target": None, "steps": 2}):
        with pytest.raises(SolverUnavailableError, match=sentence):
            solve({**toy, **more, "solver": "gurobi"})


def test_a_model_too_large_for_the_licence(chain_task):
    with pytest.raises(
        SolverUnavailableError, match=r"210 variables, more than the Gurobi licence at hand allows; use auto"
    ):
        GurobiChain().solve(chain_task(15, 14))


@pytest.mark.parametrize(("code", "words"), [(10009, "no valid Gurobi licence"), (10001, "stopped with an error")])
def test_errors_of_gurobi_become_ours(chain_task, monkeypatch, code, words):
    def refuse(**_):
        raise gurobipy.GurobiError(code, "told by Gurobi")

    monkeypatch.setattr(gurobipy, "Env", refuse)
    with pytest.raises(SolverUnavailableError, match=words):
        GurobiChain().solve(chain_task(4, 3))


def test_nothing_is_printed(chain_task, capfd):
    task = chain_task(4, 3)
    assert GurobiChain().lacks(task) is None
    GurobiChain().solve(replace(task, seed=2**62))
    assert capfd.readouterr() == ("", "")


def pressing_once():
    """Press Ctrl-C when Gurobi first tells how far it is."""
    told = []

    def progress(stage, *_):
        told.append(stage)
        if told == ["Gurobi"]:
            signal.raise_signal(signal.SIGINT)

    return progress


def test_ctrl_c_while_gurobi_runs_comes_to_our_handler(chain_task, capfd):
    with heeding_interrupts() as pressed:
        task = chain_task(13, 12, seed=1, patience=Patience(pressed, progress=pressing_once()))
        found = GurobiChain().solve(task)
        assert pressed()
    assert 0.0 <= found.bound < task.evaluate(found.order)
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_that_nobody_heeds_is_raised(chain_task, capfd):
    with pytest.raises(KeyboardInterrupt):
        GurobiChain().solve(chain_task(13, 12, seed=1, patience=Patience(progress=pressing_once())))
    assert capfd.readouterr().out == ""


def test_ctrl_c_that_gurobi_took_is_passed_on(chain_task, monkeypatch, capfd):
    """It may come before Gurobi first calls back."""
    monkeypatch.setattr(gurobi_model, "reclaim_interrupts", lambda: None)
    with heeding_interrupts() as pressed:
        GurobiChain().solve(chain_task(13, 12, seed=1, patience=Patience(progress=pressing_once())))
        assert pressed()
    assert "Interrupt request received" in capfd.readouterr().out
