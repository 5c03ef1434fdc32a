"""MissingIndicator on its own, before other steps and behind them, against what scikit-learn predicts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.corpus import COLUMNS, corpus_data, original, predicted
from sklearn.compose import make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, PowerTransformer, StandardScaler

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import from_estimator

DATA = corpus_data()
SPARSE = {"features": "all", "sparse": True}

PREPARED = {
    "of raw columns": make_column_transformer((MissingIndicator(), ["m", "n"]), (StandardScaler(), ["a"])),
    "of text": make_column_transformer((MissingIndicator(), ["t"]), (OneHotEncoder(handle_unknown="ignore"), ["t"])),
    "of scaled columns": make_column_transformer((make_pipeline(StandardScaler(), MissingIndicator()), ["m", "n"])),
    "of curves": make_column_transformer((make_pipeline(PowerTransformer(), MissingIndicator(features="all")), ["m", "a"])),
    "of codes": make_column_transformer((make_pipeline(OrdinalEncoder(), MissingIndicator()), ["t"])),
    "of codes without gaps": make_column_transformer(
        (
            make_pipeline(make_column_transformer((OrdinalEncoder(), ["t", "h"])), MissingIndicator(error_on_new=False)),
            ["t", "h"],
        )
    ),
    "of imputed and dummies": make_column_transformer(
        (make_pipeline(SimpleImputer(), MissingIndicator(features="all")), ["m"]),
        (make_pipeline(OneHotEncoder(sparse_output=False), MissingIndicator(features="all")), ["h"]),
        (StandardScaler(), ["b"]),
    ),
    "that cannot be missing any more": make_pipeline(
        make_column_transformer(
            (SimpleImputer(), ["n"]), ("passthrough", ["m"]), (OneHotEncoder(), ["h"]), sparse_threshold=0
        ),
        MissingIndicator(),
    ),
    "sparse, then scaled": make_column_transformer(
        (make_pipeline(MissingIndicator(**SPARSE), StandardScaler(with_mean=False)), ["m", "n"])
    ),
    "of products": make_column_transformer(
        (make_union(make_pipeline(SimpleImputer(), PolynomialFeatures(2)), MissingIndicator()), ["m", "n"])
    ),
}


@pytest.mark.parametrize("name", PREPARED)
def test_indicators_are_what_scikit_learn_makes_of_them(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(PREPARED[name], Ridge()).fit(DATA[COLUMNS], DATA.amount)
    rows = corpus_data(40, seed=2)
    np.testing.assert_allclose(predicted(from_estimator(model), rows), original(model, rows), rtol=1e-9, equal_nan=True)


def test_an_indicator_that_would_raise_is_refused():
    model = make_pipeline(make_column_transformer((MissingIndicator(), ["a", "m"])), Ridge()).fit(DATA[COLUMNS], DATA.amount)
    with pytest.raises(
        UnsupportedModelError, match=r"missingindicator' raises where .*error_on_new=False\), or features='all'"
    ):
        from_estimator(model)
    coded = make_pipeline(OrdinalEncoder(), MissingIndicator())
    model = make_pipeline(make_column_transformer((coded, ["t", "h"])), Ridge()).fit(DATA[COLUMNS], DATA.amount)
    indicator = model[0].transformers_[0][1][-1]
    indicator.features_ = np.array([1])
    with pytest.raises(UnsupportedModelError, match="raises where a column is missing"):
        from_estimator(model)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("features_", np.array([0, 5]), "not positions below 2"),
        ("features_", np.array([0]), "does not have every column"),
        ("_n_features", 7, "'_n_features' is not the number"),
        ("missing_values", -1, "replaces the value -1, not missing values"),
        ("sparse", 3, "'sparse' is 3"),
    ],
)
def test_forged_indicators(name, value, message):
    model = make_pipeline(MissingIndicator(features="all"), Ridge()).fit(DATA[["m", "n"]], DATA.amount)
    setattr(model[0], name, value)
    with pytest.raises(ModelReadError, match=message):
        from_estimator(model)


def test_dummies_of_an_indicator_that_no_row_can_have():
    steps = make_pipeline(SimpleImputer(add_indicator=True), OneHotEncoder(handle_unknown="error"))
    model = make_pipeline(steps, Ridge()).fit(DATA[["m"]].round(), DATA.amount)
    model[0][1].categories_[1] = np.array([2.0, 3.0])
    with pytest.raises(ModelReadError, match="it raises for every row, since 0 is not among the levels"):
        from_estimator(model)
