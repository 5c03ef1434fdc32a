"""When a search gives up, and what it tells on the way."""

from __future__ import annotations

import itertools
import math
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from coordpath_governance.paths import parse_problem, solve
from coordpath_governance.paths.orders.chained_bounds import Refinement
from coordpath_governance.paths.patience import (
    NO_BOUND,
    NeverWorse,
    Patience,
    heeding_interrupts,
    how_far,
    never,
    reclaim_interrupts,
    until,
)
from coordpath_governance.paths.solvers import chain_states, improvement, levels


def test_until_the_time_has_come_or_someone_asks():
    for endless in (until(None, 5.0), until(lambda: 0.0, None)):
        assert not endless.timed
        assert not endless.expired()
    asked = until(None, 5.0, interrupted=lambda: True)
    assert not asked.timed
    assert asked.expired()
    ticks = itertools.count()
    soon = until(lambda: float(next(ticks)), 2.0)
    assert soon.timed
    assert [soon.expired(), soon.expired(), soon.expired()] == [False, True, True]
    assert until(lambda: 0.0, 2.0, interrupted=lambda: True).expired()


def test_a_first_interrupt_is_noted_and_a_second_raises():
    before = signal.getsignal(signal.SIGINT)
    with heeding_interrupts() as pressed:
        assert not pressed()
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_whoever_handles_the_signal_already_goes_on_doing_so():
    noted = []
    before = signal.signal(signal.SIGINT, lambda *_: noted.append("mine"))
    try:
        with heeding_interrupts() as pressed:
            signal.raise_signal(signal.SIGINT)
            assert not pressed()
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == ["mine"]


def test_other_threads_leave_signals_alone(document):
    answers = []

    def work():
        with heeding_interrupts() as pressed:
            answers.append(pressed())
        answers.append(solve(document(1, 4)).certificate.status)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers == [False, "optimal"]


def test_a_handler_is_reclaimed_only_where_python_may_do_so(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    reclaim_interrupts()
    assert signal.getsignal(signal.SIGINT) is before
    thread = threading.Thread(target=reclaim_interrupts)
    thread.start()
    thread.join()
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("there is nothing to go back to"))
    reclaim_interrupts()


@pytest.mark.parametrize(
    "more", [{}, {"max_steps": 5}, {"steps": 33}, {"steps": {"min": 30, "max": 34}}, {"target": None, "steps": 12}]
)
@pytest.mark.parametrize("solver", ["auto", "exact", "local"])
def test_an_interrupt_returns_the_best_so_far(document, more, solver):
    """Asked to stop at once, every solver still gives a path to the end and an honest bound."""
    problem = {**document(3, 30), "solver": solver, **more}
    solution = solve(problem, interrupted=lambda: True)
    certificate = solution.certificate
    assert certificate.lower_bound <= certificate.objective
    assert 0.0 < certificate.gap <= 1.0
    assert certificate.status == "bounded"
    if problem["target"] is not None:
        reached = dict(zip(problem["features"], problem["start"], strict=True))
        for step in solution.path.steps:
            reached |= {move.feature: move.after for move in step.moves}
        assert list(reached.values()) == problem["target"]


def test_a_first_order_is_told_before_it_is_improved(document, monkeypatch):
    """Improving it takes a minute where there are hundreds of units."""
    told, known = [], []
    polish = improvement._polish

    def polished(*args):
        known.append([value for _, value, _ in told])
        return polish(*args)

    monkeypatch.setattr(improvement, "_polish", polished)
    solve(
        {**document(3, 30), "solver": "exact"}, progress=lambda *each: told.append(each), interrupted=lambda: len(told) > 2
    )
    assert [len(values) for values in known[:2]] == [1, 1]
    assert told[0][0] == told[1][0] == "a first order"
    assert told[0][1] > told[1][1] >= told[1][2] > 0.0


def test_how_far_in_words():
    assert how_far(2.0, 1.0) == "within 50 % of the best possible"
    assert how_far(0.0, 0.0) == "within 0 % of the best possible"
    assert how_far(1.0, -3.0) == "within 100 % of the best possible"
    assert how_far(2.0, NO_BOUND) == "no bound yet"


def test_what_was_told_stays_so():
    told = NeverWorse()
    pairs = [(4.0, NO_BOUND), (4.0, 1.0), (4.0, 0.5), (3.0, 1.0), (3.0, NO_BOUND), (3.0, 3.0), (0.0, 0.0)]
    known = [(4.0, NO_BOUND), (4.0, 1.0), (4.0, 1.0), (3.0, 1.0), (3.0, 1.0), (3.0, 3.0), (0.0, 0.0)]
    assert [told("stage", *pair)[1:] for pair in pairs] == known


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"max_steps": 3},
        {"steps": 6},
        {"steps": {"min": 1, "max": 7}},
        {"steps": {"min": 6, "max": 7}},
        {"steps": {"min": 1, "max": 5}, "target": None},
    ],
)
@pytest.mark.parametrize("solver", ["exact", "local", "gurobi"])
def test_progress_is_about_the_whole_problem(document, more, solver):
    """With a least cost of 0 the sums of all lengths are alike: no bound that is told exceeds the best of any length."""
    problem = {**document(3, 5), **more, "solver": solver}
    cost = problem["cost"]
    constant = cost["constant"] - parse_problem(problem).cost.minimum()
    problem["cost"] = {**cost, "constant": constant}
    best = solve({**problem, "solver": "auto"}).certificate
    assert best.status == "optimal"
    told = []
    solve(problem, progress=lambda *each: told.append(each))
    for stage, value, bound in told:
        unit = 2.0 ** round(math.log2(value / best.objective))
        assert (bound == NO_BOUND) == (stage == "a first order")
        assert bound <= unit * best.objective * (1 + 1e-6)
        assert value >= unit * best.objective * (1 - 1e-6) or bound == NO_BOUND
    gaps = [1 - bound / value for _, value, bound in told if bound > NO_BOUND]
    assert gaps == sorted(gaps, reverse=True)


def test_reading_the_problem_counts(document):
    """The limit is counted from the call: the clock is asked before anything is read."""
    ticks = itertools.count()
    asked = {**document(3, 30), "time_limit": 1.0}
    assert solve(asked, clock=lambda: float(next(ticks))).status == "bounded"
    patience = until(lambda: 7.0, 2.0, began=6.0)
    assert patience.left() == pytest.approx(1.0)
    assert until(None, 2.0).left() == math.inf


class Clock:
    """A second every so many looks; it counts how often it is looked at once the limit has passed."""

    def __init__(self, limit, looks):
        self.limit, self.looks, self.seen, self.late = limit, looks, 0, 0

    def __call__(self):
        self.seen += 1
        now = self.seen / self.looks
        self.late += now > self.limit
        return now


def correlated(size, **more):
    rng = np.random.default_rng(size)
    near = np.arange(size)
    gram = 0.9 ** np.abs(near[:, None] - near)
    target = rng.standard_normal(size)
    cost = {"gram": gram.tolist(), "linear": (gram @ target).tolist(), "constant": float(target @ gram @ target) + 1.0}
    start = target + 0.5 * rng.standard_normal(size)
    names = [f"x{i}" for i in near]
    return {"features": names, "cost": cost, "start": start.tolist(), "target": target.tolist(), **more}


KINDS = {
    "orders": {},
    "best 5 + rest": {"max_steps": 5},
    "revisits": {"steps": 34},
    "free end": {"target": None, "steps": 9},
    "local": {"solver": "local"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0.0, 2.0])
def test_all_stop_soon_after_the_limit_and_not_before(kind, limit):
    """Once the time is up the clock is looked at a few dozen times more at most: nothing long is begun any more."""
    clock = Clock(limit, looks=20)
    found = solve({**correlated(32, time_limit=limit), **KINDS[kind]}, clock=clock)
    assert found.lower_bound <= found.objective
    assert clock.late < 80
    assert found.status == "optimal" or clock.late > 0 or kind == "local"


@pytest.mark.parametrize("merge", [10, 1 << 20])
def test_what_cannot_be_interrupted_is_not_begun(chain_task, monkeypatch, merge):
    """Merging states takes its time: where less is left, the search ends before it."""
    monkeypatch.setattr(chain_states, "_MERGE", merge)
    task = chain_task(12, 11, seed=2)
    bounds = Refinement(task.function, task.alphas, target=np.inf, capacity=10**9, expired=never).bounds()
    worst = task.evaluate(range(12))
    proved, cut = (
        chain_states.search_chains(replace(task, patience=Patience(left=lambda left=left: left)), [bounds], worst, 10**9)
        for left in (10.0, 1e-9)
    )
    assert proved.complete
    assert not cut.complete
    assert cut.bound < proved.bound


@pytest.mark.thorough
def test_a_better_order_is_looked_for_until_the_time_is_up(chain_task, monkeypatch):
    monkeypatch.setattr(levels, "_MOST_WORK", 1000)
    monkeypatch.setattr(levels, "_MOST_CAPACITY", 1000)
    turns = []
    monkeypatch.setattr(levels, "shuffle", lambda _task, order, value, turn=0: turns.append(turn) or (order, value))
    clock = Clock(1.0, looks=2000)
    levels.Levels(1000).solve(chain_task(40, 39, patience=until(clock, 1.0)))
    assert clock.late > 0
    assert turns[:3] == [0, 1, 2]
    assert turns == list(range(len(turns)))


def rows_problem(rows, columns, **more):
    rng = np.random.default_rng(0)
    design = rng.normal(size=(rows, columns))
    target = (design @ rng.normal(size=columns) + rng.logistic(size=rows) > 0).astype(float)
    end = rng.normal(size=columns)
    cost = {"kind": "logistic", "rows": {"design": design, "target": target}}
    return {"features": [f"x{i}" for i in range(columns)], "cost": cost, "target": end, "time_limit": 1, **more}


@pytest.mark.parametrize("calls", [1, 3, 10])
@pytest.mark.parametrize("more", [{"steps": 27, "solver": "local"}, {"steps": 27}, {"target": None, "steps": 3}])
def test_walks_over_rows_end_soon_after_the_limit(more, calls):
    """However early the limit comes, there is a path, and no bound lies above it."""
    clock = itertools.count()
    solution = solve(rows_problem(200, 25, **more), clock=lambda: 0.0 if next(clock) < calls else 2.0)
    assert solution.status == "bounded"
    assert solution.lower_bound <= solution.objective
    assert next(clock) < calls + 400


def test_a_large_table_of_states_is_not_begun_late():
    """Listing takes longer than what is left of the limit, so the answer is that of the neighbouring sequences."""
    solution = solve(rows_problem(60, 6, steps=8, time_limit=1e-3), clock=lambda: 0.0)
    assert solution.status == "bounded"
    assert solution.certificate.solver == "local"
    assert solve(rows_problem(60, 6, steps=8), clock=lambda: 0.0).certificate.solver == "sequences"


@pytest.mark.thorough
def test_floors_of_long_walks_heed_the_limit(document):
    """With the time up at once, the floors are those of the sizes that take no time, and the bound is a bound."""
    problem = {**document(0, 20), "steps": 30}
    late = solve({**problem, "time_limit": 1}, clock=iter([0.0, *[2.0] * 10**6]).__next__)
    early = solve(problem, clock=None)
    assert late.lower_bound <= early.objective + 1e-9 * abs(early.objective)
