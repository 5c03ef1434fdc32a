from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from coordpath_governance.costs import GlmCost, RowChunk, RowsInMemory, evaluate_rows, family_of, newton, rows
from coordpath_governance.costs.mean_loss import MeanLoss
from coordpath_governance.errors import ProblemError

KINDS = ("logistic", "poisson", "gamma", "tweedie")
ALL_KINDS = (*KINDS, "multinomial")


def family(kind):
    return family_of(kind, power=1.4, classes=3)


def data(kind, n=400, width=4, seed=0):
    """Columns with a constant one, targets that depend on them, weights, offsets."""
    rng = np.random.default_rng(seed)
    columns = np.column_stack([np.ones(n), rng.standard_normal((n, width - 1))])
    offset = rng.uniform(-1.0, 1.0, n)
    eta = columns @ rng.uniform(-0.6, 0.6, width) + offset
    target = {
        "logistic": lambda: (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float),
        "multinomial": lambda: np.clip(np.rint(eta + rng.standard_normal(n)) + 1.0, 0.0, 2.0),
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2.0),
        "tweedie": lambda: rng.poisson(np.exp(eta)) * rng.gamma(2.0, 1.0, n),
    }[kind]()
    return columns, target, rng.integers(0, 4, n).astype(float), offset


def by_hand(kind, columns, target, weight, offset, beta):
    kind = family(kind)
    score = columns @ np.reshape(beta, (-1, kind.scores)) + offset[:, None]
    return float(weight @ kind.loss(target, score[:, :, None])[:, 0] / weight.sum())


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_values_and_derivatives_by_hand(kind, monkeypatch):
    monkeypatch.setattr(rows, "_CHUNK", 150)
    monkeypatch.setattr(rows, "_BLOCK", 300)
    columns, target, weight, offset = data(kind)
    cost = GlmCost(family(kind), RowsInMemory(columns, target, weight, offset))
    rng = np.random.default_rng(1)
    betas = rng.standard_normal((5, cost.size)) / 2
    expected = [by_hand(kind, columns, target, weight, offset, beta) for beta in betas]
    assert cost.values(betas) == pytest.approx(expected, rel=1e-13)
    assert (cost.weight, cost.rows_counted) == (weight.sum(), 400)
    value, slope, curvature = cost.gradient(betas[0])
    assert value == pytest.approx(expected[0], rel=1e-13)
    step = 1e-5 * np.eye(cost.size)
    ahead, behind = cost.values(betas[0] + step), cost.values(betas[0] - step)
    assert (ahead - behind) / 2e-5 == pytest.approx(slope, abs=1e-7)
    slopes = [(cost.gradient(betas[0] + e)[1] - cost.gradient(betas[0] - e)[1]) / 2e-5 for e in step]
    assert np.array(slopes) == pytest.approx(curvature, abs=1e-7)
    assert (curvature == curvature.T).all()


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
def test_rows_moved_by_shifts(kind, monkeypatch):
    monkeypatch.setattr(rows, "_BLOCK", 300)
    rng = np.random.default_rng(3)
    fam, (_, target, weight, _) = family(kind), data(kind)
    base, shifts = rng.standard_normal((400, fam.scores)), rng.standard_normal((400, fam.scores, 5))
    at = rng.integers(0, 2, (7, 5)).astype(float)
    losses, slopes = evaluate_rows(fam, base=base, shifts=shifts, at=at, target=target, weight=weight, slopes=True)
    plain, nothing = evaluate_rows(fam, base=base, shifts=shifts, at=at, target=target, weight=weight, slopes=False)
    assert nothing is None
    assert plain == pytest.approx(losses, rel=1e-14)
    for x, loss, slope in zip(at, losses, slopes, strict=True):
        each, bend = fam.loss_and_slope(target, (base + shifts @ x)[:, :, None])
        assert loss == pytest.approx(weight @ each[:, 0])
        assert slope == pytest.approx(np.einsum("n,nc,ncd->d", weight, bend[:, :, 0], shifts))


def statsmodels_family(kind):
    log = sm.families.links.Log()
    return {
        "logistic": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(link=log),
        "tweedie": sm.families.Tweedie(link=log, var_power=1.4),
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", ["freq_weights", "var_weights"])
def test_the_minimum_is_the_deviance_of_statsmodels(kind, weighting):
    columns, target, weight, offset = data(kind)
    scale = 2.0 if kind == "logistic" else 1.0

    def deviance(design):
        options = {weighting: weight[weight > 0], "offset": offset[weight > 0]}
        model = sm.GLM(target[weight > 0], design[weight > 0], family=statsmodels_family(kind), **options)
        return model.fit(tol=1e-14, maxiter=200).deviance / weight.sum() / scale

    cost = GlmCost(family(kind), RowsInMemory(columns, target, weight, offset))
    assert cost.minimum() == pytest.approx(deviance(columns), rel=1e-12)
    assert cost.constant_cost() == pytest.approx(deviance(columns[:, :1]), rel=1e-12)


def test_an_exposure_is_an_offset():
    columns, _, _, offset = data("poisson")
    target = np.random.default_rng(5).poisson(np.exp(offset)).astype(float)
    cost = GlmCost(family("poisson"), RowsInMemory(columns, target, None, offset))
    fitted = sm.GLM(target, columns, family=sm.families.Poisson(), exposure=np.exp(offset)).fit(tol=1e-14)
    assert cost.minimum() == pytest.approx(fitted.deviance / 400, rel=1e-12)


def test_the_minimum_of_several_classes_is_that_of_scikit_learn():
    columns, target, weight, _ = data("multinomial")
    cost = GlmCost(family("multinomial"), RowsInMemory(columns, target, weight))
    model = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cg", tol=1e-10, max_iter=1000)
    probability = model.fit(columns, target, sample_weight=weight).predict_proba(columns)
    assert cost.minimum() == pytest.approx(log_loss(target, probability, sample_weight=weight), rel=1e-9)
    shares = np.bincount(target.astype(int), weight) / weight.sum()
    assert cost.constant_cost() == pytest.approx(-float(shares @ np.log(shares)), rel=1e-12)


@pytest.mark.parametrize("kind", ALL_KINDS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), width=st.integers(1, 6))
def test_no_model_is_below_the_minimum(kind, seed, width):
    columns, target, weight, offset = data(kind, n=60 * width, width=width, seed=seed)
    weight[0] = 1.0
    cost = GlmCost(family(kind), RowsInMemory(columns, target, weight, offset))
    least = cost.minimum()
    assert 0.0 <= least <= cost.constant_cost() * (1 + 1e-12)
    betas = np.random.default_rng(seed).standard_normal((20, cost.size))
    assert (cost.values(betas) >= least).all()


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_size_of_columns_and_weights_changes_nothing(kind):
    columns, target, weight, offset = data(kind)
    cost = GlmCost(family(kind), RowsInMemory(columns, target, weight, offset))
    for sizes, heavy in ((1e6, 1e100), (1e-6, 1e-100), (10.0 ** np.array([6, -6, 0, 3]), 1.0)):
        other = GlmCost(family(kind), RowsInMemory(columns * sizes, target, weight * heavy, offset))
        assert other.minimum() == pytest.approx(cost.minimum(), rel=1e-11)
        assert other.constant_cost() == pytest.approx(cost.constant_cost(), rel=1e-11)
        beta = np.linspace(-1.0, 1.0, cost.size).reshape(4, -1)
        moved = beta / np.broadcast_to(sizes, 4)[:, None]
        assert other.values(moved.ravel()) == pytest.approx(cost.values(beta.ravel()), rel=1e-11)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_columns_that_almost_depend_on_each_other(kind):
    columns, target, weight, offset = data(kind)
    plain = GlmCost(family(kind), RowsInMemory(columns, target, weight, offset))
    mixed = np.column_stack([columns[:, :3], columns[:, 2] + 1e-5 * columns[:, 3]])
    cost = GlmCost(family(kind), RowsInMemory(mixed, target, weight, offset))
    assert cost.minimum() == pytest.approx(plain.minimum(), rel=1e-10)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_dependent_columns(kind):
    columns, target, weight, offset = data(kind)
    plain = GlmCost(family(kind), RowsInMemory(columns, target, weight, offset))
    mixed = np.column_stack([columns, columns @ np.random.default_rng(2).standard_normal((4, 3)), np.zeros(400)])
    cost = GlmCost(family(kind), RowsInMemory(mixed, target, weight, offset))
    assert cost.minimum() == pytest.approx(plain.minimum(), rel=1e-11)
    without_constant = np.column_stack([columns[:, 1:], columns[:, 0] + columns[:, 1]])
    assert GlmCost(family(kind), RowsInMemory(without_constant, target, weight, offset)).minimum() == pytest.approx(
        plain.minimum(), rel=1e-11
    )


@pytest.mark.parametrize("many", [300, 1])
def test_columns_of_zeros_explain_nothing(many, monkeypatch):
    monkeypatch.setattr(newton, "MANY", many)
    cost = GlmCost(family("logistic"), RowsInMemory(np.zeros((9, 2)), np.arange(9.0) % 2))
    assert cost.minimum() == pytest.approx(np.log(2), rel=1e-12)
    assert cost.constant_cost() < cost.minimum()


def test_scores_so_far_away_that_nothing_bends():
    offset = np.array([1000.0, -1000.0, 1000.0, -1000.0])
    cost = GlmCost(family("logistic"), RowsInMemory(np.ones((4, 1)), [0.0, 1.0, 1.0, 0.0], None, offset))
    assert cost.minimum() == pytest.approx(500.0)


@pytest.mark.parametrize("kind", ["poisson", "gamma", "tweedie"])
def test_as_many_columns_as_rows_leave_nothing(kind):
    columns, target, _, _ = data(kind, n=12, width=20)
    cost = GlmCost(family(kind), RowsInMemory(columns, target))
    assert cost.minimum() == pytest.approx(0.0, abs=1e-12 * cost.constant_cost())


@pytest.mark.parametrize("kind", ["logistic", "poisson", "tweedie", "multinomial"])
def test_a_coefficient_that_runs_away_is_no_error(kind):
    """In the first 40 rows there is one class only, or nothing but zeros."""
    columns, target, weight, _ = data(kind)
    target[:40] = 0.0
    level = (np.arange(400) < 40).astype(float)
    cost = GlmCost(family(kind), RowsInMemory(np.column_stack([columns, level]), target, weight))
    rest = GlmCost(family(kind), RowsInMemory(columns[40:], target[40:], weight[40:]))
    assert cost.minimum() == pytest.approx(rest.minimum() * weight[40:].sum() / weight.sum(), rel=1e-12)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_many_coordinates(kind, monkeypatch):
    columns, target, weight, offset = data(kind, width=6)
    columns = np.column_stack([columns, columns[:, 1] - columns[:, 2], np.zeros(400)])
    fresh = RowsInMemory(columns, target, weight, offset)
    plain = GlmCost(family(kind), fresh).minimum()
    monkeypatch.setattr(newton, "MANY", 3)
    assert GlmCost(family(kind), fresh).minimum() == pytest.approx(plain, rel=1e-12)
    monkeypatch.setattr(newton, "TOO_MANY", 3)
    assert GlmCost(family(kind), fresh).minimum() == pytest.approx(plain, rel=1e-11)


def test_a_step_that_overflows_among_many_coordinates(monkeypatch):
    """All rows but one ask for a step at which that one overflows."""
    rng = np.random.default_rng(0)
    columns = np.column_stack([np.ones(200) + 0.01 * rng.standard_normal(200), rng.standard_normal(200)])
    target, offset = rng.poisson(30.0, 200).astype(float), np.zeros(200)
    columns[0], target[0], offset[0] = [1000.0, 0.0], 0.0, -600.0
    fresh = RowsInMemory(columns, target, None, offset)
    plain = GlmCost(family("poisson"), fresh).minimum()
    monkeypatch.setattr(newton, "MANY", 1)
    assert GlmCost(family("poisson"), fresh).minimum() == pytest.approx(plain, rel=1e-12)
    monkeypatch.setattr(newton, "TOO_MANY", 1)
    assert GlmCost(family("poisson"), fresh).minimum() <= plain


def test_a_search_ends_where_rounding_hides_all_progress():
    columns, target, weight, _ = data("poisson")
    cost = GlmCost(family("poisson"), RowsInMemory(columns, target * 1e6, weight))
    seen = []
    search = newton.Search(
        MeanLoss(cost.family, cost.rows, cost.weight),
        np.zeros(4),
        tolerance=lambda _value: -1.0,
        watch=lambda _beta, value: seen.append(value),
    )
    found = search.run()
    assert found.value == pytest.approx(cost.minimum(), rel=1e-12)
    assert len(seen) < 60


def test_a_search_cut_short_still_bounds_the_minimum(monkeypatch):
    fresh = RowsInMemory(*data("poisson")[:3])
    plain = GlmCost(family("poisson"), fresh).minimum()
    monkeypatch.setattr(newton, "_ROUNDS", 2)
    assert 0.9 * plain <= GlmCost(family("poisson"), fresh).minimum() <= plain


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_far_away(kind):
    """Without a constant column the search starts at score 0, which may be far from any sensible model."""
    columns, target, weight, _ = data(kind)
    size = 1.0 if kind == "logistic" else 1e6
    dummies = np.eye(8)[np.arange(400) % 8]
    cost = GlmCost(family(kind), RowsInMemory(np.column_stack([dummies, columns[:, 1:]]), target * size, weight))
    with_constant = np.column_stack([np.ones(400), dummies, columns[:, 1:]])
    same = GlmCost(family(kind), RowsInMemory(with_constant, target * size, weight))
    assert cost.minimum() == pytest.approx(same.minimum(), rel=1e-11)


def test_huge_offsets():
    """Classes are right or wrong by 600 for most rows, so the cost is straight but for two sharp bends."""
    rng = np.random.default_rng(0)
    target, sign = rng.integers(0, 2, 300).astype(float), np.where(rng.random(300) < 0.6, 1.0, -1.0)
    cost = GlmCost(family("logistic"), RowsInMemory(np.ones((300, 1)), target, None, 600.0 * sign))
    grid = np.linspace(-700.0, 700.0, 14001)
    assert cost.constant_cost() <= cost.values(grid).min() * (1 + 1e-12)
    near = grid[np.argmin(cost.values(grid))]
    found = minimize_scalar(
        lambda b: cost.values([b])[0], bounds=(near - 1, near + 1), method="bounded", options={"xatol": 1e-9}
    )
    assert cost.constant_cost() == pytest.approx(found.fun, rel=1e-9)
    assert cost.minimum() == pytest.approx(found.fun, rel=1e-9)


@pytest.mark.parametrize("kind", ["poisson", "gamma", "tweedie"])
def test_huge_offsets_of_rates(kind):
    """A target 10^±260 times the usual, with the offset that goes with it."""
    columns, target, weight, _ = data(kind)
    shift = 600.0 if kind == "gamma" else 30.0
    offset = np.where(np.arange(400) % 2, shift, -shift)
    level = columns * 1.0
    cost = GlmCost(family(kind), RowsInMemory(level, target * np.exp(offset), weight, offset))
    small = GlmCost(family("gamma"), RowsInMemory(level, target, weight)) if kind == "gamma" else None
    fitted = cost.values(np.zeros(4))[0]
    assert 0.0 <= cost.minimum() <= cost.constant_cost() <= fitted * (1 + 1e-12)
    if small is not None:
        assert cost.minimum() == pytest.approx(small.minimum(), rel=1e-9)


@pytest.mark.parametrize("many", [300, 1])
def test_only_one_class_or_only_zeros(many, monkeypatch):
    monkeypatch.setattr(newton, "MANY", many)
    columns = np.column_stack([np.ones(50), np.arange(50.0)])
    for kind, target in (("logistic", np.ones(50)), ("poisson", np.zeros(50)), ("multinomial", np.full(50, 2.0))):
        cost = GlmCost(family(kind), RowsInMemory(columns, target))
        assert cost.constant_cost() == pytest.approx(0.0, abs=1e-250)
        assert cost.minimum() == pytest.approx(0.0, abs=1e-250)


def test_rows_without_weight_count_for_nothing():
    columns, target, weight, _ = data("poisson")
    weight[:3] = 0.0
    wild = columns.copy()
    wild[:3, 1] = 1e5
    plain, other = (GlmCost(family("poisson"), RowsInMemory(c, target, weight)) for c in (columns, wild))
    beta = np.array([0.1, 0.5, 0.0, 0.2])
    assert other.values(beta) == plain.values(beta)
    assert other.gradient(beta)[0] == plain.gradient(beta)[0]
    assert other.minimum() == pytest.approx(plain.minimum(), rel=1e-12)
    losses, slopes = evaluate_rows(
        family("poisson"),
        base=np.zeros((400, 1)),
        shifts=wild[:, None],
        at=beta[None],
        target=target,
        weight=weight,
        slopes=True,
    )
    assert losses / weight.sum() == pytest.approx(plain.values(beta), rel=1e-13)
    assert slopes[0] / weight.sum() == pytest.approx(plain.gradient(beta)[1], abs=1e-13)


def test_targets_of_rows_without_weight_are_not_looked_at():
    columns, target, weight, _ = data("gamma")
    for kind, wrong in (("gamma", 0.0), ("poisson", -1.0), ("logistic", 7.0), ("multinomial", -1.0)):
        fine = np.clip(target, 0.1, 1.0).round() if kind in ("logistic", "multinomial") else target
        strange, heavy = fine.copy(), weight.copy()
        strange[5:9], heavy[5:9] = wrong, 0.0
        found = GlmCost(family(kind), RowsInMemory(columns, strange, heavy)).constant_cost()
        assert found == GlmCost(family(kind), RowsInMemory(columns, fine, heavy)).constant_cost()


def test_what_overflows_is_refused_with_the_number_of_rows():
    columns, target, _, _ = data("poisson")
    columns[:7, 1] = 1e4
    cost = GlmCost(family("poisson"), RowsInMemory(columns, target))
    far = np.array([0.0, 1.0, 0.0, 0.0])
    for ask in (lambda: cost.values([far, far / 1e6]), lambda: cost.gradient(far)):
        with pytest.raises(ProblemError, match="overflows double precision for 7 rows"):
            ask()
    with pytest.raises(ProblemError, match="overflows double precision for 7 rows"):
        evaluate_rows(
            family("poisson"),
            base=np.zeros((400, 1)),
            shifts=columns[:, None],
            at=far[None],
            target=target,
            weight=np.ones(400),
            slopes=False,
        )
    heavy = GlmCost(family("poisson"), RowsInMemory(columns[7:], target[7:], np.full(393, 1e300)))
    with pytest.raises(ProblemError, match="overflows double precision for 393 rows"):
        heavy.values([17.0, 0.0, 0.0, 0.0])
    with pytest.raises(ProblemError, match="overflows double precision for 2 rows"):
        evaluate_rows(
            family("poisson"),
            base=np.zeros((2, 1)),
            shifts=np.ones((2, 1, 1)),
            at=np.full((1, 1), 50.0),
            target=np.zeros(2),
            weight=np.full(2, 1.7e286),
            slopes=True,
        )


@pytest.mark.parametrize("many", [300, 1])
@pytest.mark.parametrize(("offset", "rows_lost"), [(712.0, 1), (690.0, 4)])
def test_a_search_that_cannot_start_is_refused(many, offset, rows_lost, monkeypatch):
    """One row overflows, or the second derivatives do."""
    monkeypatch.setattr(newton, "MANY", many)
    columns = np.array([[1e6, 0.0], [2e6, 1.0], [1e6, 1.0], [3e6, 2.0]])
    cost = GlmCost(family("poisson"), RowsInMemory(columns, np.ones(4), None, np.array([offset, 0.0, 0.0, 0.0])))
    with pytest.raises(ProblemError, match=f"overflows double precision for {rows_lost} rows"):
        cost.minimum()


class Repeated:
    """Rows that count how often they are read."""

    width = 2

    def __init__(self):
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        rng = np.random.default_rng(0)
        for _ in range(3):
            columns = np.column_stack([np.ones(50), rng.standard_normal(50)])
            yield RowChunk(columns, rng.integers(0, 2, 50).astype(float), np.ones(50), np.zeros(50))


def test_one_pass_for_all_models_and_minima_are_remembered():
    repeated = Repeated()
    cost = GlmCost(family("logistic"), repeated)
    assert (repeated.passes, cost.rows_counted) == (1, 150)
    cost.values(np.zeros((40, 2)))
    assert repeated.passes == 2
    cost.gradient(np.zeros(2))
    assert repeated.passes == 3
    cost.minimum()
    before = repeated.passes
    assert cost.minimum() <= cost.constant_cost() <= np.log(2)
    assert repeated.passes == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [1, 2]), "columns have 1 dimensions"),
        (([[1.0], [2.0]], [1]), r"target has shape \(1,\), but there are 2 rows"),
        (([[1.0], [2.0]], [1, 2], [1]), r"weight has shape \(1,\)"),
        (([[1.0], [2.0]], [1, 2], None, [[1], [2]]), r"offset has shape \(2, 1\)"),
        (([[1.0], [np.nan]], [1, 2]), "columns has no finite number in 1 rows, first in row 1"),
        (([[1.0], [2.0]], [np.inf, np.nan]), "target has no finite number in 2 rows, first in row 0"),
    ],
)
def test_rows_that_are_none(arguments, message):
    with pytest.raises(ProblemError, match=message):
        RowsInMemory(*arguments)


@pytest.mark.parametrize(
    ("target", "weight", "names", "message"),
    [
        ([0, 1, 2], None, (), "1 of 3 values of the target are outside the range of the family 'logistic'"),
        ([0, 1, 1], [1, -1, -2], (), "2 of 3 weights are negative"),
        ([0, 1, 1], [0, 0, 0], (), "weights of 3 rows add up to 0"),
        ([0, 1, 1], [1e308, 1e308, 1e308], (), "weights of 3 rows add up to inf"),
        ([0, 1, 1], None, ("a", "b"), "1 columns, but there are 2 names"),
    ],
)
def test_costs_that_are_none(target, weight, names, message):
    with pytest.raises(ProblemError, match=message):
        GlmCost(family("logistic"), RowsInMemory(np.ones((3, 1)), target, weight), names=names)


def test_a_cost_needs_columns():
    with pytest.raises(ProblemError, match="have no columns"):
        GlmCost(family("logistic"), RowsInMemory(np.ones((3, 0)), [0, 1, 1]))
