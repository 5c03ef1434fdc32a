"""Orders of more units than a table holds: proofs against enumeration of fewer, and what ends them early."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.glm_draws import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths import greedy_order, shapley, solve, solve_problem
from coordpath_governance.paths.row_orders.chain_proposals import find_chain
from coordpath_governance.paths.row_orders.evaluated_task import EvaluatedTask, Inquiry
from coordpath_governance.paths.solvers import set_programme, table
from coordpath_governance.paths.solvers.cut_search import CutSearch, Effort
from coordpath_governance.paths.weights import ExplicitWeights, GeometricWeights


@pytest.fixture
def no_table(monkeypatch):
    """Few units are solved as if they were many."""
    monkeypatch.setattr(set_programme, "LARGEST", 0)


@pytest.mark.usefixtures("no_table")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"max_steps": 3},
        {"max_steps": 1},
        {"weights": GeometricWeights(0.5)},
        {"weights": ExplicitWeights((0.0, 1.0, 0.0, 2.0, 0.0, 0.5, 1.0))},
    ],
    ids=["all", "three", "one", "gamma", "alpha"],
)
def test_enumeration_finds_nothing_better(convex, enumeration, from_record, kind, more):
    problem = convex(kind, 7, seed=11, size=0.7, **more)
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(enumeration(problem).optimum(), rel=1e-9)
    assert solve_problem(from_record(problem)).to_dict() == found.to_dict()


@pytest.mark.usefixtures("no_table")
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    columns=st.integers(2, 6),
    singles=st.one_of(st.none(), st.integers(1, 5)),
    odd=st.booleans(),
    size=st.floats(0.01, 2.0),
    work=st.sampled_from([300, 3000, 8_000_000]),
)
def test_what_is_proved_holds_whatever_the_work(
    convex, enumeration, from_record, seed, kind, columns, singles, odd, size, work
):
    odd = odd and columns > 3
    problem = convex(
        kind, columns, seed=seed, rows=25, size=size, max_steps=singles, idle=(3,) if odd else (), same=(0, 2) if odd else ()
    )
    optimum = enumeration(problem).optimum()
    with pytest.MonkeyPatch.context() as patch:
        (cuts,) = (solver for solver in table.ORDER_SOLVERS["auto"] if isinstance(solver, CutSearch))
        patch.setattr(cuts, "effort", Effort(work // 3, work, 10.0 * work))
        found = solve_problem(problem)
        assert found.lower_bound <= optimum * (1.0 + 1e-9)
        assert found.objective >= optimum * (1.0 - 1e-9)
        assert found.status == "optimal" or work < 10**6
        again = solve_problem(from_record(problem))
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize("singles", [None, 5])
def test_small_changes_of_many_units_are_proved(convex, from_record, singles):
    problem = convex("logistic", 24, rows=400, size=0.05, max_steps=singles)
    found = solve_problem(problem)
    assert found.status == "optimal"
    before = len(problem.sets.evaluations)
    assert before < 100
    order, shares = greedy_order(problem), shapley(problem)
    again = from_record(problem)
    assert solve_problem(again).to_dict() == found.to_dict()
    assert greedy_order(again) == order
    assert shapley(again) == shares


def test_large_changes_of_many_units_are_bounded_and_bounded_alike_by_the_record(convex, from_record, row_solvers):
    row_solvers("auto", effort=Effort(20_000, 80_000, 2e6))
    problem = convex("poisson", 26, rows=150, size=0.25)
    found = solve_problem(problem)
    assert found.status == "bounded"
    assert found.gap < 0.7
    assert solve_problem(from_record(problem)).to_dict() == found.to_dict()
    exact = solve_problem(problem, solver="local")
    assert exact.objective == pytest.approx(found.objective, rel=0.05)
    assert exact.lower_bound <= found.objective


def test_what_was_asked_before_makes_no_difference(convex):
    """Whoever checks a report against its data asks for the recorded sets first."""
    first, second = (convex("gamma", 20, rows=100, size=0.2, max_steps=4) for _ in range(2))
    found = solve_problem(first)
    second.sets.ask(np.stack([each.at for each in first.sets.evaluations]))
    again = solve_problem(second)
    assert again.objective == pytest.approx(found.objective, rel=1e-12)
    assert again.lower_bound == pytest.approx(found.lower_bound, rel=1e-12)
    assert again.status == found.status == "optimal"
    assert len(second.sets.evaluations) == len(first.sets.evaluations)
    assert second.sets.proof()[0] == pytest.approx(first.sets.proof()[0], rel=1e-12, abs=1e-15)


@pytest.mark.usefixtures("no_table")
def test_a_deadline_at_any_time_leaves_a_path_and_a_valid_bound(convex, enumeration):
    problem = convex("logistic", 8, size=1.0, rows=40)
    optimum = enumeration(problem).optimum()
    gaps = []
    for calls in (1, 3, 6, 10, 20, 40, 80, 160, 10**6):
        left = [calls]

        def passed(left=left):
            left[0] -= 1
            return left[0] < 0

        found = solve(convex("logistic", 8, size=1.0, rows=40), interrupted=passed)
        assert sorted(step.label for step in found.path.steps) == sorted(unit.label for unit in problem.changed)
        assert found.lower_bound <= optimum + 1e-12
        assert found.objective >= optimum - 1e-12
        gaps.append(found.gap)
    assert gaps[-1] < 1e-9 < gaps[0]


@pytest.mark.usefixtures("no_table")
def test_under_a_time_limit_searches_grow_until_the_clock_ends_them(convex, row_solvers):
    row_solvers("auto", effort=Effort(1, 1, 1.0))
    row_solvers("exact", work=0, effort=Effort(100, 25_600_000, 1.0))
    problem = replace(convex("tweedie", 8, size=1.2), time_limit=1e6)
    assert solve(problem, clock=lambda: 0.0).status == "optimal"
    assert solve_problem(replace(problem, time_limit=None)).status == "bounded"


@pytest.mark.usefixtures("no_table")
def test_rows_that_take_too_long_end_the_search_not_the_proof(convex, enumeration, row_solvers):
    problem = convex("poisson", 7, size=1.0)
    row_solvers("auto", work=0)
    found = solve_problem(problem)
    assert found.lower_bound <= enumeration(problem).optimum() <= found.objective + 1e-12
    assert len(problem.sets.evaluations) < 40


@pytest.mark.parametrize("kind", KINDS)
def test_chains_that_are_found_cannot_be_improved_by_a_swap_of_neighbours(convex, enumeration, kind):
    problem = convex(kind, 8)
    everything = enumeration(problem)
    task = EvaluatedTask(problem.sets, problem.alphas(8)[:-1])
    order = find_chain(Inquiry(task))
    best = everything.objective(order)
    assert best == pytest.approx(everything.optimum(), rel=0.01)
    for k in range(7):
        swapped = list(order)
        swapped[k], swapped[k + 1] = order[k + 1], order[k]
        assert everything.objective(swapped) >= best - 1e-9 * abs(best)


@pytest.mark.usefixtures("no_table")
def test_a_record_of_another_search_ends_with_what_it_holds(convex, enumeration, from_record):
    problem = replace(convex("logistic", 6), solver="greedy")
    optimum = enumeration(problem).optimum()
    greedy = solve_problem(problem)
    again = solve_problem(replace(from_record(problem), solver="direct"), solver="greedy")
    assert again.objective == greedy.objective
    proved = replace(problem, solver="auto")
    solve_problem(proved)
    read = from_record(proved)
    assert solve_problem(read, solver="local").lower_bound <= optimum
    assert solve_problem(read, solver="exact").lower_bound == pytest.approx(optimum, rel=1e-9)
