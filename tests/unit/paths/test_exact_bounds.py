"""Every bound against the optimum in exact fractions: on nearly equal columns, and on small problems of every kind."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from helpers.exact_paths import ExactCost, best_order, best_walk
from helpers.near_equal import near_equal_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.paths import solve

pytestmark = pytest.mark.no_cover


def check(document, best, alphas, tolerance=1e-6):
    """The bound is no higher than the optimum, and what is called optimal is: both to a part of the objective."""
    found = solve(document)
    answer = found.to_dict()
    objective, bound = Fraction(answer["objective"]), Fraction(answer["lower_bound"])
    cost = ExactCost(document["cost"])
    noise = Fraction(2e-15) * abs(cost([0] * len(document["features"])) - (cost.minimum() or 0)) * Fraction(sum(alphas))
    room = Fraction(tolerance) * abs(objective) + noise
    assert bound <= best + room
    assert objective >= best - Fraction(1e-14) * abs(objective) - noise
    if answer["status"] == "optimal":
        assert objective <= best + room
        assert answer["gap"] <= 1e-6
    return answer


def test_nearly_equal_columns_with_every_order_tried():
    """The report that an independent review made: 280 problems, of which 57 had a bound above the optimum."""
    statuses = Counter()
    for seed in range(280):
        document = near_equal_problem(seed)
        alphas = [1.0] * sum(a != b for a, b in zip(document["start"], document["target"], strict=True))
        answer = check(document, best_order(document, alphas), alphas)
        statuses[answer["status"]] += 1
        target, cost = document["target"], ExactCost(document["cost"])
        gram, linear = np.array(document["cost"]["gram"]), np.array(document["cost"]["linear"])
        plain = target @ gram @ target - 2 * linear @ target + document["cost"]["constant"]
        exact = cost(target)
        told = abs(Fraction(answer["steps"][-1]["cost"]) - exact)
        assert told <= max(10 * abs(Fraction(float(plain)) - exact), Fraction(1e-15) * abs(exact))
    assert statuses["optimal"] >= 220


@pytest.mark.parametrize("apart", [1e-5, 1e-4, 1e-3])
def test_columns_that_are_further_apart_are_all_proved(apart):
    for seed in range(60):
        document = near_equal_problem(seed, apart)
        alphas = [1.0] * len(document["features"])
        assert check(document, best_order(document, alphas), alphas)["status"] == "optimal"


def test_nearly_equal_columns_with_free_ends_and_revisits():
    statuses = Counter()
    for seed in range(60):
        document = near_equal_problem(seed, most=3)
        size = len(document["features"])
        for kind, more in (("free", {"target": None, "steps": min(size, 2)}), ("revisits", {"steps": size + 1})):
            alphas = [1.0] * more["steps"]
            best = best_walk({**document, **more}, alphas)
            if best is not None:
                statuses[kind, check({**document, **more}, best, alphas)["status"]] += 1
    assert statuses["free", "optimal"] >= 40
    assert statuses["revisits", "optimal"] >= 55


@pytest.mark.parametrize("solver", ["exact", "local", "greedy", "direct"])
def test_nearly_equal_columns_with_other_solvers(solver):
    for seed in range(30):
        document = near_equal_problem(seed)
        alphas = [1.0] * len(document["features"])
        check({**document, "solver": solver}, best_order(document, alphas), alphas)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("power", [-530, -540, -560, -700])
def test_changes_whose_squares_underflow_beside_a_large_one_prove_nothing_wrong(seed, power):
    """The large change comes last and does not count; in between, the squares of all others are below 10⁻³⁰⁸ of its own."""
    rng = np.random.default_rng(seed)
    x = np.abs(rng.standard_normal((8, 4))) + 1.0
    gram = np.eye(5)
    gram[:4, :4] = x.T @ x / 8.0
    gram *= 2.0**660
    true, start, target = np.ldexp([[*rng.standard_normal(4), 0.0] for _ in range(3)], power)
    target[4] = 1.0
    document = {
        "features": list("abcde"),
        "cost": {"gram": gram.tolist(), "linear": (gram @ true).tolist(), "constant": float(true @ gram @ true)},
        "start": start.tolist(),
        "target": target.tolist(),
        "weights": {"alpha": [1.0] * 4 + [0.0]},
    }
    best, answer = best_order(document, [1.0] * 4 + [0.0]), solve(document).to_dict()
    assert Fraction(answer["lower_bound"]) <= best
    assert answer["status"] == "bounded"


@st.composite
def small_problems(draw):
    """Up to four columns, some equal, nearly equal or never exercised, of any scale; models near or far from the best."""
    seed, size = draw(st.integers(0, 10**9)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    rows = draw(st.integers(2, 12))
    x = rng.integers(-3, 4, (rows, size)).astype(float) if draw(st.booleans()) else rng.standard_normal((rows, size))
    if size > 1:
        x[:, 1] = {"own": x[:, 1], "equal": x[:, 0], "near": x[:, 0] + 1e-7 * x[:, 1], "idle": 0.0}[
            draw(st.sampled_from(["own", "equal", "near", "idle"]))
        ]
    x = x * 10.0 ** draw(st.sampled_from([0, 0, -6, 5])) ** np.arange(size)
    true = rng.standard_normal(size)
    y = x @ true + draw(st.sampled_from([1e-3, 0.3, 1.0])) * np.abs(x).mean() * rng.standard_normal(rows)
    constant = float(y @ y / rows) + draw(st.sampled_from([0.0, 1.0, 1e6]))
    cost = {"gram": (x.T @ x / rows).tolist(), "linear": (x.T @ y / rows).tolist(), "constant": constant}
    start = true + draw(st.sampled_from([1e-6, 0.3, 100.0])) * rng.standard_normal(size)
    target = true + draw(st.sampled_from([1e-6, 0.3])) * rng.standard_normal(size)
    document = {
        "features": [f"x{i}" for i in range(size)],
        "cost": cost,
        "start": start.tolist(),
        "target": target.tolist(),
    }
    if size > 2 and draw(st.booleans()):
        document["groups"] = [["x0", "x1"]]
    return document


def weights_of(draw_from, terms):
    return {"gamma": draw_from} if isinstance(draw_from, float) else {"alpha": (draw_from * terms)[:terms]}


weightings = st.one_of(st.sampled_from([1.0, 0.5, 2.0]), st.sampled_from([[1.0, 0.0, 2.0], [0.25, 1.0]]))


def alphas_of(weighting, terms):
    return [weighting**k for k in range(1, terms + 1)] if isinstance(weighting, float) else (weighting * terms)[:terms]


def units_of(document):
    return len(document["features"]) - sum(len(group) - 1 for group in document.get("groups", []))


@settings(max_examples=150, deadline=None)
@given(document=small_problems(), weighting=weightings, singles=st.one_of(st.none(), st.integers(1, 3)))
def test_orders_of_every_kind(document, weighting, singles):
    units = units_of(document)
    terms = units if singles is None or singles >= units else singles + 1
    alphas = alphas_of(weighting, terms)
    asked = {**document, "max_steps": singles, "weights": weights_of(weighting, terms)}
    check(asked, best_order(asked, alphas), alphas)


@settings(max_examples=100, deadline=None)
@given(document=small_problems(), weighting=weightings, steps=st.integers(1, 3))
def test_free_ends_of_every_kind(document, weighting, steps):
    asked = {**document, "target": None, "steps": steps, "weights": weights_of(weighting, steps)}
    alphas = alphas_of(weighting, steps)
    best = best_walk(asked, alphas)
    if best is not None:
        check(asked, best, alphas)


@settings(max_examples=60, deadline=None)
@given(document=small_problems(), weighting=weightings)
def test_revisits_of_every_kind(document, weighting):
    terms = units_of(document) + 1
    if terms > 4:
        return
    asked = {**document, "steps": terms, "weights": weights_of(weighting, terms)}
    alphas = alphas_of(weighting, terms)
    best = best_walk(asked, alphas)
    if best is not None:
        check(asked, best, alphas)


@settings(max_examples=60, deadline=None)
@given(document=small_problems())
def test_a_gap_is_what_the_document_says(document):
    answer = solve({**document, "solver": "direct"}).to_dict()
    minimum = ExactCost(document["cost"]).minimum()
    if answer["status"] == "optimal" or minimum is None:
        return
    terms = units_of(document)
    apart = Fraction(answer["objective"]) - Fraction(answer["lower_bound"])
    excess = Fraction(answer["objective"]) - terms * minimum
    resolution = abs(answer["objective"]) * 4e-16 / float(excess)
    assert answer["gap"] == pytest.approx(min(float(apart / excess), 1.0), abs=1e-6 + 4 * resolution)


def twin(first, second, third):
    return [[first, second], [second, third]]


FAR_OFF = {
    "one coefficient, revisited": {
        "features": ["a"],
        "cost": {"gram": [[1.0]], "linear": [-0.021594826], "constant": 0.0376773},
        "start": [-1e9],
        "target": [-1.7447391],
        "steps": 3,
        "weights": {"gamma": 0.5},
    },
    "negative costs of longer paths": {
        "features": ["a"],
        "cost": {"gram": [[1.0]], "linear": [1.0]},
        "start": [12000000.0],
        "target": [0.0],
        "steps": {"max": 3},
    },
    "negative costs of a large scale": {
        "features": ["a"],
        "cost": {"gram": [[3.8e150]], "linear": [-4.6166804529804975e149]},
        "start": [11687720.573341748],
        "target": [-0.13],
        "solver": "greedy",
        "steps": {"max": 3},
    },
    "columns of very different size": {
        "features": ["a", "b"],
        "cost": {
            "gram": twin(37076551731666.16, 8570.149588986413, 1.9809680390280016e-06),
            "linear": [-111412.98228540504, -2.5752824354708454e-05],
            "constant": 0.0003347898355490927,
        },
        "start": [-0.06706358995620602, 504390201.4877097],
        "target": [9.528730747888915e-08, -425.2359522220666],
        "solver": "local",
        "steps": 4,
        "weights": {"alpha": [1e-08, 1e-30, 100000000.0, 0.0]},
    },
    "a group with a free end": {
        "features": ["a", "b"],
        "cost": {
            "gram": twin(11012.699, 248623.54, 19243355.0),
            "linear": [86.678053, 2888.7582],
            "constant": 0.74593443,
        },
        "start": [3000000.0, 0.0],
        "target": None,
        "groups": [["a", "b"]],
        "steps": 1,
    },
    "equal columns in a group": {
        "features": ["a", "b"],
        "cost": {
            "gram": twin(5.065e120, 5.065e120, 5.065e120),
            "linear": [2.2504684974924e119, 2.2504684974924e119],
            "constant": 9.999226965855382e117,
        },
        "start": [-5449813.715873857, -35987633.58374326],
        "target": None,
        "groups": [["a", "b"]],
        "steps": 2,
    },
    "a range with weights that fade": {
        "features": ["a"],
        "cost": {"gram": [[240131953.68353185]], "linear": [-4839.655056089828], "constant": 0.09753912672864794},
        "start": [0.0026509352007322937],
        "target": [-2.015417815337891e-05],
        "steps": {"max": 2},
        "weights": {"gamma": 0.001},
    },
    "nearly equal members of a group": {
        "features": ["a", "b"],
        "cost": {
            "gram": twin(1.6804079978928505e-95, 1.634249605183885e-95, 1.5893591171862437e-95),
            "linear": [-5.083046278238034e-99, -4.9434223020590556e-99],
            "constant": 1.5375646568635937e-102,
        },
        "start": [17.548835530326368, -5835.6516314409455],
        "target": [17.548835530326368, -18.044802825586185],
        "groups": [["a", "b"]],
        "solver": "direct",
        "steps": 3,
        "weights": {"gamma": 0.1},
    },
    "a direction that says nothing of the data": {
        "features": ["a", "b"],
        "cost": {
            "gram": twin(1.1889244017039722e120, 1.18892440200309e120, 1.188924402302208e120),
            "linear": [-6.424355197689982e119, -6.42435519932824e119],
            "constant": 3.471404625453073e119,
        },
        "start": [47230.02945501206, -47040.12620221571],
        "target": None,
        "solver": "greedy",
        "steps": 2,
        "weights": {"alpha": [0.0, 0.5]},
    },
}


@pytest.mark.parametrize("what", FAR_OFF)
def test_a_start_far_off_is_no_proof(what):
    """What rounding leaves of a start that is far off was once taken for a level, and for a proof."""
    document = FAR_OFF[what]
    steps = document["steps"]
    weights = document.get("weights", {"gamma": 1.0})
    lengths = [steps] if isinstance(steps, int) else list(range(1, steps["max"] + 1))
    alphas = weights.get("alpha", [1.0] * lengths[-1])
    alphas = [weights["gamma"] ** k for k in range(1, lengths[-1] + 1)] if "gamma" in weights else alphas
    best = min(best_walk(document, alphas[:terms]) for terms in lengths)
    check(document, best, alphas)
