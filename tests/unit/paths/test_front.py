"""The Pareto front between loss and cost: against every sequence of units, and what it claims about itself."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coordpath_governance as cg
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import FrontPoint, Path, pareto_front, parse_problem, path_loss, solve
from coordpath_governance.paths.front import _hull, _Tradeoff
from coordpath_governance.paths.row_walks import row_walk_costs
from coordpath_governance.paths.weights import ExplicitWeights, FinalWeights, GeometricWeights


@pytest.fixture(scope="module")
def free_toy(toy):
    return {**toy, "target": None, "steps": 4}


@pytest.fixture(scope="module")
def toy_front(free_toy):
    return pareto_front(free_toy)


def least_value(problem, lam):
    """min over K = 0 … N and all sequences of units of c(β_K) + λ Σ αₖ c(βₖ), by normal equations."""
    gram, linear, start = problem.cost.gram, problem.cost.linear, problem.start
    values = [problem.cost.value(start)]
    for terms in range(1, problem.most_terms + 1):
        alphas = lam * problem.alphas(terms)
        alphas[-1] += 1.0
        for sequence in itertools.product(range(len(start)), repeat=terms):
            design = np.zeros((terms, len(start), terms))
            for j, i in enumerate(sequence):
                design[j:, i, j] = 1.0
            hessian = sum(a * d.T @ gram @ d for a, d in zip(alphas, design, strict=True))
            slope = sum(a * d.T @ (linear - gram @ start) for a, d in zip(alphas, design, strict=True))
            delta = np.linalg.lstsq(hessian, slope, rcond=None)[0]
            values.append(sum(a * problem.cost.value(start + d @ delta) for a, d in zip(alphas, design, strict=True)))
    return min(values)


def check_shape(front):
    """By growing loss and falling cost, convex, and the intervals of λ share out (0, ∞)."""
    points = front.points
    assert points[0].lam[1] == math.inf
    assert points[-1].lam[0] == 0.0
    for one, other in itertools.pairwise(points):
        assert one.loss < other.loss
        assert one.cost > other.cost
        assert one.lam[0] == other.lam[1]
        assert one.value(one.lam[0]) == pytest.approx(other.value(one.lam[0]))
    for point in points:
        assert point.lam[0] < point.lam[1]
        assert point.loss == pytest.approx(path_loss(point.path, front.problem.weights))
        assert point.cost == pytest.approx(front.problem.cost.value(point.coefficients))


def test_the_toy_front_has_none_to_three_steps(toy_front):
    check_shape(toy_front)
    terms = [point.path.terms for point in toy_front.points]
    assert [k for k, _ in itertools.groupby(terms)] == [0, 1, 2, 3]
    assert {point.status for point in toy_front.points} == {toy_front.status} == {"optimal"}
    start, first, *_, last = toy_front.points
    assert (start.cost, start.loss, start.path.steps) == (pytest.approx(2.04096), 0.0, ())
    assert first.coefficients == pytest.approx((1.274, 0.0))
    assert start.lam[0] == pytest.approx((2.04096 - 0.417884) / 0.417884)
    assert last.cost == pytest.approx(0.25, abs=0.001)
    assert last.loss <= 1.275742


def test_a_finer_front_lies_between_the_coarse_one_and_its_shortfall(free_toy, toy_front):
    fine = pareto_front(free_toy, resolution=1e-5)
    check_shape(fine)
    assert len(fine.points) > 4 * len(toy_front.points)
    for lam in np.geomspace(1e-3, 10, 50):
        coarse, best = (min(point.value(lam) for point in front.points) for front in (toy_front, fine))
        assert best - 1e-9 <= coarse <= best + toy_front.shortfall
    arcs = {k: [p.loss for p in fine.points if p.path.terms == k] for k in (2, 3)}
    assert max(arcs[2]) < min(arcs[3])


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10_000),
    weights=st.sampled_from([{"gamma": 1.0}, {"gamma": 0.5}, {"alpha": [1.0, 0.5, 2.0]}]),
    lam=st.floats(1e-4, 5),
)
def test_no_model_beats_the_front_by_more_than_its_shortfall(document, seed, weights, lam):
    problem = parse_problem({**document(seed, 3), "target": None, "steps": 3, "weights": weights})
    front = pareto_front(problem, resolution=0.01)
    check_shape(front)
    assert front.status == "optimal"
    ours, best = min(point.value(lam) for point in front.points), least_value(problem, lam)
    assert best - 1e-9 * front.points[0].cost <= ours <= best + front.shortfall * (1 + 1e-6) + 1e-9 * front.points[0].cost


def test_fewer_steps_than_features(document):
    front = pareto_front({**document(3, 4), "target": None, "steps": {"min": 1, "max": 2}})
    check_shape(front)
    assert max(point.path.terms for point in front.points) == 2
    assert front.status == "optimal"
    best = solve({**document(3, 4), "target": None, "steps": 2, "weights": {"alpha": [0, 1]}})
    assert front.points[-1].cost == pytest.approx(best.certificate.objective, rel=1e-2)


def test_a_solver_that_proves_little_says_so(free_toy):
    front = pareto_front({**free_toy, "solver": "greedy"})
    check_shape(front)
    assert front.status == "bounded"
    assert front.shortfall > front.resolution * (2.04096 - 0.25)
    lam = 0.1
    assert min(p.value(lam) for p in front.points) - front.shortfall <= least_value(parse_problem(free_toy), lam)


def test_a_start_that_cannot_be_bettered_is_the_front(free_toy):
    cost = {"gram": [[1, 0], [0, 1]], "linear": [2, 0], "constant": 5}
    front = pareto_front({**free_toy, "cost": cost, "start": [2, 0]})
    assert [(p.cost, p.loss, p.lam) for p in front.points] == [(1.0, 0.0, (0.0, math.inf))]
    assert (front.status, front.shortfall) == ("optimal", 0.0)


def score_problem(**more):
    rng = np.random.default_rng(4)
    design = np.column_stack([np.ones(80), rng.normal(size=(80, 2)) @ [[1.0, 0.5], [0.0, 1.0]]])
    target = (rng.random(80) < 1 / (1 + np.exp(-design @ [0.4, 1.0, -0.8]))).astype(int)
    cost = {"kind": "logistic", "rows": {"design": design.tolist(), "target": target.tolist()}}
    return {"features": ["one", "x", "z"], "cost": cost, "start": [0, 0, 0], "target": None, "steps": 3, **more}


def test_a_cost_on_rows_has_supported_points():
    front = pareto_front(score_problem(), resolution=0.02)
    points = front.points
    assert (front.status, front.whole) == ("optimal", None)
    assert points[0].cost == pytest.approx(math.log(2))
    assert points[0].path.terms == 0
    for lam in (0.01, 0.05, 0.2):
        ours = min(point.value(lam) for point in points)
        for terms in (1, 2, 3):
            alphas = [lam] * (terms - 1) + [1 + lam]
            best = solve(score_problem(steps=terms, weights={"alpha": alphas}))
            assert ours <= best.objective + front.shortfall + 1e-9


def test_rows_that_take_too_much_leave_a_stated_shortfall(monkeypatch):
    exact = pareto_front(score_problem(), resolution=0.02)
    monkeypatch.setattr(row_walk_costs, "_AUTO_WORK", 1.0)
    front = pareto_front(score_problem(), resolution=0.02)
    assert front.status == "bounded"
    for lam in (0.01, 0.05, 0.2):
        true = min(point.value(lam) for point in exact.points)
        assert min(point.value(lam) for point in front.points) - front.shortfall <= true + 1e-9


def test_the_document_is_plain_json(free_toy, toy_front):
    document = toy_front.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document == cg.pareto_front(free_toy).to_dict()
    assert document["schema"] == "coordpath.front/1"
    assert (document["max_terms"], document["weights"]) == (4, {"gamma": 1.0})
    start, first = document["points"][:2]
    assert (start["lambda"]["to"], start["solved_at"], start["terms"], start["gap"]) == (None, None, 0, 0.0)
    assert list(first) == [
        "lambda",
        "solved_at",
        "terms",
        "cost",
        "loss",
        "coefficients",
        "status",
        "gap",
        "steps",
    ]
    assert first["steps"][0]["feature"] == "a"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": [1, 1]}, "target: a front is over all models"),
        ({"weights": {"final": 1, "lambda": 1}}, "tries every lambda itself"),
        ({"weights": {"alpha": [0, 1, 1, 1]}}, "the first is 0"),
        ({"cost": {"gram": [[1, 0], [0, 1]], "linear": [1, 1], "constant": 1}}, "negative somewhere"),
        ({"cost": {"gram": [[1, 0], [0, 1]], "linear": [1, 0], "constant": 1}}, "one step brings it to 0"),
    ],
)
def test_refusals(free_toy, change, message):
    with pytest.raises(ProblemError, match=message):
        pareto_front({**free_toy, **change})


def test_a_solver_nobody_knows(free_toy):
    cost = {"gram": [[1, 0], [0, 1]], "linear": [2, 0], "constant": 5}
    for change in ({}, {"cost": cost, "start": [2, 0]}):
        with pytest.raises(ProblemError, match=r"^solver: 'cplex' is not known; use one of auto"):
            pareto_front({**free_toy, **change}, solver="cplex")


@pytest.mark.parametrize("resolution", [0.0, 1e-7, 2.0, math.nan, "fine", None, True])
def test_a_resolution_is_a_part_of_the_range_of_costs(free_toy, resolution):
    with pytest.raises(ProblemError, match="resolution"):
        pareto_front(free_toy, resolution=resolution)


def test_models_that_no_weighted_sum_finds_are_not_listed():
    points = [
        FrontPoint(cost, loss, Path(4.0, (), 0), ()) for loss, cost in ((0, 4.0), (1, 3.5), (2, 1.0), (2, 3.0), (3, 1.0))
    ]
    assert [(p.loss, p.cost, p.lam) for p in _hull(points, 1e-9)] == [(0, 4.0, (1.5, math.inf)), (2, 1.0, (0.0, 1.5))]


def test_the_weights_of_a_trade_off():
    tradeoff = _Tradeoff(GeometricWeights(0.5), 2.0)
    assert tradeoff.alphas(3).tolist() == FinalWeights(1.0, 2.0, 0.5).alphas(3).tolist()
    assert tradeoff.to_dict() == FinalWeights(1.0, 2.0, 0.5).to_dict()
    assert _Tradeoff(ExplicitWeights((1.0, 3.0)), 2.0).alphas(2).tolist() == [2.0, 7.0]


@pytest.mark.parametrize("calls", [0, 1, 6, 1000])
def test_when_the_time_is_over_the_front_is_what_was_found(document, calls):
    """Whenever that is, no model beats the points by more than the shortfall; the limit is for all values of λ together."""
    asked = itertools.count()
    problem = parse_problem({**document(2, 3), "target": None, "steps": 3})
    front = pareto_front(problem, resolution=1e-3, interrupted=lambda: next(asked) >= calls)
    check_shape(front)
    assert front.status == ("bounded" if calls < 1000 else "optimal")
    for lam in (1e-3, 0.05, 0.3, 2.0):
        ours, best = min(point.value(lam) for point in front.points), least_value(problem, lam)
        assert ours <= best + front.shortfall * (1 + 1e-6) + 1e-9 * front.points[0].cost
