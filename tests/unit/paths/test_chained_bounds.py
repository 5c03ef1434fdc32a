from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.orders import chained_bounds, masks
from coordpath_governance.paths.orders.chained_bounds import Refinement
from coordpath_governance.paths.orders.masks import NodeIndex
from coordpath_governance.paths.orders.set_function import SetFunction
from coordpath_governance.paths.orders.steps import pair_steps
from coordpath_governance.paths.patience import never
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.protocol import ChainTask

WEIGHTS = ("even", "random", "some zero", "falling", "rising")


def weights(rng, kind, depth):
    if kind == "even":
        return np.ones(depth)
    alphas = rng.random(depth)
    if kind == "some zero":
        alphas *= rng.random(depth) > 0.4
    if kind in ("falling", "rising"):
        alphas = np.sort(alphas)[:: -1 if kind == "falling" else 1].copy()
    return alphas


def any_task(seed, size, depth, kind):
    """Few or many directions, still or repeated units, ends at the optimum or anywhere."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((int(rng.integers(1, size + 2)), size))
    if rng.random() < 0.3:
        columns[:, 0] = 0.0
    if rng.random() < 0.3:
        columns[:, -1] = columns[:, 0] * rng.choice([-1.0, 1.0])
    base = -columns.sum(axis=1) if rng.random() < 0.4 else rng.standard_normal(len(columns)) * rng.choice([0.1, 2.0])
    return ChainTask(SetFunction(base, columns), weights(rng, kind, depth))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 5), st.sampled_from(WEIGHTS))
def test_bounds_hold_for_every_chain_from_every_set_at_every_stage(seed, size, depth, kind):
    task = any_task(seed, size, min(depth, size - 1), kind)
    function, depth = task.function, task.depth
    orders = list(itertools.permutations(range(size)))
    optimum = min(task.evaluate(order) for order in orders)
    refinement = Refinement(function, task.alphas, target=np.inf, capacity=10**9, expired=never)
    rounding = 2 * task.rounding + 1e-15
    more = True
    while more:
        bounds = refinement.bounds()
        assert bounds.root <= optimum + rounding
        place = {u: i for i, u in enumerate(bounds.units)}
        for order in orders:
            excess = function.prefix_excess(order[:depth])
            terms = task.alphas * excess
            for k in range(1, depth + 1):
                members = [place[u] for u in order[:k]]
                word = sum(1 << i for i in members) & ((1 << bounds.integral) - 1)
                rest = (
                    bounds.after(k, np.array([word]))[0] + bounds.slopes[k, members].sum() - bounds.before[k] * excess[k - 1]
                )
                assert rest <= terms[k:].sum() + rounding
        more = not refinement.full
        if more:
            refinement.split()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 9), st.integers(1, 8), st.sampled_from(WEIGHTS), st.integers(1, 200))
def test_what_is_given_up_is_no_better_than_what_is_aimed_at(seed, size, depth, kind, capacity):
    """The best chain stays among the nodes as long as its sum is below the aim, however few nodes are kept."""
    task = any_task(seed, size, min(depth, size - 1), kind)
    found = Lattice().solve(task)
    excess = task.function.prefix_excess(found.order[: task.depth])
    refinement = Refinement(
        task.function,
        task.alphas,
        target=found.bound * (1 + 1e-9) + 4 * task.rounding + 1e-12,
        capacity=capacity,
        expired=never,
    )
    more = True
    while more:
        bounds = refinement.bounds()
        assert min(bounds.root, bounds.reach) <= found.bound + 2 * task.rounding + 1e-15
        if found.bound + 2 * task.rounding < bounds.reach:
            place = {u: i for i, u in enumerate(bounds.units)}
            so_far = np.cumsum(task.alphas * excess)
            for k in range(1, task.depth + 1):
                members = [place[u] for u in found.order[:k]]
                word = sum(1 << i for i in members) & ((1 << bounds.integral) - 1)
                rest = (
                    bounds.after(k, np.array([word]))[0] + bounds.slopes[k, members].sum() - bounds.before[k] * excess[k - 1]
                )
                assert so_far[k - 1] + rest <= found.bound + 2 * task.rounding + 1e-15
        more = bounds.nodes > 0 and not refinement.full
        if more:
            refinement.split()


def test_more_integral_units_bound_better(chain_task):
    task = chain_task(12, 11)
    optimum = Lattice().solve(task).bound
    refinement = Refinement(task.function, task.alphas, target=np.inf, capacity=10**9, expired=never)
    roots = [refinement.bounds().root]
    while not refinement.full:
        refinement.split()
        roots.append(refinement.bounds().root)
    assert len(roots) == 12
    assert roots[0] > 0.4 * optimum
    assert roots[-1] == pytest.approx(optimum, rel=1e-3)
    assert max(roots) <= optimum + task.rounding


def test_where_nodes_are_crowded_fewer_units_become_integral(chain_task, monkeypatch):
    task = chain_task(9, 4)
    monkeypatch.setattr(chained_bounds, "_MOST_CROWDED", 3)
    for capacity, most in ((10**9, 8), (1, 3)):
        refinement = Refinement(task.function, task.alphas, target=np.inf, capacity=capacity, expired=never)
        refinement.bounds()
        while not refinement.full:
            refinement.split()
            refinement.bounds()
        assert len(refinement.integral) == most


@pytest.mark.parametrize("table", [0, 1 << 22])
def test_nodes_are_found_by_level_and_word(table, monkeypatch):
    monkeypatch.setattr(masks, "_TABLE", table)
    random = np.random.default_rng(1)
    for bits in (1, 5, 9):
        pairs = np.unique(np.stack([random.integers(0, 4, 60), random.integers(0, 1 << bits, 60)]), axis=1)
        level, word = pairs[:, random.permutation(pairs.shape[1])]
        index = NodeIndex(level, word, 4, bits)
        rows = {(int(k), int(x)): row for row, (k, x) in enumerate(zip(level, word, strict=True))}
        for k in range(5):
            words = np.arange(1 << bits)
            assert index.find(k, words).tolist() == [rows.get((k, int(x)), index.missing) for x in words]
    none = NodeIndex(level[:0], word[:0], 4, 9)
    assert none.find(2, np.arange(3)).tolist() == [none.missing] * 3


def test_words_too_many_for_a_table_bound_alike(chain_task, monkeypatch):
    task = chain_task(9, 6)
    roots = []
    for table in (1 << 22, 0):
        monkeypatch.setattr(masks, "_TABLE", table)
        refinement = Refinement(task.function, task.alphas, target=np.inf, capacity=10**9, expired=never)
        refinement.bounds()
        for _ in range(5):
            refinement.split()
            bounds = refinement.bounds()
        roots.append((bounds.root, bounds.nodes))
    assert roots[0] == roots[1]


@pytest.mark.parametrize("calls", range(0, 8, 2))
def test_a_deadline_stops_a_stage_but_not_the_first(chain_task, monkeypatch, calls):
    monkeypatch.setattr(chained_bounds, "_CHUNK", 24)
    task = chain_task(6, 5)
    first = Refinement(task.function, task.alphas, target=np.inf, capacity=10**9, expired=lambda: True)
    assert first.bounds().root <= Lattice().solve(task).bound
    left = [calls]

    def expired():
        left[0] -= 1
        return left[0] < 0

    later = Refinement(task.function, task.alphas, target=np.inf, capacity=10**9, expired=never)
    later.bounds()
    later.split()
    later.expired = expired
    assert later.bounds() is None


def test_steps_carry_the_weights_of_levels_and_no_more_than_the_jumps():
    for kind in WEIGHTS:
        for whole in (False, True):
            rng = np.random.default_rng(1)
            alphas = weights(rng, kind, 6)
            pairs = pair_steps(alphas, whole=whole)
            assert pairs.after[:-1] + pairs.before[1:] == pytest.approx(alphas)
            for step in range(7 if whole else 6):
                inside = np.concatenate([np.zeros(step), [pairs.share[step]], np.ones(6 - step)])
                charged = pairs.charge @ inside + pairs.charge_whole
                assert charged <= pairs.jump[step] + 1e-15
