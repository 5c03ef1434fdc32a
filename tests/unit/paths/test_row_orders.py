"""Orders under convex costs, up to the number of units of which a table is kept: against plain enumeration."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.glm_draws import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.costs import GlmCost, RowsInMemory, family_of
from coordpath_governance.errors import ProblemError, SolverUnavailableError
from coordpath_governance.paths import PathProblem, evaluate_order, greedy_order, shapley, solve, solve_problem
from coordpath_governance.paths.patience import NO_BOUND
from coordpath_governance.paths.row_orders import sets_on_rows
from coordpath_governance.paths.solvers.set_programme import LARGEST
from coordpath_governance.paths.weights import ExplicitWeights, GeometricWeights


def steps(solution):
    return [step.label for step in solution.path.steps]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"max_steps": 3},
        {"max_steps": 1, "offset": True},
        {"weights": GeometricWeights(0.6), "offset": True},
        {"weights": ExplicitWeights((0.0, 1.0, 0.0, 2.0, 0.5, 0.0, 1.0, 1.0))},
    ],
    ids=["all", "three", "one", "gamma", "alpha"],
)
def test_enumeration_finds_nothing_better(convex, enumeration, from_record, kind, more):
    offset = more.pop("offset", False) and kind != "multinomial"
    problem = convex(kind, 8, seed=3, offset=offset, **more)
    everything = enumeration(problem)
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.gap == 0.0
    assert found.objective == pytest.approx(everything.optimum(), rel=1e-9, abs=1e-12)
    assert found.lower_bound == found.objective
    assert len(problem.sets.evaluations) < 130
    assert solve_problem(from_record(problem)).to_dict() == found.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_all_orders_of_five_units_one_by_one(convex, enumeration, kind):
    groups = () if kind == "multinomial" else (("x00", "x30"),)
    problem = convex(kind, 5 if not groups else 6, seed=5, **({"groups": groups} if groups else {}))
    everything = enumeration(problem)
    assert len(problem.changed) == 5
    objectives = {order: everything.objective(order) for order in itertools.permutations(range(5))}
    best = min(objectives, key=objectives.__getitem__)
    found = solve_problem(problem)
    assert steps(found) == [problem.changed[u].label for u in best]
    assert found.objective == pytest.approx(objectives[best], rel=1e-12)
    assert evaluate_order(problem, best).objective == pytest.approx(found.objective, rel=1e-13)
    assert evaluate_order(problem, best).gap == 1.0


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    columns=st.integers(1, 6),
    singles=st.one_of(st.none(), st.integers(1, 6)),
    idle=st.booleans(),
    same=st.booleans(),
    size=st.floats(0.01, 2.0),
    gamma=st.floats(0.2, 1.5),
)
def test_what_is_proved_holds_and_is_proved_again_from_the_record(
    convex, enumeration, from_record, seed, kind, columns, singles, idle, same, size, gamma
):
    problem = convex(
        kind,
        columns,
        seed=seed,
        rows=25,
        size=size,
        idle=(columns - 1,) if idle and columns > 1 else (),
        same=(0, 2) if same and columns > 2 else (),
        max_steps=singles,
        weights=GeometricWeights(gamma),
    )
    optimum = enumeration(problem).optimum()
    for solver in ("auto", "local", "greedy", "direct"):
        asked = replace(problem, solver=solver)
        found = solve_problem(asked)
        assert found.lower_bound <= optimum * (1.0 + 1e-9)
        assert found.objective >= optimum * (1.0 - 1e-9)
        if solver == "auto":
            assert found.status == "optimal"
        assert solve_problem(from_record(asked)).to_dict() == found.to_dict()


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("kind", "units", "singles"),
    [("logistic", 10, None), ("poisson", 12, None), ("logistic", 14, None), ("gamma", 14, 5), ("tweedie", 11, 4)],
)
def test_programmes_over_all_sets_find_the_same(convex, kind, units, singles):
    """Few sets were evaluated, but all of them say the same: V(S) = c(S) + min V(S∖u), set by set."""
    problem = replace(convex(kind, units, size=0.5), max_steps=singles)
    found = solve_problem(problem)
    numbers = np.arange(1 << units)
    moved = (numbers[:, None] >> np.arange(units)) & 1
    costs = np.concatenate(
        [problem.cost.values(np.where(part, problem.target, problem.start)) for part in np.array_split(moved, 64)]
    )
    most = singles or units
    total = np.full(1 << units, np.inf)
    total[0] = 0.0
    for number in range(1, 1 << units):
        members = [u for u in range(units) if number >> u & 1]
        if len(members) <= most:
            total[number] = costs[number] + min(total[number ^ 1 << u] for u in members)
    least = total[moved.sum(axis=1) == most].min() + (costs[-1] if most < units else 0.0)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(least, rel=1e-9)
    assert found.lower_bound <= least * (1 + 1e-12)
    assert len(problem.sets.evaluations) < (1 << units) // 8


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
@pytest.mark.parametrize("large", [1e4, 1e9, 1e13, 1e17])
def test_what_has_moved_away_leaves_no_rounding_behind(kind, large):
    """A start with a coefficient so large that adding and taking off what it does to scores leaves nothing of the others."""
    rng = np.random.default_rng(11)
    columns, target = rng.standard_normal((60, 4)), rng.integers(0, 2, 60).astype(float)
    columns[:, 0] = -np.abs(columns[:, 0])
    cost = GlmCost(family_of(kind, classes=3), RowsInMemory(columns, target))
    start, end = np.zeros((2, cost.size))
    start[0], end[:] = large, rng.standard_normal(cost.size)
    names = tuple(f"x{i}" for i in range(cost.size))
    groups = (names[:3], names[3:6], names[6:9], names[9:]) if kind == "multinomial" else ((names[0], names[1]),)
    end[1] = start[1]  # a member of a group that stays where it is
    problem = PathProblem(names, cost, start, end, groups=groups)
    units = [list(unit.members) for unit in problem.changed]

    def total(order):
        beta, models = start.copy(), []
        for u in order:
            beta[units[u]] = end[units[u]]
            models.append(beta.copy())
        return cost.values(models).sum()

    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(min(map(total, itertools.permutations(range(len(units))))), rel=1e-12)
    assert found.path.steps[-1].cost == pytest.approx(cost.values(end)[0], rel=1e-12)


@pytest.mark.parametrize("solver", ["auto", "local", "greedy", "direct"])
def test_costs_beyond_single_precision(solver):
    rng = np.random.default_rng(12)
    cost = GlmCost(family_of("logistic"), RowsInMemory(rng.standard_normal((30, 3)), rng.integers(0, 2, 30)))
    problem = PathProblem(("a", "b", "c"), cost, np.zeros(3), np.array([1e50, 1.0, -1.0]), solver=solver)
    found = solve_problem(problem)
    orders = [evaluate_order(problem, order).objective for order in itertools.permutations(range(3))]
    assert found.lower_bound <= min(orders) <= found.objective
    assert solver == "direct" or found.objective == pytest.approx(min(orders), rel=1e-9)


def test_nothing_that_changed_needs_no_steps(convex):
    problem = convex("poisson", 3)
    still = replace(problem, target=problem.start)
    found = solve_problem(still)
    assert found.path.steps == ()
    assert found.status == "optimal"
    assert shapley(still) == ()
    assert greedy_order(still) == ()


def test_units_that_do_nothing_share_nothing(convex):
    problem = convex("poisson", 3, idle=(0, 1, 2))
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert steps(found) == ["x00", "x10", "x20"]
    assert shapley(problem) == (0.0, 0.0, 0.0)


def test_weights_that_see_only_the_end_leave_every_order_alike(convex, from_record):
    problem = convex("gamma", 4, weights=ExplicitWeights((0.0, 0.0, 0.0, 1.0)))
    for solver in ("auto", "greedy", "direct"):
        asked = replace(problem, solver=solver)
        found = solve_problem(asked)
        assert found.status == "optimal"
        assert solve_problem(from_record(asked)).to_dict() == found.to_dict()
    assert steps(solve_problem(problem)) == [unit.label for unit in problem.changed]


def test_units_that_are_one_move_in_the_order_in_which_they_are_listed(convex):
    problem = convex("logistic", 6, same=(1, 4), idle=(2,))
    moved = steps(solve_problem(problem))
    assert moved.index("x10") < moved.index("x40")


def test_the_table_holds_as_many_units_as_it_says(convex, from_record):
    problem = convex("poisson", LARGEST, rows=200, size=0.1)
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert len(problem.sets.evaluations) < 200
    assert steps(solve_problem(from_record(problem))) == steps(found)


def test_work_ends_it_early_with_what_it_has(convex, enumeration, from_record, row_solvers):
    problem = convex("logistic", 8, size=1.5)
    optimum = enumeration(problem).optimum()
    row_solvers("auto", work=20 * 60)
    found = solve_problem(problem)
    assert found.status == "bounded"
    assert found.lower_bound <= optimum <= found.objective
    again = solve_problem(from_record(problem))
    assert again.to_dict() == found.to_dict()
    row_solvers("auto", work=0)
    listed = solve_problem(replace(problem))
    assert steps(listed) == [unit.label for unit in problem.changed]
    assert listed.lower_bound <= optimum


def test_under_a_time_limit_only_the_clock_ends_it(convex, row_solvers):
    problem = replace(convex("logistic", 7, size=1.5), time_limit=1e6)
    row_solvers("auto", work=0)
    row_solvers("exact", work=0)
    assert solve(problem, clock=lambda: 0.0).status == "optimal"
    assert solve(replace(problem, time_limit=0.0), clock=lambda: 0.0).status == "bounded"


@pytest.mark.parametrize("solver", ["auto", "exact", "local"])
@pytest.mark.parametrize("columns", [6, 20])
def test_progress_tells_of_the_whole_sum_and_never_less_than_before(convex, solver, columns):
    problem = replace(convex("poisson", columns, size=0.2, max_steps=4), solver=solver)
    told = []
    found = solve_problem(problem, progress=lambda *each: told.append(each))
    excess = found.objective - float(problem.alphas(problem.most_terms).sum()) * problem.cost.minimum()
    unit = 2.0 ** round(math.log2(told[-1][1] / excess))
    assert told[-1][1] == pytest.approx(unit * excess, rel=1e-9)
    gaps = [1.0 - bound / value for _, value, bound in told if bound > NO_BOUND]
    assert gaps == sorted(gaps, reverse=True)
    for stage, value, bound in told:
        assert (bound == NO_BOUND) == (stage == "a first order")
        assert bound <= unit * excess * (1.0 + 1e-9)
        assert value >= unit * excess * (1.0 - 1e-9)


@pytest.mark.parametrize("solver", ["auto", "exact", "local", "greedy", "direct"])
@pytest.mark.parametrize("columns", [8, 22])
def test_an_interrupt_returns_a_path_and_an_honest_bound(convex, solver, columns):
    problem = replace(convex("gamma", columns, size=0.2), solver=solver)
    found = solve(problem, interrupted=lambda: True)
    assert sorted(steps(found)) == sorted(unit.label for unit in problem.changed)
    assert found.lower_bound <= found.objective
    assert 0.0 <= found.gap <= 1.0


def test_solvers_by_name(convex, enumeration):
    problem = convex("tweedie", 6)
    everything = enumeration(problem)
    optimum = everything.optimum()
    for solver in ("auto", "exact", "local", "greedy", "direct"):
        found = solve_problem(problem, solver=solver)
        assert found.lower_bound <= optimum + 1e-12 <= found.objective + 2e-12
    assert solve_problem(problem, solver="direct").objective == pytest.approx(everything.objective(range(6)))
    assert solve_problem(problem, solver="greedy").objective == pytest.approx(everything.objective(greedy_order(problem)))
    with pytest.raises(SolverUnavailableError, match="quadratic costs only"):
        solve_problem(problem, solver="gurobi")


def test_the_greedy_order_takes_the_best_next_unit(convex, enumeration):
    problem = convex("multinomial", 5, max_steps=3)
    everything = enumeration(problem)
    order = greedy_order(problem)
    for k in range(3):
        reached = everything.cost(order[: k + 1])
        assert reached == pytest.approx(min(everything.cost((*order[:k], u)) for u in order[k:]), rel=1e-13)
    assert list(order[3:]) == sorted(order[3:])


def test_orders_that_are_none_are_refused(convex):
    problem = convex("logistic", 3)
    for order in ((0, 1), (0, 0, 1), (1, 2, 3)):
        with pytest.raises(ProblemError, match="not an arrangement of the 3 changed units"):
            evaluate_order(problem, order)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_add_up_and_are_shapley_values_up_to_the_third_order(convex, enumeration, kind):
    def apart(size):
        problem = convex(kind, 5, size=size)
        everything = enumeration(problem)
        shares, exact = np.array(shapley(problem)), np.zeros(5)
        for order in itertools.permutations(range(5)):
            for k, u in enumerate(order):
                exact[u] += (everything.cost(order[: k + 1]) - everything.cost(order[:k])) / math.factorial(5)
        assert shares.sum() == pytest.approx(everything.costs[-1] - everything.costs[0], rel=1e-12, abs=1e-14)
        return float(np.abs(shares - exact).max())

    assert apart(1.5) > 0.0
    assert apart(0.02) / apart(0.01) == pytest.approx(8.0, rel=0.2)


def test_losses_that_overflow_are_counted_over_all_rows(convex, monkeypatch):
    monkeypatch.setattr(sets_on_rows, "_ROWS", 7)
    problem = convex("poisson", 2, size=2000.0)
    betas = np.stack([problem.start, problem.target])
    with pytest.raises(ProblemError) as by_cost:
        problem.cost.values(betas)
    with pytest.raises(ProblemError) as by_sets:
        problem.sets.ask(np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert str(by_sets.value) == str(by_cost.value)
    assert "overflows double precision for" in str(by_sets.value)


def test_other_errors_of_rows_stay_what_they_are(convex, monkeypatch):
    def refuse(*_args, **_more):
        raise ProblemError("cost.rows: are gone")

    problem = convex("poisson", 2)
    monkeypatch.setattr(sets_on_rows, "evaluate_rows", refuse)
    with pytest.raises(ProblemError, match="are gone"):
        problem.sets.ask(np.zeros((1, 2)))


def test_sets_need_a_target_and_rows(convex, document):
    from coordpath_governance.paths import parse_problem

    free = replace(convex("logistic", 2), target=None, steps=2)
    for problem in (free, parse_problem(document(1, 3))):
        with pytest.raises(ProblemError, match="sets of moved units need a target"):
            _ = problem.sets
