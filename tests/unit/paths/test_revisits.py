"""More terms than changed units: every bound against all sequences in exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths import parse_problem, solve
from coordpath_governance.paths.floors import find_floors
from coordpath_governance.paths.outcome import normalise
from coordpath_governance.paths.solvers.incumbent import Incumbent
from coordpath_governance.paths.solvers.protocol import WalkTask
from coordpath_governance.paths.solvers.revisits import Revisits
from coordpath_governance.paths.solvers.sequence_search import SequenceSearch
from coordpath_governance.paths.solvers.skeletons import Spans
from coordpath_governance.paths.walks import REST, prepare_walks


class AllSequences:
    """The least Σ αₖ(c(βₖ) − min c) over all sequences of units, in fractions."""

    def __init__(self, problem):
        self.problem = problem
        self.gram = [[Fraction(v) for v in row] for row in problem.cost.gram.tolist()]
        self.linear = [Fraction(v) for v in problem.cost.linear.tolist()]
        self.start = [Fraction(v) for v in problem.start.tolist()]
        self.target = [Fraction(v) for v in problem.target.tolist()]
        self.alphas = [Fraction(v) for v in problem.alphas(problem.most_terms).tolist()]
        self.minimum = sum((-x * b for x, b in zip(_solve(self.gram, self.linear), self.linear, strict=True)), Fraction(0))

    def excess(self, beta):
        """c(β) − min c."""
        product = [sum(g * v for g, v in zip(row, beta, strict=True)) for row in self.gram]
        return sum(v * (p - 2 * b) for v, p, b in zip(beta, product, self.linear, strict=True)) - self.minimum

    def value(self, sequence):
        """The least along a sequence: what is free is the value of every visit but a unit's last."""
        units, beta = self.problem.units, list(self.start)
        at, count = dict.fromkeys(range(len(beta))), 0
        total, slope, terms = Fraction(0), {}, []
        for k, u in enumerate(sequence):
            for i in units[u].members:
                if u in sequence[k + 1 :]:
                    at[i], beta[i], count = count, Fraction(0), count + 1
                else:
                    at[i], beta[i] = None, self.target[i]
            alpha = self.alphas[k]
            total += alpha * self.excess(beta)
            active = [i for i in at if at[i] is not None]
            for i in active:
                gradient = sum(g * v for g, v in zip(self.gram[i], beta, strict=True)) - self.linear[i]
                slope[at[i]] = slope.get(at[i], 0) + alpha * gradient
            terms.append((alpha, active, {i: at[i] for i in active}))
        hessian = [[Fraction(0)] * count for _ in range(count)]
        for alpha, active, place in terms:
            for i, j in itertools.product(active, active):
                hessian[place[i]][place[j]] += alpha * self.gram[i][j]
        right = [-slope[c] for c in range(count)]
        return total - sum(x * r for x, r in zip(_solve(hessian, right), right, strict=True))

    def optimum(self):
        moved = [
            u for u, unit in enumerate(self.problem.units) if any(self.start[i] != self.target[i] for i in unit.members)
        ]
        sequences = itertools.product(range(len(self.problem.units)), repeat=len(self.alphas))
        return min(self.value(sequence) for sequence in sequences if set(moved) <= set(sequence))


def _solve(matrix, right):
    """A solution of a consistent symmetric system, free unknowns at zero."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    pivots, at = [], 0
    for column in range(len(matrix)):
        found = next((r for r in range(at, len(rows)) if rows[r][column] != 0), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        rows[at] = [v / rows[at][column] for v in rows[at]]
        for r in range(len(rows)):
            if r != at and rows[r][column] != 0:
                rows[r] = [v - rows[r][column] * p for v, p in zip(rows[r], rows[at], strict=True)]
        pivots.append(column)
        at += 1
    solution = [Fraction(0)] * len(matrix)
    for r, column in enumerate(pivots):
        solution[column] = rows[r][-1]
    return solution


def make_task(problem, **more):
    """The task of a problem with a fixed number of terms; the first walk moves straight on and then rests."""
    walks = prepare_walks(problem)
    alphas, exponent = normalise(problem.alphas(problem.most_terms))
    spare = problem.most_terms - len(walks.changed)
    floors = find_floors(walks, problem.most_terms)
    return WalkTask(walks, alphas, floors, walks.changed + (REST,) * spare, **more), walks.exponent + exponent


def check(problem, task, exponent, found, optimum=None):
    """The bound holds, the walk is no better than the optimum, and where the gap is closed it is the optimum."""
    optimum = AllSequences(problem).optimum() if optimum is None else optimum
    best = math.ldexp(float(optimum), -exponent)
    value = task.evaluate(found.order)
    noise = 1e-12 * task.alphas.sum() * (1 + max(task.walks.excess(problem.start), task.walks.excess(problem.target)))
    assert len(found.order) == task.terms
    assert found.bound <= best * (1 + 1e-12) + noise
    assert value >= best * (1 - 1e-9) - noise
    if found.bound >= value * (1 - 1e-6):
        assert value <= best * (1 + 1e-9) + noise
        return True
    return value <= noise


problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "size": st.integers(0, 3),
        "dependent": st.booleans(),
        "grouped": st.booleans(),
        "unchanged": st.integers(0, 2),
    }
)
weights = st.sampled_from([{"gamma": 1.0}, {"gamma": 0.5}, {"gamma": 2.0}, {"final": 3, "lambda": 0.25}, "zeros"])


def build(document, parameters, weights, spare, *, blind=False, far=0):
    """A problem of few sequences; ``blind``: the data do not exercise the first feature."""
    parameters = dict(parameters)
    parameters["unchanged"] = max(parameters["unchanged"], 1 - parameters["size"])
    if parameters["size"] == 3:
        parameters["unchanged"] = 0
    made = document(**parameters)
    if blind:
        cost = made["cost"]
        cost["linear"][0] = 0.0
        for i in range(len(cost["linear"])):
            cost["gram"][0][i] = cost["gram"][i][0] = 0.0
    made["target"] = [s + (t - s) * 2**far for s, t in zip(made["start"], made["target"], strict=True)]
    terms = len(parse_problem(made).changed) + spare
    rng = np.random.default_rng(parameters["seed"])
    chosen = (
        {"alpha": (rng.integers(0, 3, terms) + (np.arange(terms) == terms - 1)).tolist()} if weights == "zeros" else weights
    )
    return parse_problem({**made, "weights": chosen, "steps": terms})


@settings(max_examples=150, deadline=None)
@given(problems, weights, st.integers(1, 2), st.booleans(), st.sampled_from([0, 0, 3, -3]))
def test_against_all_sequences(document, parameters, weights, spare, blind, far):
    problem = build(document, parameters, weights, spare, blind=blind, far=far)
    task, exponent = make_task(problem)
    check(problem, task, exponent, Revisits().solve(task))
