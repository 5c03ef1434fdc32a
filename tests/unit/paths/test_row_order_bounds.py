"""What evaluations say of sets that were not evaluated: curvatures, minorants, lifted functions and their best chains."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.glm_draws import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.orders.set_function import Lifts, SetFunction, positive
from coordpath_governance.paths.row_orders import sets_on_rows
from coordpath_governance.paths.row_orders.chain_proposals import _promising, _together, set_function
from coordpath_governance.paths.row_orders.evaluated_sets import EvaluatedSets, Evaluation, corners, is_set
from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask, Inquiry, best_evaluated_chain
from coordpath_governance.paths.row_orders.minorants import SetBounds, best_minorant, rounding_of
from coordpath_governance.paths.row_orders.surrogates import Surrogate, touching_points
from coordpath_governance.paths.solvers.improvement import bound_chain, improve
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.levels import Levels
from coordpath_governance.paths.solvers.protocol import ChainTask


def points_within(rng, size, depth, count):
    """Sets of up to ``depth`` units, and points between such sets."""
    sets = np.zeros((count, size))
    for row in sets:
        row[rng.choice(size, rng.integers(0, depth + 1), replace=False)] = 1.0
    return np.concatenate([sets, 0.5 * (sets + sets[::-1]), 0.3 * sets])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_no_minorant_is_above_the_cost(convex, kind, near, size):
    problem = convex(kind, 7, size=size, max_steps=4)
    known, rng = problem.sets, np.random.default_rng(1)
    cuts = known.ask(points_within(rng, 7, 4, 5))
    curvature = known.curvature(cuts if near else None)
    points = points_within(rng, 7, 4, 40)
    values = np.array([each.value for each in known.look(points, slopes=False)])
    below = best_minorant(curvature, cuts, points)
    assert np.all(below <= values + rounding_of(curvature, cuts))
    assert np.all(np.linalg.eigvalsh(curvature) >= -1e-14)
    touched = best_minorant(curvature, cuts, np.stack([cut.at for cut in cuts]))
    assert touched == pytest.approx([cut.value for cut in cuts], rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_that_are_told_bend_more_than_all(convex, kind, monkeypatch):
    problem = convex(kind, 6)
    known = problem.sets
    monkeypatch.setattr(sets_on_rows, "_ROWS", 17)
    everywhere = known.curvature()
    assert known.curvature() is everywhere
    near = known.curvature(known.ask(np.full((1, 6), 0.5)))
    assert np.linalg.eigvalsh(near - everywhere)[0] > -1e-14
    assert np.trace(near) > 1.05 * np.trace(everywhere)
    hessian = known.hessian(np.full(6, 0.5))
    assert np.linalg.eigvalsh(hessian - near)[0] > -1e-14
    by_column, scores = problem.cost.gradient((problem.start + problem.target) / 2.0)[2], problem.cost.family.scores
    change = np.kron(np.eye(6), np.ones((scores, 1))) * (problem.target - problem.start)[:, None]
    assert hessian == pytest.approx(change.T @ by_column @ change, rel=1e-10, abs=1e-14)


def test_what_is_asked_twice_is_answered_once(convex, monkeypatch):
    problem = convex("logistic", 3)
    known, passes = problem.sets, []
    evaluate = type(known._costs).evaluate
    monkeypatch.setattr(
        type(known._costs),
        "evaluate",
        lambda self, points, slopes: passes.append((len(points), slopes)) or evaluate(self, points, slopes=slopes),
    )
    points = corners(3, [(), (0,), (0, 1)])
    known.ask(points[:2], slopes=False)
    known.ask(points)
    known.ask(points, slopes=False)
    known.look(np.concatenate([points, points, np.full((2, 3), 0.25)]))
    known.look(np.full((1, 3), 0.25))
    assert passes == [(2, False), (3, True), (1, True), (1, True)]
    assert [each.at.sum() for each in known.evaluations] == [0.0, 1.0, 2.0]
    assert all(each.slopes is not None for each in known.evaluations)


def test_a_proof_has_slopes_only_where_its_curvature_holds(convex):
    problem = convex("gamma", 4, max_steps=2)
    known = problem.sets
    told = known.ask(corners(4, [(), (1,)]))
    known.ask(corners(4, [(2,), (0, 1, 2, 3)]))
    everywhere, evaluations = known.proof()
    assert [each.slopes is None for each in evaluations] == [False, False, False, False]
    near = known.curvature(told)
    curvature, evaluations = known.proof()
    assert curvature is near
    assert not np.array_equal(near, everywhere)
    assert [each.slopes is None for each in evaluations] == [False, False, True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_all_sets(convex, enumeration, kind):
    problem = convex(kind, 6)
    known, costs = problem.sets, enumeration(problem).costs
    bounds = SetBounds(known.curvature())
    for points in (np.full((1, 6), 0.4), corners(6, [(0, 3), (5,), range(6)])):
        bounds.add(known.ask(points))
        assert np.all(bounds.values <= costs + 1e-12)
    assert np.flatnonzero(bounds.exact).tolist() == [0b1001, 0b100000, 0b111111]
    assert bounds.values[bounds.exact] == pytest.approx(costs[bounds.exact], rel=1e-12)


def lifted_task(seed, size, depth, functions, *, flat=False):
    """A random lifted function in which every step's own function counts at both its ends."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((size, size)) * (0.0 if flat else 0.5)
    constants, slopes = rng.normal(0.0, 1.0, functions), rng.normal(0.0, 0.6, (functions, size))
    of_step = rng.integers(0, functions, depth + 1)
    of_level = tuple(np.union1d(rng.integers(0, functions, 2), of_step[max(k - 1, 0) : k + 1]) for k in range(depth + 2))
    function = SetFunction(rng.standard_normal(size), columns, lifts=Lifts(constants, slopes, of_level, of_step))
    return ChainTask(function, rng.random(depth) * (rng.random(depth) > 0.2))


def best_of_all(task):
    """The least Σα(e + lift) over all chains, by the subset programme."""
    function, best = task.function, {frozenset(): 0.0}
    for alpha in task.alphas.tolist():
        following = {}
        for members, total in best.items():
            for u in set(range(function.size)) - members:
                larger = members | {u}
                following[larger] = min(following.get(larger, np.inf), total)
        best = {each: total + alpha * function.lifted_excess(sorted(each)) for each, total in following.items()}
    return min(best.values())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_levels_find_the_best_chain_of_a_lifted_function(seed, size, depth, functions, flat):
    task = lifted_task(seed, size, min(depth, size - 1), functions, flat=flat)
    optimum = best_of_all(task)
    slack = 1e-9 * (1.0 + abs(optimum))
    first = tuple(np.random.default_rng(seed).permutation(size).tolist())
    assert bound_chain(task) <= optimum + slack
    found = Levels().solve(replace(task, first=first))
    assert found.bound == pytest.approx(optimum, abs=slack)
    assert task.evaluate(found.order) == pytest.approx(optimum, abs=slack)
    below = Levels(aim=0.9 * optimum - 0.01).solve(replace(task, first=first))
    assert below.bound == pytest.approx(0.9 * optimum - 0.01, abs=slack)
    assert below.order == first
    above = Levels(aim=1.1 * optimum + 0.01).solve(replace(task, first=first))
    assert above.bound == pytest.approx(optimum, abs=slack)
    assert Levels(work=20).solve(replace(task, first=first)).bound <= optimum + slack


def test_a_lifted_function_after_some_units_have_moved():
    task = lifted_task(3, 6, 5, 4)
    part = task.function.restrict((4, 1), (0, 2, 3))
    for members in ((), (0,), (2, 1), (0, 1, 2)):
        whole = [4, 1, *((0, 2, 3)[i] for i in members)]
        assert part.lifted_excess(members) == pytest.approx(task.function.lifted_excess(whole), rel=1e-12)
    along = part.lifts.along((1, 0, 2)) + part.prefix_excess((1, 0, 2))
    assert along == pytest.approx([part.lifted_excess((1, 0, 2)[: k + 1]) for k in range(3)], rel=1e-12)
    assert positive(np.array([-1.0, -2.0])) == 0.0
    assert Lattice().lacks(task) == "takes quadratic costs only"


def search(problem, *, alphas=None):
    task = EvaluatedTask(problem.sets, problem.alphas(problem.most_terms)[:-1] if alphas is None else alphas)
    inquiry = Inquiry(task)
    inquiry.ask(task.first_points)
    return task, inquiry


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("singles", [None, 3])
def test_surrogates_are_below_the_cost_and_exact_where_it_is_known(convex, enumeration, kind, singles):
    problem = convex(kind, 7, max_steps=singles, size=0.8)
    everything = enumeration(problem)
    task, inquiry = search(problem)
    order = (3, 1, 0, 2, 6, 5, 4)
    inquiry.ask(task.chain(order))
    touching = touching_points(inquiry, order)
    assert touching.min() >= 0.0
    assert touching.max() <= 1.0
    inquiry.ask(touching)
    surrogate = Surrogate(task, inquiry.curvature(), inquiry.cuts)
    function, weight = surrogate._chain.function, float(task.alphas.sum())
    for k in range(task.depth + 1):
        for members in itertools.combinations(range(7), k):
            below = function.lifted_excess(members) + surrogate._add / weight
            assert below <= everything.cost(members)
    known = float(task.alphas @ [everything.cost(order[:k]) for k in range(1, task.depth + 1)])
    assert surrogate._chain.evaluate(order) + surrogate._add == pytest.approx(known, rel=1e-9)
    optimum = everything.optimum() - everything.alphas[-1] * everything.costs[-1]
    assert surrogate.first_bound() <= optimum
    assert surrogate.prove(order, 10**7, -np.inf).bound <= optimum
    assert surrogate.prove(order, 0, optimum).bound == surrogate.first_bound()
    told = []
    proved = surrogate.prove(order, 1, -np.inf, told.append)
    assert told[0] == surrogate.first_bound()
    assert told == sorted(told)
    assert not proved.closed
    assert told[-1] <= proved.bound <= optimum


def test_touching_points_help(convex):
    problem = convex("poisson", 12, max_steps=4, size=0.3)
    task, inquiry = search(problem)
    order = tuple(range(12))
    inquiry.ask(task.chain(order))
    before = Surrogate(task, inquiry.curvature(), inquiry.cuts).first_bound()
    inquiry.ask(touching_points(inquiry, order))
    assert Surrogate(task, inquiry.curvature(), inquiry.cuts).first_bound() > before


def test_exchanges_of_a_quadratic_are_foreseen_exactly():
    rng = np.random.default_rng(4)
    for depth in (3, 6):
        root = rng.standard_normal((7, 7))
        matrix, linear, alphas = root.T @ root, rng.standard_normal(7), rng.random(depth)

        def total(order, alphas=alphas, matrix=matrix, linear=linear):
            sets = corners(7, [order[: k + 1] for k in range(len(alphas))])
            return float(alphas @ (0.5 * np.sum((sets @ matrix) * sets, axis=1) + sets @ linear))

        order = tuple(rng.permutation(7).tolist())
        sets = corners(7, [order[: k + 1] for k in range(depth)])
        orders = _promising(order, alphas, sets @ matrix + linear, matrix)
        neighbours = set()
        for i, j in itertools.permutations(range(7), 2):
            swapped, moved = list(order), list(order)
            swapped[i], swapped[j] = order[j], order[i]
            moved.insert(j, moved.pop(i))
            neighbours |= {tuple(swapped), tuple(moved)}
        better = sorted(each for each in map(total, neighbours) if each < total(order) - 1e-9)
        found = [total(each) for each in orders if total(each) < total(order) - 1e-9]
        assert set(orders) <= neighbours
        assert found[0] == pytest.approx(better[0])
        assert sorted(found)[:4] == pytest.approx(better[:4])
        task = ChainTask(set_function(matrix, linear), alphas)
        best, value = improve(task)
        assert value - task.function.e0 * alphas.sum() == pytest.approx(total(best))
        slopes = corners(7, [best[: k + 1] for k in range(depth)]) @ matrix + linear
        assert all(total(each) >= total(best) - 1e-9 for each in _promising(best, alphas, slopes, matrix))


def test_exchanges_at_different_places_are_made_together():
    order = (0, 1, 2, 3, 4, 5)
    assert _together(order, [(1, 0, 2, 3, 4, 5), (0, 2, 1, 3, 4, 5), (0, 1, 2, 4, 5, 3)]) == (1, 0, 2, 4, 5, 3)


def test_nothing_at_all_is_still_a_function():
    flat = set_function(np.zeros((3, 3)), np.zeros(3))
    assert flat.prefix_excess((0, 1, 2)) == pytest.approx([flat.e0] * 3)


def test_the_best_chain_of_which_everything_is_known():
    def at(members, value):
        return Evaluation(corners(4, [members])[0], value, np.zeros(4))

    task = EvaluatedTask(EvaluatedSets(None, 2), np.array([1.0, 2.0]))
    task.sets._costs = type("Four", (), {"size": 4})
    sets = [at((2,), 5.0), at((1, 2), 1.0), at((3,), 1.0), at((2, 3), 3.0), at((0, 2), 1.0), at((0,), 5.0)]
    between = Evaluation(np.full(4, 0.25), -9.0, np.zeros(4))
    assert best_evaluated_chain(task, [*sets, between]) == ((0, 2, 1, 3), 7.0)
    assert best_evaluated_chain(task, sets[1:-1]) == ((3, 2, 0, 1), 7.0)
    assert best_evaluated_chain(task, sets[:1]) == ((0, 1, 2, 3), np.inf)
    assert not is_set(between)
