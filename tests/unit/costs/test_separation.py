from __future__ import annotations

import numpy as np
import pytest

from coordpath_governance.costs import GlmCost, RowsInMemory, family_of, newton
from coordpath_governance.errors import ReferenceDataError

LOGISTIC = family_of("logistic")
NAMES = ("(baseline)", "x", "y", "z")


def columns(seed=0, n=500):
    rng = np.random.default_rng(seed)
    return np.column_stack([np.ones(n), rng.standard_normal((n, 3))])


def refusal(cost):
    """What is said where values are free; with given models there is nothing to refuse, and the cost comes down to 0."""
    assert cost.minimum() == 0.0
    with pytest.raises(ReferenceDataError) as caught:
        cost.expect_best_model()
    return str(caught.value)


def test_a_column_that_separates_alone_is_named_with_its_rows():
    x = columns()
    order = np.argsort(x[:, 2])
    target = np.zeros(500)
    target[order[380:]] = 1.0
    cost = GlmCost(LOGISTIC, RowsInMemory(x, target), names=NAMES, target_name="churn", classes=("no", "yes"))
    threshold = x[order[380], 2]
    assert refusal(cost).startswith(
        "churn: its classes are separated completely: all 120 rows with the class 'yes' have 'y' ≥ "
        f"{threshold:.6g}, all 380 others less; larger coefficients"
    )
    again = GlmCost(
        LOGISTIC,
        RowsInMemory(x, 1.0 - target),
        names=NAMES,
        target_name="churn",
        classes=("no", "yes"),
        centres=[0, 0, 10.0, 0],
    )
    assert f"all 120 rows with the class 'no' have 'y' ≥ {threshold + 10.0:.6g}, all 380 others less" in refusal(again)


def test_columns_that_separate_only_together():
    x = columns()
    target = (x[:, 1] + x[:, 3] > 0.2).astype(float)
    text = refusal(GlmCost(LOGISTIC, RowsInMemory(x, target), names=NAMES))
    assert "together, 'x', 'z'" in text or "together, 'z', 'x'" in text
    assert "tell the classes of all 500 rows apart" in text
    assert "baseline" not in text


def test_of_many_columns_some_are_named():
    rng = np.random.default_rng(1)
    cost = GlmCost(LOGISTIC, RowsInMemory(rng.standard_normal((12, 30)), rng.integers(0, 2, 12).astype(float)))
    text = refusal(cost)
    assert text.count("'column ") == 5
    assert ", … tell the classes of all 12 rows apart" in text


def test_several_classes_in_order_along_one_column():
    x = columns()
    target = np.digitize(x[:, 3], [-0.5, 0.7]).astype(float)
    cost = GlmCost(
        family_of("multinomial", classes=3),
        RowsInMemory(x, target),
        names=NAMES,
        target_name="grade",
        classes=("low", "mid", "top"),
    )
    count = int((target == 2).sum())
    assert f"all {count} rows with the class 'top' have 'z' ≥ " in refusal(cost)
    assert f"all {500 - count} others less" in refusal(cost)


def test_several_classes_that_columns_tell_apart_together():
    x = columns()
    scores = x @ np.random.default_rng(4).standard_normal((4, 4))
    scores[:, 3] -= 100.0
    cost = GlmCost(family_of("multinomial", classes=4), RowsInMemory(x, scores.argmax(axis=1).astype(float)), names=NAMES)
    assert "together, " in refusal(cost)


@pytest.mark.parametrize("limit", ["MANY", "TOO_MANY"])
def test_separation_is_found_among_many_coordinates(limit, monkeypatch):
    monkeypatch.setattr(newton, "MANY", 2)
    monkeypatch.setattr(newton, limit, 2)
    x = columns()
    cost = GlmCost(LOGISTIC, RowsInMemory(x, (x[:, 1] > 0.1).astype(float)), names=NAMES)
    assert "have 'x' ≥ " in refusal(cost)


def test_rows_without_weight_separate_nothing_and_overlap_with_nothing():
    x = columns()
    target = (x[:, 1] > 0.1).astype(float)
    flipped = target.copy()
    flipped[:5] = 1.0 - flipped[:5]
    weight = np.ones(500)
    weight[:5] = 0.0
    text = refusal(GlmCost(LOGISTIC, RowsInMemory(x, flipped, weight), names=NAMES))
    assert f"all {int(target[5:].sum())} rows with the class '1' have 'x' ≥ " in text
    assert f"all {int((1 - target[5:]).sum())} others less" in text


def test_one_row_that_overlaps_is_enough():
    """However little it weighs: the loss comes down to almost nothing, but there is a best model."""
    x = columns()
    target = (x[:, 1] > 0.0).astype(float)
    wrong = int(np.argmin(x[:, 1]))
    target[wrong] = 1.0
    weight = np.ones(500)
    weight[wrong] = 1e-9
    cost = GlmCost(LOGISTIC, RowsInMemory(x, target, weight), names=NAMES)
    assert 0.0 < cost.minimum() < 1e-6 * cost.constant_cost()
    cost.expect_best_model()


def test_an_offset_that_knows_the_class_is_no_separation():
    x = columns()
    target = np.random.default_rng(3).integers(0, 2, 500).astype(float)
    cost = GlmCost(LOGISTIC, RowsInMemory(x, target, None, np.where(target > 0, 40.0, -40.0)), names=NAMES)
    assert 0.0 <= cost.minimum() <= cost.constant_cost() < 1e-15
