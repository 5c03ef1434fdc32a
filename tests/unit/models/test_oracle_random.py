"""Random preprocessing chains on random data, against scikit-learn itself."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from coordpath_governance.models import from_estimator

scalers = st.one_of(
    st.builds(StandardScaler, with_mean=st.booleans(), with_std=st.booleans()),
    st.builds(RobustScaler, with_centering=st.booleans(), with_scaling=st.booleans()),
    st.builds(MinMaxScaler, feature_range=st.sampled_from([(0, 1), (-2, 5)])),
    st.builds(MaxAbsScaler),
)
imputers = st.builds(
    SimpleImputer,
    strategy=st.sampled_from(["mean", "median", "most_frequent", "constant"]),
    add_indicator=st.booleans(),
)
encoders = st.builds(
    OneHotEncoder,
    drop=st.sampled_from([None, "first", "if_binary"]),
    handle_unknown=st.sampled_from(["error", "ignore", "infrequent_if_exist"]),
    min_frequency=st.sampled_from([None, 2, 8]),
    max_categories=st.sampled_from([None, 2]),
    sparse_output=st.just(False),
)
chains = st.lists(st.one_of(scalers, imputers, st.just("passthrough")), min_size=1, max_size=4)


def pipeline(steps: list) -> Pipeline:
    return Pipeline([(f"step{position}", step) for position, step in enumerate(steps)])


def frame(seed: int, n: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    text = rng.choice(np.array(["u", "v", "w", None], dtype=object), n, p=[0.5, 0.3, 0.15, 0.05])
    text[text == np.array(None)] = np.nan
    numbers = rng.normal(size=(n, 2)) * [1.0, 100.0]
    numbers[rng.random((n, 2)) < 0.15] = np.nan
    return pd.DataFrame({"p": numbers[:, 0], "q": numbers[:, 1], "t": text, "k": rng.integers(0, 3, n)})


def prediction(model: Pipeline, row: pd.DataFrame) -> float | None:
    try:
        return float(model.predict(row)[0])
    except ValueError:
        return None


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    first=chains,
    last=st.lists(scalers, max_size=1),
    encoder=encoders,
    after=st.lists(scalers, max_size=1),
    seed=st.integers(0, 2**16),
    intercept=st.booleans(),
)
def test_random_chains(first, last, encoder, after, seed, intercept, score, dumps, fold_bytes):
    data = frame(seed, 40)
    target = np.random.default_rng(seed + 1).normal(size=40)
    numbers = pipeline([*first, SimpleImputer(), *last])
    part = ColumnTransformer([("n", numbers, ["q", "p"]), ("l", pipeline([encoder, *after]), ["t", "k"])])
    estimator = Ridge(fit_intercept=intercept) if seed % 2 else LinearRegression(fit_intercept=intercept)
    model = Pipeline([("prepare", part), ("model", estimator)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data, target)
        rows = frame(seed + 2, 6)
        rows.loc[1, "t"] = "never"
        rows.loc[2, "k"] = 9
        folded = fold_bytes(dumps(model))
        assert folded.raw == from_estimator(model).raw
        expected = [prediction(model, rows.iloc[[position]]) for position in range(len(rows))]
    found = [score(folded, record) for record in rows.to_dict("records")]
    assert found == [None if number is None else pytest.approx(number, rel=1e-9, abs=1e-8) for number in expected]
