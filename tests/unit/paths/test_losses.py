"""Losses of paths and models: coherence, Theorem 1, and what a model's loss may claim."""

from __future__ import annotations

import inspect
import itertools
import json
import time
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ProblemError, UsageError
from coordpath_governance.paths import (
    Path,
    Step,
    cost_sequence,
    dominates,
    model_complexity,
    model_loss,
    pareto_front,
    parse_problem,
    path_complexity,
    path_loss,
    solve,
)
from coordpath_governance.paths.weights import ExplicitWeights, GeometricWeights

COSTS = st.lists(st.floats(0, 1e6), max_size=6)
POSITIVE_COSTS = st.lists(st.floats(1e-6, 1e6), max_size=6)
SHARES = st.lists(st.floats(0.01, 1), min_size=6, max_size=6)
WEIGHTS = st.one_of(
    st.floats(1e-3, 1e3).map(GeometricWeights),
    st.lists(st.floats(0, 10), min_size=6, max_size=6).map(lambda values: ExplicitWeights(tuple(values))),
)
ROUNDING = 1 + 1e-12


def path_of(costs, label="a"):
    """A path with these costs; what moves does not matter to a loss."""
    return Path(
        9.0,
        tuple(
            Step(k=k, kind="coordinate", label=label, moves=(), cost=cost, delta=0.0)
            for k, cost in enumerate(costs, start=1)
        ),
        len(costs),
    )


@given(costs=COSTS, weights=WEIGHTS)
def test_equal_cost_sequences_have_equal_losses(costs, weights):
    one, other = path_of(costs), path_of(costs, "b")
    assert path_loss(one, weights) == path_loss(other, weights)
    assert path_complexity(one) == path_complexity(other)
    assert dominates(one, other)
    assert dominates(other, one)


@given(costs=COSTS, shares=SHARES, kept=st.integers(0, 6), weights=WEIGHTS)
def test_a_path_that_dominates_has_no_larger_loss(costs, shares, kept, weights):
    worse = path_of(costs)
    better = path_of([c * s for c, s in zip(costs, shares, strict=False)][:kept])
    assert dominates(better, worse)
    assert path_loss(better, weights) <= path_loss(worse, weights) * ROUNDING
    assert path_complexity(better) <= path_complexity(worse)


@given(one=POSITIVE_COSTS, other=POSITIVE_COSTS, weights=WEIGHTS)
@example(one=[1.0, 1.0], other=[1.0], weights=GeometricWeights())
def test_dominance_decides_every_coherent_loss(one, other, weights):
    one, other = path_of(one), path_of(other)
    if dominates(one, other):
        assert path_loss(one, weights) <= path_loss(other, weights) * ROUNDING
        assert path_complexity(one) <= path_complexity(other)


def test_a_step_that_costs_nothing_looks_like_no_step():
    """Complexity is coherent only where the cost is positive; the weighted losses do not mind."""
    short, long = path_of([1.0]), path_of([1.0, 0.0])
    assert cost_sequence(short, 3) == cost_sequence(long, 3) == (1.0, 0.0, 0.0)
    assert path_loss(short, GeometricWeights()) == path_loss(long, GeometricWeights())
    assert path_complexity(short) < path_complexity(long)


@given(costs=COSTS.filter(len), weights=WEIGHTS)
def test_removing_the_last_step_never_makes_the_loss_larger(costs, weights):
    whole, shorter = path_of(costs), path_of(costs[:-1])
    assert path_loss(shorter, weights) <= path_loss(whole, weights) * ROUNDING
    assert path_complexity(shorter) == path_complexity(whole) - 1


def test_the_loss_of_a_solution_is_its_objective(toy):
    for weights in ({"gamma": 0.5}, {"p": [0.3, 0.7]}):
        solution = solve({**toy, "weights": weights})
        assert path_loss(solution.path, solution.problem.weights) == pytest.approx(solution.certificate.objective)


def test_a_solution_is_as_good_as_its_path_and_a_document_as_its_weights(toy):
    short, long = solve(toy), solve({**toy, "steps": 3})
    for solution in (short, long):
        assert path_complexity(solution) == path_complexity(solution.path) == solution.path.terms
        assert cost_sequence(solution, 4) == cost_sequence(solution.path, 4)
        assert path_loss(solution, {"gamma": 1}) == pytest.approx(solution.objective)
        assert path_loss(solution.path, {"gamma": 0.5}) == path_loss(solution, GeometricWeights(0.5))
    assert dominates(long, long.path)
    assert not dominates(short, long)


def test_what_is_neither_a_path_nor_weights_is_named(toy):
    with pytest.raises(UsageError, match=r"^path: is a dict; give a Solution or a Path"):
        path_loss(solve(toy).to_dict(), {"gamma": 1})
    with pytest.raises(ProblemError, match=r"^weights: is \[1\]; give an object"):
        path_loss(solve(toy), [1])
    with pytest.raises(ProblemError, match=r"^weights.p: has 1 entries, but the path has 2"):
        path_loss(solve(toy), {"p": [1]})


def test_the_document_of_a_loss(toy):
    loss = model_loss(toy)
    assert loss.to_dict() == {
        "schema": "coordpath.loss/1",
        "value": loss.value,
        "lower_bound": loss.lower_bound,
        "status": "optimal",
        "lengths": {"min": 2, "max": 4},
        "longer_bound": loss.longer_bound,
        "path": loss.solution.to_dict(),
    }
    negative = model_loss({**toy, "cost": {**toy["cost"], "constant": 1.0}, "steps": {"min": 2, "max": 2}}).to_dict()
    assert (negative["lower_bound"], negative["longer_bound"]) == (None, None)
    json.dumps(negative, allow_nan=False)


def model(document, moved):
    """The same problem with only the first units moved."""
    start, target = document["start"], document["target"]
    return {**document, "target": target[:moved] + start[moved:]}


def losses(document, gammas):
    found = [model_loss({**document, "weights": {"gamma": gamma}}) for gamma in gammas]
    assert {loss.status for loss in found} == {"optimal"}
    return [loss.value for loss in found]


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), size=st.integers(2, 4))
def test_large_gamma_prefers_models_of_lower_complexity(document, seed, size):
    """Theorem 1 (a), first case, with the γ from which its proof's bound grows."""
    complex_one = document(seed, size)
    simple_one = model(complex_one, size - 1)
    assert model_complexity(simple_one) < model_complexity(complex_one)
    costs = solve({**simple_one, "solver": "direct"}).path.costs()
    end = solve({**complex_one, "solver": "direct"}).path.costs()[-1]
    assume(end > 0.01)
    first = 2 * max(1.0, size * max(costs) / end)
    gammas = [first, 2 * first, 4 * first]
    apart = [big - small for big, small in zip(losses(complex_one, gammas), losses(simple_one, gammas), strict=True)]
    assert apart[0] > 0
    assert apart[1] > 2 * apart[0]
    assert apart[2] > 2 * apart[1]


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), size=st.integers(2, 4))
def test_large_gamma_prefers_the_lower_cost_at_equal_complexity(document, seed, size):
    """Theorem 1 (a), second case."""
    one = document(seed, size)
    other = {**one, "target": [t + 1.0 for t in one["target"]]}
    assume(model_complexity(one) == model_complexity(other))
    paths = [solve({**each, "solver": "direct"}).path.costs() for each in (one, other)]
    assume(abs(paths[0][-1] - paths[1][-1]) > 0.01)
    if paths[0][-1] > paths[1][-1]:
        one, other, paths = other, one, paths[::-1]
    first = 2 * max(1.0, size * max(paths[0]) / (paths[1][-1] - paths[0][-1]))
    gammas = [first, 2 * first, 4 * first]
    apart = [worse - better for worse, better in zip(losses(other, gammas), losses(one, gammas), strict=True)]
    assert 0 < apart[0] < apart[1] < apart[2]


@given(
    one=st.lists(st.integers(0, 20), max_size=5),
    other=st.lists(st.integers(0, 20), max_size=5),
)
def test_small_gamma_orders_paths_by_their_cost_sequences(one, other):
    """Theorem 1 (b) for paths, exactly: below γ = d/(d + M) the first difference d outweighs the others, all at most M."""
    first, second = (cost_sequence(path_of([float(c) for c in costs]), 5) for costs in (one, other))
    gamma = Fraction(1, 22)
    loss, loss_too = (sum(gamma**k * Fraction(c) for k, c in enumerate(costs, start=1)) for costs in (first, second))
    assert (first < second, first == second) == (loss < loss_too, loss == loss_too)
    weights = GeometricWeights(float(gamma))
    assert path_loss(path_of([float(c) for c in one]), weights) == pytest.approx(float(loss))


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), gamma=st.sampled_from([0.001, 0.1, 1.0]))
def test_nothing_is_more_interpretable_than_the_first_greedy_step(document, seed, gamma):
    """Theorem 1 (b) for models: its cost sequence precedes that of every path, and its loss is least."""
    any_one = {**document(seed, 3), "weights": {"gamma": gamma}, "steps": {"min": 3, "max": 4}}
    greedy = solve({**any_one, "target": None, "steps": 1})
    assert greedy.certificate.status == "optimal"
    assert model_loss(any_one).lower_bound >= greedy.certificate.objective * (1 - 1e-6)


def test_small_gamma_is_a_limit_and_not_a_sign(toy):
    """Theorem 1 (b) says lim L(β⁻) − L(β⁺) ≥ 0, and no more.

    β⁺, two greedy steps, is reached with a cost sequence that precedes those of all paths to β⁻, three greedy steps. Yet at
    small γ a path to β⁻ that gives up a little at first has less loss than any path to β⁺ (of up to four steps here).
    """
    cost = {"gram": [[1, 0.5], [0.5, 1]], "linear": [1.75, 0.5], "constant": 3.26}
    for gamma in (0.2, 0.1, 0.05):
        common = {**toy, "cost": cost, "weights": {"gamma": gamma}, "steps": {"min": 2, "max": 4}}
        plus, minus = (model_loss({**common, "target": [height, -0.375]}) for height in (1.75, 1.9375))
        assert {plus.solution.certificate.status, minus.solution.certificate.status} == {"optimal"}
        assert -(gamma**4) < minus.value - plus.value < 0
    greedy = path_of([0.1975, 0.056875])
    assert cost_sequence(greedy, 4) < cost_sequence(minus.solution.path, 4)


def test_the_loss_of_a_model_chooses_the_length(toy):
    loss = model_loss(toy)
    assert (loss.status, loss.solution.path.terms) == ("optimal", 3)
    assert loss.value == pytest.approx(1.275742)
    assert loss.lower_bound == pytest.approx(1.275742)
    assert loss.lengths == (2, 4)
    assert loss.longer_bound == pytest.approx(0.417884 + 4 * 0.25)
    assert model_complexity(toy) == 2


def test_a_problem_is_as_good_as_its_document(toy):
    assert model_loss(parse_problem({**toy, "weights": {"gamma": 3.0}})).solution.path.terms == 2


def test_nothing_is_claimed_beyond_the_lengths_that_were_searched(toy):
    short = model_loss({**toy, "steps": {"min": 2, "max": 2}})
    assert short.solution.certificate.status == "optimal"
    assert short.status == "bounded"
    assert short.lower_bound == pytest.approx(0.417884 + 2 * 0.25) == short.longer_bound
    listed = model_loss({**toy, "weights": {"alpha": [1.0, 1.0]}})
    assert (listed.status, listed.lengths) == ("bounded", (2, 2))
    negative = model_loss({**toy, "cost": {**toy["cost"], "constant": 1.0}, "steps": {"min": 2, "max": 2}})
    assert (negative.status, negative.lower_bound) == ("bounded", float("-inf"))


def test_weights_that_soon_overflow(toy):
    loss = model_loss({**toy, "weights": {"gamma": 1e150}})
    assert (loss.status, loss.lengths) == ("optimal", (2, 2))


def test_the_start_itself_costs_no_step(toy):
    loss = model_loss({**toy, "target": [0, 0]})
    assert (loss.value, loss.status, loss.solution.path.terms) == (0.0, "optimal", 0)
    assert model_complexity({**toy, "target": [0, 0]}) == 0
    cost = {**toy["cost"], "constant": 1.0}
    assert model_loss({**toy, "target": [0, 0], "cost": cost}).status == "bounded"


def test_groups_count_once(toy):
    assert model_complexity({**toy, "groups": [["a", "b"]]}) == 1


def test_refusals(toy):
    with pytest.raises(ProblemError, match=r"^steps: .* range or null"):
        model_loss({**toy, "steps": 2})
    with pytest.raises(ProblemError, match=r"^max_steps: .* leave it null"):
        model_loss({**toy, "max_steps": 1})
    for change in ({}, {"target": [0, 0]}):
        with pytest.raises(ProblemError, match=r"^solver: 'cplex' is not known; use one of auto"):
            model_loss({**toy, **change}, solver="cplex")
    with pytest.raises(ProblemError, match=r"^the problem: is 3; give an object"):
        model_loss(3)
    for question in (model_loss, model_complexity):
        with pytest.raises(ProblemError, match="target: is free"):
            question({**toy, "target": None, "steps": 1})


def test_the_time_limit_is_for_the_whole_of_a_loss(document):
    """Six seconds later the second problem gets none of its own."""
    later = itertools.chain([0.0], itertools.repeat(6.0))
    loss = model_loss({**document(3, 4), "time_limit": 5.0}, clock=lambda: next(later))
    assert loss.lower_bound <= loss.value
    assert loss.solution.certificate.status == "bounded"
    assert model_loss(document(3, 4)).solution.certificate.status == "optimal"


def test_losses_and_fronts_look_at_the_clock_by_themselves(document):
    for question, more in ((model_loss, {}), (pareto_front, {"target": None, "steps": 8})):
        assert inspect.signature(question).parameters["clock"].default is time.monotonic
        assert question({**document(3, 24), "time_limit": 0, **more}).status == "bounded"


def test_ctrl_c_gives_what_is_proved_of_a_loss(document):
    loss = model_loss(document(3, 30), interrupted=lambda: True)
    assert loss.status == "bounded"
    assert loss.lower_bound <= loss.value
    assert len(loss.solution.path.steps) >= 30
