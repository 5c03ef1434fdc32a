"""Selectors and linear maps: what they refuse. What they predict is compared in test_pickles, for every version."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_selection import (
    RFE,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_regression,
)
from sklearn.linear_model import ElasticNet, LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import from_estimator

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(40, 4)) + 1.0
TARGET = ROWS @ [3.0, 0.0, -1.0, 0.1] + RNG.normal(size=40)


def fitted(step, **attributes):
    model = make_pipeline(step, Ridge()).fit(ROWS, TARGET)
    vars(model[0]).update(attributes)
    return model


def score(folded, row):
    return folded.intercept + sum(term.coefficient * row[int(term.column[1:])] for term in folded.numeric)


@pytest.mark.parametrize(
    "step",
    [
        SelectKBest(f_regression, k="all"),
        SelectKBest(f_regression, k=3),
        SelectPercentile(f_regression, percentile=100),
        SelectPercentile(f_regression, percentile=50),
        SelectFdr(f_regression, alpha=0.2),
        GenericUnivariateSelect(f_regression, mode="fpr", param=0.2),
        GenericUnivariateSelect(f_regression, mode="fwe", param=0.2),
        SelectFromModel(LinearRegression()),
        SelectFromModel(LinearRegression(), threshold="median"),
        SelectFromModel(LinearRegression(), threshold=0.5),
        VarianceThreshold(),
    ],
    ids=lambda step: type(step).__name__,
)
def test_columns_that_go_on_predict_as_they_do(step):
    model = fitted(step)
    folded = from_estimator(model)
    found = [score(folded, row) for row in ROWS[:5]]
    np.testing.assert_allclose(found, model.predict(ROWS[:5]), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: fitted(SelectKBest(f_regression, k=2), k=0), "selects no column at all"),
        (lambda: fitted(SelectFromModel(DecisionTreeRegressor())), "not one of scikit-learn's linear ones"),
        (lambda: fitted(SelectFromModel(LinearRegression(), importance_getter="coef_")), "importance of its own"),
        (lambda: fitted(SelectFromModel(ElasticNet(alpha=0.01))), "differs between versions"),
        (lambda: fitted(PCA(2, whiten=True), explained_variance_=np.zeros(2)), "spread of a component that has none"),
    ],
)
def test_what_is_not_read_is_refused_with_a_reason(model, said):
    with pytest.raises(UnsupportedModelError, match=said):
        from_estimator(model())


@pytest.mark.parametrize(
    ("step", "attributes"),
    [
        (SelectKBest(f_regression, k=2), {"k": -1}),
        (SelectKBest(f_regression, k=2), {"k": "most"}),
        (SelectKBest(f_regression, k=2), {"scores_": np.zeros(3)}),
        (SelectPercentile(f_regression, percentile=50), {"percentile": "half"}),
        (SelectPercentile(f_regression, percentile=50), {"percentile": 120}),
        (SelectPercentile(f_regression, percentile=50), {"percentile": -1}),
        (SelectFdr(f_regression), {"pvalues_": None}),
        (GenericUnivariateSelect(f_regression, mode="k_best", param=2), {"mode": "best"}),
        (RFE(Ridge()), {"support_": np.ones(4)}),
        (SelectFromModel(LinearRegression()), {"threshold": "largest"}),
        (SelectFromModel(LinearRegression(), max_features=2), {"max_features_": 2.5}),
        (SelectFromModel(LinearRegression()), {"norm_order": "two"}),
        (PCA(2), {"components_": np.zeros((2, 3))}),
        (PCA(2), {"components_": np.full((2, 4), np.nan)}),
        (PCA(2), {"mean_": np.zeros(3)}),
    ],
)
def test_what_contradicts_itself_is_called_damaged(step, attributes):
    with pytest.raises(ModelReadError, match="damaged or forged"):
        from_estimator(fitted(step, **attributes))
