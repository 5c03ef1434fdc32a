"""The front with what no weighted sum reaches: the paper's toy, and every sequence under a generic constrained optimiser."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from coordpath_governance.paths import front, pareto_front, parse_problem, path_loss
from coordpath_governance.paths.fronts import sequence_list, whole_front
from coordpath_governance.paths.fronts.curves import Curves
from coordpath_governance.paths.fronts.lower_arcs import Arc, lower_arcs
from coordpath_governance.paths.fronts.sequence_curves import neighbours
from coordpath_governance.paths.fronts.shortfall import LowerSide, find_shortfall
from coordpath_governance.paths.patience import Patience


@pytest.fixture(scope="module")
def free_toy(toy):
    return {**toy, "target": None, "steps": 4}


@pytest.fixture(scope="module")
def toy_arcs(free_toy):
    return pareto_front(free_toy).whole


def matrices(problem, sequence):
    """Loss and last cost of a sequence as (v, 1)ᵀM(v, 1) of its values v, from the gram matrix."""
    gram, linear, start = problem.cost.gram, problem.cost.linear, problem.start
    alphas, terms = problem.alphas(len(sequence)), len(sequence)
    loss = np.zeros((terms + 1, terms + 1))
    cost = np.zeros_like(loss)
    for k in range(1, terms + 1):
        model = np.zeros((len(start), terms + 1))
        model[:, -1] = start
        for j in range(k):
            model[sequence[j], j] = 1.0
        cost = model.T @ gram @ model
        cost[-1] -= linear @ model
        cost[:, -1] -= linear @ model
        cost[-1, -1] += problem.cost.constant
        loss += alphas[k - 1] * cost
    return loss, cost


def least_cost(problem, allowed):
    """The least cost at a loss of at most ``allowed``, over every sequence of units, by SLSQP from several starts."""
    best = problem.cost.value(problem.start)
    rng = np.random.default_rng(0)
    for terms in range(1, problem.most_terms + 1):
        for sequence in itertools.product(range(len(problem.start)), repeat=terms):
            loss, cost = matrices(problem, sequence)
            easiest = -np.linalg.lstsq(loss[:-1, :-1], loss[:-1, -1], rcond=None)[0]

            def of(values, matrix):
                at = np.append(values, 1.0)
                return float(at @ matrix @ at), 2.0 * (matrix @ at)[:-1]

            freest = -np.linalg.lstsq(cost[:-1, :-1], cost[:-1, -1], rcond=None)[0]
            if of(easiest, loss)[0] > allowed or of(freest, cost)[0] >= best:
                continue
            best = min(best, of(easiest, cost)[0])
            for start in (easiest, easiest + 0.1 * rng.standard_normal(terms)):
                found = minimize(
                    of,
                    start,
                    args=(cost,),
                    jac=True,
                    method="SLSQP",
                    constraints={
                        "type": "ineq",
                        "fun": lambda v, m=loss: allowed - of(v, m)[0],
                        "jac": lambda v, m=loss: -of(v, m)[1],
                    },
                    options={"maxiter": 300, "ftol": 1e-13},
                )
                if of(found.x, loss)[0] <= allowed * (1 + 1e-9):
                    best = min(best, found.fun)
    return best


def cost_at(whole, loss):
    """The cost of the last listed model that has at most this loss."""
    return min(sample.cost for arc in whole.arcs for sample in arc.samples if sample.loss <= loss * (1 + 1e-12))


def test_the_toy_is_the_table_of_its_exact_front(toy_arcs):
    assert (toy_arcs.method, toy_arcs.status) == ("all sequences", "optimal")
    none, one, two, three = toy_arcs.arcs
    assert [arc.units for arc in toy_arcs.arcs] == [(), ("a",), ("a", "b"), ("a", "b", "a")]

    def ends(arc):
        return [(arc.samples[i].loss, arc.samples[i].cost) for i in (0, -1)]

    assert ends(none) == [(0.0, pytest.approx(2.04096))] * 2
    assert ends(one) == [pytest.approx((0.417884, 0.417884))] * 2
    assert ends(two) == [pytest.approx((0.7822, 0.3460), abs=5e-5), pytest.approx((1.1943, 0.25285), abs=5e-5)]
    assert ends(three) == [pytest.approx((1.1943, 0.25285), abs=5e-5), pytest.approx((1.2757, 0.25), abs=5e-5)]
    reached = [[sample.loss for sample in arc.samples if sample.supported] for arc in (two, three)]
    assert (min(reached[0]), max(reached[0])) == pytest.approx((0.8577, 1.1389), abs=5e-5)
    assert (min(reached[1]), max(reached[1])) == pytest.approx((1.2200, 1.2757), abs=5e-5)
    assert none.samples[0].supported
    assert one.samples[0].supported
    last = [move for step in three.samples[-1].path.steps for move in step.moves]
    assert [move.after for move in last] == pytest.approx([1.697, -0.94, 2.12], abs=2e-3)
    assert [step.cost for step in three.samples[-1].path.steps] == pytest.approx([0.597, 0.429, 0.25], abs=5e-4)


def test_samples_are_what_their_paths_cost(toy_arcs, free_toy):
    problem = parse_problem(free_toy)
    for arc in toy_arcs.arcs:
        losses = [sample.loss for sample in arc.samples]
        assert losses == sorted(losses)
        for sample in arc.samples:
            assert sample.cost == pytest.approx(problem.cost.value(np.array(sample.coefficients)))
            assert sample.loss == pytest.approx(path_loss(sample.path, problem.weights))


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    weights=st.sampled_from([{"gamma": 1.0}, {"gamma": 0.4}, {"gamma": 2.0}, {"alpha": [1.0, 0.25, 1.5]}]),
    part=st.floats(0.05, 1.1),
    dependent=st.booleans(),
)
def test_no_path_of_the_same_loss_costs_less(document, seed, weights, part, dependent):
    asked = {**document(seed, 3, dependent=dependent), "target": None, "steps": 3, "weights": weights}
    problem = parse_problem(asked)
    if not problem.cost.value(problem.start) - problem.cost.minimum() > 1e-6:
        return
    whole = pareto_front(problem, resolution=0.01).whole
    assert whole.method == "all sequences"
    last = max(sample.loss for arc in whole.arcs for sample in arc.samples)
    arc = next((arc for arc in whole.arcs if arc.samples[-1].loss >= part * last), whole.arcs[-1])
    sample = min(arc.samples, key=lambda each: abs(each.loss - part * last))
    scale = problem.cost.value(problem.start)
    assert sample.cost == pytest.approx(least_cost(problem, sample.loss * (1 + 1e-9)), abs=2e-5 * scale)


def test_a_flat_stretch_is_flat(free_toy, toy_arcs):
    problem = parse_problem(free_toy)
    for loss in (0.2, 0.5, 0.78):
        assert cost_at(toy_arcs, loss) == pytest.approx(least_cost(problem, loss), abs=1e-6)


def test_groups_move_as_one(document):
    problem = parse_problem({**document(5, 4, grouped=True), "target": None, "steps": 2})
    whole = pareto_front(problem, resolution=0.01).whole
    assert whole.status == "optimal"
    labels = {unit.label for unit in problem.units}
    assert {unit for arc in whole.arcs for unit in arc.units} <= labels
    for arc in whole.arcs:
        for sample in arc.samples:
            assert sample.cost == pytest.approx(problem.cost.value(np.array(sample.coefficients)))


def test_too_many_sequences_leave_a_stated_shortfall(document, monkeypatch):
    problem = parse_problem({**document(7, 4), "target": None, "steps": 3})
    exact = pareto_front(problem, resolution=0.01).whole
    monkeypatch.setattr(sequence_list.all_sequences, "__defaults__", (10,))
    near = pareto_front(problem, resolution=0.01).whole
    assert (exact.method, near.method) == ("all sequences", "neighbours")
    assert near.sequences < exact.sequences or near.sequences > 10
    for arc in exact.arcs:
        for sample in arc.samples:
            assert cost_at(near, sample.loss * (1 + 1e-6)) - near.shortfall <= sample.cost * (1 + 1e-9)
    span = near.arcs[0].samples[0].cost - problem.cost.minimum()
    assert near.status == ("optimal" if near.shortfall <= 0.01 * span else "bounded")


def test_bounds_on_the_loss_of_every_length_close_the_jumps(document, monkeypatch):
    problem = parse_problem({**document(7, 6), "target": None, "steps": 3})
    monkeypatch.setattr(sequence_list.all_sequences, "__defaults__", (10,))
    with_bounds = pareto_front(problem, resolution=0.01).whole
    monkeypatch.setattr(front._Tracer, "_least_loss", lambda *_: 0.0)
    without = pareto_front(problem, resolution=0.01).whole
    assert with_bounds.shortfall < without.shortfall
    monkeypatch.undo()
    assert front._Tracer(problem, 0.01, Patience(lambda: True), None)._least_loss(2) == 0.0


def test_uneven_weights_draw_nothing(free_toy):
    front = pareto_front({**free_toy, "weights": {"alpha": [1.0, 0.0, 1.0, 1.0]}})
    assert front.whole is None
    assert front.to_dict()["whole"] is None


def test_a_start_that_cannot_be_bettered_is_one_arc(free_toy):
    cost = {"gram": [[1, 0], [0, 1]], "linear": [2, 0], "constant": 5}
    whole = pareto_front({**free_toy, "cost": cost, "start": [2, 0]}).whole
    assert [(arc.units, len(arc.samples)) for arc in whole.arcs] == [((), 1)]
    assert whole.status == "optimal"


def test_a_unit_without_data_moves_nowhere(free_toy):
    cost = {"gram": [[1, 0], [0, 0]], "linear": [1.0, 0.0], "constant": 2.0}
    whole = pareto_front({**free_toy, "cost": cost}).whole
    assert {unit for arc in whole.arcs for unit in arc.units} == {"a"}


def test_resting_can_pay_where_weights_fall(free_toy):
    """With γ < 1 a unit may move twice in a row; such sequences are among those that are listed."""
    alphas = np.array([0.1, 0.01])
    problem = parse_problem({**free_toy, "steps": 2, "weights": {"gamma": 0.1}})
    drawing = whole_front._Drawing(problem, alphas)
    found = sequence_list.all_sequences(drawing._made, alphas, np.zeros(2), 10.0)
    assert {(0, 0), (0, 1), (1, 0), (1, 1)} <= set(found.sequences)
    rising = sequence_list.all_sequences(drawing._made, alphas[::-1], np.zeros(2), 10.0)
    assert (0, 0) not in rising.sequences


def test_neighbours_of_a_sequence():
    near = neighbours([(0, 1)], (0, 1, 2), 3)
    assert {(0, 1), (1, 0), (2, 1), (0, 2), (0,), (1,), (0, 1, 2), (2, 0, 1)} <= set(near)
    assert () not in near
    assert max(map(len, neighbours([(0, 1)], (0, 1), 2))) == 2


def curves_of(*shapes):
    """One value each: (L₀, C₀, d, δ)."""
    least_loss, least_cost, bend, apart = (np.array(each) for each in zip(*shapes, strict=True))
    return Curves(least_loss, least_cost, bend[:, None], apart[:, None])


def test_a_curve_falls_as_its_tangent_says():
    curve = curves_of((1.0, 0.5, 2.0, 0.7))
    for loss in (1.1, 1.2, 1.4):
        (cost,), (lam,) = curve.lowest(loss)
        after = curve.lowest(loss + 1e-6)[0][0]
        assert (cost - after) / 1e-6 == pytest.approx(lam, rel=1e-4)
        assert curve.loss(np.array([lam])) == pytest.approx([loss])
    assert curve.lowest(0.9)[0].tolist() == [math.inf]
    assert curve.lowest(1.0)[1].tolist() == [math.inf]
    assert curve.lowest(9.0)[0] == pytest.approx([0.5])


def test_arcs_cross_where_two_curves_do():
    curves = curves_of((0.0, 5.0, 0.0, 0.0), (0.5, 1.0, 1.0, 1.0), (1.0, 0.4, 4.0, 0.8))
    arcs = lower_arcs(curves, 3.0, 1e-10)
    assert [arc.curve for arc in arcs] == [0, 1, 2]
    at = arcs[1].end
    assert arcs[2].begin == pytest.approx(at)
    first, second = curves.lowest(at)[0][1:]
    assert second <= first + 1e-6


def test_the_shortfall_is_the_most_that_bounds_leave_open():
    curves = curves_of((0.0, 2.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0))
    arcs = [Arc(0, 0.0, 0.0), Arc(1, 1.0, 1.0)]
    lower = LowerSide([(1.0, 1.8)], np.array([2.0, 0.5]), np.array([0.6]))
    gaps = []
    for loss in np.linspace(0.0, 1.5, 30_001):
        bound = max(2.0 if loss < 0.6 else 0.5, 1.8 - loss)
        gaps.append((2.0 if loss < 1.0 else 1.0) - bound)
    assert find_shortfall(curves, arcs, lower, 1.5) == pytest.approx(max(gaps), abs=1e-3)
