"""Rows, fitted models of every family and what they cost, by scikit-learn, statsmodels and plain arithmetic."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit, log_softmax
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, TweedieRegressor
from sklearn.metrics import log_loss, mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coordpath_governance.models.linear_model import LinearModel, NumericTerm

NUMBERS = ["age", "income", "debt"]
LEVELS = ["town", "job"]
INPUTS = [*NUMBERS, *LEVELS]
POWER = 1.4
HOLDOUT = 3
"""Seed of the rows that nothing was fitted to."""
RARE = 6
"""Rows of the town that few live in."""


@cache
def rows(seed, n=260):
    """Columns of every kind and a target for every family; ``income`` is missing here and there."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(size=n) for name in NUMBERS})
    frame["debt"] = 0.7 * frame["age"] + 0.6 * frame["debt"]
    frame["town"] = rng.choice(["Ayr", "Bath", "Cork"], n, p=[0.5, 0.3, 0.2])
    frame.loc[: RARE - 1, "town"] = "Deal"
    frame["job"] = rng.choice(["no", "part", "full"], n)
    frame["region"] = rng.choice(["north", "south"], n)
    town = frame["town"].map({"Ayr": 0.0, "Bath": 0.5, "Cork": -0.4, "Deal": 0.2})
    score = -0.3 + 0.5 * frame["age"] + 0.2 * frame["income"] - 0.6 * frame["debt"] + town
    frame["years"] = rng.uniform(0.3, 1.5, n)
    frame["load"] = rng.normal(0, 0.3, n)
    frame["weight"] = rng.integers(0, 3, n).astype(float)
    frame["default"] = np.where(rng.random(n) < expit(score + frame["load"]), "yes", "no")
    frame["claims"] = rng.poisson(frame["years"] * np.exp(score))
    frame["cost"] = rng.gamma(2.0, np.exp(score) / 2.0) + 1e-3
    frame["loss"] = np.where(rng.random(n) < 0.4, 0.0, frame["cost"])
    frame["grade"] = np.array(["A", "B", "C"])[np.digitize(score + rng.logistic(size=n), [-0.7, 0.7])]
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return frame


@dataclass(frozen=True)
class Family:
    """One family: its target, its estimator, and its mean loss by two other libraries."""

    name: str
    target: str
    estimator: Callable
    sklearn: Callable
    statsmodels: Callable
    options: dict = field(default_factory=dict)

    def scores(self, model, frame, offset=0.0):
        """η of every row, one a class where there are several."""
        if self.target in ("default", "grade"):
            found = model.decision_function(frame[INPUTS])
            return found + offset if found.ndim == 1 else found
        return np.log(model.predict(frame[INPUTS])) + offset

    def mean_loss(self, frame, scores, weight=None):
        """By the family's formula, as scikit-learn has it."""
        return self.sklearn(frame[self.target], self.prediction(scores), sample_weight=weight)

    def prediction(self, scores):
        if self.target == "grade":
            return np.exp(log_softmax(scores, axis=1))
        return expit(scores) if self.target == "default" else np.exp(scores)


def _by_glm(family, scale=1.0):
    """Statsmodels' deviance a row."""

    def mean(y, prediction, weight):
        numbers = (y == "yes").to_numpy(float) if y.dtype == object or str(y.dtype) == "str" else y.to_numpy(float)
        weight = np.ones(len(y)) if weight is None else weight.to_numpy(float)
        return scale * family.deviance(numbers, prediction, freq_weights=weight) / weight.sum()

    return mean


def _by_mnlogit(y, prediction, weight):
    """The likelihood of several classes, of a model whose design is the log-odds themselves."""
    odds = np.log(prediction[:, 1:] / prediction[:, :1])
    model = sm.MNLogit(pd.Categorical(y).codes, odds)
    each = -model.loglikeobs(np.eye(odds.shape[1])).sum(axis=1)
    return float(np.average(each, weights=weight))


def _log_link(family, **power):
    with np.errstate(all="ignore"):
        return family(link=sm.families.links.Log(), **power)


FAMILIES = {
    each.name: each
    for each in (
        Family("logistic", "default", LogisticRegression, log_loss, _by_glm(sm.families.Binomial(), 0.5)),
        Family(
            "poisson", "claims", PoissonRegressor, mean_poisson_deviance, _by_glm(sm.families.Poisson()), {"alpha": 1e-3}
        ),
        Family(
            "gamma",
            "cost",
            GammaRegressor,
            mean_gamma_deviance,
            _by_glm(_log_link(sm.families.Gamma)),
            {"alpha": 1e-3},
        ),
        Family(
            "tweedie",
            "loss",
            TweedieRegressor,
            lambda *args, **weight: mean_tweedie_deviance(*args, power=POWER, **weight),
            _by_glm(_log_link(sm.families.Tweedie, var_power=POWER)),
            {"power": POWER, "alpha": 1e-3},
        ),
        Family("multinomial", "grade", LogisticRegression, log_loss, _by_mnlogit),
    )
}
ONE_SCORE = [name for name in FAMILIES if name != "multinomial"]


@cache
def fitted(name, seed, scaled=True, drop="first", intercept=True, inputs=(*NUMBERS, *LEVELS), n=260):
    """A pipeline as people write them, fitted to rows of its own."""
    family = FAMILIES[name]
    numbers = [column for column in NUMBERS if column in inputs]
    levels = [column for column in LEVELS if column in inputs]
    impute = [SimpleImputer(strategy="median", add_indicator=scaled)] if "income" in inputs else []
    scale = [StandardScaler()] if scaled else []
    steps = [(make_pipeline(*impute, *scale) if impute or scale else "passthrough", numbers)]
    encode = make_column_transformer(*steps, *([(OneHotEncoder(drop=drop), levels)] if levels else []))
    frame = rows(seed, n)
    options = dict(family.options)
    estimator = family.estimator(fit_intercept=intercept, **options)
    return make_pipeline(encode, estimator).fit(frame[list(inputs)], frame[family.target])


def unit_shifts(family, old, new, frame, offset=0.0):
    """What each unit adds to the scores when it moves, seen from outside: the models are asked, and nothing else.

    The models are sums over columns, so what a column contributes is how the score changes with it alone; contributions are
    taken off their mean over the rows, and the mean score moves as the baseline. Returns the champion's scores, and by unit
    the shift of every row.
    """

    def scores(model, table):
        found = family.scores(model, table)
        return found[:, None] if found.ndim == 1 else found - found.mean(axis=1, keepdims=True)

    plain = frame.iloc[[0] * len(frame)].reset_index(drop=True).assign(**dict.fromkeys(NUMBERS, 0.0))
    shifts = {}
    for column in INPUTS:
        alone = plain.assign(**{column: frame[column].to_numpy()})
        moved = scores(new, alone) - scores(old, alone)
        shifts[column] = moved - moved.mean(axis=0)
    before, after = scores(old, frame), scores(new, frame)
    shifts["(baseline)"] = np.broadcast_to((after - before).mean(axis=0), before.shape)
    assert np.allclose(before + sum(shifts.values()), after, atol=1e-12)
    return before + np.reshape(offset, (-1, 1)), shifts


def best_objective(cost_of, units, gamma=1.0, max_steps=None):
    """Least Σ γᵏ f(S_k) over all orders, by evaluating every set of units; with it the costs of all sets."""
    size, singles = len(units), min(max_steps or len(units), len(units))
    costs = {frozenset(some): cost_of(some) for k in range(size + 1) for some in combinations(units, k)}
    best = {frozenset(): 0.0}
    for k in range(1, singles + 1):
        for some in combinations(units, k):
            moved = frozenset(some)
            best[moved] = gamma**k * costs[moved] + min(best[moved - {unit}] for unit in moved)
    ends = min(value for moved, value in best.items() if len(moved) == singles)
    last = gamma ** (singles + 1) * costs[frozenset(units)] if singles < size else 0.0
    return ends + last, costs


def logit(intercept=0.0, threshold=None, classes=("no", "yes"), **slopes):
    """A logistic model with slopes on columns."""
    terms = tuple(NumericTerm(name, value) for name, value in slopes.items())
    return LinearModel(intercept, terms, family="binomial", link="logit", classes=classes, threshold=threshold)
