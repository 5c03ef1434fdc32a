"""Moments: chunks of any size, weights, digits, and sums of columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.alignment.rare_levels import levels_to_merge
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reference.moments import Moments, MomentsAccumulator


def columns(count: int, kind: str = "numeric") -> tuple[DesignColumn, ...]:
    return tuple(DesignColumn(kind, f"x{i}") for i in range(count))


def gather(design, target, weight, cuts=()) -> Moments:
    accumulator = MomentsAccumulator(columns(design.shape[1]))
    edges = [0, *sorted(cuts), len(target)]
    for start, stop in pairwise(edges):
        accumulator.add(design[start:stop], target[start:stop], weight[start:stop])
    assert accumulator.rows == len(target)
    return accumulator.result()


def exact(values: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance in exact arithmetic."""
    z = [[Fraction(v) for v in row] for row in values.tolist()]
    w = [Fraction(v) for v in weight.tolist()]
    total, width = sum(w), range(values.shape[1])
    mean = [sum(wi * row[j] for wi, row in zip(w, z, strict=True)) / total for j in width]
    covariance = [
        [sum(wi * (row[j] - mean[j]) * (row[k] - mean[k]) for wi, row in zip(w, z, strict=True)) / total for k in width]
        for j in width
    ]
    return np.array(mean, dtype=float), np.array(covariance, dtype=float)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    n=st.integers(2, 40),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    far=st.sampled_from([0.0, 1.0, -1e4, 1e8]),
    weighted=st.booleans(),
)
def test_chunks_of_any_size_give_the_exact_moments(seed, n, cuts, far, weighted):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1] + far
    weight = rng.choice([0.0, 0.25, 3.0], n) if weighted else np.ones(n)
    weight[0] = 1.0
    found = gather(values[:, :2], values[:, 2], weight, [min(cut, n) for cut in cuts])
    mean, covariance = exact(values, weight)
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance))).max() or 1.0
    np.testing.assert_allclose(found.mean, mean, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-7 * size)
    assert found.rows == n
    assert found.weight_sum == pytest.approx(weight.sum(), rel=1e-14)
    assert found.weight_square_sum == pytest.approx((weight**2).sum(), rel=1e-14)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**20), size=st.integers(1, 500))
def test_chunks_far_from_zero_agree_with_one_shot(seed, size):
    rng = np.random.default_rng(seed)
    design, target = rng.normal(size=(400, 2)) + np.array([1e8, -1e8]), rng.normal(size=400)
    whole = gather(design, target, np.ones(400))
    parts = gather(design, target, np.ones(400), range(size, 400, size))
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-6, atol=1e-6)
    direct = np.cov(np.column_stack([design - [1e8, -1e8], target]).T, ddof=0)
    np.testing.assert_allclose(parts.covariance, direct, rtol=1e-6, atol=1e-6)


def test_whole_weights_are_rows_repeated():
    rng = np.random.default_rng(2)
    design, target, weight = rng.normal(size=(50, 3)), rng.normal(size=50), rng.integers(0, 5, 50)
    weighted = gather(design, target, weight.astype(float))
    repeated = gather(np.repeat(design, weight, axis=0), np.repeat(target, weight), np.ones(weight.sum()))
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-12, atol=1e-14)
    assert weighted.weight_sum == repeated.rows


def test_a_chunk_of_zero_weights_counts_as_rows_only():
    values = np.arange(8.0).reshape(4, 2)
    found = gather(values[:, :1], values[:, 1], np.array([0.0, 0.0, 1.0, 1.0]), [2])
    np.testing.assert_allclose(found.mean, [5.0, 6.0])
    assert (found.rows, found.weight_sum) == (4, 2.0)


def test_nothing_at_all():
    found = MomentsAccumulator(columns(2)).result()
    assert (found.rows, found.weight_sum) == (0, 0.0)


def test_indicators_are_counted_in_rows_of_some_weight_and_numbers_are_not():
    accumulator = MomentsAccumulator([DesignColumn("numeric", "a"), DesignColumn("level", "c", "u")])
    accumulator.add(np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 1.0]]), np.zeros(3), np.array([1.0, 1.0, 0.0]))
    accumulator.add(np.array([[1.0, 1.0]]), np.zeros(1), np.ones(1))
    assert accumulator.result().counts == (None, 2)


def test_moments_cannot_be_changed():
    found = gather(np.arange(6.0).reshape(3, 2), np.arange(3.0), np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        found.covariance[0, 0] = 1.0


@settings(max_examples=30)
@given(seed=st.integers(0, 2**20))
def test_mapped_moments_are_the_moments_of_mapped_columns(seed):
    rng = np.random.default_rng(seed)
    design, target, weight = rng.normal(size=(30, 4)), rng.normal(size=30), rng.random(30)
    matrix = rng.integers(-1, 2, (3, 4)).astype(float)
    mapped = gather(design, target, weight).mapped(matrix, columns(3), [None] * 3)
    direct = gather(design @ matrix.T, target, weight)
    np.testing.assert_allclose(mapped.mean, direct.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mapped.covariance, direct.covariance, rtol=1e-9, atol=1e-12)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**20), levels=st.integers(2, 8), n=st.integers(10, 300))
def test_all_the_levels_there_are_have_no_variance(seed, levels, n):
    """Their indicators add up to one in every row; rounding must not make a coordinate of that."""
    rng = np.random.default_rng(seed)
    design = np.eye(levels)[rng.integers(0, levels, n)]
    found = gather(design, rng.normal(size=n), rng.random(n)).mapped(np.ones((1, levels)), columns(1), [n])
    assert found.covariance[0].tolist() == [0.0, 0.0]
    assert found.mean[0] == pytest.approx(1.0, rel=1e-14)


def test_one_row_among_a_million_is_variance():
    rows = 1_000_000
    design = np.column_stack([np.arange(rows) < rows - 1, np.arange(rows) == rows - 1]).astype(float)
    found = gather(design, np.zeros(rows), np.ones(rows)).mapped(np.array([[1.0, 0.0]]), columns(1), [rows - 1])
    assert found.covariance[0, 0] == pytest.approx(1e-6, rel=1e-5)


def cells(*counts: int) -> Moments:
    own = tuple(DesignColumn("level", "c", str(i)) for i in range(len(counts)))
    size = len(counts) + 1
    return Moments(own, sum(counts), float(sum(counts)), 1.0, np.zeros(size), np.zeros((size, size)), counts)


@pytest.mark.parametrize(
    ("counts", "merged"),
    [
        ((10, 11, 12), []),
        ((0, 10, 0), []),
        ((9, 10, 12), [0, 1]),
        ((5, 5, 12), [0, 1]),
        ((3, 4, 12, 30), [0, 1, 2]),
        ((3, 100), [0, 1]),
        ((100, 3, 0), [0, 1]),
        ((4,), [0]),
        ((2, 3), [0, 1]),
        ((1, 9, 9, 9, 50), [0, 1, 2, 3]),
    ],
)
def test_which_levels_are_merged(counts, merged):
    assert levels_to_merge(cells(*counts)).get("c", []) == merged


@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=8), least=st.integers(1, 20))
def test_after_merging_no_cell_is_small_unless_all_rows_are(counts, least):
    group = levels_to_merge(cells(*counts), least).get("c", [])
    together = sum(counts[i] for i in group)
    alone = [count for i, count in enumerate(counts) if count and i not in group]
    assert all(count >= least for count in alone)
    assert not group or together >= min(least, sum(counts))
