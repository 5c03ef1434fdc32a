"""Problems made of small integers, so that an exact oracle in fractions can judge every solver."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.glm_draws import drawn_target

TOY = {
    "schema": "coordpath.problem/1",
    "features": ["a", "b"],
    "cost": {
        "kind": "quadratic",
        "gram": [[1, 0.9], [0.9, 1]],
        "linear": [1.274, 0.968],
        "constant": 2.04096,
        "scale": "1/n",
    },
    "start": [0, 0],
    "target": [2.12, -0.94],
}


def make_document(seed, size, *, dependent=False, grouped=False, unchanged=0, weights=None, max_steps=None, scale=0):
    """A squared error over 16 rows of small integers: every moment is an exact double."""
    rng = np.random.default_rng(seed)
    features = size + unchanged
    rows = rng.integers(-3, 4, (16, features)).astype(float)
    rows[:, 1:] += rng.integers(0, 2) * rows[:, :1]
    if dependent and features > 1:
        rows[:, -1] = rows[:, 0] - rows[:, features // 2]
    y = rng.integers(-9, 10, 16).astype(float)
    start = rng.integers(-4, 5, features) / 4
    change = rng.integers(1, 9, features) / 4 * rng.choice([-1, 1], features)
    if unchanged:
        change[rng.choice(features, unchanged, replace=False)] = 0.0
    names = [f"x{i}" for i in range(features)]
    groups = [[names[i] for i in rng.choice(features, 2, replace=False)]] if grouped and features > 2 else []
    return {
        "features": names,
        "cost": {
            "kind": "quadratic",
            "gram": np.ldexp(rows.T @ rows / 16, scale).tolist(),
            "linear": np.ldexp(rows.T @ y / 16, scale).tolist(),
            "constant": math.ldexp(float(y @ y / 16), scale),
        },
        "start": start.tolist(),
        "target": (start + change).tolist(),
        "groups": groups,
        "weights": weights or {"gamma": 1.0},
        "max_steps": max_steps,
    }


class Oracle:
    """Every order of a problem, in exact arithmetic."""

    def __init__(self, problem):
        self.problem = problem
        self.gram = [[Fraction(v) for v in row] for row in problem.cost.gram.tolist()]
        self.linear = [Fraction(v) for v in problem.cost.linear.tolist()]
        self.start = [Fraction(v) for v in problem.start.tolist()]
        self.target = [Fraction(v) for v in problem.target.tolist()]
        self.alphas = [Fraction(v) for v in problem.alphas(problem.most_terms).tolist()]
        self.known = {}

    def cost(self, units):
        """c after a set of units has moved."""
        key = frozenset(units)
        if key not in self.known:
            beta = list(self.start)
            for u in key:
                for i in self.problem.changed[u].members:
                    beta[i] = self.target[i]
            product = [sum(g * v for g, v in zip(row, beta, strict=True)) for row in self.gram]
            quadratic = sum(v * p for v, p in zip(beta, product, strict=True))
            linear = sum(v * p for v, p in zip(beta, self.linear, strict=True))
            self.known[key] = quadratic - 2 * linear + Fraction(self.problem.cost.constant)
        return self.known[key]

    def objective(self, order):
        """Σ αₖ c(βₖ) with the rest at once after the single steps."""
        singles = self.problem.singles
        sets = [order[: k + 1] for k in range(singles)]
        if singles < len(order):
            sets.append(order)
        return sum((a * self.cost(s) for a, s in zip(self.alphas, sets, strict=True)), Fraction(0))

    def optimum(self):
        """The least objective of all orders."""
        return min(self.objective(order) for order in itertools.permutations(range(len(self.problem.changed))))

    def spread(self):
        """The size of figures against which rounding is judged."""
        costs = [self.cost(()), *self.known.values()]
        return max(abs(c) for c in costs) * sum(self.alphas)


@pytest.fixture(scope="session")
def toy():
    return TOY


@pytest.fixture(scope="session")
def document():
    return make_document


@pytest.fixture(scope="session")
def oracle():
    return Oracle


@pytest.fixture(scope="session")
def chain_task():
    """A task of a solver on correlated features: D units, n single steps."""
    from coordpath_governance.paths.orders.set_function import SetFunction
    from coordpath_governance.paths.solvers.protocol import ChainTask

    def make(size, depth, *, seed=0, correlation=0.9, alphas=None, **more):
        rng = np.random.default_rng(seed)
        gram = correlation ** np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        root = np.linalg.cholesky(gram).T
        base = root @ rng.standard_normal(size) * 0.3
        function = SetFunction(base, root * rng.standard_normal(size) * 0.3)
        return ChainTask(function, np.ones(depth) if alphas is None else alphas, **more)

    return make


@pytest.fixture(scope="session")
def walk_task():
    """The task of a document with a given number of terms: straight on and then resting, or stagewise with a free end."""
    from coordpath_governance.paths import parse_problem
    from coordpath_governance.paths.solvers.protocol import WalkTask
    from coordpath_governance.paths.walks.floors import find_floors
    from coordpath_governance.paths.walks.geometry import REST, prepare_walks
    from coordpath_governance.paths.walks.starts import stagewise

    def make(document, **more):
        problem = parse_problem(document)
        walks, terms = prepare_walks(problem), problem.most_terms
        changed = walks.changed
        first = (*changed, *[REST] * (terms - len(changed))) if problem.target is not None else stagewise(walks, terms)
        return WalkTask(walks, problem.alphas(terms), find_floors(walks, terms), first, **more)

    return make


def make_convex(kind, columns, *, seed=0, rows=60, size=0.6, idle=(), same=(), offset=False, **more):
    """A problem on rows, some without weight; columns that are ``idle`` are zero, the ``same`` ones one column twice."""
    from coordpath_governance.costs import GlmCost, RowsInMemory, family_of
    from coordpath_governance.paths import PathProblem

    rng = np.random.default_rng(seed)
    design = rng.standard_normal((rows, columns))
    design[:, 1:] += 0.5 * design[:, :1]
    design[:, list(idle)] = 0.0
    design[:, list(same)] = design[:, [*same[:1]] * len(same)]
    design[2:5] = design[2]
    shift = 0.3 * rng.standard_normal(rows) if offset else np.zeros(rows)
    score = shift + design @ (0.4 * rng.standard_normal(columns))
    classes = 3 if kind == "multinomial" else 1
    target = drawn_target(kind, score, rng)
    if kind in ("logistic", "multinomial"):
        target[2:5] = 0.0, 1.0, classes - 1.0  # equal rows of every class: nothing separates them
    weight = rng.uniform(0.5, 2.0, rows)
    weight[:2] = 0.0
    family = family_of(kind, power=1.5 if kind == "tweedie" else None, classes=classes)
    cost = GlmCost(family, RowsInMemory(design, target, weight, shift if offset else None))
    start = 0.5 * rng.standard_normal((columns, classes))
    change = size * rng.standard_normal((columns, classes))
    for each in (start, change):
        each[list(same)] = each[[*same[:1]] * len(same)]
    names = [f"x{j}{c}" for j in range(columns) for c in range(classes)]
    groups = tuple(tuple(names[j * classes : (j + 1) * classes]) for j in range(columns)) if classes > 1 else ()
    return PathProblem(tuple(names), cost, start.ravel(), (start + change).ravel(), **{"groups": groups, **more})


class Enumeration:
    """The costs of all sets of moved units, one model each, and the best order by the subset programme."""

    def __init__(self, problem):
        self.problem, self.size = problem, len(problem.changed)
        models = np.repeat(problem.start[None], 1 << self.size, axis=0)
        for u, unit in enumerate(problem.changed):
            moved = np.flatnonzero(np.arange(1 << self.size) >> u & 1)
            models[np.ix_(moved, unit.members)] = problem.target[list(unit.members)]
        self.costs = problem.cost.values(models)
        self.alphas = problem.alphas(problem.most_terms)

    def cost(self, units):
        return self.costs[sum(1 << u for u in units)]

    def objective(self, order):
        """Σ αₖ c(βₖ) along an order."""
        sets = [order[: k + 1] for k in range(self.problem.singles)]
        sets += [order] * (len(self.alphas) - len(sets))
        return math.fsum(a * self.cost(units) for a, units in zip(self.alphas, sets, strict=True))

    def optimum(self):
        """The least objective, by V(S) = α_|S| c(S) + min V(S∖u)."""
        depth = len(self.alphas) - 1
        best = {0: 0.0}
        for number in range(1, 1 << self.size):
            count = number.bit_count()
            if count <= depth:
                before = [number ^ 1 << u for u in range(self.size) if number >> u & 1]
                best[number] = self.alphas[count - 1] * self.costs[number] + min(best[each] for each in before)
        chains = [value for number, value in best.items() if number.bit_count() == depth]
        return min(chains) + self.alphas[-1] * self.costs[-1]


@pytest.fixture(scope="session")
def convex():
    return make_convex


@pytest.fixture(scope="session")
def enumeration():
    return Enumeration


@pytest.fixture(scope="session")
def from_record():
    """The same problem without rows: what was asked, written down as JSON and read back."""
    import json
    from dataclasses import replace

    from coordpath_governance.paths import parse_problem, problem_to_dict
    from coordpath_governance.paths.row_orders.recorded_cost import recorded

    def read_back(problem):
        document = problem_to_dict(replace(problem, cost=recorded(problem, problem.cost)))
        return parse_problem(json.loads(json.dumps(document)))

    return read_back


@pytest.fixture
def row_solvers(monkeypatch):
    """Other amounts of work for the solvers of a name that evaluate sets on rows."""
    from coordpath_governance.paths.solvers.protocol import EVALUATED_SETS
    from coordpath_governance.paths.solvers.table import ORDER_SOLVERS

    def give(name, **amounts):
        for solver in ORDER_SOLVERS[name]:
            for what, amount in amounts.items():
                if solver.needs == EVALUATED_SETS and hasattr(solver, what):
                    monkeypatch.setattr(solver, what, amount)

    return give
