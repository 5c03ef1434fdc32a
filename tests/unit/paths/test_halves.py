"""All sets from both ends, against the whole table."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths.orders.set_function import Apart, Lifts, SetFunction
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.solvers import halves
from coordpath_governance.paths.solvers.halves import Halves, meet_in_the_middle
from coordpath_governance.paths.solvers.lattice import Lattice
from coordpath_governance.paths.solvers.protocol import ChainTask

SLACK = 1e-7
"""More than the quanta of any chain here."""


def check(task, order):
    """What is found from any order is the optimum, with a bound that is valid and close."""
    optimum = Lattice().solve(task).bound
    found = meet_in_the_middle(task, order, task.evaluate(order))
    reached = task.evaluate(found.order)
    assert sorted(found.order) == list(range(task.function.size))
    assert found.bound <= optimum + task.rounding
    assert reached <= optimum + SLACK * task.evaluate(order) + task.rounding
    assert reached - found.bound <= SLACK * reached + 2 * task.rounding
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 11), st.integers(0, 3))
def test_it_finds_what_the_table_finds(seed, size, depth, kind):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((int(rng.integers(2, size + 2)), size)) * 10.0 ** rng.uniform(-1, 1, size)
    if kind == 1:
        columns[:, 1] = -columns[:, 0]
    if kind == 2:
        columns[:, 0] = 0.0
    base = -columns.sum(axis=1) if seed % 2 else rng.standard_normal(len(columns))
    depth = min(depth, size - 1)
    alphas = np.sort(rng.random(depth))[::-1] * (rng.random(depth) > 0.3 if kind == 3 else 1.0)
    task = ChainTask(SetFunction(base, columns), alphas)
    if task.evaluate(range(size)) > 0.0:
        check(task, tuple(int(u) for u in rng.permutation(size)))


@pytest.mark.parametrize("seed", range(3))
def test_small_chunks_and_any_middle_give_the_same(chain_task, monkeypatch, seed):
    task = chain_task(11, 10, seed=seed)
    whole = check(task, tuple(range(11)))
    monkeypatch.setattr(halves, "_CHUNK", 7)
    assert check(task, tuple(range(11))) == whole
    least = {halves._Middle(task, middle, 1e-6).search()[0] for middle in range(1, 11)}
    assert max(least) - min(least) <= 10


def test_every_set_of_the_middle_level_has_its_value(chain_task):
    """F and B of all sets of a level, against plain programmes over permutations."""
    task, middle = chain_task(6, 5, seed=2), 3
    quantum = task.evaluate(range(6)) / (1 << 26)
    search = halves._Middle(task, middle, quantum)
    blocks = dict(search._half(task.function, search.alphas, middle))
    for members in itertools.combinations(range(6), middle):
        mask = sum(1 << u for u in members)
        high = mask >> search.low
        rows = [w for w in range(1 << search.high) if w.bit_count() == high.bit_count()]
        columns = [w for w in range(1 << search.low) if w.bit_count() == middle - high.bit_count()]
        found = blocks[high.bit_count()][rows.index(high), columns.index(mask & ((1 << search.low) - 1))]
        exact = min(float(task.function.prefix_excess(order).sum()) for order in itertools.permutations(members))
        assert found * quantum <= exact < (found + middle + 1) * quantum


def test_an_order_that_nothing_beats_is_kept(chain_task):
    task = chain_task(9, 8, seed=1)
    best = Lattice().solve(task).order
    assert meet_in_the_middle(task, best, task.evaluate(best)).order == best
    flat = ChainTask(SetFunction(np.ones(2), np.zeros((2, 9))), np.ones(8))
    order = (3, 1, 4, 0, 5, 8, 2, 6, 7)
    assert meet_in_the_middle(flat, order, 16.0).order == order


def test_a_start_far_worse_than_the_optimum_overflows_nothing(chain_task):
    task = chain_task(12, 11, seed=6)
    far = replace(task, function=replace(task.function, columns=task.function.columns * [1e4, *[1.0] * 11]))
    check(far, tuple(range(12)))
    check(far, tuple(range(11, -1, -1)))


@pytest.mark.parametrize("seed", range(4))
def test_the_same_answer_whatever_the_last_digit_of_the_terms(chain_task, monkeypatch, seed):
    """Products in another order differ in their last bit, on another machine for one: some terms are rounded otherwise."""
    task = chain_task(11, 10, seed=seed)
    order = tuple(range(11))
    plain = meet_in_the_middle(task, order, task.evaluate(order))
    exact, rng = halves._Terms.of, np.random.default_rng(seed)

    def otherwise(*arguments):
        terms = exact(*arguments)
        return np.maximum(terms - (rng.random(terms.shape) < 0.1), 0).astype(np.int32)

    monkeypatch.setattr(halves._Terms, "of", otherwise)
    assert meet_in_the_middle(task, order, task.evaluate(order)) == plain


def test_where_nothing_costs_anything_the_order_stays():
    nothing = ChainTask(SetFunction(np.zeros(2), np.zeros((2, 8))), np.ones(7))
    found = meet_in_the_middle(nothing, tuple(range(8)), 0.0)
    assert (found.order, found.bound) == (tuple(range(8)), 0.0)
    assert Halves().solve(ChainTask(SetFunction(np.ones(2), np.ones((2, 8))), np.ones(0))).bound == 0.0


def test_what_it_does_not_take(chain_task):
    assert Halves().lacks(chain_task(30, 29)) is None
    assert Halves().lacks(chain_task(31, 30)) == "takes up to 30 units"
    task = chain_task(8, 7)
    empty = np.zeros(0, dtype=np.int64)
    lifts = Lifts(np.zeros(1), np.zeros((1, 8)), (empty,) * 8, np.zeros(8, dtype=np.int64))
    lifted = replace(task, function=replace(task.function, lifts=lifts))
    assert Halves().lacks(lifted) == "takes quadratic costs only"


def test_a_deadline_at_any_time_gives_the_first_order_without_a_bound(chain_task, monkeypatch):
    monkeypatch.setattr(halves, "_CHUNK", 60)
    task = chain_task(10, 9, seed=5)
    optimum = Lattice().solve(task).bound
    proved = 0
    for calls in range(1, 400, 9):
        left = itertools.count(calls, -1)
        late = replace(task, patience=Patience(lambda left=left: next(left) <= 0, timed=True, left=lambda: 1e9))
        found = Halves().solve(late)
        assert sorted(found.order) == list(range(10))
        assert found.bound <= optimum
        proved += found.bound > 0
    assert 0 < proved < len(range(1, 400, 9))


@pytest.mark.parametrize(("pace", "finished"), [(0.5, True), (2.0, False)])
def test_an_attempt_that_cannot_end_in_time_is_given_up_early(chain_task, monkeypatch, pace, finished):
    """A made-up clock: all sets take ``pace`` times the time that is left."""
    monkeypatch.setattr(halves, "_CHUNK", 60)
    task = chain_task(12, 11, seed=5)
    looks = [0]

    def left():
        looks[0] += 1
        return 100.0 * (1.0 - pace * done[0] / (1 << 12))

    done = [0]
    go_on = halves._Middle._go_on

    def counting(self, sets):
        go_on(self, sets)
        done[0] = self.done

    monkeypatch.setattr(halves._Middle, "_go_on", counting)
    timed = replace(task, patience=Patience(lambda: False, timed=True, left=left))
    found = meet_in_the_middle(timed, tuple(range(12)), task.evaluate(range(12)))
    assert (found is not None) == finished
    assert finished or done[0] < 0.1 * (1 << 12)


@pytest.mark.parametrize("power", [-1, 60, -490, -505, -512])
def test_a_scale_far_from_1_changes_nothing(chain_task, power):
    task = chain_task(11, 10, seed=3)
    plain = meet_in_the_middle(task, tuple(range(11)), task.evaluate(range(11)))
    function = task.function
    far = replace(task, function=SetFunction(np.ldexp(function.base, power), np.ldexp(function.columns, power)))
    found = meet_in_the_middle(far, tuple(range(11)), far.evaluate(range(11)))
    assert found.order == plain.order
    assert found.bound == pytest.approx(np.ldexp(plain.bound, 2 * power), rel=1e-12)


def test_a_sum_that_is_nothing_but_rounding_has_no_bound():
    columns = np.zeros((2, 8))
    columns[0] = [1.0, *[1e-150] * 7]
    task = ChainTask(SetFunction(np.zeros(2), columns), np.ones(7))
    order = (*range(1, 8), 0)
    assert 0.0 < task.evaluate(order) < task.rounding
    assert meet_in_the_middle(task, order, task.evaluate(order)).bound == 0.0


def test_a_normalised_function_is_the_same_in_other_units():
    rng = np.random.default_rng(0)
    apart = Apart(rng.random(3), rng.random((3, 3)))
    function = SetFunction(1e5 * rng.standard_normal(4), 1e5 * rng.standard_normal((4, 3)), apart=apart)
    normalised = function.normalised()
    unit = 2.0 ** (normalised.exponent - function.exponent)
    assert np.abs(normalised.columns).max() < 1.0
    assert normalised.excess((0, 2)) * unit == function.excess((0, 2))
    assert normalised.apart.most * unit == apart.most
    assert normalised.rounding * unit == pytest.approx(function.rounding)
