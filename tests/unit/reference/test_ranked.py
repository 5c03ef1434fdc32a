"""Sums in the order of a number, and the figures of ranks that follow: against sklearn and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from coordpath_governance.reference import ranked
from coordpath_governance.reference.rank_figures import area_under_curve, calibration, concentration
from coordpath_governance.reference.ranked import ALL_DIGITS, SCORE_DIGITS, RankedSums

SEEDS = st.integers(0, 2**20)


def sample(seed: int, n: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A score with many ties, a target of zeros and ones, weights."""
    rng = np.random.default_rng(seed)
    score = np.where(rng.random(n) < 0.5, rng.normal(size=n), rng.choice([-0.5, 0.1, 0.7], n))
    target = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    target[:2] = 0.0, 1.0
    return score, target, rng.choice([0.5, 1.0, 4.0], n)


def cells(score: np.ndarray, *numbers: np.ndarray, parts: int = 3, digits: int = SCORE_DIGITS) -> np.ndarray:
    sums = RankedSums(len(numbers), digits)
    for part in np.array_split(np.arange(len(score)), parts):
        sums.add(score[part], *(column[part] for column in numbers))
    return sums.cells()[1].T


@settings(max_examples=30)
@given(seed=SEEDS)
def test_sums_by_key(seed):
    score, target, weight = sample(seed)
    sums = RankedSums(2, ALL_DIGITS)
    for part in np.array_split(np.arange(len(score)), 5):
        sums.add(score[part], weight[part], weight[part] * target[part])
    keys, found = sums.cells()
    distinct = sorted(set(score.tolist()))
    np.testing.assert_allclose(keys, distinct, rtol=0, atol=2.0**-ALL_DIGITS)
    for key, row in zip(distinct, found, strict=True):
        np.testing.assert_allclose(row, [weight[score == key].sum(), (weight * target)[score == key].sum()], rtol=1e-12)
    again, same = sums.cells()
    assert (again == keys).all()
    assert (same == found).all()


def test_sums_that_share_the_room_have_fewer_cells(monkeypatch):
    monkeypatch.setattr(ranked, "MOST_CELLS", 60)
    score = np.random.default_rng(5).normal(size=500)
    for share in (1, 3):
        sums = RankedSums(1, SCORE_DIGITS, share=share)
        for part in np.array_split(score, 7):
            sums.add(part, np.ones(len(part)))
        keys, found = sums.cells()
        assert 60 // share // 4 < len(keys) <= 60 // share
        assert found.sum() == 500


def test_scores_that_differ_by_rounding_are_tied():
    assert len(cells(np.array([0.3, 0.1 + 0.2, 0.3 - 1e-14, 0.30001]), np.ones(4))[0]) == 2


@settings(max_examples=30)
@given(seed=SEEDS)
def test_area_under_curve_is_sklearns(seed):
    score, target, weight = sample(seed)
    found = area_under_curve(*cells(score, weight, weight * target))
    assert found == pytest.approx(roc_auc_score(target, score, sample_weight=weight), abs=1e-12)


@settings(max_examples=30)
@given(seed=SEEDS)
def test_of_two_classes_the_relative_concentration_is_twice_the_area_minus_one(seed):
    score, target, weight = sample(seed)
    order, best = (concentration(*cells(key, weight, weight * target)) for key in (score, target))
    assert order / best == pytest.approx(2 * roc_auc_score(target, score, sample_weight=weight) - 1, abs=1e-12)


def test_concentration_by_hand():
    """Rows of weight 1, 1 and 2 have 1, 3 and 2·2 of the target: the curve goes through (¼, ⅛), (½, ½) and (1, 1)."""
    area = 0.25 * (0.125) / 2 + 0.25 * (0.125 + 0.5) / 2 + 0.5 * (0.5 + 1.0) / 2
    found = concentration(*cells(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0]), np.array([1.0, 3.0, 4.0])))
    assert found == pytest.approx(1 - 2 * area)
    level = concentration(*cells(np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.array([2.0, 6.0])))
    assert level == pytest.approx(0.0, abs=1e-15)


def bins_by_hand(score, prediction, target, weight):
    """A row is in the tenth in which the weight of all rows with lower scores ends; small tenths join the one before."""
    total = weight.sum()
    tenth = np.array([int(10 * weight[score < s].sum() / total + 1e-9) for s in score])
    groups: list[np.ndarray] = []
    for k in range(10):
        inside = tenth == k
        if not inside.any():
            continue
        if groups and (inside.sum() < 10 or groups[-1].sum() < 10):
            groups[-1] = groups[-1] | inside
        else:
            groups.append(inside)
    means = [[np.average(values[g], weights=weight[g]) for values in (prediction, target)] for g in groups]
    return [(int(g.sum()), expected, observed) for g, (expected, observed) in zip(groups, means, strict=True)]


@settings(max_examples=30)
@given(seed=SEEDS, n=st.sampled_from([12, 60, 120, 400]))
def test_calibration_by_tenths(seed, n):
    score, target, weight = sample(seed, n)
    prediction = 1 / (1 + np.exp(-score))
    found = calibration(*cells(score, np.ones(n), weight, weight * prediction, weight * target))
    expected = bins_by_hand(score, prediction, target, weight)
    assert [b.rows for b in found] == [rows for rows, _, _ in expected]
    np.testing.assert_allclose([b.expected for b in found], [e for _, e, _ in expected], rtol=1e-9)
    np.testing.assert_allclose([b.observed for b in found], [o for _, _, o in expected], atol=1e-12)
    assert all(b.rows >= 10 for b in found)
    assert sum(b.rows for b in found) == n


def test_ten_bins_of_equal_weight_without_ties():
    score = np.random.default_rng(0).permutation(np.arange(1000.0))
    one = np.ones(1000)
    assert [b.rows for b in calibration(*cells(score, one, one, one, one))] == [100] * 10


def test_fewer_than_ten_rows_are_not_told_of():
    one = np.ones(9)
    assert calibration(*cells(np.arange(9.0), one, one, one, one)) == ()


@settings(max_examples=30)
@given(seed=SEEDS)
def test_more_cells_than_are_kept_are_joined_and_the_error_is_bounded(seed):
    score, target, weight = sample(seed, 2000)
    exact = roc_auc_score(target, score, sample_weight=weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "MOST_CELLS", 300)
        joined, positive = cells(score, weight, weight * target, parts=20)
        shifts = cells(score, np.ones(2000), parts=20, digits=ALL_DIGITS)[0]
    assert 75 < len(joined) <= 300
    assert joined.sum() == pytest.approx(weight.sum())
    assert shifts.sum() == 2000
    tied = positive @ (joined - positive) / (positive.sum() * (joined - positive).sum())
    assert abs(area_under_curve(joined, positive) - exact) <= tied / 2 + 1e-12
