"""Updates by k units: against every set of units, for every kind of cost; greedy, LASSO, recalibration, chosen steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from coordpath_governance.costs.newton import newton_step
from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import BASELINE, parse_problem, solve
from coordpath_governance.paths.patience import FOREVER, Patience
from coordpath_governance.paths.updates import lasso, recalibration, set_models, updates
from coordpath_governance.paths.updates.chosen_steps import best_for_choices, check_choices
from coordpath_governance.paths.updates.lasso import entry_order
from coordpath_governance.paths.updates.nearest_sets import search_sets
from coordpath_governance.paths.updates.recalibration import recalibrated
from coordpath_governance.paths.updates.set_models import models_of
from coordpath_governance.paths.updates.updates import find_updates, lasso_sequence
from coordpath_governance.paths.walks import best_subsets

SIZE = 5


def free(document, **more):
    return parse_problem({**document, "target": None, "steps": 2, **more})


def score_document(seed=0, kind="logistic", size=SIZE, rows=120, **more):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(rows), rng.normal(size=(rows, size - 1)) @ (np.eye(size - 1) + 0.4)])
    score = design @ rng.normal(size=size) * 0.5
    target = (
        rng.random(rows) < 1 / (1 + np.exp(-score)) if kind == "logistic" else rng.poisson(np.exp(np.clip(score, -3, 3)))
    )
    return {
        "features": [BASELINE, *(f"x{i}" for i in range(size - 1))],
        "cost": {"kind": kind, "rows": {"design": design.tolist(), "target": target.astype(int).tolist()}},
        "start": [0.3, *[0.2] * (size - 1)],
        "target": None,
        "steps": 2,
        **more,
    }


def cost_of(problem):
    cost = problem.cost
    return cost.value if hasattr(cost, "value") else lambda beta: float(cost.values(beta)[0])


def least_over_sets(problem, size):
    """min c over models that differ in at most so many units: every set, by a generic optimiser."""
    of, best = cost_of(problem), np.inf
    for units in itertools.combinations(range(len(problem.units)), size):
        members = [i for u in units for i in problem.units[u].members]

        def cost(values, members=members):
            beta = problem.start.copy()
            beta[members] = values
            return of(beta)

        found = minimize(cost, problem.start[members], method="BFGS", options={"gtol": 1e-9}) if members else None
        best = min(best, of(problem.start) if found is None else float(found.fun))
    return best


def check(found, problem):
    of = cost_of(problem)
    for update in found.best:
        assert update.model.cost == pytest.approx(of(update.model.beta))
        changed = {
            u for u, unit in enumerate(problem.units) for i in unit.members if update.model.beta[i] != problem.start[i]
        }
        assert len(changed) <= update.size
        assert update.lower_bound <= update.model.cost
        if update.order is not None:
            assert update.order.path.costs()[-1] == pytest.approx(update.model.cost)
            assert update.order.path.terms == len(changed)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), grouped=st.booleans(), dependent=st.booleans())
def test_the_best_of_all_sets(document, seed, grouped, dependent):
    problem = free(document(seed, SIZE, grouped=grouped, dependent=dependent))
    found = find_updates(problem, 4, FOREVER)
    check(found, problem)
    scale = problem.cost.value(problem.start)
    for update in found.best:
        assert update.status == "optimal"
        assert update.model.cost == pytest.approx(least_over_sets(problem, update.size), abs=1e-5 * scale)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_the_best_of_all_sets_on_rows(kind):
    problem = parse_problem(score_document(2, kind, groups=[["x0", "x1"]]))
    found = find_updates(problem, 3, FOREVER)
    check(found, problem)
    for update in found.best:
        assert update.status == "optimal"
        assert update.model.cost == pytest.approx(least_over_sets(problem, update.size), rel=1e-6)


def wide_document(document, size=16):
    return document(11, size)


def test_many_units_by_leaps_and_bounds(document, monkeypatch):
    problem = free(wide_document(document))
    wide = find_updates(problem, 5, FOREVER)
    check(wide, problem)
    assert {update.status for update in wide.best} == {"optimal"}
    monkeypatch.setattr(updates, "FEW_UNITS", 100)
    by_sets = find_updates(problem, 5, FOREVER)
    assert [u.model.cost for u in wide.best] == pytest.approx([u.model.cost for u in by_sets.best])


def test_little_work_leaves_a_gap_and_a_valid_bound(document, monkeypatch):
    problem = free(document(3, 8))
    proved = find_updates(problem, 4, FOREVER)
    monkeypatch.setattr(set_models, "_PROJECTIONS", 12)
    short = find_updates(problem, 4, FOREVER)
    assert "bounded" in {update.status for update in short.best}
    for mine, true in zip(short.best, proved.best, strict=True):
        assert mine.lower_bound <= true.model.cost * (1 + 1e-9)
        assert mine.model.cost >= true.model.cost * (1 - 1e-9)
        assert 0.0 <= mine.gap <= 1.0


def test_no_time_at_all(document):
    problem = free(document(3, 6))
    found = search_sets(models_of(problem, Patience(lambda: True)), 6, 3)
    assert found.sets[0] == ()
    assert (found.bounds <= found.costs + 1e-12).all()


class Table:
    """Costs of sets as given; every set not named costs what its best named subset does."""

    def __init__(self, costs):
        self.known = costs

    def reached(self, sets):
        values = np.array([min(v for k, v in self.known.items() if set(k) <= set(each)) for each in sets])
        return values, values

    def over(self):
        return False


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 10), min_size=31, max_size=31), st.integers(1, 5))
def test_any_monotone_costs_of_sets(values, most):
    every = [units for size in range(1, 6) for units in itertools.combinations(range(5), size)]
    table = Table({(): 10.0, **dict(zip(every, values, strict=True))})
    found = search_sets(table, 5, most)
    for size in range(most + 1):
        sets = [units for k in range(size + 1) for units in itertools.combinations(range(5), k)]
        least = table.reached(sets)[0].min()
        assert found.costs[size] == pytest.approx(least, abs=2e-8)
        assert found.bounds[size] <= least + 1e-12


def test_greedy_is_the_best_single_move_at_each_step(document):
    problem = free(document(4, SIZE))
    of = cost_of(problem)
    models = find_updates(problem, 4, FOREVER).greedy
    for before, after in itertools.pairwise(models):
        moves = []
        for i in range(SIZE):
            curve = [of(before.beta + step * np.eye(SIZE)[i]) for step in (-1.0, 0.0, 1.0)]
            bend, slope = (curve[0] + curve[2]) / 2 - curve[1], (curve[2] - curve[0]) / 2
            moves.append(curve[1] - slope**2 / (4 * bend) if bend > 0 else curve[1])
        assert after.cost == pytest.approx(min(moves))
        assert np.count_nonzero(before.beta != after.beta) == 1


def test_greedy_ends_where_no_move_helps():
    cost = {"gram": [[1, 0], [0, 1]], "linear": [2, 0], "constant": 5}
    problem = parse_problem({"features": ["a", "b"], "cost": cost, "start": [0, 0], "target": None, "steps": 2})
    found = find_updates(problem, 5, FOREVER)
    assert [len(model.units) for model in found.greedy] == [0, 1]
    assert [update.size for update in found.best] == [0, 1, 2]
    assert found.best[2].model.cost == pytest.approx(1.0)
    assert [len(model.units) for model in found.lasso] == [0, 1]
    assert found.recalibrations == ()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 7))
def test_the_lasso_takes_columns_in_as_scikit_learn_does(seed, width):
    from sklearn.linear_model import lars_path

    rng = np.random.default_rng(seed)
    design = rng.standard_normal((40, width)) @ (np.eye(width) + 0.5 * rng.standard_normal((width, width)))
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    target = design @ rng.standard_normal(width) + rng.standard_normal(40)
    target -= target.mean()
    _, _, coefs = lars_path(design, target, method="lasso")
    first = [int(np.argmax(coefs[j] != 0)) if (coefs[j] != 0).any() else 10**6 for j in range(width)]
    order = entry_order(-target / np.sqrt(40), design / np.sqrt(40))
    assert [first[j] for j in order] == sorted(first)[: len(order)]
    assert len(order) == width


def test_the_lasso_path_of_scikit_learn():
    from sklearn.linear_model import lasso_path

    rng = np.random.default_rng(3)
    design = rng.standard_normal((50, 4)) @ (np.eye(4) + 0.5)
    design = (design - design.mean(axis=0)) / design.std(axis=0)
    target = design @ [1.0, -2.0, 0.5, 0.2] + rng.standard_normal(50)
    target -= target.mean()
    top = np.abs(design.T @ target).max() / 50
    _, coefs, _ = lasso_path(design, target, alphas=np.geomspace(top, top / 100, 400))
    first = [int(np.argmax(np.abs(row) > 1e-9)) if (np.abs(row) > 1e-9).any() else 400 for row in coefs]
    order = entry_order(-target / np.sqrt(50), design / np.sqrt(50))
    assert [first[j] for j in order] == sorted(first)


def test_the_lasso_leaves_out_what_brings_nothing_new():
    columns = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert entry_order(np.array([-1.0, 0.0]), columns) == (0,)
    assert entry_order(np.zeros(2), columns) == ()
    assert entry_order(np.array([0.0, -1.0]), columns) == ()


def test_the_lasso_passes_over_a_combination_of_what_is_in(monkeypatch):
    half = np.sqrt(0.5)
    columns = np.array([[half, 1.0, 0.0], [half, 0.0, 1.0]])
    assert entry_order(np.array([-1.0, -0.8]), columns) == (0, 1)
    monkeypatch.setattr(lasso, "_EVENTS", 1)
    assert entry_order(np.array([-1.0]), np.ones((1, 1))) == (0,)


def test_a_column_that_leaves_is_listed_once():
    """Seeds at which some coefficient returns to zero on the way."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        design = rng.standard_normal((12, 6)) @ (np.eye(6) + rng.standard_normal((6, 6)))
        design /= np.linalg.norm(design, axis=0)
        order = entry_order(rng.standard_normal(12), design)
        assert sorted(order) == list(range(6))


def test_the_lasso_sequence_is_fitted_anew(document):
    problem = free(document(6, SIZE))
    found = lasso_sequence(problem, 3, FOREVER)
    for model in found:
        same = [i for i in range(SIZE) if i not in model.units]
        assert model.beta[same].tolist() == problem.start[same].tolist()
    assert found[1].cost == pytest.approx(min(least_over_sets(problem, 1), found[1].cost), abs=1e-9)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_recalibration_on_rows(kind):
    problem = parse_problem(score_document(5, kind))
    of = cost_of(problem)
    models = dict(recalibrated(problem))
    score = np.where([name == BASELINE for name in problem.features], 0.0, problem.start)
    intercept = np.eye(SIZE)[0]
    for name, directions in (("intercept", [intercept]), ("intercept and slope", [intercept, score])):
        along = np.array(directions)
        free_ = minimize(lambda x, d=along: of(problem.start + x @ d), np.zeros(len(along)), options={"gtol": 1e-9})
        assert of(models[name]) == pytest.approx(free_.fun, rel=1e-8)


def test_recalibration_of_several_classes():
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(90), rng.normal(size=(90, 2))])
    document = {
        "features": [f"{name} [{c}]" for name in (BASELINE, "x", "z") for c in range(3)],
        "cost": {
            "kind": "multinomial",
            "classes": 3,
            "rows": {"design": design.tolist(), "target": rng.integers(0, 3, 90).tolist()},
        },
        "start": [0.0, 0.1, 0.2, 0.5, 0.0, -0.5, 0.3, 0.1, 0.0],
        "target": None,
        "steps": 2,
        "groups": [[f"{name} [{c}]" for c in range(3)] for name in (BASELINE, "x", "z")],
    }
    problem = parse_problem(document)
    of = cost_of(problem)
    (_, intercepts), (_, both) = recalibrated(problem)
    assert of(both) < of(intercepts) < of(problem.start)
    assert intercepts[3:].tolist() == problem.start[3:].tolist()


def test_recalibration_of_a_quadratic_cost(document):
    made = document(8, 3)
    made["features"] = [BASELINE, "x1", "x2"]
    problem = free(made)
    of = cost_of(problem)
    score = np.array([0.0, *problem.start[1:]])
    models = dict(recalibrated(problem))
    found = minimize(lambda x: of(problem.start + x[0] * np.eye(3)[0] + x[1] * score), [0.0, 0.0], options={"gtol": 1e-10})
    assert of(models["intercept and slope"]) == pytest.approx(found.fun)
    assert set(models) == {"intercept", "intercept and slope"}


def test_steps_too_long_are_shortened(monkeypatch):
    problem = parse_problem(score_document(5))
    exact = dict(recalibrated(problem))["intercept"]

    def far(slope, curvature):
        step, decrement, raised = newton_step(slope, curvature)
        return 40.0 * step, decrement, raised

    monkeypatch.setattr(recalibration, "newton_step", far)
    assert dict(recalibrated(problem))["intercept"] == pytest.approx(exact, abs=1e-4)
    monkeypatch.setattr(recalibration, "newton_step", lambda slope, _: (slope, 1.0, None))
    assert dict(recalibrated(problem))["intercept"].tolist() == problem.start.tolist()
    monkeypatch.undo()
    monkeypatch.setattr(recalibration, "_ROUNDS", 1)
    assert cost_of(problem)(dict(recalibrated(problem))["intercept"]) < cost_of(problem)(problem.start)


def test_chosen_steps(document):
    problem = free(document(9, SIZE))
    chances = check_choices({1: 0.2, 2: 0.5, 4: 0.3})
    assert chances == (0.2, 0.5, 0.0, 0.3)
    chosen = best_for_choices(problem, chances, lasso_sequence(problem, 4, FOREVER), FOREVER)
    path = chosen.solution.path
    assert chosen.solution.objective == pytest.approx(sum(p * c for p, c in zip(chances, path.costs(), strict=True)))
    again = solve({**document(9, SIZE), "target": None, "steps": 4, "weights": {"p": list(chances)}})
    assert chosen.solution.objective == pytest.approx(again.objective)
    assert chosen.lasso_expected == pytest.approx(sum(p * m.cost for p, m in zip(chances, chosen.lasso, strict=True)))
    assert chosen.numbers <= 4
    assert chosen.lasso_numbers == 1 + 2 + 3 + 4


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ({0: 1.0}, "0 is no number of steps"),
        ({1: -0.1, 2: 1.1}, "the probability -0.1 of 1 steps is not between 0 and 1"),
        ({1: 0.5, 2: 0.4}, "add up to 0.9"),
        ({}, "add up to 0"),
        ({1: float("nan")}, "is not between 0 and 1"),
    ],
)
def test_probabilities_that_are_none(chances, words):
    with pytest.raises(ProblemError, match=words):
        check_choices(chances)


def test_what_updates_need(document):
    with pytest.raises(ProblemError, match="target: updates are over all models"):
        find_updates(parse_problem(document(0, 3)), 2, FOREVER)
    with pytest.raises(ProblemError, match="most: 0 is too few"):
        find_updates(free(document(0, 3)), 0, FOREVER)


@pytest.mark.parametrize("width", [5, 20, 70])
def test_best_subsets_reach_what_they_say(width):
    rng = np.random.default_rng(width)
    columns = rng.standard_normal((width + 5, width)) @ (np.eye(width) + 0.3)
    columns /= np.linalg.norm(columns, axis=0)
    residual = rng.standard_normal(width + 5)
    for most in (2, 6):
        found = best_subsets.best_by_size(residual, columns, most)
        for size, members in enumerate(found.sets):
            part = columns[:, list(members)]
            left = residual - part @ np.linalg.lstsq(part, residual, rcond=None)[0]
            assert len(members) <= size
            assert float(left @ left) >= found.least[size] * (1 - 1e-9)
            if width <= 20:
                assert float(left @ left) == pytest.approx(found.least[size], rel=1e-6)
