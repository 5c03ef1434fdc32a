"""The law over codings: one function, prepared in two ways, is no change; another one, prepared in the same way, is."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from helpers.bent_models import bent_data
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from coordpath_governance import explain_change
from coordpath_governance.verification.verify import verify_report


def coded_data(seed: int = 0) -> pd.DataFrame:
    """Numbers of every size, two of them with gaps, and three categories whose levels all meet."""
    data = bent_data(260, seed)
    rng = np.random.default_rng(seed + 1)
    data["m"], data["n"] = data.b.where(rng.random(260) > 0.2), data.a.where(rng.random(260) > 0.2)
    data["k"] = rng.choice(list("pqrs"), 260)
    data["date"] = 1.7e9 + rng.integers(0, 86400 * 365, 260)
    return data


DATA = coded_data()


def dummies(**options):
    return OneHotEncoder(sparse_output=False, **options)


def products(degree=2):
    return PolynomialFeatures(degree, interaction_only=True)


def bins(**options):
    options = {"strategy": "quantile", "quantile_method": "averaged_inverted_cdf", "encode": "onehot-dense", **options}
    return KBinsDiscretizer(3, **options)


def beside(*parts):
    return make_column_transformer(*parts)


def imputed(strategy):
    return SimpleImputer(strategy=strategy, add_indicator=True)


SAME = {
    "polynomials, scaled or not": (["a", "c"], [StandardScaler(), PolynomialFeatures(3)], [PolynomialFeatures(3)]),
    "a polynomial and its parts": (
        ["a"],
        [PolynomialFeatures(2)],
        [make_union(FunctionTransformer(), FunctionTransformer(np.square)), StandardScaler()],
    ),
    "components and columns": (["a", "b", "c"], [PCA()], [StandardScaler()]),
    "polynomials of components": (["a", "b"], [PCA(), PolynomialFeatures(2)], [StandardScaler(), PolynomialFeatures(2)]),
    "splines with and without a bias": (["a", "c"], [SplineTransformer(4)], [SplineTransformer(4, include_bias=False)]),
    "powers, standardised or not": (["a", "b"], [PowerTransformer()], [PowerTransformer(standardize=False)]),
    "quantiles, scaled or not": (
        ["a"],
        [QuantileTransformer(n_quantiles=20), StandardScaler()],
        [QuantileTransformer(n_quantiles=20)],
    ),
    "logarithms of other bases and units": (
        ["a", "c"],
        [MaxAbsScaler(), FunctionTransformer(np.log)],
        [FunctionTransformer(np.log2)],
    ),
    "products of logarithms": (
        ["a", "c"],
        [MaxAbsScaler(), FunctionTransformer(np.log), PolynomialFeatures(2)],
        [FunctionTransformer(np.log2), PolynomialFeatures(2)],
    ),
    "clipped, in other units": (["a"], [MinMaxScaler(clip=True)], [MinMaxScaler((-1, 1), clip=True), StandardScaler()]),
    "bins as dummies and as codes": (["a"], [bins()], [bins(encode="ordinal"), PolynomialFeatures(2)]),
    "products of bins": (["a", "c"], [bins(), products()], [bins(), products(), StandardScaler()]),
    "bins by a category": (
        ["a", "g"],
        [beside((bins(), ["a"]), (dummies(drop="first"), ["g"])), products()],
        [beside((bins(), ["a"]), (dummies(), ["g"])), products()],
    ),
    "splines by a category": (
        ["c", "g"],
        [beside((SplineTransformer(3), ["c"]), (dummies(drop="first"), ["g"])), products()],
        [beside((SplineTransformer(3), ["c"]), (dummies(drop=["y"]), ["g"])), products()],
    ),
    "slopes by a category": (
        ["a", "b", "g"],
        [beside((dummies(drop="first"), ["g"]), (StandardScaler(), ["a", "b"])), products(3)],
        [beside((dummies(), ["g"]), ("passthrough", ["a", "b"])), products(3)],
    ),
    "three categories": (
        ["g", "h", "k"],
        [beside((dummies(drop="first"), ["g", "h", "k"])), products(3)],
        [beside((dummies(), ["k", "h", "g"])), products(3)],
    ),
    "codes squared and dummies": (
        ["g"],
        [beside((OrdinalEncoder(), ["g"])), PolynomialFeatures(2)],
        [beside((dummies(), ["g"]))],
    ),
    "powers of codes and products of dummies": (
        ["g", "h"],
        [beside((OrdinalEncoder(), ["g", "h"])), PolynomialFeatures(4)],
        [beside((dummies(drop="first"), ["g"]), (dummies(), ["h"])), products()],
    ),
    "imputed by mean and by median": (["m", "n"], [imputed("mean"), StandardScaler()], [imputed("median")]),
    "products of imputed columns": (
        ["m", "n"],
        [imputed("mean"), StandardScaler(), PolynomialFeatures(2)],
        [imputed("median"), PolynomialFeatures(2)],
    ),
    "imputed slopes by a category": (
        ["m", "g"],
        [beside((imputed("mean"), ["m"]), (dummies(drop="first"), ["g"])), products()],
        [beside((imputed("median"), ["m"]), (dummies(), ["g"])), products()],
    ),
    "a polynomial of dates": (["date"], [StandardScaler(), PolynomialFeatures(3)], [MinMaxScaler(), PolynomialFeatures(3)]),
}
"""By name: columns, and two ways of preparing them that span the same functions."""


def pair_of(name, data):
    columns, *ways = SAME[name]
    return [make_pipeline(*copy.deepcopy(way), LinearRegression()).fit(data[columns], data.y) for way in ways]


def explained(old, new, data, columns):
    return explain_change(old, new, data=data[[*columns, "y"]], target="y")


@pytest.mark.parametrize("name", SAME)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 15))
def test_one_function_in_two_codings_is_no_change(name, seed):
    data = coded_data(seed)
    columns, (first, second) = SAME[name][0], pair_of(name, data)
    np.testing.assert_allclose(first.predict(data[columns]), second.predict(data[columns]), rtol=1e-7, atol=1e-7)
    document = explained(first, second, data, columns).document
    assert document.path.steps == ()
    assert [c.label for c in document.coordinates if c.changed] == []


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(SAME)), st.integers(0, 1000), st.integers(0, 1000), st.sampled_from([1e-5, -1e-3, 0.1]))
def test_a_coefficient_that_moves_is_a_change_in_any_coding(name, seed, which, by):
    """Also on the coding's other side: the moved model against the other way of preparing the same columns."""
    columns, (first, second) = SAME[name][0], pair_of(name, coded_data(seed))
    data = coded_data(seed)
    moved = copy.deepcopy(first)
    coefficients = moved[-1].coef_
    spread = (moved[:-1].transform(data[columns]) if len(moved) > 1 else data[columns].to_numpy()).std(axis=0)
    moving = np.flatnonzero(spread > 1e-6)
    at = moving[which % len(moving)]
    coefficients[at] += by * data.y.std() / spread[at]
    apart = float(np.std(moved.predict(data[columns]) - second.predict(data[columns])))
    document = explained(second, moved, data, columns).document
    assert (apart > 1e-8) == bool(document.path.steps)
    assert document.path.steps[-1].cost == pytest.approx(np.mean((data.y - moved.predict(data[columns])) ** 2), rel=1e-8)


def test_target_codes_are_the_effects_they_stand_for():
    """The encoding of a level, and the mean for a level never seen; as dummies both are effects beside an intercept."""
    coded = make_pipeline(make_column_transformer((TargetEncoder(random_state=0), ["k"])), LinearRegression())
    coded.fit(DATA[["k"]], DATA.y)
    spelled = make_pipeline(make_column_transformer((dummies(handle_unknown="ignore"), ["k"])), LinearRegression())
    spelled.fit(DATA[["k"]], DATA.y)
    encoder = coded[0].transformers_[0][1]
    slope = coded[-1].coef_[0]
    spelled[-1].intercept_ = coded[-1].intercept_ + slope * encoder.target_mean_
    spelled[-1].coef_ = slope * (encoder.encodings_[0] - encoder.target_mean_)
    rows = pd.DataFrame({"k": ["p", "q", "r", "s", "never seen"]})
    np.testing.assert_allclose(coded.predict(rows), spelled.predict(rows), rtol=1e-12)
    document = explained(coded, spelled, DATA, ["k"]).document
    assert document.path.steps == ()
    assert not any(c.changed for c in document.coordinates)
    spelled[-1].intercept_ += 1.0
    spelled[-1].coef_ = spelled[-1].coef_ - 1.0
    changed = explained(coded, spelled, DATA, ["k"]).document
    assert changed.path.steps == ()
    assert [c.label for c in changed.coordinates if c.changed] == ["k = (any other)"]


@pytest.mark.parametrize("name", ["splines by a category", "products of imputed columns", "a polynomial and its parts"])
def test_a_scaled_target_changes_nothing(name):
    columns, plain = SAME[name][0], pair_of(name, DATA)[0]
    scaled = TransformedTargetRegressor(pair_of(name, DATA)[1], transformer=StandardScaler()).fit(DATA[columns], DATA.y)
    assert explained(plain, scaled, DATA, columns).document.path.steps == ()


def test_functions_that_differ_in_gaps_that_no_row_has_are_changed_but_not_exercised(tmp_path):
    """Imputed by another value, in a product: rounding on the rows must not pass for a step."""
    steps = [[imputed("mean"), StandardScaler(), PolynomialFeatures(2)], [imputed("median"), PolynomialFeatures(2)]]
    models = [make_pipeline(*own, LinearRegression()).fit(DATA[["m", "a"]], DATA.y) for own in steps]
    DATA[["m", "a", "y"]].to_parquet(tmp_path / "rows.parquet")
    report = explain_change(*models, data=tmp_path / "rows.parquet", target="y")
    assert report.document.path.steps == ()
    unexercised = [c.label for c in report.document.coordinates if c.changed and not c.exercised]
    assert set(unexercised) == {"a×m (change)", "a (change)"}
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")
