from __future__ import annotations

import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss, mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

from coordpath_governance.costs import FAMILIES as TABLE
from coordpath_governance.costs import family_of
from coordpath_governance.errors import ProblemError

FAMILIES = {
    "logistic": family_of("logistic"),
    "multinomial": family_of("multinomial", classes=4),
    "poisson": family_of("poisson"),
    "gamma": family_of("gamma"),
    "tweedie": family_of("tweedie", power=1.5),
    "tweedie near 1": family_of("tweedie", power=1.03),
    "tweedie near 2": family_of("tweedie", power=1.96),
}
every_family = pytest.mark.parametrize("name", FAMILIES)


def targets(rng, family, n):
    if family.kind == "logistic":
        return rng.integers(0, 2, n).astype(float)
    if family.kind == "multinomial":
        return rng.integers(0, family.scores, n).astype(float)
    amounts = rng.gamma(2.0, 1.0, n) * 10.0 ** rng.integers(-2, 4, n)
    if family.kind == "gamma":
        return amounts
    return np.where(rng.random(n) < 0.4, 0.0, np.rint(amounts) if family.kind == "poisson" else amounts)


def oracle(family, y, score):
    if family.kind == "logistic":
        return log_loss(y, 1.0 / (1.0 + np.exp(-score[:, 0])))
    if family.kind == "multinomial":
        return log_loss(y, family.mean(score), labels=range(family.scores))
    mean = np.exp(score[:, 0])
    if family.kind == "poisson":
        return mean_poisson_deviance(y, mean)
    return mean_gamma_deviance(y, mean) if family.kind == "gamma" else mean_tweedie_deviance(y, mean, power=family.power)


@every_family
def test_losses_are_those_of_scikit_learn(name):
    family, rng = FAMILIES[name], np.random.default_rng(1)
    y = targets(rng, family, 200)
    score = rng.standard_normal((200, family.scores, 3)) * 2.0
    losses = family.loss(y, score)
    assert losses.shape == (200, 3)
    for m in range(3):
        assert losses[:, m].mean() == pytest.approx(oracle(family, y, score[:, :, m]), rel=1e-12)


@every_family
def test_slope_and_curvature_are_the_derivatives(name):
    family, rng = FAMILIES[name], np.random.default_rng(2)
    y = targets(rng, family, 60)
    score = rng.standard_normal((60, family.scores)) * 2.0
    loss, slope = family.loss_and_slope(y, score[:, :, None])
    assert loss == pytest.approx(family.loss(y, score[:, :, None]), rel=1e-15)
    curvature = family.curvature(y, score)
    for c in range(family.scores):
        ahead, behind = score.copy(), score.copy()
        ahead[:, c] += 1e-5
        behind[:, c] -= 1e-5
        pair = np.stack([ahead, behind], axis=2)
        losses, slopes = family.loss_and_slope(y, pair)
        assert (losses[:, 0] - losses[:, 1]) / 2e-5 == pytest.approx(slope[:, c, 0], rel=1e-7, abs=1e-7)
        assert (slopes[:, :, 0] - slopes[:, :, 1]) / 2e-5 == pytest.approx(curvature[:, :, c], rel=1e-7, abs=1e-7)


def exact_loss(name, y, score):
    """In decimal arithmetic."""
    eta, target = Decimal(score), Decimal(y)
    mean = eta.exp()
    if name == "logistic":
        return (1 + mean).ln() - target * eta
    if name == "poisson":
        return 2 * ((target * (target.ln() - eta) if y else 0) - target + mean)
    if name == "gamma":
        return 2 * (eta - target.ln() + target / mean - 1)
    p = Decimal(FAMILIES[name].power)
    return 2 * (target ** (2 - p) / ((1 - p) * (2 - p)) - target * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p))


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "multinomial"])
@pytest.mark.parametrize("score", [-600.0, -30.0, 0.0, 1e-7, 13.8, 600.0])
def test_losses_keep_their_digits(name, score):
    family = FAMILIES[name]
    for y in (0.0, 1.0) if name == "logistic" else (0.0, 1e-30, 1e-6, 1.0, 1e6):
        if family.outside(np.array([y]))[0]:
            continue
        loss = family.loss(np.array([y]), np.array([[[score]]]))[0, 0]
        with localcontext() as context:
            context.prec = 300
            exact = exact_loss(name, y, score)
            error = abs(float(Decimal(float(loss)) - exact))
        # An error in the last place of the score moves the loss by its slope; so little is forgiven, and no more.
        slope = abs(family.loss_and_slope(np.array([y]), np.array([[[score]]]))[1][0, 0, 0])
        forgiven = 4e-14 * float(exact) + 4e-16 * max(46.0, abs(score)) * slope + 1e-16 * y + 1e-15
        assert error <= forgiven, (y, loss, float(exact))


def test_small_losses_of_classes_keep_their_digits():
    score = np.array([[[0.0], [50.0], [3.0]]])
    loss, slope = family_of("multinomial", classes=3).loss_and_slope(np.array([1.0]), score)
    assert loss[0, 0] == pytest.approx(np.exp(-47.0) + np.exp(-50.0), rel=1e-12)
    assert slope[0, :, 0] == pytest.approx([np.exp(-50.0), -np.exp(-47.0) - np.exp(-50.0), np.exp(-47.0)], rel=1e-12)
    assert family_of("logistic").loss_and_slope(np.array([1.0]), np.array([[[50.0]]]))[1][0, 0, 0] == -np.exp(-50.0)


@every_family
def test_far_scores_give_no_warning_and_what_overflows_is_infinite(name):
    family = FAMILIES[name]
    y = np.array([1.0, 1.0, 1.0, 1.0])
    score = np.array([-700.0, 700.0, -1e4, 1e4])[:, None] * np.eye(1, family.scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss, slope = family.loss_and_slope(y, score[:, :, None])
        assert np.isfinite(loss[:2]).all()
        assert not np.isnan(loss).any()
        assert np.isfinite(slope[:2]).all()
        bend = family.curvature(y, score)
        assert (bend[:2, 0, 0] >= 0.0).all()
        assert np.isfinite(family.least_curvature(y[:2], score[:2] - 1.0, score[:2] + 1.0)).all()
        assert np.isfinite(family.mean(score[:2])).all()
    if family.scores == 1 and family.kind != "logistic":
        assert np.isinf(loss[2:]).any()


def test_a_zero_loses_nothing_at_a_very_low_score():
    for family in (family_of("poisson"), family_of("tweedie", power=1.5)):
        loss, slope = family.loss_and_slope(np.zeros(1), np.full((1, 1, 1), -5000.0))
        assert loss[0, 0] == pytest.approx(0.0, abs=1e-18)
        assert slope[0, 0, 0] == pytest.approx(0.0, abs=1e-18)


@every_family
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), width=st.sampled_from([0.0, 0.1, 2.0, 15.0]))
def test_least_curvature_lies_below_the_curvature_in_the_box(name, seed, width):
    family, rng = FAMILIES[name], np.random.default_rng(seed)
    y = targets(rng, family, 12)
    low = rng.standard_normal((12, family.scores)) * 3.0
    high = low + width * rng.random((12, family.scores))
    least = family.least_curvature(y, low, high)
    size = 1.0 + np.abs(least).max(axis=(1, 2))
    assert (np.linalg.eigvalsh(least)[:, 0] >= -1e-12 * size).all()
    corner = rng.integers(0, 2, low.shape)
    for share in (0.0, 1.0, corner, rng.random(low.shape), rng.random(low.shape)):
        point = low + share * (high - low)
        over = np.linalg.eigvalsh(family.curvature(y, point) - least)[:, 0]
        assert (over >= -1e-12 * size).all()
        # Then a tangent with half the least curvature added lies below the loss wherever one goes in the box.
        other = low + rng.random(low.shape) * (high - low)
        step = other - point
        loss, slope = family.loss_and_slope(y, point[:, :, None])
        bound = loss[:, 0] + np.sum(slope[:, :, 0] * step, axis=1) + np.einsum("nc,ncd,nd->n", step, least, step) / 2
        reached = family.loss(y, other[:, :, None])[:, 0]
        assert (bound <= reached + 1e-12 * (1.0 + y + np.abs(loss[:, 0]) + reached)).all()


@pytest.mark.parametrize("name", ["tweedie", "tweedie near 1", "tweedie near 2"])
def test_least_curvature_of_tweedie_is_the_least(name):
    family = FAMILIES[name]
    y = np.array([0.0, 0.5, 3.0, 40.0, 1e4])
    low, high = np.full((5, 1), -4.0), np.full((5, 1), 6.0)
    grid = np.linspace(-4.0, 6.0, 4001)
    by_grid = np.min([family.curvature(y, np.full((5, 1), score)) for score in grid], axis=0)
    assert family.least_curvature(y, low, high) == pytest.approx(by_grid, rel=1e-6)


@every_family
def test_links_undo_means(name):
    family = FAMILIES[name]
    score = np.linspace(-2.0, 2.0, family.scores) + 0.3
    mean = family.mean(score[None])[0]
    recovered = family.link(mean)
    difference = recovered - score
    assert difference == pytest.approx(np.full(family.scores, difference[0]), abs=1e-12)
    assert family.scores > 1 or difference[0] == pytest.approx(0.0, abs=1e-12)
    assert family.mean(np.stack([score, score])[:, :, None]).shape == (2, family.scores, 1)


def test_the_link_of_an_extreme_mean_is_a_number():
    assert family_of("logistic").link(np.array([1.0])) == 30.0
    assert family_of("logistic").link(np.array([0.0])) == -30.0
    assert family_of("poisson").link(np.array([0.0])) == -30.0


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("logistic", [0.0, 1.0], [0.5, -1.0, 2.0, np.nan]),
        ("multinomial", [0.0, 3.0], [4.0, -1.0, 1.5, np.nan]),
        ("poisson", [0.0, 2.5], [-1e-9, np.inf, np.nan]),
        ("gamma", [1e-9, 2.5], [0.0, -1.0, np.inf, np.nan]),
        ("tweedie", [0.0, 2.5], [-1e-9, np.inf, np.nan]),
    ],
)
def test_targets_outside_the_range(name, good, bad):
    family = FAMILIES[name]
    assert not family.outside(np.array(good)).any()
    assert family.outside(np.array(bad)).all()


def test_what_families_are_called():
    assert [family_of(kind, power=1.5, classes=3).kind for kind in TABLE] == list(TABLE)
    assert family_of("multinomial", classes=3).scores == 3
    assert family_of("logistic").scores == family_of("tweedie", power=1.2).scores == 1
    assert [family_of(kind, power=1.25, classes=2).loss_name for kind in TABLE] == [
        "log loss",
        "log loss",
        "mean Poisson deviance",
        "mean gamma deviance",
        "mean Tweedie deviance (power 1.25)",
    ]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("probit", {}, r"cost\.kind: 'probit' is not known; use one of logistic, "),
        ("multinomial", {"classes": 1}, r"cost\.classes: 1 "),
        ("tweedie", {}, r"cost\.power: None"),
        ("tweedie", {"power": 2.0}, r"cost\.power: 2\.0 .* 'gamma'"),
        ("tweedie", {"power": 0.5}, r"cost\.power: 0\.5"),
    ],
)
def test_families_that_do_not_exist(kind, options, message):
    with pytest.raises(ProblemError, match=message):
        family_of(kind, **options)
