"""Walks whose values keep to constraints, against another optimiser along every sequence of small problems."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from coordpath_governance.errors import ProblemError, SolverUnavailableError
from coordpath_governance.paths import parse_problem, solve
from coordpath_governance.paths.constraints import Box, Constraints, Frozen, Monotone, Order, Sign
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.ruled_walks import ruled_values
from coordpath_governance.paths.solution import solve_within
from coordpath_governance.paths.solvers import table
from coordpath_governance.paths.solvers.ruled_walks import RuledWalks

from .whole_oracle import keeps_to

FAR = 99


def best_values(problem, sequence, alphas):
    """The least objective along a sequence, by sequential quadratic programming from two places."""
    gram, linear = problem.cost.gram, problem.cost.linear
    target = np.zeros(len(problem.start)) if problem.target is None else problem.target
    last = {u: k for k, u in enumerate(sequence)} if problem.target is not None else {}
    free = [(k, u) for k, u in enumerate(sequence) if u >= 0 and last.get(u) != k]

    def costs(x):
        beta, models, values = problem.start.copy(), [], dict(zip(free, x, strict=True))
        for k, u in enumerate(sequence):
            beta = beta.copy()
            if u >= 0:
                beta[u] = values.get((k, u), target[u])
            models.append(beta)
        models = np.array(models)
        return np.einsum("ki,ij,kj->k", models, gram, models) - 2 * models @ linear + problem.cost.constant

    first = problem.cost.value(problem.start)
    monotone = problem.constraints.monotone
    if not free:
        return np.inf if monotone and (costs([]) > first * (1 + 1e-12)).any() else float(alphas @ costs([]))
    bounds = [problem.constraints.interval(problem.features[u]) for _, u in free]
    below = [{"type": "ineq", "fun": lambda x: first - costs(x)}] if monotone else []
    best = np.inf
    for begin in (problem.start, target):
        x = np.clip([begin[u] for _, u in free], *np.transpose(bounds))
        found = minimize(lambda x: float(alphas @ costs(x)), x, method="SLSQP", bounds=bounds, constraints=below,
                         options={"maxiter": 300, "ftol": 1e-14})  # fmt: skip
        if not below or (costs(found.x) <= first + 1e-8).all():
            best = min(best, found.fun)
    return best


def best_of_all(problem, terms):
    """The least objective of all sequences that constraints allow."""
    names, constraints, best = list(problem.features), problem.constraints, np.inf
    changed = set() if problem.target is None else set(np.flatnonzero(problem.start != problem.target).tolist())
    waits = [(names.index(each.first), names.index(each.then)) for each in constraints.orders]
    if problem.target is not None:
        waits = [(a, b) for a, b in waits if a in changed]
    for sequence in itertools.product(range(-1, len(names)), repeat=terms):
        used = set(sequence) - {-1}
        first = {u: sequence.index(u) for u in used}
        if not changed <= used or any(names[u] in constraints.frozen for u in used):
            continue
        if any(b in used and first.get(a, FAR) > first[b] for a, b in waits):
            continue
        best = min(best, best_values(problem, sequence, problem.alphas(terms)))
    return best


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_the_best_allowed_walk_is_found(document, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 4))
    terms = int(rng.integers(1, 5 if size < 3 else 4))
    base = parse_problem(document(seed, size))
    items = []
    for name, start, target in zip(base.features, base.start.tolist(), base.target.tolist(), strict=True):
        if rng.random() < 0.5:
            low = min(start, target) - rng.integers(0, 3) / 4 if rng.random() < 0.7 else None
            items.append(Box(name, low, max(start, target) + rng.integers(0, 3) / 4))
    items += [Sign(base.features[0], bool(rng.integers(2)))] * (seed % 5 == 0)
    items += [Frozen(base.features[-1])] * (seed % 7 == 0) + [
        Order(*pair) for pair in [base.features[:2]] * (size > 1 and seed % 2)
    ]
    items += [Monotone()] * (seed % 3 != 0) or [Box(base.features[0], None, 9.0)]
    target = base.target if rng.random() < 0.5 else None
    try:
        problem = replace(base, steps=max(terms, size + 1) if target is not None else terms, target=target,
                          constraints=Constraints(tuple(dict.fromkeys(items))))  # fmt: skip
    except ProblemError:
        return  # refused as it is read: test_constraints
    want = best_of_all(problem, problem.steps)
    if want == np.inf:
        with pytest.raises(ProblemError, match=r"^constraints: "):
            solve(problem)
        return
    found = solve(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(want, rel=2e-6, abs=2e-6)
    assert keeps_to(problem, found.path)
    greedy = solve_or_none(replace(problem, solver="greedy"))
    assert greedy is None or greedy.lower_bound <= want + 1e-6 <= greedy.objective + 2e-6


def solve_or_none(problem):
    try:
        return solve(problem)
    except SolverUnavailableError:
        return None


def test_groups_keep_what_is_frozen_in_place(document):
    asked = document(2, 3)
    asked |= {"target": None, "steps": 2, "groups": [["x0", "x1"]], "constraints": {"frozen": ["x1"]}}
    found = solve(asked)
    assert found.status == "optimal"
    assert {move.feature for step in found.path.steps for move in step.moves} <= {"x0", "x2"}
    assert {step.kind for step in found.path.steps} <= {"group", "coordinate"}


def test_values_stop_at_the_ends_of_boxes(toy):
    found = solve({**toy, "target": None, "steps": 2, "constraints": {"box": {"a": [0, 1]}, "sign": {"b": "positive"}}})
    assert [(step.label, step.moves[0].after) for step in found.path.steps] == [("a", 1.0), ("b", pytest.approx(0.068))]
    fixed = solve({**toy, "target": None, "steps": 2, "constraints": {"box": {"a": [0.5, 0.5]}, "frozen": ["b"]}})
    assert [step.moves[0].after for step in fixed.path.steps] == [0.5]


def test_work_that_ends_leaves_a_bound(document):
    names = [f"x{i}" for i in range(4)]
    asked = document(4, 4)
    asked |= {"target": None, "steps": 4, "constraints": {"box": {name: [-0.5, 0.5] for name in names}}}
    best = solve(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table.WALK_SOLVERS, "auto", (RuledWalks(30),))
        short = solve(asked)
    told = []
    late = solve_within(parse_problem(asked), Patience(lambda: True, timed=True, progress=lambda *each: told.append(each)))
    for each in (short, late):
        assert each.lower_bound <= best.objective + 1e-9 <= each.objective + 2e-9
    solve(asked, progress=lambda *each: told.append(each))
    assert {stage for stage, *_ in told} == {"beginnings of walks"}


def test_what_could_not_come_back_into_its_box_stays(document):
    asked = document(2, 2)
    asked |= {"groups": [["x0", "x1"]], "steps": 2}
    asked["target"][1] = asked["start"][1]
    asked["constraints"] = {"box": {"x1": [asked["start"][1] + 1, None]}}
    found = solve(asked)
    assert found.status == "optimal"
    assert {move.feature for step in found.path.steps for move in step.moves} == {"x0"}


def test_values_that_cost_too_much_are_not_taken(monkeypatch):
    monkeypatch.setattr(ruled_values, "_BELOW", -0.5)
    over = {
        "features": ["a", "b"],
        "cost": {"gram": [[1, 0.9], [0.9, 1]], "linear": [0.1, -0.1], "constant": 9},
        "target": [0.5, -0.5],
        "steps": 3,
        "constraints": {"monotone": True},
    }
    with pytest.raises(SolverUnavailableError, match="found no path that keeps to the constraints"):
        solve(over)


def test_no_walk_keeps_below_the_start(document):
    ridge = {
        "features": ["a", "b"],
        "cost": {"gram": [[1, 0.99], [0.99, 1]], "linear": [0.0002, -0.0002], "constant": 9},
        "target": [0.015, -0.015],
        "constraints": {"monotone": True, "order": [["a", "b"]], "box": {"a": [0.01, 1], "b": [-1, -0.01]}},
    }
    with pytest.raises(ProblemError, match=r"^constraints: .*monotone.*"):
        solve({**ridge, "steps": 3})
