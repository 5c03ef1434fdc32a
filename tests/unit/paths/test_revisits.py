"""More terms than changed units: every bound against all sequences in exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.exact_paths import solve_exactly
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coordpath_governance.costs.factor import EPS
from coordpath_governance.paths import parse_problem, solve
from coordpath_governance.paths.outcome import normalise
from coordpath_governance.paths.patience import Patience
from coordpath_governance.paths.revisiting import skeleton_search
from coordpath_governance.paths.revisiting.chain_table import build_chain_table
from coordpath_governance.paths.revisiting.incumbent import Incumbent
from coordpath_governance.paths.revisiting.sequence_search import SequenceSearch
from coordpath_governance.paths.revisiting.simplex_search import SimplexSearch, bound_simplices, squared_edges, triangulate
from coordpath_governance.paths.revisiting.skeleton_search import SkeletonSearch
from coordpath_governance.paths.revisiting.skeletons import Skeleton, Spans, Special, count_skeletons, list_skeletons
from coordpath_governance.paths.revisiting.token_costs import TokenCosts, majorant
from coordpath_governance.paths.revisiting.value_boxes import box_values
from coordpath_governance.paths.solvers.protocol import Answer, WalkTask
from coordpath_governance.paths.solvers.revisits import Revisits
from coordpath_governance.paths.walks.floors import find_floors
from coordpath_governance.paths.walks.geometry import REST, prepare_walks


class AllSequences:
    """The least Σ αₖ(c(βₖ) − min c) over all sequences of units, in fractions."""

    def __init__(self, problem):
        self.problem = problem
        self.gram = [[Fraction(v) for v in row] for row in problem.cost.gram.tolist()]
        self.linear = [Fraction(v) for v in problem.cost.linear.tolist()]
        self.start = [Fraction(v) for v in problem.start.tolist()]
        self.target = [Fraction(v) for v in problem.target.tolist()]
        self.alphas = [Fraction(v) for v in problem.alphas(problem.most_terms).tolist()]
        self.minimum = sum(
            (-x * b for x, b in zip(solve_exactly(self.gram, self.linear), self.linear, strict=True)), Fraction(0)
        )

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
        return total - sum(x * r for x, r in zip(solve_exactly(hessian, right), right, strict=True))

    def optimum(self):
        moved = [
            u for u, unit in enumerate(self.problem.units) if any(self.start[i] != self.target[i] for i in unit.members)
        ]
        sequences = itertools.product(range(len(self.problem.units)), repeat=len(self.alphas))
        return min(self.value(sequence) for sequence in sequences if set(moved) <= set(sequence))


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
    largest = max(task.walks.excess(problem.start), task.walks.excess(problem.target))
    noise = task.alphas.sum() * (1e-12 * largest + task.walks.blur(largest))
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


def search(kind, task, work=10**9):
    """One of the two searches by itself."""
    spans = Spans.of(task.walks)
    incumbent = Incumbent(task, work, 64 * EPS * (task.terms + 8) * task.alphas.sum() * spans.reach**2)
    bound = kind(task, spans, incumbent).run()
    return Answer(incumbent.walk, max(bound, task.floor), kind.__name__)


@settings(max_examples=60, deadline=None)
@example({"seed": 6429, "size": 2, "dependent": True, "grouped": True, "unchanged": 1}, {"gamma": 1.0}, 2, False, 0)
@given(problems, weights, st.integers(1, 2), st.booleans(), st.sampled_from([0, 0, 3, -3]))
def test_all_ways_against_all_sequences(document, parameters, weights, spare, blind, far):
    problem = build(document, parameters, weights, spare, blind=blind, far=far)
    task, exponent = make_task(problem)
    optimum = AllSequences(problem).optimum()
    assert check(problem, task, exponent, Revisits().solve(task), optimum)
    assert check(problem, task, exponent, search(SequenceSearch, task), optimum)
    proved = check(problem, task, exponent, search(SkeletonSearch, task, 10**10), optimum)
    assert proved or weights == "zeros" or not problem.changed


@settings(max_examples=15, deadline=None)
@given(problems, weights, st.integers(3, 4))
def test_more_visits_against_all_sequences(document, parameters, weights, spare):
    problem = build(document, {**parameters, "size": min(parameters["size"], 1), "unchanged": 1}, weights, spare)
    task, exponent = make_task(problem)
    optimum = AllSequences(problem).optimum()
    assert check(problem, task, exponent, Revisits().solve(task), optimum)
    check(problem, task, exponent, search(SkeletonSearch, task, 10**8), optimum)


def correlated(size, spare, *, seed=0, correlation=0.9, unchanged=0, duplicate=False, scales=None, weights=None):
    """A problem on correlated features with its target near the optimum."""
    rng = np.random.default_rng(seed)
    features = size + unchanged
    rows = rng.standard_normal((60, features)) + math.sqrt(correlation / (1 - correlation)) * rng.standard_normal((60, 1))
    if duplicate:
        rows[:, -1] = rows[:, 0]
    goal = rng.standard_normal(features)
    y = rows @ goal + rng.standard_normal(60)
    scales = np.ones(features) if scales is None else scales
    target = goal + 0.2 * rng.standard_normal(features)
    target[size:] = 0.0
    rows, target = rows * scales, target / scales
    return {
        "features": [f"x{i}" for i in range(features)],
        "cost": {"gram": (rows.T @ rows / 60).tolist(), "linear": (rows.T @ y / 60).tolist(), "constant": float(y @ y / 60)},
        "start": [0.0] * features,
        "target": target.tolist(),
        "weights": weights or {"gamma": 1.0},
        "steps": size + spare,
    }


@pytest.mark.parametrize("correlation", [0.5, 0.999])
@pytest.mark.parametrize(("size", "spare"), [(6, 1), (5, 2), (4, 3)])
def test_the_two_searches_agree(size, spare, correlation):
    for seed, duplicate in ((0, False), (1, True)):
        task, _ = make_task(parse_problem(correlated(size, spare, seed=seed, correlation=correlation, duplicate=duplicate)))
        one, other = search(SkeletonSearch, task, 10**10), search(SequenceSearch, task, 10**10)
        value = task.evaluate(one.order)
        assert value == pytest.approx(task.evaluate(other.order), rel=1e-9)
        assert min(one.bound, other.bound) >= value * (1 - 1e-8)


def test_fading_weights_are_left_to_the_sequences(monkeypatch):
    task, _ = make_task(parse_problem(correlated(4, 2, correlation=0.99, weights={"gamma": 0.1})))
    value = task.evaluate(search(SkeletonSearch, task, 10**10).order)
    monkeypatch.setattr(SkeletonSearch, "run", None)
    found = Revisits().solve(task)
    assert found.bound >= value * (1 - 1e-8)
    assert task.evaluate(found.order) == pytest.approx(value, rel=1e-9)


def test_large_tables_without_their_useless_states(monkeypatch):
    monkeypatch.setattr(skeleton_search, "_SHARED", 10)
    for spare, correlation in ((1, 0.5), (2, 0.99)):
        task, _ = make_task(parse_problem(correlated(6, spare, correlation=correlation)))
        found = search(SkeletonSearch, task, 10**10)
        value = task.evaluate(found.order)
        assert found.bound >= value * (1 - 1e-8)
        assert value == pytest.approx(task.evaluate(search(SequenceSearch, task, 10**10).order), rel=1e-9)
        hurried = search(SkeletonSearch, task, 3 * 10**6)
        assert task.floor < hurried.bound <= value


def test_a_value_that_does_nothing_needs_no_simplices():
    cost = {"gram": np.diag([0.0, 1.0, 1.0]).tolist(), "linear": [0.0, 2.0, 3.0], "constant": 20.0}
    document = {"features": ["a", "b", "c"], "cost": cost, "start": [0, 0, 0], "target": [1, 1, 1], "steps": 4}
    task, _ = make_task(parse_problem(document))
    skeleton, spans = Skeleton((Special(0, 1),), (1, 2)), Spans.of(task.walks)
    costs = TokenCosts(spans, skeleton, build_chain_table(skeleton.lengths), task.alphas)
    incumbent = Incumbent(task, 10**9, 0.0)
    only = SimplexSearch([costs], [np.zeros((2, 0))], [0.0], incumbent)
    only.begin()
    assert not only.pending
    assert only.bound >= incumbent.threshold
    assert incumbent.value == pytest.approx(task.evaluate((2, 1, 0, 0)))


def test_no_walk_but_the_rest():
    document = {**correlated(1, 0, unchanged=1), "target": [0.0, 0.0], "steps": 1}
    task, _ = make_task(parse_problem(document))
    assert Revisits().solve(task).order == (REST,)
    for kind in (SequenceSearch, SkeletonSearch):
        assert search(kind, task).bound == pytest.approx(task.evaluate((REST,)))


def test_moving_an_unchanged_unit_out_and_back_pays():
    cost = {"gram": [[1.0, 0.5], [0.5, 1.0]], "linear": [0.0, 10.0], "constant": 134.0}
    document = {"features": ["a", "b"], "cost": cost, "start": [0, 0], "target": [0.25, 0], "steps": 3}
    task, _ = make_task(parse_problem(document))
    for found in (Revisits().solve(task), search(SkeletonSearch, task)):
        assert found.order == (1, 0, 1)
        assert found.bound >= task.evaluate(found.order) * (1 - 1e-8)


@pytest.mark.parametrize("kind", [SkeletonSearch, SequenceSearch])
def test_a_deadline_leaves_a_valid_bound(kind):
    document = correlated(5, 2, correlation=0.99)
    task, _ = make_task(parse_problem(document))
    optimum = task.evaluate(search(kind, task, 10**10).order)
    bounds = []
    for calls in (0, 1, 2, 3, 4, 5, 20):
        left = iter(range(calls))
        late, _ = make_task(parse_problem(document), patience=Patience(lambda left=left: next(left, None) is None))
        found = search(kind, late)
        assert late.evaluate(found.order) >= optimum * (1 - 1e-12)
        bounds.append(found.bound)
    assert bounds == sorted(bounds)
    assert bounds[0] == task.floor
    assert bounds[-1] <= optimum


def test_work_that_is_used_up_leaves_a_valid_bound():
    task, _ = make_task(parse_problem(correlated(6, 2, correlation=0.99)))
    optimum = task.evaluate(Revisits().solve(task).order)
    for work in (1, 10**6, 10**7, 3 * 10**7):
        found = Revisits(work).solve(task)
        assert task.floor <= found.bound <= optimum <= task.evaluate(found.order) * (1 + 1e-12)


def test_too_large_for_a_table_or_too_many_skeletons():
    for size, spare in ((19, 1), (14, 4), (2, 30)):
        task, _ = make_task(parse_problem(correlated(size, spare, correlation=0.3)))
        found = Revisits(10**7).solve(task)
        assert len(found.order) == size + spare
        assert task.floor <= found.bound <= task.evaluate(found.order) <= task.evaluate(task.first)


def test_progress_never_claims_too_much():
    told = []
    document = correlated(5, 2)
    task, _ = make_task(parse_problem(document), patience=Patience(progress=lambda *each: told.append(each)))
    found = search(SkeletonSearch, task, 10**10)
    search(SequenceSearch, make_task(parse_problem(correlated(5, 3, correlation=0.99)), patience=task.patience)[0])
    value = task.evaluate(found.order)
    assert {stage for stage, _, _ in told} == {"values in between", "sequences of moves"}
    assert all(bound <= value <= best * (1 + 1e-12) for stage, best, bound in told if stage == "values in between")
    assert all(bound <= best for _, best, bound in told)


def test_scales_do_not_matter():
    plain = parse_problem(correlated(5, 2))
    scaled = parse_problem(correlated(5, 2, scales=np.array([1e6, 1e-6, 1.0, 1e3, 1e-3])))
    one, other = (make_task(problem)[0] for problem in (plain, scaled))
    assert Revisits().solve(one).order == Revisits().solve(other).order
    small = correlated(5, 2)
    for size in (1e200, 1e-200):
        cost = {name: (np.array(value) * size).tolist() for name, value in small["cost"].items()}
        certificate = solve({**small, "cost": cost}).certificate
        assert certificate.status == "optimal"
        assert certificate.gap == pytest.approx(solve(small).certificate.gap, rel=0.5)


def test_the_papers_example(toy):
    for terms, value in ((3, 1.275742), (4, 1.434875)):
        solution = solve({**toy, "steps": terms})
        assert solution.certificate.objective == pytest.approx(value, abs=1e-6)
        assert solution.certificate.status == "optimal"
    chosen = solve({**toy, "steps": {"min": 2, "max": 4}}).to_dict()
    assert (chosen["status"], len(chosen["steps"])) == ("optimal", 3)
    assert chosen["objective"] == pytest.approx(1.275742)
    assert chosen["steps"][0]["to"] == pytest.approx(1.697)


def test_a_free_end_is_not_for_it(toy):
    problem = parse_problem({**toy, "target": None, "steps": 3})
    walks = prepare_walks(problem)
    task = WalkTask(walks, np.ones(3), find_floors(walks, 3), (0, 0, 0))
    assert "target" in Revisits().lacks(task)
    assert Revisits().lacks(make_task(parse_problem({**toy, "steps": 3}))[0]) is None
    with pytest.raises(ValueError, match="free end"):
        Spans.of(walks)


@pytest.mark.parametrize("spare", [1, 2, 3, 4, 5])
def test_skeletons_are_counted_before_they_are_listed(spare):
    for changed, unchanged in ((0, 0), (0, 2), (3, 0), (2, 2), (4, 3)):
        units = tuple(range(changed + unchanged))
        listed = list_skeletons(units[:changed], units[changed:], spare)
        assert len(listed) == count_skeletons(changed, unchanged, spare)
        for skeleton in listed:
            assert sum(skeleton.lengths) - len(skeleton.lengths) == changed + spare
            assert len(set(skeleton.units)) == len(skeleton.units)


def test_a_table_of_some_states():
    table = build_chain_table((3, 2, 2))
    random = np.random.default_rng(0)
    costs = random.random((table.size, 1))
    through = table.through(costs[:, 0])
    whole = table.accumulate(costs.copy())[0]
    assert through.min() == pytest.approx(whole)
    part = table.restrict(through <= whole + 1e-12)
    assert part.size == 5
    rows = np.argsort(table.order)[part.order]
    values = costs[rows].copy()
    assert part.accumulate(values)[0] == pytest.approx(whole)
    full = costs.copy()
    table.accumulate(full)
    assert part.trace(values[:, 0]) == table.trace(full[:, 0])
    assert table.restrict(np.arange(table.size) == 0) is table
    cut = np.ones(table.size, dtype=bool)
    cut[1:4] = False
    assert table.restrict(cut) is table


def spans_of(columns, changes=None, base=None):
    columns = np.array(columns, dtype=float)
    bases = tuple((column / np.linalg.norm(column))[:, None] for column in columns)
    changes = columns if changes is None else np.array(changes, dtype=float)
    return Spans(np.ones(columns.shape[1]) if base is None else base, bases, tuple(changes))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(1, 1), (2, 1), (1, 1, 1), (3,), (2, 2)]), st.floats(0, 1))
def test_the_majorant_is_above_every_overlap(seed, values, alike):
    random = np.random.default_rng(seed)
    columns = alike * random.standard_normal(4) + (1 - alike) * random.standard_normal((len(values), 4)) + 1e-9
    spans = spans_of(columns)
    skeleton = Skeleton(tuple(Special(u, count) for u, count in enumerate(values)), ())
    metric = majorant(spans, skeleton, 2.5)
    units = np.array(skeleton.tokens)
    basis = np.array([spans.bases[u][:, 0] for u in units])
    for active in itertools.product([False, True], repeat=len(units)):
        chosen = np.array(active)
        if len(set(units[chosen])) == chosen.sum():
            gram = basis @ basis.T * np.outer(chosen, chosen)
            assert np.linalg.eigvalsh(metric.T @ metric - 2.5 * gram).min() > -1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0.01, 3))
def test_simplices_are_bounded(seed, size, width):
    random = np.random.default_rng(seed)
    centres, heights = random.standard_normal((5, size)), random.random(5)
    curvature = random.random(5)

    def phi(points):
        return np.min(heights + curvature * np.sum(np.square(points[..., None, :] - centres), axis=-1), axis=-1)

    low = random.standard_normal(size)
    simplices = triangulate(low, low + width)
    assert len(simplices) == math.factorial(size)
    inside = random.dirichlet(np.ones(size + 1), (len(simplices), 200))
    sampled = phi(inside @ simplices).min(axis=1)
    least = sampled.min()
    for enough in (-np.inf, least / 2, least, np.inf):
        bounds = bound_simplices(phi(simplices), squared_edges(simplices), enough)
        assert np.all(bounds <= sampled + 1e-12)


def test_boxes_where_weights_are_zero():
    pair = Skeleton((Special(0, 1), Special(1, 1)), (2,))
    alike = spans_of([[1, 0, 0], [1, 1e-5, 0], [0, 1, 1]])
    assert box_values(alike, pair, 1.0, every=False) is None
    assert box_values(alike, pair, 1.0, every=True) is not None
    apart = spans_of([[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    box = box_values(apart, pair, 1.0, every=False)
    assert np.all(box[0] < box[1])
    three = Skeleton((Special(0, 1), Special(1, 1), Special(2, 1)), ())
    assert box_values(apart, three, 1.0, every=False) is None
    assert box_values(apart, pair, 1e9, every=False) is None


def test_weights_of_zero_and_columns_alike_are_left_to_the_sequences():
    document = correlated(4, 2, duplicate=True, weights={"alpha": [0, 1, 0, 2, 1, 1]})
    task, _ = make_task(parse_problem(document))
    found = Revisits().solve(task)
    assert found.bound >= task.evaluate(found.order) * (1 - 1e-8)
    assert search(SkeletonSearch, task).bound < found.bound
