"""Changes between statsmodels results: end costs are statsmodels' own, and another form of one function is no change."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import coordpath_governance as cg

sys.path.insert(0, str(Path(__file__).parents[2] / "golden" / "statsmodels"))
from write_results import FAMILIES, LINKS, training_data

FRAME = training_data(300)
HOLDOUT = training_data(200, seed=8)
SHORT, LONG = "age + km", "age + C(city)*np.log(km)"


def _deviance(family, half=1.0):
    return lambda y, prediction: half * family.deviance(y, prediction) / len(y)


CASES = {
    "ols": (smf.ols, {}, "price", lambda y, p: float(((y - p) ** 2).mean())),
    "wls": (smf.wls, {"weights": FRAME["years"]}, "price", lambda y, p: float(((y - p) ** 2).mean())),
    "logit": (smf.logit, {}, "good", _deviance(FAMILIES.Binomial(), 0.5)),
    "poisson": (smf.poisson, {}, "count", _deviance(FAMILIES.Poisson())),
    "negative": (smf.negativebinomial, {}, "count", _deviance(FAMILIES.Poisson())),
    "gamma": (smf.glm, {"family": FAMILIES.Gamma(LINKS.Log())}, "cost", _deviance(FAMILIES.Gamma(LINKS.Log()))),
    "tweedie": (
        smf.glm,
        {"family": FAMILIES.Tweedie(LINKS.Log(), var_power=1.5)},
        "cost",
        _deviance(FAMILIES.Tweedie(LINKS.Log(), var_power=1.5)),
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_end_costs_are_statsmodels_own(name):
    model, options, target, cost = CASES[name]
    fit = {} if name in ("ols", "wls", "gamma", "tweedie") else {"disp": 0}
    old, new = (model(f"{target} ~ {formula}", FRAME, **options).fit(**fit) for formula in (SHORT, LONG))
    report = cg.explain_change(old, new, data=HOLDOUT, target=target, role="holdout")
    path = report.document.path
    assert path.status == "optimal"
    np.testing.assert_allclose(path.start_cost, cost(HOLDOUT[target], old.predict(HOLDOUT)), rtol=1e-9)
    np.testing.assert_allclose(path.steps[-1].cost, cost(HOLDOUT[target], new.predict(HOLDOUT)), rtol=1e-9)
    said = "fitted by another loss (negative binomial likelihood)" in report.to_markdown()
    assert said == (name == "negative")


def test_the_cost_of_a_logarithm_is_that_of_the_logarithm():
    old, new = (smf.ols(f"np.log(cost) ~ {formula}", FRAME).fit() for formula in (SHORT, LONG))
    report = cg.explain_change(old, new, data=HOLDOUT, target="cost", role="holdout")
    for cost, result in ((report.document.path.start_cost, old), (report.document.path.steps[-1].cost, new)):
        np.testing.assert_allclose(cost, ((np.log(HOLDOUT["cost"]) - result.predict(HOLDOUT)) ** 2).mean(), rtol=1e-9)
    assert "log(cost)" in report.to_markdown()


def test_the_same_function_in_another_form_is_no_change():
    by_formula = smf.ols("price ~ age + C(city, Treatment('Zug'))", FRAME).fit()
    recoded = smf.ols("price ~ 0 + city + age", FRAME).fit()
    encode = make_column_transformer((OneHotEncoder(drop="first"), ["city"]), remainder="passthrough")
    pipeline = make_pipeline(encode, LinearRegression()).fit(FRAME[["age", "city"]], FRAME["price"])
    for other in (recoded, pipeline):
        assert cg.explain_change(by_formula, other, data=HOLDOUT, target="price").document.path.steps == ()


def test_a_constant_column_is_the_intercept_of_others():
    design = sm.add_constant(FRAME[["age", "km"]])
    by_array = sm.OLS(FRAME["price"], design).fit()
    by_formula = smf.ols("price ~ age + km", FRAME).fit()
    fitted = LinearRegression().fit(FRAME[["age", "km"]], FRAME["price"])
    for other in (by_formula, fitted):
        report = cg.explain_change(by_array, other, data=HOLDOUT, target="price")
        assert report.document.path.steps == ()
    said = "The champion: its input column 'const' is taken to be 1 in every row: it is the intercept."
    assert said in report.document.limits


def test_the_square_of_a_column_is_the_same_however_it_is_written():
    powers = smf.ols("price ~ I(age**2)", FRAME).fit()
    squares = smf.ols("price ~ np.square(age)", FRAME).fit()
    products = smf.ols("price ~ I(age*age)", FRAME).fit()
    for other in (squares, products):
        assert cg.explain_change(powers, other, data=HOLDOUT, target="price").document.path.steps == ()
