"""Somebody else's cost family, solver and step type, each through the doors that docs/architecture-paths.md names."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from coordpath_governance.costs.families import FAMILIES, FamilyEntry, Parameter
from coordpath_governance.errors import ProblemError, SolverUnavailableError, UsageError
from coordpath_governance.paths import parse_problem, problem_to_dict, shapley, solve, step_types
from coordpath_governance.paths.row_orders.recorded_cost import recorded
from coordpath_governance.paths.solvers.protocol import (
    EVALUATED_SETS,
    LEAST_SQUARES,
    ROW_WALKS,
    SET_FUNCTION,
    Answer,
)
from coordpath_governance.paths.solvers.table import ORDER_SOLVERS, WALK_SOLVERS
from coordpath_governance.paths.step_types import register_step_type


@dataclass(frozen=True)
class SquaredError:
    """ℓ = unit·(y − η)²: what a quadratic cost says of the same rows."""

    unit: float
    kind: str = "squared"
    scores: int = 1
    loss_name: str = "mean squared error"
    targets: str = "any numbers"
    classifies: bool = False

    def loss(self, target, score):
        return self.unit * (target[:, None] - score[:, 0]) ** 2

    def loss_and_slope(self, target, score):
        return self.loss(target, score), 2.0 * self.unit * (score - target[:, None, None])

    def curvature(self, target, score):
        return np.full((len(target), 1, 1), 2.0 * self.unit)

    def least_curvature(self, target, low, high):
        return self.curvature(target, low)

    def mean(self, score):
        return score

    def link(self, mean):
        return mean

    def outside(self, target):
        return ~np.isfinite(target)


UNIT = Parameter("unit", whole=False, wanted="what a squared error of 1 costs")


@pytest.fixture
def squared(monkeypatch):
    """A line in the table of families."""
    monkeypatch.setitem(FAMILIES, "squared", FamilyEntry(lambda: SquaredError, (UNIT,)))


def on_rows(columns=4, **more):
    """The same problem twice: its cost as rows of the new family, and as their moments."""
    rng = np.random.default_rng(5)
    design, target = rng.integers(-3, 4, (24, columns)).astype(float), rng.integers(-5, 6, 24).astype(float)
    asked = {
        "features": [f"x{j}" for j in range(columns)],
        "start": [0.0] * columns,
        "target": rng.integers(1, 9, columns) / 4,
        **more,
    }
    rows = {"kind": "squared", "unit": 0.5, "rows": {"design": design, "target": target}}
    moments = {"gram": design.T @ design / 48, "linear": design.T @ target / 48, "constant": target @ target / 48}
    return {**asked, "cost": rows}, {**asked, "cost": moments}


def steps(solution):
    return [(step.k, step.label) for step in solution.path.steps]


@pytest.mark.usefixtures("squared")
@pytest.mark.parametrize("more", [{}, {"max_steps": 2}, {"steps": 5}, {"target": None, "steps": 2}], ids=str)
def test_a_new_family_is_solved_by_the_solvers_there_are(more):
    rows, moments = on_rows(**more)
    by_rows, by_moments = solve(rows), solve(moments)
    assert by_rows.status == by_moments.status == "optimal"
    assert by_rows.objective == pytest.approx(by_moments.objective, rel=1e-9)
    assert steps(by_rows) == steps(by_moments)


@pytest.mark.usefixtures("squared")
def test_a_new_family_is_read_written_and_recorded():
    rows, moments = on_rows()
    problem = parse_problem(rows)
    assert shapley(problem) == pytest.approx(shapley(parse_problem(moments)))
    written = problem_to_dict(problem)
    assert {key: written["cost"][key] for key in ("kind", "unit")} == {"kind": "squared", "unit": 0.5}
    assert problem_to_dict(parse_problem(written)) == written
    found = solve(problem)
    record = problem_to_dict(replace(problem, cost=recorded(problem, problem.cost)))
    assert solve(record).to_dict() == found.to_dict()
    with pytest.raises(ProblemError, match=r"^cost\.unit: belongs to the kind 'squared', and only to it; give what"):
        parse_problem({**rows, "cost": {**rows["cost"], "unit": None}})
    with pytest.raises(ProblemError, match=r"^cost\.unit: belongs to the kind 'squared'"):
        parse_problem({**rows, "cost": {**rows["cost"], "kind": "logistic"}})
    with pytest.raises(ProblemError, match="use quadratic, logistic, multinomial, poisson, gamma, tweedie, squared"):
        parse_problem({**rows, "cost": {"kind": "hinge"}})
    with pytest.raises(ProblemError, match="is not a known key; use kind, power, classes, unit, rows, record"):
        parse_problem({**rows, "cost": {**rows["cost"], "more": 1}})


class Backwards:
    """The last listed unit first, with no more of a bound than that no cost is below the least one."""

    name = "backwards"
    needs = SET_FUNCTION

    def lacks(self, task):
        return "takes up to 4 units" if task.function.size > 4 else None

    def solve(self, task):
        return Answer(tuple(reversed(range(task.function.size))), 0.0, self.name)


def test_a_new_solver_of_orders_says_what_it_needs_and_lacks(document, convex, monkeypatch):
    monkeypatch.setitem(ORDER_SOLVERS, "greedy", (Backwards(),))
    found = solve({**document(1, 4), "solver": "greedy"})
    assert [step.label for step in found.path.steps] == ["x3", "x2", "x1", "x0"]
    assert (found.certificate.solver, found.status) == ("backwards", "bounded")
    with pytest.raises(SolverUnavailableError, match=r"^solver greedy: takes up to 4 units; use auto"):
        solve({**document(1, 5), "solver": "greedy"})
    with pytest.raises(SolverUnavailableError, match=r"^solver greedy: takes quadratic costs only; use auto"):
        solve(replace(convex("logistic", 3), solver="greedy"))


class OnRows:
    """The listed order of evaluated sets: for costs on rows only."""

    name = "listed"
    needs = EVALUATED_SETS

    def lacks(self, task):
        return None

    def solve(self, task):
        return Answer(tuple(range(task.sets.size)), -np.inf, self.name)


def test_a_solver_for_rows_only_refuses_quadratic_costs(document, convex, monkeypatch):
    monkeypatch.setitem(ORDER_SOLVERS, "greedy", (OnRows(),))
    assert [step.label for step in solve(replace(convex("logistic", 3), solver="greedy")).path.steps] == [
        "x00",
        "x10",
        "x20",
    ]
    with pytest.raises(SolverUnavailableError, match=r"^solver greedy: takes costs on rows only; use auto"):
        solve({**document(1, 4), "solver": "greedy"})


class ThereAndOn:
    """A sequence alone: the best values along it are found without the solver."""

    name = "there and on"
    needs = ROW_WALKS

    def lacks(self, task):
        return None

    def solve(self, task):
        return Answer((0, 1, 0), task.floor, self.name)


def test_a_new_solver_of_walks_on_rows_need_not_know_the_best_values(convex, monkeypatch):
    problem = replace(convex("logistic", 2), steps=3)
    best = solve(problem)
    monkeypatch.setitem(WALK_SOLVERS, "local", (ThereAndOn(),))
    found = solve(replace(problem, solver="local"))
    assert found.certificate.solver == "there and on"
    assert best.objective <= found.objective + 1e-12
    assert found.lower_bound <= best.objective + 1e-12
    assert [step.label for step in found.path.steps] == ["x00", "x10", "x00"]


class Rising:
    """Coefficients only grow, which no solver of walks here knows how to keep to."""

    name = "rising"

    def allows(self, before, after):
        return after >= before

    def lacks(self, solver):
        return None if solver.needs in (SET_FUNCTION, EVALUATED_SETS) else f"makes no steps of the type {self.name!r}"


@pytest.fixture
def rising(monkeypatch):
    monkeypatch.setattr(step_types, "STEP_TYPES", dict(step_types.STEP_TYPES))
    register_step_type(Rising())


@pytest.mark.usefixtures("rising")
def test_a_new_step_type_is_read_written_and_kept_to(toy, convex):
    up = {**toy, "target": [2.12, 0.94], "step_type": "rising"}
    assert problem_to_dict(parse_problem(up))["step_type"] == "rising"
    assert solve(up).to_dict() == solve({**up, "step_type": "coordinate"}).to_dict()
    with pytest.raises(ProblemError, match=r"^target\[1\]: steps of the type 'rising' do not lead from 0.0 to -0.94"):
        parse_problem({**toy, "step_type": "rising"})
    with pytest.raises(SolverUnavailableError, match=r"^solver auto: makes no steps of the type 'rising'"):
        solve({**up, "steps": 3})
    grown = convex("logistic", 2)
    grown = replace(grown, target=grown.start + 1.0, step_type=Rising())
    assert solve(grown).status == "optimal"
    with pytest.raises(SolverUnavailableError, match=r"makes no steps of the type 'rising'"):
        solve(replace(grown, steps=3))
    assert Rising().lacks(type("Solver", (), {"needs": LEAST_SQUARES})) is not None


@pytest.mark.usefixtures("rising")
def test_step_types_have_names_of_their_own(toy):
    with pytest.raises(UsageError, match=r"'rising': is there already"):
        register_step_type(Rising())
    with pytest.raises(
        ProblemError, match=r"^step_type: 'falling' is not known; use 'coordinate', 'integer', 'unit', 'rising'"
    ):
        parse_problem({**toy, "step_type": "falling"})
