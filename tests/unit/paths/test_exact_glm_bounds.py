"""Bounds of convex costs against every order, with losses of sixty digits on nearly equal and on separating columns."""

from __future__ import annotations

import itertools
from decimal import Decimal, getcontext, localcontext

import numpy as np
import pytest

from coordpath_governance.errors import ReferenceDataError
from coordpath_governance.paths import solve


def problem(seed, size=3, rows=25, far=1e6, apart=1e-7):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, size))
    x[:, 1] = x[:, 0] + apart * rng.standard_normal(rows)
    y = (rng.random(rows) < 1 / (1 + np.exp(-x[:, 0] - 0.5 * x[:, -1]))).astype(float)
    start, target = 0.5 * rng.standard_normal(size), 0.5 * rng.standard_normal(size)
    shared = rng.standard_normal() * far
    for end, distance in ((start, shared), (target, shared if seed % 2 else rng.standard_normal() * far)):
        end[:2] += distance, -distance
    rows_ = {"design": x.tolist(), "target": y.tolist()}
    return {
        "features": [f"x{i}" for i in range(size)],
        "cost": {"kind": "logistic", "rows": rows_},
        "start": start.tolist(),
        "target": target.tolist(),
    }


class ExactLogLoss:
    """Mean ln(1 + e^η) − yη."""

    def __init__(self, document):
        rows = document["cost"]["rows"]
        self.design = [[Decimal(v) for v in row] for row in rows["design"]]
        self.target = [Decimal(v) for v in rows["target"]]

    def __call__(self, beta):
        total = Decimal(0)
        for row, y in zip(self.design, self.target, strict=True):
            score = sum((Decimal(b) * v for b, v in zip(beta, row, strict=True)), Decimal(0))
            total += max(score, Decimal(0)) + (1 + (-abs(score)).exp()).ln() - y * score
        return total / len(self.target)


def best_of_all_orders(document):
    cost, start, target = ExactLogLoss(document), document["start"], document["target"]
    known = {
        moved: cost([target[i] if i in moved else start[i] for i in range(len(start))])
        for k in range(1, len(start) + 1)
        for moved in map(frozenset, itertools.combinations(range(len(start)), k))
    }
    orders = itertools.permutations(range(len(start)))
    return min(sum(known[frozenset(order[:k])] for k in range(1, len(start) + 1)) for order in orders)


@pytest.mark.parametrize("seed", range(24))
def test_orders_on_nearly_equal_columns(seed):
    document = problem(seed, size=2 + seed % 3, far=10.0 ** (seed % 7), apart=10.0 ** (-5 - seed % 4))
    with localcontext() as context:
        context.prec = 60
        best = best_of_all_orders(document)
        answer = solve(document).to_dict()
        assert Decimal(answer["lower_bound"]) <= best * (1 + Decimal("1e-9"))
        assert Decimal(answer["objective"]) >= best * (1 - Decimal("1e-9"))
        end = ExactLogLoss(document)(document["target"])
        assert abs(Decimal(answer["steps"][-1]["cost"]) - end) <= Decimal("1e-9") * max(end, Decimal(1))
    assert answer["status"] == "optimal"
    assert getcontext().prec < 60


def separated(seed, alone):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 3))
    y = (x[:, 1] if alone else x @ [1.0, 2.0, -1.0]) > 0
    return {
        "features": ["a", "b", "c"],
        "cost": {"kind": "logistic", "rows": {"design": x.tolist(), "target": y.astype(float).tolist()}},
        "start": [0.0, 0.0, 0.0],
        "target": [0.5, 1.0, -0.4],
    }


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_separated_classes_have_paths_between_given_models(seed, alone):
    """The least log loss is 0 and no model has it, but the models of a path with a given end are finite."""
    document = separated(seed, alone)
    answer = solve(document).to_dict()
    assert answer["status"] == "optimal"
    assert answer["objective"] == pytest.approx(float(best_of_all_orders(document)), rel=1e-12)
    direct = solve({**document, "solver": "direct"}).to_dict()
    apart = direct["objective"] - direct["lower_bound"]
    assert direct["gap"] == pytest.approx(apart / direct["objective"], abs=1e-6)
    several = solve({**document, "max_steps": 1}).to_dict()
    assert several["status"] == "optimal"


@pytest.mark.parametrize("alone", [False, True])
def test_separated_classes_with_values_in_between(alone):
    document = {**separated(1, alone), "steps": 4}
    answer = solve(document).to_dict()
    once = solve(separated(1, alone)).to_dict()
    assert answer["status"] == "optimal"
    assert 0 < answer["objective"] <= once["objective"] + once["steps"][-1]["cost"]


def test_separated_classes_leave_no_best_model_to_end_at():
    with pytest.raises(ReferenceDataError, match=r"separated completely.*give a target"):
        solve({**separated(1, alone=True), "target": None, "steps": 2})
