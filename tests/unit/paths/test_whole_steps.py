"""Steps by whole numbers: against all walks of small problems, Gurobi, and what must be refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.errors import ProblemError, SolverUnavailableError, UsageError
from coordpath_governance.paths import parse_problem, problem_to_dict, solve, step_types
from coordpath_governance.paths.constraints import Box, Constraints, Frozen, Monotone, Order, Sign
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.problem_document import parse_weights
from coordpath_governance.paths.solution import solve_within
from coordpath_governance.paths.solvers import table, whole_steps
from coordpath_governance.paths.solvers.whole_steps import WholeSteps
from coordpath_governance.paths.step_types import INTEGER, UNIT, GridSteps, register_step_type
from coordpath_governance.paths.whole_steps import quadratic_states, state_search
from coordpath_governance.paths.whole_steps.whole_moves import whole_moves

from .whole_oracle import best_whole_walk, keeps_to

TYPES = (INTEGER, UNIT, GridSteps("quarter", 0.25), GridSteps("two up, one down", 0.5, up=2, down=1))
WEIGHTS = ({"gamma": 1.0}, {"gamma": 0.5}, {"final": 1.0, "lambda": 0.0}, {"alpha": [0, 1.0, 0, 2, 0, 1]})


@st.composite
def whole_problems(draw):
    size = draw(st.integers(1, 3))
    goal = draw(st.none() | st.lists(st.integers(-2, 2), min_size=size, max_size=size))
    ends = st.tuples(st.integers(-3, 1), st.integers(0, 3))
    return {
        "seed": draw(st.integers(0, 10_000)),
        "size": size,
        "dependent": draw(st.booleans()),
        "type": draw(st.sampled_from(TYPES)),
        "goal": goal,
        "terms": draw(st.integers(1, 5)),
        "weights": draw(st.sampled_from(WEIGHTS)),
        "boxes": draw(st.lists(ends, min_size=size, max_size=size)),
        "sign": draw(st.sampled_from([None, True, False])),
        "frozen": draw(st.integers(0, 9)),
        "order": draw(st.integers(0, 3)),
        "monotone": draw(st.booleans()),
    }


def made(base, case):
    """The problem of a case, from one that says cost and start."""
    names, start, steps = base.features, base.start, case["type"]
    boxes = zip(names, start.tolist(), case["boxes"], strict=True)
    items = [Box(name, at + steps.spacing * low, at + steps.spacing * high) for name, at, (low, high) in boxes]
    items += [Sign(names[0], case["sign"])] * (case["sign"] is not None and case["seed"] % 3 == 0)
    items += [Frozen(names[-1])] * (case["frozen"] == 0)
    items += [Order(a, b) for a, b in itertools.pairwise(names[: case["order"]])]
    items += [Monotone()] * case["monotone"]
    target = None if case["goal"] is None else start + steps.spacing * np.array(case["goal"])
    return replace(
        base,
        target=target,
        steps=case["terms"],
        step_type=steps,
        weights=parse_weights(case["weights"]),
        constraints=Constraints(tuple(items)),
    )


def check(base, case):
    try:
        problem = made(base, case)
    except ProblemError:
        return  # refused as it is read: test_constraints
    want = best_whole_walk(problem, 3, case["terms"])
    if want == np.inf:
        with pytest.raises(ProblemError, match=r"^(constraints|steps): "):
            solve(problem)
        return
    found = solve(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(want, rel=1e-9, abs=1e-9)
    assert keeps_to(problem, found.path)
    for name in ("greedy", "local"):
        try:
            other = solve(replace(problem, solver=name))
        except SolverUnavailableError as error:  # noqa: PERF203
            assert "found no" in str(error)  # noqa: PT017 - one of two outcomes
        else:
            assert other.lower_bound <= want + 1e-9 <= other.objective + 2e-9


@settings(max_examples=120, deadline=None)
@given(case=whole_problems())
def test_walks_under_a_quadratic_cost_are_the_best_of_all(document, case):
    asked = document(case["seed"], case["size"], dependent=case["dependent"])
    check(parse_problem({**asked, "target": None, "steps": 1}), case)


@settings(max_examples=25, deadline=None)
@given(case=whole_problems())
def test_walks_under_a_cost_on_rows_are_the_best_of_all(convex, case):
    kind = ("logistic", "poisson")[case["seed"] % 2]
    check(convex(kind, case["size"], seed=case["seed"], idle=(0,) * case["dependent"]), case)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", ["integer", "unit"])
def test_gurobi_agrees(document, seed, steps):
    gurobipy = pytest.importorskip("gurobipy")
    asked = document(seed, 3)
    problem = parse_problem({**asked, "target": None, "steps": 3, "step_type": steps})
    reach, terms, size = 4, 3, 3
    box = {name: [at - reach, at + reach] for name, at in zip(problem.features, problem.start.tolist(), strict=True)}
    found = solve({**asked, "target": None, "steps": terms, "step_type": steps, "constraints": {"box": box}})
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        z = model.addVars(terms + 1, size, lb=-reach, ub=reach, vtype="I")
        moves = model.addVars(terms, size, vtype="B")
        most = 1 if steps == "unit" else 2 * reach
        objective = 0
        for j in range(size):
            model.addConstr(z[0, j] == 0)
        for k in range(terms):
            model.addConstr(sum(moves[k, j] for j in range(size)) <= 1)
            for j in range(size):
                model.addConstr(z[k + 1, j] - z[k, j] <= most * moves[k, j])
                model.addConstr(z[k, j] - z[k + 1, j] <= most * moves[k, j])
            beta = [problem.start[j] + z[k + 1, j] for j in range(size)]
            gram = problem.cost.gram
            objective += sum(gram[i, j] * beta[i] * beta[j] for i in range(size) for j in range(size))
            objective += problem.cost.constant - 2 * sum(problem.cost.linear[j] * beta[j] for j in range(size))
        model.setParam("MIPGap", 1e-9)
        model.setObjective(objective)
        model.optimize()
        assert found.objective == pytest.approx(model.ObjVal, rel=1e-6)
    assert found.status == "optimal"


def test_unit_steps_take_as_many_as_the_points_between(toy):
    found = solve({**toy, "start": [0.5, 0], "target": [2.5, -1], "step_type": "unit"})
    assert (found.path.terms, len(found.path.steps), found.status) == (3, 3, "optimal")
    assert len(solve({**toy, "target": [2, -1], "step_type": "integer"}).path.steps) == 2
    assert solve({**toy, "target": [1, -1], "step_type": "unit"}).certificate.solver == "lattice"
    there_and_back = solve({**toy, "target": [0, 0], "step_type": "unit", "steps": 2})
    assert [step.moves[0].after for step in there_and_back.path.steps] == [1, 0]
    with pytest.raises(ProblemError, match=r"^steps: 2 are too few .*, which takes 3 steps of the type 'unit'"):
        solve({**toy, "target": [2, -1], "step_type": "unit", "steps": 2})
    with pytest.raises(ProblemError, match=r"^target: takes 1000 steps of the type 'unit', and no more than 201"):
        solve({**toy, "target": [1000, 0], "step_type": "unit"})


@pytest.mark.parametrize("more", [{}, {"steps": 5}], ids=str)
def test_ends_that_are_not_whole_steps_apart_name_the_feature(toy, more):
    with pytest.raises(ProblemError, match=r"^target\[0\]: steps of the type 'unit' do not lead from 0.0 to 2.5 \('a'\)"):
        solve({**toy, "target": [2.5, 1], "step_type": "unit", **more})


def test_groups_move_by_whole_steps_only_where_every_unit_moves_once(toy):
    grouped = {**toy, "groups": [["a", "b"]], "step_type": "unit"}
    assert solve({**grouped, "target": [1, -1]}).path.steps[0].kind == "group"
    with pytest.raises(ProblemError, match=r"^groups: every unit would move once, .*'a \+ b' needs more than one step"):
        solve({**grouped, "target": [2, -1]})
    with pytest.raises(ProblemError, match=r"^max_steps: every unit would move once, .*'a' needs more than one step"):
        solve({**toy, "target": [2, -1], "max_steps": 1, "step_type": "unit"})
    with pytest.raises(ProblemError, match=r"^groups: 'a \+ b': with steps of the type 'unit' groups move only where"):
        solve({**grouped, "target": None, "steps": 2})


@pytest.mark.parametrize(("spacing", "up", "down"), [(0, 1, 1), (np.inf, None, None), (1, 0, 0), (1, -1, 2)], ids=str)
def test_a_step_type_without_steps_is_refused(spacing, up, down):
    with pytest.raises(UsageError, match=r"^step type 'odd': "):
        GridSteps("odd", spacing, up, down)


def test_what_a_grid_allows():
    rising = GridSteps("rising", 0.1, up=3, down=0)
    assert [rising.fewest(0.0, after) for after in (0.0, 0.3, 0.7, 0.25, -0.1)] == [0, 1, 3, None, None]
    assert rising.allows(0.1, 0.4)
    assert not rising.allows(0.1, 0.5)
    assert rising.lacks(WholeSteps(1.0)) is None


def test_a_step_type_of_a_users_own(toy, monkeypatch):
    monkeypatch.setattr(step_types, "STEP_TYPES", dict(step_types.STEP_TYPES))
    register_step_type(GridSteps("quarter", 0.25))
    asked = {**toy, "target": None, "steps": 3, "step_type": "quarter"}
    assert problem_to_dict(parse_problem(asked))["step_type"] == "quarter"
    assert all((4 * step.moves[0].after).is_integer() for step in solve(asked).path.steps)


def test_solvers_that_make_no_whole_steps_say_so(toy, convex):
    with pytest.raises(SolverUnavailableError, match=r"^solver gurobi: makes no whole steps; use auto"):
        solve({**toy, "target": None, "steps": 2, "step_type": "integer", "solver": "gurobi"})
    on_rows = replace(convex("logistic", 2), steps=3, constraints=Constraints((Monotone(),)))
    on_rows = replace(on_rows, target=on_rows.start)
    with pytest.raises(ProblemError, match=r"^constraints: under a cost on rows they bind orders and whole steps"):
        solve(on_rows)
    with pytest.raises(ProblemError, match=r"^step_type: 'coordinate' has no spacing"):
        whole_moves(on_rows)


def test_values_keep_to_the_box_to_the_last_digit(toy):
    found = solve({**toy, "start": [0.1, 0], "target": None, "steps": 2, "step_type": "integer",
                   "constraints": {"box": {"a": [0, 0.1 + 1.0 - 1e-16], "b": [0, 0]}}})  # fmt: skip
    assert all(step.moves[0].after <= 0.1 + 1.0 - 1e-16 for step in found.path.steps)


@pytest.mark.parametrize(("tables", "dependent"), [(12, False), (0, False), (0, True)])
def test_work_that_ends_leaves_a_bound(document, tables, dependent, monkeypatch):
    monkeypatch.setattr(quadratic_states, "TABLE_UP_TO", tables)
    asked = {**document(5, 4, dependent=dependent), "target": None, "steps": 5, "step_type": "integer"}
    best = solve(asked)
    assert best.status == "optimal"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table.WALK_SOLVERS, "auto", (WholeSteps(2e5),))
        short = solve(asked)
    assert short.lower_bound <= best.objective + 1e-9 <= short.objective + 2e-9
    told = []
    late = solve_within(parse_problem(asked), Patience(lambda: True, timed=True, progress=lambda *each: told.append(each)))
    assert late.lower_bound <= best.objective + 1e-9 <= late.objective + 2e-9
    solve(asked, progress=lambda *each: told.append(each))
    assert {stage for stage, *_ in told} == {"a first walk", "states that could be better"}
    asks = iter([False] * 30 + [True] * 10_000)
    between = solve_within(parse_problem(asked), Patience(lambda: next(asks), timed=True))
    assert between.lower_bound <= best.objective + 1e-9 <= between.objective + 2e-9


def test_steps_are_made_from_promising_states_until_the_work_is_used_up(document, monkeypatch):
    asked = {**document(5, 5), "target": None, "steps": 6, "step_type": "integer"}
    asked["cost"] = {**asked["cost"], "linear": [10 * value for value in asked["cost"]["linear"]]}
    asked["cost"]["constant"] *= 100
    best = solve(asked)
    monkeypatch.setattr(state_search, "_AT_ONCE", 1)
    monkeypatch.setattr(state_search, "_STEPS", 0)
    monkeypatch.setattr(whole_steps, "_BEAMS", (1,))
    monkeypatch.setitem(table.WALK_SOLVERS, "auto", (WholeSteps(1e6),))
    short = solve(asked)
    assert (best.status, short.status) == ("optimal", "bounded")
    assert short.lower_bound <= best.objective + 1e-9 <= short.objective + 2e-9


def test_columns_that_nothing_holds_are_bounded(toy):
    same = {**toy, "cost": {"gram": [[1, 1], [1, 1]], "linear": [2.4, 2.4], "constant": 9}, "target": None}
    free = solve({**same, "steps": 3, "step_type": "integer", "weights": {"alpha": [0, 0, 1]}})
    assert free.lower_bound <= free.objective
    assert free.path.costs()[-1] == pytest.approx(9 - 4.8 * 2 + 4)
    nothing = {**same, "cost": {"gram": [[1, 0], [0, 0]], "linear": [2.4, 0], "constant": 9}, "step_type": "integer"}
    first = solve({**nothing, "steps": 2, "constraints": {"order": [["b", "a"]]}})
    assert [step.label for step in first.path.steps] == ["b", "a"]
    assert solve({**nothing, "steps": 3, "target": [2, 3]}).status == "optimal"
    still = {**nothing, "steps": 2, "constraints": {"frozen": ["a", "b"]}}
    assert solve(still).path.steps == ()


def test_conflicts_that_only_a_search_shows_are_named(toy):
    far = {**toy, "start": [-5, 0], "target": [2, 0], "step_type": "unit", "steps": 9}
    with pytest.raises(ProblemError, match=r"^constraints: box a \[0, 9\] cannot be met; change"):
        solve({**far, "constraints": {"box": {"a": [0, 9], "b": [-1, 1]}, "order": [["a", "b"]]}})
    over_a_ridge = {
        **toy,
        "cost": {"gram": [[1, 0.99], [0.99, 1]], "linear": [0.02, -0.02], "constant": 9},
        "target": [1, -1],
        "steps": 3,
        "step_type": "unit",
    }
    with pytest.raises(ProblemError, match=r"^constraints: monotone, but every path costs more than the start on the way"):
        solve({**over_a_ridge, "constraints": {"monotone": True, "box": {"a": [-1, 1]}}})
    with pytest.raises(SolverUnavailableError, match="found no path that keeps to the constraints"):
        solve({**over_a_ridge, "solver": "greedy", "constraints": {"monotone": True}})


def test_conflicts_on_rows_are_named(convex):
    problem = replace(convex("logistic", 2, seed=1), target=None, steps=1)
    far = replace(problem, step_type=UNIT, target=problem.start + 5.0, steps=11)
    names = far.features
    cheap, dear = sorted([far.start, far.target], key=lambda beta: float(far.cost.values(beta[None])[0]))
    with pytest.raises(ProblemError, match=r"^constraints: monotone, but the target costs more than the start"):
        solve(replace(far, start=cheap, target=dear, constraints=Constraints((Monotone(),))))
    box = Box(names[0], float(far.start[0]) + 3, None)
    with pytest.raises(ProblemError, match=r"^constraints: box \S+ \[.*, null\] cannot be met"):
        solve(replace(far, constraints=Constraints((box, Order(*names)))))
