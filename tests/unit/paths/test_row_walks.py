"""Walks under convex costs: against scipy for the values, against every sequence for the answers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers.glm_draws import KINDS, drawn_target
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from coordpath_governance.costs import GlmCost, QuadraticCost, RowsInMemory, family_of
from coordpath_governance.errors import ProblemError, SolverUnavailableError
from coordpath_governance.paths import PathProblem, StepRange, model_loss, pareto_front, solve_problem
from coordpath_governance.paths.outcome import normalise
from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.row_walks import model_costs, neighbours, row_walk_costs, state_costs
from coordpath_governance.paths.row_walks.model_costs import ModelCosts
from coordpath_governance.paths.row_walks.neighbours import quadratic_at
from coordpath_governance.paths.row_walks.row_walk_costs import solve_row_walk
from coordpath_governance.paths.row_walks.row_walk_task import listed
from coordpath_governance.paths.row_walks.walks_on_rows import RowWalks
from coordpath_governance.paths.solvers import row_walk_search
from coordpath_governance.paths.walks.geometry import REST
from coordpath_governance.paths.weights import ExplicitWeights, FinalWeights, GeometricWeights

CLASSES = 3


def make_cost(kind, columns, *, seed=0, rows=80, **more):
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((rows, columns))
    design[:, 1:] += 0.6 * design[:, :1]
    score = design @ (0.5 * rng.standard_normal(columns))
    target = drawn_target(kind, score, rng)
    family = family_of(kind, power=1.5 if kind == "tweedie" else None, classes=CLASSES if kind == "multinomial" else 0)
    weight = rng.uniform(0.5, 2.0, rows)
    weight[:3] = 0.0
    return GlmCost(family, RowsInMemory(design, target, weight, **more))


def make_problem(kind, columns, *, steps, seed=0, free=False, unchanged=(), size=0.7, **more):
    cost = make_cost(kind, columns, seed=seed)
    rng = np.random.default_rng(seed + 1000)
    start, target = size * rng.standard_normal((2, cost.size))
    names = [f"x{i}" for i in range(cost.size)]
    classes = cost.family.scores
    groups = tuple(tuple(names[j * classes : (j + 1) * classes]) for j in range(columns)) if classes > 1 else ()
    target[list(unchanged)] = start[list(unchanged)]
    return PathProblem(tuple(names), cost, start, None if free else target, steps=steps, **{"groups": groups, **more})


def on_rows(problem, patience=FOREVER):
    return RowWalks(problem, ModelCosts(problem.cost), np.inf, patience)


def by_scipy(ground, sequence, alphas):
    """The least Σαc along a sequence."""
    closed = ground.closed(sequence)

    def total(x):
        return float(alphas @ ground.costs.values(ground.models(sequence, closed, x)))  # infinite where it overflows

    guess = ground.guess(sequence, closed, np.repeat(ground.problem.start[None], len(sequence), axis=0))
    if not len(guess):
        return total(guess)
    return float(optimize.minimize(total, guess, method="BFGS", options={"gtol": 1e-7}).fun)


def brute_force(problem, terms):
    """The least Σαc of all sequences of units, or of rests where nothing has to move."""
    ground = on_rows(problem)
    entries = range(REST if not ground.changed else 0, ground.size)
    alphas = problem.alphas(terms)
    return min(
        by_scipy(ground, sequence, alphas)
        for sequence in itertools.product(entries, repeat=terms)
        if ground.changed <= set(sequence)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("free", [False, True])
def test_the_values_along_a_sequence_are_those_that_scipy_finds(kind, free):
    problem = make_problem(kind, 3, steps=6, free=free)
    ground = on_rows(problem)
    rng = np.random.default_rng(7)
    alphas = np.array([1.0, 0.5, 0.0, 2.0, 1.0, 0.7])
    sequences = [tuple(rng.permutation([0, 1, 2, *rng.integers(REST, 3, 3)]).tolist()) for _ in range(3)]
    found = ground.walks(sequences, alphas, np.repeat(problem.start[None], 6, axis=0))
    for sequence, walk in zip(sequences, found, strict=True):
        expected = by_scipy(ground, sequence, alphas)
        assert walk.value == pytest.approx(expected, rel=1e-9)
        assert walk.value <= expected + 1e-12
        assert walk.value == pytest.approx(float(alphas @ problem.cost.values(walk.models)), rel=1e-13)


def test_slopes_and_curvatures_are_those_of_the_cost(monkeypatch):
    monkeypatch.setattr(model_costs, "_TOGETHER", 4)
    cost = make_cost("multinomial", 3)
    betas = np.random.default_rng(0).standard_normal((3, cost.size))
    opened = [np.array([4, 0, 8]), np.array([2]), np.array([5, 3])]
    for beta, own, found in zip(betas, opened, ModelCosts(cost).expand(betas, opened), strict=True):
        value, slope, curvature = cost.gradient(beta)
        assert found.value == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(found.slope, slope[own], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.curvature, curvature[np.ix_(own, own)], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", ["logistic", "poisson", "gamma"])
@pytest.mark.parametrize(
    ("columns", "steps", "more"),
    [
        (2, 3, {}),
        (2, 4, {"weights": GeometricWeights(0.6)}),
        (3, 4, {}),
        (2, 4, {"unchanged": [1]}),
        (2, 3, {"unchanged": [0, 1]}),
        (3, 2, {"free": True}),
        (2, 3, {"free": True, "weights": FinalWeights(1.0, 0.3)}),
    ],
)
def test_answers_are_those_of_all_sequences(kind, columns, steps, more):
    problem = make_problem(kind, columns, steps=steps, **more)
    best = brute_force(problem, steps)
    scale = best - problem.alphas(steps).sum() * problem.cost.minimum()
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.certificate.solver == "sequences"
    assert found.objective == pytest.approx(best, abs=1e-8 * scale)
    assert found.lower_bound <= best + 1e-8 * scale
    for solver in ("local", "greedy", *(() if more.get("free") else ("direct",))):
        other = solve_problem(problem, solver=solver)
        assert other.certificate.solver == solver
        assert other.objective >= found.objective - 1e-9 * scale
        assert other.lower_bound <= best + 1e-8 * scale
        assert other.path.terms == steps


@settings(max_examples=8, deadline=None)
@given(
    kind=st.sampled_from(KINDS[:1] + KINDS[2:]),
    seed=st.integers(0, 10_000),
    steps=st.integers(2, 3),
    free=st.booleans(),
    size=st.sampled_from([0.01, 1.0, 3.0]),
)
def test_no_sequence_is_better_than_a_proved_one(kind, seed, steps, free, size):
    problem = make_problem(kind, 2, steps=steps + (not free), seed=seed, free=free, size=size)
    terms = problem.most_terms
    found = solve_problem(problem)
    best = brute_force(problem, terms)
    scale = max(best - terms * problem.cost.minimum(), 1e-6 * best)
    assert found.status == "optimal"
    assert found.objective <= best + 1e-8 * scale
    assert found.lower_bound <= best + 1e-8 * scale


def test_a_feature_moves_in_all_classes_at_once():
    problem = make_problem("multinomial", 2, steps=3)
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(brute_force(problem, 3), rel=1e-8)
    assert {len(step.moves) for step in found.path.steps} == {CLASSES}
    assert {step.kind for step in found.path.steps} == {"group"}


@pytest.mark.parametrize("solver", ["auto", "exact", "local", "greedy", "direct"])
def test_of_a_range_the_loss_chooses(solver):
    problem = make_problem("logistic", 3, steps=StepRange(1, 5), weights=GeometricWeights(0.4))
    alone = {terms: solve_problem(replace(problem, steps=terms), solver=solver) for terms in (3, 4, 5)}
    found = solve_problem(problem, solver=solver)
    best = min(alone.values(), key=lambda each: each.objective)
    assert found.objective == pytest.approx(best.objective, rel=1e-12)
    assert found.path.terms == best.path.terms
    assert found.lower_bound <= min(each.objective for each in alone.values()) + 1e-12
    once = solve_problem(replace(problem, steps=None), solver=solver)
    assert found.objective <= once.objective + 1e-12


def test_lengths_that_cannot_pay_are_not_searched():
    problem = make_problem("poisson", 2, steps=StepRange(2, 60), weights=GeometricWeights(1.1))
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.path.terms == 2
    assert found.objective == pytest.approx(solve_problem(replace(problem, steps=None)).objective, rel=1e-12)


def test_every_length_can_pay_where_only_the_end_counts():
    problem = make_problem("gamma", 3, steps=StepRange(1, 3), free=True, weights=FinalWeights(1.0, 0.0))
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.path.terms == 3
    assert found.objective == pytest.approx(problem.cost.minimum(), rel=1e-9)


@pytest.mark.parametrize("free", [False, True])
def test_small_changes_are_those_of_the_quadratic(free):
    problem = make_problem("poisson", 3, steps=4, size=0.0)
    cost = problem.cost
    fitted = optimize.minimize(lambda beta: cost.gradient(beta)[:2], np.zeros(3), jac=True, method="BFGS").x
    rng = np.random.default_rng(5)
    start, target = fitted + 1e-4 * rng.standard_normal((2, 3))
    problem = replace(problem, start=start, target=None if free else target)
    quadratic = replace(problem, cost=quadratic_at(on_rows(problem), fitted))
    found, expected = solve_problem(problem), solve_problem(quadratic)
    assert [step.label for step in found.path.steps] == [step.label for step in expected.path.steps]
    excess = [each.objective - 4 * each.problem.cost.minimum() for each in (found, expected)]
    assert excess[0] == pytest.approx(excess[1], rel=1e-3)
    for step, other in zip(found.path.steps, expected.path.steps, strict=True):
        assert step.moves[0].after == pytest.approx(other.moves[0].after, abs=1e-7)


def test_a_walk_rests_where_a_visit_makes_no_difference():
    problem = make_problem("logistic", 2, steps=1, unchanged=[0, 1])
    found = solve_problem(problem)
    assert found.path.steps == ()
    assert (found.path.terms, found.status) == (1, "optimal")
    one = make_problem("logistic", 1, steps=3)
    walk = solve_problem(one)
    assert [step.k for step in walk.path.steps] == [1, 3]
    assert walk.path.costs()[0] == walk.path.costs()[1]
    assert solve_problem(one, solver="greedy").objective == pytest.approx(walk.objective, rel=1e-12)
    assert [step.k for step in solve_problem(problem, solver="greedy").path.steps] == []


def test_a_start_that_is_best_already():
    design = [[2, 1], [1, 2], [0, 1], [1, 0], [-1, 1], [-1, -2], [-2, -1], [0, -2]]
    cost = GlmCost(family_of("logistic"), RowsInMemory(design, [1, 1, 0, 0, 0, 1, 1, 0]))
    found = solve_problem(PathProblem(("a", "b"), cost, np.zeros(2), steps=2))
    assert (found.path.steps, found.status) == ((), "optimal")
    assert found.objective == pytest.approx(2 * np.log(2.0), rel=1e-14)


def test_terms_without_weight_cost_nothing():
    weights = ExplicitWeights((0.0, 1.0, 0.0, 1.0))
    problem = make_problem("gamma", 2, steps=4, weights=weights)
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(brute_force(problem, 4), rel=1e-8)
    only_last = solve_problem(replace(problem, weights=ExplicitWeights((0.0, 0.0, 0.0, 1.0))))
    assert only_last.status == "optimal"
    assert only_last.objective == pytest.approx(float(problem.cost.values(problem.target)[0]), rel=1e-12)
    assert len(only_last.path.steps) == 2


def test_dependent_and_idle_columns():
    rng = np.random.default_rng(2)
    design = rng.standard_normal((60, 2))
    design = np.column_stack([design, design @ [1.0, -1.0], np.zeros(60)])
    cost = GlmCost(family_of("logistic"), RowsInMemory(design, (rng.random(60) < 0.4).astype(float)))
    names = ("a", "b", "c", "d")
    problem = PathProblem(names, cost, np.zeros(4), np.array([0.5, -0.4, 0.3, 1.0]), steps=5)
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.objective <= solve_problem(replace(problem, steps=None)).objective + found.path.costs()[-1]
    free = solve_problem(replace(problem, target=None, steps=3))
    assert free.status == "optimal"
    assert free.path.costs()[-1] == pytest.approx(cost.minimum(), abs=1e-4)


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 1e-9, 1e-11])
def test_columns_that_almost_depend_on_each_other_prove_nothing_wrong(apart):
    """Large opposite values reach what neither column can alone, wherever the products of columns no longer show it."""
    rng = np.random.default_rng(4)
    one, other = rng.standard_normal((2, 60))
    target = (rng.random(60) < 1.0 / (1.0 + np.exp(-2.0 * other))).astype(float)
    design = np.column_stack([one, one + apart * other])
    cost = GlmCost(family_of("logistic"), RowsInMemory(design, target))
    apart = float(np.std(design[:, 1] - design[:, 0]) / np.std(other))
    reached = min(cost.values([[0.1 * j - k / apart, k / apart] for j in range(-5, 6) for k in np.linspace(0.0, 4.0, 41)]))
    problem = PathProblem(("a", "b"), cost, np.zeros(2), None, steps=2, weights=ExplicitWeights((0.0, 1.0)))
    found = solve_problem(problem)
    assert found.lower_bound <= reached
    assert found.status == ("optimal" if found.objective <= reached else "bounded")
    assert found.status == "bounded" or apart > 1e-6


def test_a_group_of_columns_that_almost_depend_on_each_other():
    rng = np.random.default_rng(5)
    one, other = rng.standard_normal((2, 60))
    target = (rng.random(60) < 1.0 / (1.0 + np.exp(-1.5 * other))).astype(float)
    cost = GlmCost(family_of("logistic"), RowsInMemory(np.column_stack([one, one + 1e-7 * other]), target))
    found = solve_problem(PathProblem(("a", "b"), cost, np.zeros(2), None, steps=1, groups=(("a", "b"),)))
    reached = min(cost.values([[-k * 1e7, k * 1e7] for k in np.linspace(0.0, 4.0, 41)]))
    assert found.lower_bound <= reached
    assert found.status == "bounded" or found.objective <= reached


@pytest.mark.parametrize("ratio", [10.0, 1e3, 1e5])
def test_tails_that_fall_at_different_rates(ratio):
    """A column that is zero but in rows of one class, where it is 1 or very large: more is left than a step promises."""
    rng = np.random.default_rng(6)
    design = np.column_stack([np.ones(60), rng.standard_normal(60), np.zeros(60)])
    target = (rng.random(60) < 0.4).astype(float)
    design[:12, 2], target[:12] = np.repeat([1.0, ratio], 6), 1.0
    cost = GlmCost(family_of("logistic"), RowsInMemory(design, target))
    rest = GlmCost(family_of("logistic"), RowsInMemory(design[12:, :2], target[12:]))
    least = rest.minimum() * 48 / 60
    found = solve_problem(PathProblem(("a", "b", "c"), cost, np.zeros(3), None, steps=3, weights=ExplicitWeights((0, 0, 1))))
    assert found.lower_bound <= least * (1 + 1e-9)
    assert found.objective >= least * (1 - 1e-12)


def test_a_coefficient_that_runs_away():
    rng = np.random.default_rng(3)
    level = (np.arange(80) < 12).astype(float)
    target = (rng.random(80) < 0.5) & (level == 0.0)
    cost = GlmCost(family_of("logistic"), RowsInMemory(np.column_stack([np.ones(80), level]), target.astype(float)))
    problem = PathProblem(("a", "b"), cost, np.zeros(2), np.array([0.2, -2.0]), steps=3)
    found = solve_problem(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(brute_force(problem, 3), rel=1e-6)


@pytest.fixture(scope="module")
def wide():
    return make_problem("logistic", 6, steps=8)


@pytest.fixture(scope="module")
def best(wide):
    return solve_problem(wide)


def test_without_a_proof_there_is_a_bound_and_nothing_is_worse(wide, best, monkeypatch):
    assert best.status == "optimal"
    monkeypatch.setattr(row_walk_search, "_MOST_STATES", 10)
    monkeypatch.setattr(neighbours, "_PERTURBED", 2)
    found = solve_problem(wide)
    assert (found.status, found.certificate.solver) == ("bounded", "local")
    assert found.objective >= best.objective - 1e-9
    assert found.lower_bound <= best.objective
    assert solve_problem(wide).to_dict() == found.to_dict()
    monkeypatch.setattr(neighbours, "_WORK", 1)
    assert solve_problem(wide).objective >= best.objective - 1e-9
    monkeypatch.setattr(neighbours, "WIDEST", 3)
    first = solve_problem(wide)
    assert first.objective >= found.objective - 1e-9
    monkeypatch.setattr(state_costs, "_MOST_SETS", 3)
    assert solve_problem(wide).lower_bound <= first.lower_bound


@pytest.mark.parametrize("work", [1e3, 2e5, 2e6, 1e7])
def test_whatever_the_work_the_bound_holds(wide, best, monkeypatch, work):
    monkeypatch.setattr(row_walk_costs, "_AUTO_WORK", work)
    monkeypatch.setattr(row_walk_search, "_TABLE", np.inf)
    found = solve_problem(wide)
    assert found.lower_bound <= best.objective + 1e-12 <= found.objective + 2e-12


def test_neighbours_are_tried_until_none_is_better(monkeypatch):
    monkeypatch.setattr(neighbours, "_TOUCHES", 0)
    monkeypatch.setattr(row_walk_search, "_MOST_STATES", 0)
    told = []
    problem = make_problem("gamma", 4, steps=6, seed=3)
    found = solve_row_walk(problem, "auto", Patience(progress=lambda *each: told.append(each)))
    assert any(stage == "neighbouring sequences" for stage, _, _ in told)
    assert found.excess == pytest.approx(solve_row_walk(problem, "exact", FOREVER).excess, rel=0.2)


def stopping_after(calls):
    left = iter(range(calls))
    return lambda: next(left, None) is None


def improving(problem, patience=FOREVER):
    ground, alphas = on_rows(problem, patience), problem.alphas(problem.most_terms)
    return neighbours.WalkImprovement(ground, alphas, listed(ground, alphas))


def test_perturbed_walks_may_lead_further(monkeypatch):
    monkeypatch.setattr(neighbours, "_neighbours", lambda _search, sequence, _random: sequence[None, :][:0])
    problem = make_problem("gamma", 4, steps=6, seed=3)
    improvement = improving(problem)
    before = improvement.best.value
    improvement.descend(lambda _value: None)
    assert improvement.best.value < before
    improvement = improving(problem, Patience(stopping_after(1)))
    improvement.descend(lambda _value: None)
    assert improvement.best.value == before


def test_neighbours_are_not_tried_without_patience():
    improvement = improving(make_problem("gamma", 4, steps=6, seed=3), Patience(stopping_after(1)))
    before = improvement.best.value
    improvement.descend(lambda _value: None)
    assert improvement.best.value == before


@pytest.mark.parametrize("calls", [0, 1, 5, 20, 60, 150])
@pytest.mark.parametrize("free", [False, True])
def test_an_interrupt_is_heeded_and_the_answer_holds(calls, free):
    problem = make_problem("poisson", 4, steps=StepRange(4, 6), free=free)
    best = solve_problem(problem)
    found = solve_problem(problem, interrupted=stopping_after(calls))
    assert found.objective >= best.objective - 1e-9
    assert found.lower_bound <= best.objective + 1e-9
    if calls == 0:
        assert found.status == "bounded"


def test_a_time_limit_is_heeded():
    problem = make_problem("poisson", 4, steps=6, time_limit=3.0)
    seconds = iter(range(1000))
    found = solve_problem(problem, clock=lambda: float(next(seconds)))
    assert found.status == "bounded"
    assert next(seconds) < 20


def test_how_far_it_has_come_is_told():
    told = []
    problem = make_problem("logistic", 4, steps=StepRange(4, 6), weights=GeometricWeights(0.5))
    found = solve_problem(problem, progress=lambda *each: told.append(each))
    assert {stage for stage, _, _ in told} >= {
        "a first order",
        "paths of 5 steps, quadratics that touch the cost",
        "paths of 6 steps, sequences that could be better",
    }
    gaps = [1.0 - bound / best for _, best, bound in told if np.isfinite(bound)]
    assert gaps == sorted(gaps, reverse=True)
    _, exponent = normalise(problem.alphas(6))
    alphas = np.ldexp(problem.alphas(found.path.terms), -exponent)
    assert told[-1][1] == pytest.approx(float(alphas @ found.path.costs()) - alphas.sum() * problem.cost.minimum(), rel=1e-9)


def test_the_loss_of_a_model():
    problem = make_problem("logistic", 2, steps=None)
    loss = model_loss(problem)
    assert loss.status == "optimal"
    assert loss.value == pytest.approx(min(brute_force(replace(problem, steps=k), k) for k in (2, 3, 4)), rel=1e-8)
    assert loss.lengths[0] == 2


def test_what_walks_on_rows_refuse():
    problem = make_problem("logistic", 2, steps=3)
    with pytest.raises(SolverUnavailableError, match=r"solver gurobi: takes quadratic costs only; use auto"):
        solve_problem(problem, solver="gurobi")
    quadratic = replace(problem, cost=QuadraticCost(np.eye(2), np.zeros(2)))
    with pytest.raises(ProblemError, match=r"cost\.kind: .* give cost\.rows"):
        solve_row_walk(quadratic, "auto", FOREVER)


def test_a_front_on_rows_has_no_arcs():
    front = pareto_front(replace(make_problem("logistic", 2, steps=3), target=None))
    assert front.whole is None
    assert front.points[0].path.terms == 0


def test_models_that_overflow():
    cost = make_cost("poisson", 2)
    problem = PathProblem(("a", "b"), cost, np.zeros(2), np.array([2000.0, 1.0]), steps=3)
    with pytest.raises(ProblemError, match="overflows double precision"):
        solve_problem(problem, solver="direct")
    ground = on_rows(replace(problem, target=np.ones(2)))
    far = np.full((3, 2), 2000.0)
    (walk,) = ground.walks([(0, 1, 0)], np.ones(3), far)
    assert walk.value == np.inf
