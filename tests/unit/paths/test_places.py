"""Units at given steps, and orders for somebody who waits, against all orders there are."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ProblemError
from coordpath_governance.paths import parse_problem, problem_to_dict, solve, solve_problem


def allowed(order, constraints, depth):
    """Whether an order (of labels) keeps to places and required orders; what is not among the first is in the rest."""
    step = {u: min(k, depth + 1) for k, u in enumerate(order, start=1)}
    places = constraints.get("place", {}).items()
    return all(step[u] == (depth + 1 if k == "rest" else k) for u, k in places) and all(
        step[a] < step[b] or step[a] == step[b] == depth + 1 for a, b in constraints.get("order", [])
    )


def least(problem, constraints, objective):
    """The least objective of all orders that are allowed; None if there is none."""
    labels, depth = [unit.label for unit in problem.changed], problem.singles
    orders = itertools.permutations(range(len(labels)))
    kept = (o for o in orders if allowed([labels[u] for u in o], constraints, depth))
    return min((objective(o) for o in kept), default=None)


@st.composite
def placed(draw):
    """A problem's size, how many single steps there are, some places and some orders."""
    size = draw(st.integers(2, 5))
    depth = draw(st.integers(1, size))
    names = draw(st.permutations([f"x{i}" for i in range(size)]))
    steps = draw(st.permutations([*range(1, depth + 1), *["rest"] * (size - depth)]))
    count = draw(st.integers(1, size))
    pairs = draw(st.lists(st.sampled_from(list(itertools.permutations(names, 2))), max_size=2, unique=True))
    return size, depth, dict(zip(names[:count], steps, strict=False)), [list(pair) for pair in pairs]


@given(placed(), st.integers(0, 10**6), st.sampled_from(["auto", "quick", "levels"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_places_against_all_orders(document, oracle, asked, seed, solver, tight):
    from coordpath_governance.paths.solvers import table
    from coordpath_governance.paths.solvers.lattice import Lattice
    from coordpath_governance.paths.solvers.quick_levels import QuickLevels
    from coordpath_governance.paths.solvers.ruled_orders import RuledLattice, RuledLevels

    size, depth, places, pairs = asked
    constraints = {"place": places, "order": pairs}
    weights = {"alpha": [1, 0, 2, 0, 1, 1]} if tight else None
    plain = document(seed, size, max_steps=depth if depth < size else None, weights=weights)
    try:
        problem = parse_problem({**plain, "constraints": constraints})
    except ProblemError as error:
        assert "order" in str(error)  # noqa: PT017 - a circle
        return
    best = least(problem, constraints, oracle(parse_problem(plain)).objective)
    with pytest.MonkeyPatch.context() as patch:
        if solver == "levels":
            few = Lattice(2), QuickLevels(10**6), RuledLattice(2), RuledLevels(10**6)
            patch.setitem(table.ORDER_SOLVERS, "auto", few)
        if best is None:
            with pytest.raises(ProblemError, match="constraints: "):
                solve_problem(problem, solver="quick" if solver == "quick" else "auto")
            return
        solution = solve_problem(problem, solver="quick" if solver == "quick" else "auto")
    assert solution.objective == pytest.approx(float(best), rel=1e-9, abs=1e-9)
    assert solution.lower_bound <= float(best) + 1e-9 * (1 + abs(float(best)))
    if solver != "levels":
        assert solution.status == "optimal"
    steps = [step.label for step in solution.path.steps if step.kind != "rest"]
    for feature, k in places.items():
        assert (feature not in steps) if k == "rest" else steps[k - 1] == feature


@pytest.mark.parametrize("solver", ["auto", "quick"])
@pytest.mark.parametrize(
    "places", [{"x1": 1}, {"x0": 3, "x2": 1}, {"x3": "rest"}, {"x3": "rest", "x0": 2}, {"x0": 1, "x1": 2}]
)
@pytest.mark.parametrize("weights", [None, {"alpha": [1, 0, 1, 0, 1]}])
def test_places_on_rows_against_all_orders(convex, enumeration, places, weights, solver):
    from dataclasses import replace

    from coordpath_governance.paths.constraints import parse_constraints
    from coordpath_governance.paths.problem_document import parse_weights

    more = {"weights": parse_weights(weights)}
    places = {f"{name}0": k for name, k in places.items()}
    if "rest" in places.values():
        more["max_steps"] = 3
    plain = convex("logistic", 4, seed=3, **more)
    problem = replace(plain, constraints=parse_constraints({"place": places}, plain.features))
    best = least(problem, {"place": places}, enumeration(plain).objective)
    solution = solve_problem(problem, solver=solver)
    assert solution.objective == pytest.approx(best, rel=1e-9)
    assert solution.status == "optimal"


def test_places_are_read_and_written(document):
    constraints = {"order": [["x0", "x1"]], "place": {"x1": 2, "x3": "rest"}}
    plain = {**document(0, 4, max_steps=3), "constraints": constraints}
    written = problem_to_dict(parse_problem(plain))
    assert written["constraints"] == constraints
    assert json.loads(json.dumps(written)) == written


@pytest.mark.parametrize(
    ("more", "constraints", "says"),
    [
        ({}, {"place": {"x0": 0}}, r"constraints\.place\.x0: is 0; give the number of a step, from 1 on, or 'rest'"),
        ({}, {"place": {"x0": True}}, "give the number of a step"),
        ({}, {"place": {"x9": 1}}, "'x9' is not one of the features"),
        ({}, {"place": {"x0": 4}}, "place x0 4, but there are 3 single steps"),
        ({}, {"place": {"x0": "rest"}}, "place x0 rest, but max_steps leaves 0 for the rest"),
        (
            {"max_steps": 2},
            {"place": {"x0": "rest", "x1": "rest"}},
            "place x0 rest and place x1 rest, but max_steps leaves 1",
        ),
        ({}, {"place": {"x0": 1, "x1": 1}}, "place x0 1 and place x1 1"),
        ({"groups": [["x0", "x1"]]}, {"place": {"x0": 1, "x1": 2}}, "place x0 1 and place x1 2, which move as one"),
        ({"steps": 5}, {"place": {"x0": 1}}, r"constraints\.place: is for units that move once each"),
        ({"target": None, "steps": 2}, {"place": {"x0": 1}}, r"constraints\.place: is for units that move once each"),
        ({"target": [0, 0, 1], "start": [0, 1, 0]}, {"place": {"x0": 1}}, "place x0 1, but target does not move it"),
        ({}, {"place": {"x0": 1}, "order": [["x1", "x0"]]}, "order x1 → x0 and place x0 1 cannot be met together"),
    ],
)
def test_places_that_cannot_be_are_told_by_name(document, more, constraints, says):
    with pytest.raises(ProblemError, match=says):
        solve({**document(1, 3), **more, "constraints": constraints})


def test_a_group_has_one_place(document):
    asked = {**document(1, 4), "groups": [["x1", "x3"]], "constraints": {"place": {"x3": 2, "x1": 2}}}
    assert [step.label for step in solve(asked).path.steps][1] == "x1 + x3"


@pytest.mark.parametrize("size", [22, 30])
def test_places_of_many_units_cost_no_proof(size):
    """What stands first is done: the others are a problem of their own, and so is what moves with the rest."""
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    try:
        from problems import retrain
    finally:
        sys.path.pop(0)
    asked = retrain(size, max_steps=size - 2)
    free = solve({**asked, "solver": "quick"})
    steps = [step.label for step in free.path.steps if step.kind != "rest"]
    rest = [name for name in asked["features"] if name not in steps]
    places = {**{name: k for k, name in enumerate(steps[:12], start=1)}, **dict.fromkeys(rest, "rest")}
    solution = solve({**asked, "solver": "quick", "constraints": {"place": places}})
    assert [step.label for step in solution.path.steps] == [*steps, "all the rest"]
    assert solution.objective == pytest.approx(free.objective, rel=1e-12)
    assert solution.status == "optimal"
    every = {name: k for k, name in enumerate(steps, start=1)}
    alone = solve({**asked, "constraints": {"place": every}})
    assert (alone.status, alone.objective) == ("optimal", pytest.approx(free.objective, rel=1e-12))


@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_quick_bounds_and_orders(document, oracle, seed, size, tight):
    from coordpath_governance.paths.solvers import table
    from coordpath_governance.paths.solvers.lattice import Lattice
    from coordpath_governance.paths.solvers.quick_levels import QuickLevels

    problem = parse_problem(document(seed, size, max_steps=size - 1 if tight else None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table.ORDER_SOLVERS, "quick", (Lattice(2), QuickLevels(10**6)))
        solution = solve_problem(problem, solver="quick")
    best = float(oracle(problem).optimum())
    assert solution.objective == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert solution.lower_bound <= best + 1e-9 * (1 + abs(best))


def test_quick_walks(document):
    free = {**document(2, 5), "target": None, "steps": 3}
    assert solve({**free, "solver": "quick"}).objective == pytest.approx(solve(free).objective)


def test_quick_takes_many_units_and_stops_when_asked(chain_task):
    from coordpath_governance.paths.patience import Patience
    from coordpath_governance.paths.solvers.quick_levels import QuickLevels

    many = QuickLevels(10**5).solve(chain_task(70, 69))
    assert sorted(many.order) == list(range(70))
    late = QuickLevels(10**5).solve(chain_task(12, 11, patience=Patience(expired=lambda: True)))
    assert sorted(late.order) == list(range(12))
    assert 0.0 <= late.bound < np.inf
    assert 0.0 < many.bound < np.inf


def test_one_unit_and_bounds_that_do_not_come(chain_task, monkeypatch):
    from coordpath_governance.paths.orders.chained_bounds import Refinement
    from coordpath_governance.paths.solvers.quick_levels import QuickLevels

    assert QuickLevels(10**5).solve(chain_task(1, 0)).order == (0,)
    monkeypatch.setattr(Refinement, "bounds", lambda self: None)
    answer = QuickLevels(10**5).solve(chain_task(6, 5))
    assert (sorted(answer.order), answer.bound) == (list(range(6)), 0.0)


def test_a_search_that_beats_the_first_order_is_believed(chain_task, monkeypatch):
    from coordpath_governance.paths.solvers import quick_levels
    from coordpath_governance.paths.solvers.lattice import Lattice

    monkeypatch.setattr(quick_levels, "polish", lambda task, order: (order, task.evaluate(order)))
    monkeypatch.setattr(quick_levels, "beam_order", lambda *_: None)
    better = 0
    for seed in range(8):
        task = chain_task(9, 8, seed=seed)
        answer, best = quick_levels.QuickLevels(10**6).solve(task), Lattice().solve(task)
        assert task.evaluate(answer.order) == pytest.approx(best.bound)
        better += answer.order != tuple(quick_levels.forward_order(task.function))
    assert better


@pytest.mark.parametrize("convex_one", [False, True])
def test_the_listed_order_must_keep_to_the_places(document, convex, convex_one):
    from dataclasses import replace

    from coordpath_governance.errors import SolverUnavailableError
    from coordpath_governance.paths.constraints import parse_constraints

    problem = convex("logistic", 3, max_steps=2) if convex_one else parse_problem(document(1, 3, max_steps=2))
    a, b, c = problem.features
    kept = replace(problem, solver="direct", constraints=parse_constraints({"place": {b: 2, c: "rest"}}, problem.features))
    assert [step.label for step in solve_problem(kept).path.steps] == [a, b, "all the rest"]
    for broken in ({"place": {b: 1, c: 2}}, {"place": {c: 2}, "order": [[b, a]]}):
        asked = replace(kept, constraints=parse_constraints(broken, problem.features))
        with pytest.raises(SolverUnavailableError, match="found no order that keeps to the constraints"):
            solve_problem(asked)
