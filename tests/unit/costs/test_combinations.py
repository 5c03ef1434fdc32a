"""Columns that almost depend on each other: what differs is found on the rows, what is rounding is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from coordpath_governance.costs import GlmCost, RowsInMemory, combinations, family_of, glm
from coordpath_governance.costs.combinations import CombinedRows, distinct_combinations, move_scores
from coordpath_governance.errors import ReferenceDataError

SECONDS = 1.7e9
"""A date."""


def draws(kind, n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    rate = np.exp(0.8 * z[:, 0] - 0.3)
    target = {
        "logistic": lambda: (rng.random(n) < rate / (1 + rate)).astype(float),
        "poisson": lambda: rng.poisson(rate).astype(float),
        "multinomial": lambda: np.digitize(z[:, 0] + rng.logistic(size=n), [-0.5, 0.5]).astype(float),
    }[kind]()
    return z, target


def combined(rows):
    (chunk,) = rows
    return distinct_combinations(rows, np.abs(chunk.columns).max(axis=0))


@pytest.mark.parametrize("kind", ["logistic", "poisson", "multinomial"])
@pytest.mark.parametrize("span", [1e4, 1e2, 1.0, 1e-2])
def test_a_constant_and_dates_of_a_short_time(kind, span):
    """The products of the columns do not tell that time passes."""
    z, target = draws(kind)
    dates = SECONDS + span * z[:, 0]
    family = family_of(kind, classes=3)
    passed = (dates - SECONDS) / span
    plain = GlmCost(family, RowsInMemory(np.column_stack([np.ones(300), passed, z[:, 1]]), target))
    cost = GlmCost(family, RowsInMemory(np.column_stack([np.ones(300), dates, z[:, 1]]), target))
    assert cost.minimum() == pytest.approx(plain.minimum(), rel=1e-9)
    assert cost.minimum() < cost.constant_cost() * 0.99


def test_several_columns_that_are_almost_one_and_some_that_are():
    z, target = draws("poisson")
    one = 5.0 + z[:, 1]
    mixed = np.column_stack([one, one + 1e-9 * z[:, 0], 3.0 * one, one, np.zeros(300)])
    matrix = combined(RowsInMemory(mixed, target))
    assert matrix.shape == (5, 2)
    products = (mixed @ matrix).T @ (mixed @ matrix) / 300
    assert products == pytest.approx(np.eye(2), abs=0.9)
    assert np.linalg.cond(products) < 20
    plain = GlmCost(family_of("poisson"), RowsInMemory(np.column_stack([one, (mixed[:, 1] - one) * 1e9]), target))
    cost = GlmCost(family_of("poisson"), RowsInMemory(mixed, target))
    assert cost.minimum() == pytest.approx(plain.minimum(), rel=1e-7)


def test_after_a_few_rounds_it_takes_what_it_has(monkeypatch):
    z, target = draws("logistic")
    monkeypatch.setattr(combinations, "_ROUNDS", 1)
    dates = SECONDS + 1e-2 * z[:, 0]
    assert combined(RowsInMemory(np.column_stack([np.ones(300), dates]), target)).shape == (2, 2)


def test_rows_of_little_weight_count_as_little_as_they_do():
    """Beside one heavy row all columns are alike."""
    columns = np.array([[-1.4434, -1.4453], [-0.0340, -0.0334], [-0.9325, -0.9343]])
    target, weight = np.array([8.0, 0.0, 5.0]), np.array([1.0, 1e-10, 1e-6])
    cost = GlmCost(family_of("poisson"), RowsInMemory(columns, target, weight))
    betas = [np.linalg.solve(columns[[0, 2]], np.log(target[[0, 2]]))]
    assert cost.minimum() <= cost.values(betas)[0] * (1 + 1e-9)


@pytest.mark.parametrize(
    "columns",
    [
        lambda z: np.column_stack([np.ones(300), z]),
        lambda z: np.column_stack([z, z @ [1.0, 2.0], np.zeros(300)]),
        lambda z: np.column_stack([z, z * 0.1, z[:, 0] / 3.0 + z[:, 1] * 7.0]),
        lambda _z: np.zeros((300, 2)),
    ],
    ids=["distinct", "dependent", "dependent but for rounding", "zeros"],
)
def test_columns_whose_products_tell_all(columns):
    z, target = draws("poisson")
    assert combined(RowsInMemory(columns(z), target)) is None


@pytest.mark.parametrize("size", [1e-300, 1e-165, 1e200])
def test_columns_whose_squares_are_lost(size):
    z, target = draws("logistic")
    plain = GlmCost(family_of("logistic"), RowsInMemory(z, target))
    for sizes in ([size, size], [size, 1.0], [1.0, size]):
        cost = GlmCost(family_of("logistic"), RowsInMemory(z * sizes, target))
        assert cost.minimum() == pytest.approx(plain.minimum(), rel=1e-12)


def test_a_column_of_the_least_numbers_there_are_is_one_of_zeros():
    z, target = draws("logistic")
    cost = GlmCost(family_of("logistic"), RowsInMemory(z * [5e-324, 1.0], target))
    assert cost.minimum() == pytest.approx(
        GlmCost(family_of("logistic"), RowsInMemory(z[:, 1:], target)).minimum(), rel=1e-12
    )


@pytest.mark.parametrize("most", [0, 1 << 25])
def test_combinations_in_memory_or_made_again_in_every_pass(most, monkeypatch):
    monkeypatch.setattr(glm, "_HELD", most)
    z, target = draws("poisson")
    dates = SECONDS + z[:, 0]
    plain = GlmCost(family_of("poisson"), RowsInMemory(np.column_stack([np.ones(300), dates - SECONDS]), target))
    cost = GlmCost(family_of("poisson"), RowsInMemory(np.column_stack([np.ones(300), dates]), target))
    assert cost.minimum() == pytest.approx(plain.minimum(), rel=1e-9)


def test_rows_without_weight_have_no_part_in_it():
    """However large they are beside the others."""
    z, target = draws("logistic")
    weight = np.ones(300)
    wild = z * [1e-200, 1.0]
    wild[:5], weight[:5] = [1e200, -1e300], 0.0
    cost = GlmCost(family_of("logistic"), RowsInMemory(wild, target, weight))
    plain = GlmCost(family_of("logistic"), RowsInMemory(z[5:], target[5:]))
    assert cost.minimum() == pytest.approx(plain.minimum(), rel=1e-12)


def test_directions_that_move_scores():
    z, target = draws("poisson")
    weight = np.ones(300)
    columns = np.column_stack([z[:, 0], 0.1 * z[:, 0], z[:, 0] + 1e-9 * z[:, 1]])
    columns[7], weight[7] = [1.0, 5.0, 9.0], 0.0
    directions = np.array([[1.0, -10.0, 0.0], [1.0, 0.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    rows = RowsInMemory(columns, target, weight)
    assert move_scores(rows, directions[:, :, None]).tolist() == [False, True, True, False]
    alike = np.repeat(directions[2:3, :, None], 3, axis=2)
    other = alike + np.array([0.0, 0.0, 0.5]) * alike
    assert move_scores(rows, np.concatenate([alike, other])).tolist() == [False, True]


def test_combined_rows_are_rows():
    z, target = draws("poisson")
    combined = CombinedRows(RowsInMemory(z, target, np.arange(300.0), z[:, 1]), np.array([[1.0], [2.0]]))
    (chunk,) = combined
    assert combined.width == 1
    assert chunk.columns == pytest.approx((z @ [1.0, 2.0])[1:, None])  # the first row has no weight
    assert (chunk.weight == np.arange(1, 300)).all()
    assert combined.mean() == pytest.approx(np.average(z @ [1.0, 2.0], weights=np.arange(300.0)))


def test_separation_shows_among_columns_that_are_almost_one():
    z, _ = draws("logistic")
    dates = SECONDS + 100.0 * z[:, 0]
    rows = RowsInMemory(np.column_stack([np.ones(300), dates]), (dates > SECONDS).astype(float))
    with pytest.raises(
        ReferenceDataError, match=r"separated completely: all 1\d\d rows with the class '1' have 'date' ≥ 1.7e\+09"
    ):
        GlmCost(family_of("logistic"), rows, names=("one", "date"), target_name="bad").expect_best_model()
